"""Experience: how well candidates foretold other experiments, learnt once and carried.

``python -m benchmarks.scaling_experience`` writes `LEARNT`, and says from what.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

REGIMES = np.array([-0.6, -0.05, 0.3, 0.6, 0.95, 1.05, 1.4])
"""Slopes of the logarithms at the last two points that part kernels which grow alike."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Experience:
    """What other experiments taught.

    Attributes
    ----------
    losses : float64 array, shape (2, regime, candidate)
        Mean logarithm of the error, one and two points beyond the data.
    width : float64 array, shape (4,)
        Coefficients of the logarithm of an interval's half width, see `width`.
    """

    losses: NDArray[np.float64]
    width: NDArray[np.float64]


LEARNT = Experience(
    losses=np.array(
        [
            [
                [
                    -1.11,
                    -1.55,
                    -2.35,
                    -2.34,
                    -2.32,
                    -0.40,
                    -0.58,
                    -1.86,
                    -1.53,
                    -0.64,
                    -1.82,
                    -2.35,
                    -1.53,
                ],
                [
                    -2.29,
                    -2.33,
                    -2.26,
                    -2.23,
                    -2.16,
                    -1.76,
                    -1.00,
                    -1.12,
                    -2.30,
                    -2.21,
                    -2.37,
                    -2.25,
                    -2.23,
                ],
                [
                    -2.68,
                    -2.79,
                    -2.67,
                    -2.63,
                    -2.58,
                    -2.53,
                    -0.91,
                    -0.77,
                    -2.77,
                    -2.85,
                    -2.28,
                    -2.65,
                    -2.42,
                ],
                [
                    -1.80,
                    -2.05,
                    -2.17,
                    -2.15,
                    -2.16,
                    -1.99,
                    -1.52,
                    -0.84,
                    -1.99,
                    -2.17,
                    -1.89,
                    -2.17,
                    -2.04,
                ],
                [
                    -1.11,
                    -1.49,
                    -2.15,
                    -2.12,
                    -2.10,
                    -2.36,
                    -2.17,
                    -0.49,
                    -1.40,
                    -1.70,
                    -2.37,
                    -2.14,
                    -2.05,
                ],
                [
                    -0.65,
                    -1.25,
                    -3.01,
                    -2.98,
                    -2.73,
                    -3.12,
                    -3.09,
                    -0.05,
                    -1.10,
                    -1.50,
                    -2.85,
                    -2.85,
                    -1.92,
                ],
                [
                    -0.48,
                    -1.06,
                    -2.18,
                    -2.16,
                    -2.00,
                    -2.22,
                    -2.02,
                    -0.02,
                    -0.87,
                    -1.21,
                    -1.39,
                    -2.04,
                    -1.61,
                ],
                [
                    -0.28,
                    -0.82,
                    -1.93,
                    -1.93,
                    -1.84,
                    -1.21,
                    -0.90,
                    -0.14,
                    -0.58,
                    -0.78,
                    -0.25,
                    -1.89,
                    -2.07,
                ],
            ],
            [
                [
                    -0.66,
                    -1.05,
                    -1.82,
                    -1.85,
                    -1.82,
                    -0.31,
                    -0.58,
                    -1.70,
                    -1.47,
                    -0.50,
                    -1.69,
                    -1.81,
                    -1.65,
                ],
                [
                    -1.89,
                    -1.94,
                    -1.85,
                    -1.84,
                    -1.81,
                    -1.04,
                    -0.55,
                    -0.67,
                    -1.94,
                    -1.67,
                    -2.03,
                    -1.83,
                    -2.02,
                ],
                [
                    -2.67,
                    -2.68,
                    -2.49,
                    -2.48,
                    -2.46,
                    -2.15,
                    -0.32,
                    -0.25,
                    -2.69,
                    -2.56,
                    -2.02,
                    -2.47,
                    -2.26,
                ],
                [
                    -1.55,
                    -1.86,
                    -1.93,
                    -1.92,
                    -1.92,
                    -1.59,
                    -1.18,
                    -0.53,
                    -1.75,
                    -1.84,
                    -1.58,
                    -1.90,
                    -1.98,
                ],
                [
                    -0.36,
                    -0.92,
                    -1.79,
                    -1.72,
                    -1.60,
                    -1.89,
                    -1.83,
                    0.01,
                    -0.64,
                    -1.04,
                    -2.00,
                    -1.63,
                    -1.77,
                ],
                [
                    -0.05,
                    -0.67,
                    -2.66,
                    -2.64,
                    -2.45,
                    -2.90,
                    -2.83,
                    0.12,
                    -0.36,
                    -0.73,
                    -2.72,
                    -2.50,
                    -1.84,
                ],
                [
                    -0.33,
                    -0.89,
                    -2.06,
                    -2.06,
                    -1.85,
                    -2.16,
                    -1.91,
                    -0.12,
                    -0.73,
                    -1.01,
                    -1.59,
                    -1.87,
                    -1.54,
                ],
                [
                    -0.05,
                    -0.40,
                    -1.94,
                    -1.90,
                    -1.74,
                    -0.73,
                    -0.40,
                    0.09,
                    -0.38,
                    -0.49,
                    -0.15,
                    -1.79,
                    -2.36,
                ],
            ],
        ]
    ),
    width=np.array([1.855, 0.299, 0.202, 0.489]),
)
"""A line for each regime, a column for each candidate; written, not edited."""
