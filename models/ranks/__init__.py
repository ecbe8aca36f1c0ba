"""What the ranks of a run have in common, and who holds the others up."""
