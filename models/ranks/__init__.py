"""Thousands of ranks: stragglers, outliers, groups, efficiencies, and which ranks to keep."""

from hindmost.models.ranks.efficiencies import Efficiencies

__all__ = ["Efficiencies"]
