"""What if: recorded solves replayed with a change."""
