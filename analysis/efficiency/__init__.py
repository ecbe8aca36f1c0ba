"""The field's standard efficiencies of run files: of a run, its parts, and over several runs."""
