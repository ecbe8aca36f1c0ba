"""Stochastic models of iterations under noise, and the exact recursion that improves on them.

After H. Morgan, P. Sanan, M. Knepley and R. Mills, "The impact of noise on pipelined Krylov method
performance"; equation numbers are theirs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hindmost.models.noise.fit import NoiseModel, fit_models
    from hindmost.models.noise.times import SolveTimes

__all__ = ["NoiseModel", "SolveTimes", "fit_models"]

_MODULES = {
    "NoiseModel": "hindmost.models.noise.fit",
    "SolveTimes": "hindmost.models.noise.times",
    "fit_models": "hindmost.models.noise.fit",
}
"""Where the public names are; imported when asked for, since this package has other uses."""


def __getattr__(name: str) -> Any:
    """Import the module of a public name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
