"""Figures of adaptive runs: those of the paper on dynamic prediction, and what they rest on."""
