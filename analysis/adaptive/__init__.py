"""Adaptive runs: how well their cycles were predicted, and how well decisions from that work."""
