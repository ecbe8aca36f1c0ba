"""Algorithms 1, 2 and 3 of the report on the Albany Land-Ice code (Shan, 2020)."""
