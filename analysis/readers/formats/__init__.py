"""One module per format: how a file is recognised, and what is read from it."""
