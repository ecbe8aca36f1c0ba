"""Thousands of ranks: stragglers, outliers, groups, efficiencies, and which ranks to keep."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hindmost.models.ranks.efficiencies import Efficiencies

__all__ = ["Efficiencies"]

_MODULES = {
    "Efficiencies": "hindmost.models.ranks.efficiencies",
}
"""Modules of the public names; imported on first use."""


def __getattr__(name: str) -> Any:
    """Import the module of a public name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
