"""HOMME's laplace_sphere_wk: the published points and functions, found again.

    python examples/scaling/homme.py OUT

The kernel takes 49.36 up to 15,000 processes and 20.8 + 2.3e-7 p^2 from 16,224 (Ilyas, Calotoiu and
Wolf 2017, section 4.2): a ceiling lets it be called once up to there, and more often beyond. The
measurements are not published; these are the values of the published functions at the published
points, as they are and with uniform noise of a few percent.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from extrap_text import write_text
from findings import found, tell
from numpy.typing import NDArray

CONSTANT_AT = (600, 1176, 2400, 4056, 7776, 11616, 13824, 14406, 15000)
QUADRATIC_AT = (16224, 23814, 31974, 43350, 54150)
PROCESSES = (*CONSTANT_AT, *QUADRATIC_AT)
CONSTANT = 49.36
QUADRATIC = (20.8, 2.3e-7)
UNSEGMENTED = (27.7, 2.23e-7)
"""The paper's one function over all measured points: constant and factor of p^2."""
NOISES_PERCENT = (0, 2, 5)
REPETITIONS = 5
SEED = 2017


def published(processes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of the published functions, shape as the argument."""
    constant, factor = QUADRATIC
    grown = constant + factor * processes**2
    return np.where(processes <= CONSTANT_AT[-1], CONSTANT, grown)


def one_function() -> tuple[float, float]:
    """Return constant and factor of p^2 by least squares over all published points."""
    points = np.array(PROCESSES, np.float64)
    columns = np.stack([np.ones_like(points), points**2], axis=1)
    constant, factor = np.linalg.lstsq(columns, published(points), rcond=None)[0]
    return float(constant), float(factor)


def kernels() -> dict[tuple[str, str], list[list[float]]]:
    """Return the kernel without noise once, with noise in several repetitions."""
    random = np.random.default_rng(SEED)
    exact = published(np.array(PROCESSES, np.float64))
    made = {}
    for percent in NOISES_PERCENT:
        count = REPETITIONS if percent else 1
        off = random.uniform(-percent / 100, percent / 100, (exact.size, count))
        name = f"laplace_sphere_wk, noise {percent} %" if percent else "laplace_sphere_wk"
        made[name.replace(", ", "->").replace(" ", "-"), "time"] = (
            exact[:, None] * (1 + off)
        ).tolist()
    return made


def main() -> None:
    """Write the experiment, tell what both methods make of it."""
    parser = argparse.ArgumentParser(description="The paper's HOMME example, found again.")
    parser.add_argument("out", type=Path)
    asked = parser.parse_args()
    write_text(
        asked.out,
        parameter="p",
        points=PROCESSES,
        values=kernels(),
        remarks=[
            "what: the published functions of HOMME's laplace_sphere_wk at the published points; "
            f"noise is uniform, {REPETITIONS} repetitions, seed {SEED}"
        ],
    )
    print(tell(asked.out))
    print()
    for kernel, _, model in found(asked.out, "paper"):
        print(f"{kernel}, by the paper's rule: {model.explain()}")
    constant, factor = one_function()
    print(f"\none function by least squares: {constant:.4g} + {factor:.4g} p^2")
    print(f"the paper's, of its measurements: {UNSEGMENTED[0]} + {UNSEGMENTED[1]} p^2")


if __name__ == "__main__":
    main()
