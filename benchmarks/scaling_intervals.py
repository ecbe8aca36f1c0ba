"""How often prediction intervals hold, over more families and designs than `scaling_models`.

    python -m benchmarks.scaling_intervals --seed 2 --sets 100

Prints for each design and family, at 2, 5 and 15 % of multiplicative and then of additive noise,
how many new measurements at 4 times the largest point lie in the 90 % interval and the median
width, in percent; then the mean over all cells of a family.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hindmost.models.pmnf.fit import fit
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import FAMILIES, Draw, measured

GRIDS = {
    "1..10": np.arange(1.0, 11.0),
    "2..1024": 2.0 ** np.arange(1, 11),
    "128..8192": 2.0 ** np.arange(7, 14),
    "five": 100.0 * 2.0 ** np.arange(5),
    "six, even": 200.0 * np.arange(1.0, 7.0),
}
KINDS = (NoiseKind.MULTIPLICATIVE, NoiseKind.ADDITIVE)
LEVELS = (0.02, 0.05, 0.15)


def constants(
    random: np.random.Generator, points: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Return what does not grow."""
    return np.full((count, points.size), 49.75)


def factorisations(
    random: np.random.Generator, points: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Draw c_0 + c_1 n^2 + n^3, n over the largest measured one, which is the last but one."""
    squares = 10.0 ** random.uniform(-1.5, 1.5, (count, 1))
    constant = 10.0 ** random.uniform(-2.5, 0.0, (count, 1))
    size = points / points[-2]
    return np.asarray(constant + size**3 + squares * size**2)


DRAWN: dict[str, Draw] = {
    "constant": constants,
    **{
        name: FAMILIES[name]
        for name in ("inside", "outside", "saturating", "strong", "two-terms", "valley")
    },
    "factorisation": factorisations,
}


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description="prediction intervals against known truth")
    options.add_argument("--sets", type=int, default=100, help="data sets a cell")
    options.add_argument("--seed", type=int, default=2)
    asked = options.parse_args()
    held: dict[str, list[float]] = {family: [] for family in DRAWN}
    for (name, points), family in product(GRIDS.items(), DRAWN):
        words = []
        for kind, level in product(KINDS, LEVELS):
            parts = [asked.seed, points.size, int(1000 * level), list(DRAWN).index(family)]
            share, width = cell(
                np.random.default_rng(parts), points, family, kind, level, asked.sets
            )
            held[family].append(share)
            words.append(f"{100 * share:3.0f} ({100 * width:3.0f})")
        say(f"{name:10} {family:14}" + "  ".join(words))
    for family, shares in held.items():
        say(f"{family:14} {100 * float(np.mean(shares)):5.1f}")


def cell(
    random: np.random.Generator,
    points: NDArray[np.float64],
    family: str,
    kind: NoiseKind,
    level: float,
    sets: int,
) -> tuple[float, float]:
    """Return the share of new measurements that intervals hold, and their median relative width."""
    further = np.append(points, 4.0 * points[-1])
    truth = DRAWN[family](random, further, sets)
    known = measured(random, truth[:, :-1], noise=level, kind=kind)
    size = truth[:, :-1].mean(axis=1) if kind is NoiseKind.ADDITIVE else truth[:, -1]
    new = truth[:, -1] + size * level * random.uniform(-1.0, 1.0, sets)
    low, high = (side[:, 0] for side in fit(points, known, noise=str(kind)).interval(further[-1:]))
    width = float(np.median((high - low) / np.abs(truth[:, -1])))
    return float(((low <= new) & (new <= high)).mean()), width


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
