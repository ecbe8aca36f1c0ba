"""Thousands of ranks, without anybody scanning them: groups, extremes, efficiencies, a choice."""
