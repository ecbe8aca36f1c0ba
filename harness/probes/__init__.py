"""Measurements of a machine: network, grind time, noise, speed and checkpoints."""
