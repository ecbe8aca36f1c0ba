"""A package that adds one of each to hindmost, by entry points alone."""
