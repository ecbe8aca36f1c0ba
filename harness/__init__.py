"""What runs on the ranks, and the run file."""
