"""The page on performance over nights."""
