"""POP's efficiencies of run files: of a run, of its parts, and over several runs."""
