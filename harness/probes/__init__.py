"""What a machine can do: network, grind time, noise and speed."""
