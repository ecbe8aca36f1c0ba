"""Studies on machines: from a study file to run files."""
