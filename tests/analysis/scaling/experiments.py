"""Experiments whose truth is known, as files."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Function = Callable[[NDArray[np.float64]], NDArray[np.float64]]

POWERS = 2.0 ** np.arange(1, 11)
TRUTH: dict[str, Function] = {
    "main->fast": lambda p: 3.0 + 0.5 * np.log2(p),
    "main->linear": lambda p: 10.0 + 0.2 * p,
    "main->bug": lambda p: 1.0 + 2e-4 * p**2,
    "main->work": lambda p: 400.0 + 0.0 * p,
    "main->shared": lambda p: 0.5 + 300.0 / p,
}
"""Of p; the bug is 8 % of the total at the largest point, and most of it at 16 times that."""


def write_text(
    path: Path,
    functions: Mapping[str, Function],
    *,
    points: NDArray[np.float64] = POWERS,
    noise: float = 0.0,
    repetitions: int = 1,
    metric: str = "time",
    seed: int = 0,
) -> Path:
    """Write measurements of functions in Extra-P's text format."""
    random = np.random.default_rng(seed)
    lines = ["PARAMETER p", "POINTS " + " ".join(f"{point:.17g}" for point in points)]
    lines.append(f"METRIC {metric}")
    for kernel, function in functions.items():
        lines.append(f"REGION {kernel}")
        for value in function(points):
            each = value * (1.0 + noise * random.uniform(-1.0, 1.0, repetitions))
            lines.append("DATA " + " ".join(f"{one:.17g}" for one in each))
    path.write_text("\n".join(lines) + "\n")
    return path


def figure_1(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Figure 1 of Ilyas, Calotoiu and Wolf (2017): p^2 to 5, then 30 + p."""
    return np.where(p <= 5.0, p**2, 30.0 + p)
