"""The verbs of the command that work on files: show, fit, plot, report."""
