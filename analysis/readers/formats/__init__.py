"""One file a format: how a file of it is recognised, and what is read from it."""
