"""Solves with known law, made without a machine: what models are tested against."""
