"""Performance over nights: what was measured, when, and next to which commits."""
