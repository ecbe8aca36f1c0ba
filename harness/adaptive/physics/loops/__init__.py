"""Compiled loops over cells and faces; importing one of these modules imports numba."""
