"""Nightly results in: the files of other tools, and run files, as series over time."""
