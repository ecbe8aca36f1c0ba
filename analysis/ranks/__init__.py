"""What a run, or another tool's profile, says of its ranks: run files and tables in, words out."""
