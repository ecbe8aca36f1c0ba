"""Adaptive runs: how well their cycles were predicted, and what the predictions are worth."""
