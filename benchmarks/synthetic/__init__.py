"""Data with known truth, made without a machine: what models are tested against."""
