"""Thousands of ranks, without anybody scanning them: groups, extremes, profiles, and a choice."""
