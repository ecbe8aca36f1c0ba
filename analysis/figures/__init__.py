"""Figures: each a function that takes axes, draws on them and returns them."""
