"""Watching a program that runs: what is noted of it, in words or on a served page."""
