"""The verbs of studies."""
