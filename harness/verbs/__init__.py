"""The verbs of the command that need the machine: run, doctor."""
