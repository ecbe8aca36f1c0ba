"""Experiments in: the formats of other tools, and run files, as series over parameters."""
