"""Noise models fitted to groups of runs: the study, its results, tests of assumptions, tables."""
