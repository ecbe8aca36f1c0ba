"""What a probe is, and the probe of cell times."""
