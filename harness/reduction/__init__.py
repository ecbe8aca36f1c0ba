"""Data reduced on the ranks, before anything is written: who keeps full records, and the rest."""
