"""Segments found in drawn data sets of known truth, beside the paper's rule and Extra-P.

Run by ``make bench-scaling``. Shares are in percent: false positives on functions of one term (in
and out of the search space; the worse of the two) and on the worst family of all, two functions
found, and found with the change point between the right two points.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product

import numpy as np
from benchmarks.extrap import Peer, add_peer, some
from benchmarks.synthetic.scaling import two_functions
from numpy.typing import NDArray

from hindmost.models.pmnf import detect_segments
from hindmost.models.pmnf.noise import NoiseKind
from hindmost.models.pmnf.segments.one_behaviour import FAMILIES, inside, measured, outside, strong

Values = NDArray[np.float64]
Judged = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""Which sets are found segmented, and which with the change in the right place."""
Judge = Callable[[Values], Judged]

LEVELS = (0.0, 0.01, 0.02, 0.05, 0.10, 0.15)
PEER_LEVELS = (0.05, 0.15)
PEER_FAMILIES = ("inside", "outside", "valley")
GRIDS = {"1..10": np.arange(1.0, 11.0), "2..1024": 2.0 ** np.arange(1, 11)}
HALVES = (inside, outside)
LONE = 500
"""Sets that are judged one by one."""


def main() -> None:
    """Print all tables."""
    options = argparse.ArgumentParser(description="segments against known truth")
    options.add_argument("--sets", type=int, default=4000, help="data sets of each kind")
    options.add_argument("--seed", type=int, default=20261121)
    add_peer(options)
    asked = options.parse_args()
    random = np.random.default_rng(asked.seed)
    if asked.extrap is None:
        say("Without Extra-P: name a Python that has it: make bench-scaling EXTRAP=PYTHON.")
    detection(random, asked.sets, Peer(python=asked.extrap))
    splits(random, asked.sets // 2)
    hard_cases(random, asked.sets)


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def percent(flags: NDArray[np.bool_]) -> str:
    """Write a share."""
    return f"{100.0 * float(flags.mean()):5.1f}"


def by_method(points: Values, first: int, method: str, noise: str) -> Judge:
    """Return what judges sets whose second function begins at a point."""

    def judge(values: Values) -> Judged:
        found = detect_segments(points, values, method=method, noise=noise)
        return found.segmented, found.between(points[first - 1], points[first])

    return judge


def alone(points: Values, first: int) -> Judge:
    """Return what judges each set as a lone series without repetitions."""

    def judge(values: Values) -> Judged:
        flags, right = [], []
        for each in values[:: max(len(values) // LONE, 1), :, 0]:
            found = detect_segments(points, each)
            flags.append(bool(found.segmented[0]))
            right.append(bool(found.between(points[first - 1], points[first])[0]))
        return np.array(flags), np.array(right)

    return judge


def by_peer(peer: Peer, points: Values, first: int) -> Judge:
    """Return what asks Extra-P about some of the sets."""

    def judge(values: Values) -> Judged:
        answer = peer(points, values[some(len(values))], segmented=True)
        changes = answer["changes"] if answer else []
        right = [
            bool(change) and change[0] >= points[first - 1] and change[1] <= points[first]
            for change in changes
        ]
        return np.array([change is not None for change in changes]), np.array(right)

    return judge


def drawn(random: np.random.Generator, points: Values, sets: int, first: int) -> Values:
    """Draw two functions, half of them in the search space."""
    parts = [
        two_functions(random, points, sets // 2, first=first, family=family) for family in HALVES
    ]
    return np.concatenate(parts)


def detection(random: np.random.Generator, sets: int, peer: Peer) -> None:
    """Print the table of 10 points, 5 and 5."""
    say("10 points, 5 + 5: false positives, one term / any family; found; change point right")
    say("'lone': each set judged without the others, so that its kind of noise is not known")
    for (name, points), kind in product(
        GRIDS.items(), (NoiseKind.MULTIPLICATIVE, NoiseKind.ADDITIVE)
    ):
        say(f"  x = {name}, {kind} noise")
        judges = {
            "likelihood": by_method(points, 5, "likelihood", kind),
            "lone": alone(points, 5),
            "paper's rule": by_method(points, 5, "paper", "additive"),
            "Extra-P": by_peer(peer, points, 5),
        }
        for level in LEVELS:
            null = {
                family: measured(random, draw(random, points, sets), noise=level, kind=kind)
                for family, draw in FAMILIES.items()
            }
            two = measured(random, drawn(random, points, sets, 5), noise=level, kind=kind)
            for word, judge in judges.items():
                if word == "Extra-P" and (peer.python is None or level not in PEER_LEVELS):
                    continue
                asked = PEER_FAMILIES if word == "Extra-P" else tuple(FAMILIES)
                wrong = {family: float(judge(null[family])[0].mean()) for family in asked}
                one = max(wrong["inside"], wrong["outside"])
                found, right = judge(two)
                say(
                    f"    {100 * level:3.0f} %  {word:13}{100 * one:5.1f} /"
                    f"{100 * max(wrong.values()):5.1f}   {percent(found)}   {percent(right)}"
                )


def splits(random: np.random.Generator, sets: int) -> None:
    """Print the table of every split of 6 to 10 points."""
    say("\nSplits of 6 to 10 points, multiplicative noise: found, change point right")
    say("                          5 %: likelihood   paper's rule      15 %: likelihood   paper's")
    for name, whole in GRIDS.items():
        for count in range(6, whole.size + 1):
            points = whole[:count]
            for first in range(2, count - 1):
                words = []
                for level in (0.05, 0.15):
                    values = measured(random, drawn(random, points, sets, first), noise=level)
                    for how in (("likelihood", "multiplicative"), ("paper", "additive")):
                        found, right = by_method(points, first, *how)(values)
                        words.append(f"{percent(found)} {percent(right)}")
                say(f"  x = {name:8} {first:2} + {count - first:<3}    " + "     ".join(words))


def hard_cases(random: np.random.Generator, sets: int) -> None:
    """Print what outliers among repetitions do, and strong scaling."""
    say("\nOutliers: 5 % of measurements take 3 times as long; 3 repetitions, 5 % noise")
    for name, points in GRIDS.items():
        truth = np.concatenate([family(random, points, sets // 2) for family in HALVES])
        for outliers in (0.0, 0.05):
            how = {"noise": 0.05, "repetitions": 3, "outliers": outliers}
            null = measured(random, truth, **how)  # type: ignore[arg-type]
            two = measured(random, drawn(random, points, sets, 5), **how)  # type: ignore[arg-type]
            wrong = detect_segments(points, null).segmented
            found, right = by_method(points, 5, "likelihood", "multiplicative")(two)
            say(
                f"  x = {name:8} outliers {100 * outliers:.0f} %: false positives {percent(wrong)}"
                f"   found {percent(found)}   change point right {percent(right)}"
            )
    say("\nStrong scaling, c0 + c1 / p: false positives by noise, multiplicative")
    for name, points in GRIDS.items():
        words = []
        for level in LEVELS:
            values = measured(random, strong(random, points, sets), noise=level)
            wrong = detect_segments(points, values, noise="multiplicative").segmented
            words.append(f"{100 * level:.0f} %: {percent(wrong)}")
        say(f"  x = {name:8} " + "   ".join(words))


if __name__ == "__main__":
    main()
