"""MPI's collectives, each call by itself: which there are, when a call begins, what is recorded."""
