"""The experiment of Ilyas, Calotoiu and Wolf (2017), section 4.1: 5.2 million data sets.

Run by ``make bench-5-million``. Functions in and out of the search space, one or two in a data set,
10 points with noise from 0 to 15 % (their figure 5a), then every split of 6 to 10 points (figure
5b); 100,000 sets of each. Prints the share that is classified rightly, by the paper's rule and by
likelihood. Points are 1, 2, 3 and so on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import product

import numpy as np
from benchmarks.synthetic.scaling import two_functions
from numpy.typing import NDArray

from hindmost.models.pmnf import detect_segments
from hindmost.models.pmnf.segments.one_behaviour import Draw, inside, measured, outside

FAMILIES: dict[str, Draw] = {"inside": inside, "outside": outside}
LEVELS = (0.0, 0.01, 0.02, 0.05, 0.10, 0.15)
METHODS = (("paper", "additive"), ("likelihood", "multiplicative"))
BATCH = 20_000


def main() -> None:
    """Print both tables."""
    options = argparse.ArgumentParser(description="the experiment of 5.2 million data sets")
    options.add_argument("--sets", type=int, default=100_000, help="data sets of each kind")
    options.add_argument("--seed", type=int, default=20261123)
    asked = options.parse_args()
    random = np.random.default_rng(asked.seed)
    began, total = time.process_time(), 0
    say("Classified rightly, in %; in brackets, the change point right, of all sets")
    say("10 points                       paper's rule        likelihood")
    ten = np.arange(1.0, 11.0)
    for (family, draw), noise, first in product(FAMILIES.items(), LEVELS, (0, 5)):
        told = classified(random, ten, draw, noise, first, asked.sets)
        what = "two functions" if first else "one function"
        say(f"  {family:8} {100 * noise:3.0f} %  {what:14} {told}")
        total += asked.sets
    say("\nSplits, 5 % noise")
    for count in range(6, 11):
        points = ten[:count]
        for first in (0, *range(2, count - 1)):
            if count == ten.size and first in (0, 5):
                continue  # above
            told = classified(random, points, inside, 0.05, first, asked.sets)
            what = f"{first} + {count - first}" if first else f"{count}, one function"
            say(f"  {what:30} {told}")
            total += asked.sets
    taken = time.process_time() - began
    say(f"\n{total:,} sets, each by both methods, in {taken:.0f} CPU-seconds")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def classified(
    random: np.random.Generator,
    points: NDArray[np.float64],
    draw: Draw,
    noise: float,
    first: int,
    sets: int,
) -> str:
    """Say how many sets each method classifies rightly; `first` is 0 for one function."""
    right, placed = np.zeros(2, int), np.zeros(2, int)
    for values in drawn(random, points, draw, noise, first, sets):
        for at, (method, kind) in enumerate(METHODS):
            found = detect_segments(points, values, method=method, noise=kind)
            right[at] += np.count_nonzero(found.segmented == (first > 0))
            if first:
                placed[at] += np.count_nonzero(found.between(points[first - 1], points[first]))
    words = []
    for at in range(2):
        place = f" ({100 * placed[at] / sets:5.1f})" if first else "        "
        words.append(f"{100 * right[at] / sets:6.1f}{place}")
    return "     ".join(words)


def drawn(
    random: np.random.Generator,
    points: NDArray[np.float64],
    draw: Draw,
    noise: float,
    first: int,
    sets: int,
) -> Iterator[NDArray[np.float64]]:
    """Draw data sets, a batch at a time."""
    for begin in range(0, sets, BATCH):
        count = min(BATCH, sets - begin)
        if first:
            truth = two_functions(random, points, count, first=first, family=draw)
        else:
            truth = draw(random, points, count)
        yield measured(random, truth, noise=noise)[..., 0]


if __name__ == "__main__":
    main()
