"""Measurements of a machine: network, grind time, noise and checkpoints."""
