"""Watching a running solve: the history of its feed, in the terminal or on a served page."""
