"""How well changes in real nightly results are found, and whether what was found stays found.

Run by ``make bench-history-nightly``, in some minutes. The data are those of any folder that
``hindmost history`` reads, given as the argument or in HINDMOST_NIGHTLY_DATA; for the Albany
Land-Ice nightly tests, unpack ``ali-blake-nightly.tar.gz`` outside the project. Printed are

- stability, night by night: of the confirmed changes of 20 % or more that are 10 nights old, the
  share that is missing on any later night and at the end, and how often a verdict flips between
  found and missing;
- steps of 5, 10 and 20 % put into stretches without a visible change of their own: recall and
  precision. A change near an end of a stretch is in no median of ten nights, so both ends are cut
  off; ``--with-ends`` keeps them, and with them the real changes there;
- detections in 1000 nights of the same stretches as they are, permuted, and permuted in blocks.

Cases are split into two halves by a hash of their names: settings are chosen on ``--half choose``,
and the figures of ``--half state`` are stated. Apache Otava and ruptures are run beside where they
are installed; see ``benchmarks/changepoints.py``.
"""

from __future__ import annotations

import argparse
import os
import sys
import zlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from benchmarks.changepoints import Finder, Series, elsewhere, is_there, peer_programs
from benchmarks.nightly_series import HALVES, read_series, some
from benchmarks.synthetic.nightly import SimulatedNights
from benchmarks.synthetic.scores import Score, score_changes
from numpy.typing import NDArray

from hindmost.models.changepoint import ChangePoint, detect

DATA = "HINDMOST_NIGHTLY_DATA"
LARGE = 0.2
"""Relative effect of the changes whose stability is counted."""
OLD = 10
"""Nights after which a confirmed change should stay."""
NEAR = 4
"""Nights by which a change may move and still be the same."""
FIRST = 12
"""Nights of the first pass of a series."""
LEVEL = 20
"""Nights on both sides whose medians give the effect where a method gives none."""
STRETCH = 80
"""Nights in a stretch."""
MARGIN = 10
"""Nights between a step and either end of its stretch, at least."""
STEPS = (0.05, 0.10, 0.20)
BLOCK = 10
OF_MEDIANS = 0.02
"""Largest relative distance of the medians of a stretch's blocks, see `is_stable`."""
LONGEST_NAME = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A change on one night: its first observation, whether it is a rise, and its size."""

    index: int
    rises: bool
    counts: bool
    """Whether it is confirmed and large."""


@dataclass(slots=True, kw_only=True)
class Verdict:
    """A change whose later nights are watched."""

    index: int
    rises: bool
    present: bool = True
    missing: int = 0
    flips: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """What became of the verdicts: counts."""

    verdicts: int
    ever: int
    at_end: int
    flips: list[int]

    def line(self, name: str) -> str:
        """Return a row of the table."""
        if not self.verdicts:
            return f"{name:{LONGEST_NAME}}no change of {LARGE:.0%} or more is {OLD} nights old"
        more = sum(flips > 2 for flips in self.flips)
        return (
            f"{name:{LONGEST_NAME}}{self.verdicts:8}{self.ever / self.verdicts:14.1%}"
            f"{self.at_end / self.verdicts:10.1%}{max(self.flips):12}{more:18}"
        )


# Stability


def is_stable(logs: NDArray[np.float64], tolerance: float) -> bool:
    """Tell whether all medians of `BLOCK` nights are near that of the whole."""
    steps = np.diff(logs)
    sigma = 1.4826 * float(np.median(np.abs(steps))) / np.sqrt(2.0)
    blocks = np.lib.stride_tricks.sliding_window_view(logs, BLOCK)
    farthest = float(np.max(np.abs(np.median(blocks, axis=1) - np.median(logs))))
    return bool(farthest <= max(tolerance, 3.0 * 1.2533 * sigma / np.sqrt(BLOCK)))


def found_night_by_night(values: Series) -> list[tuple[int, list[Found]]]:
    """Return what the robust method finds on every night, as a state file remembers it."""
    confirmed: list[int] = []
    nightly = []
    for size in range(FIRST, values.size + 1):
        changes = detect(values[:size], confirmed=confirmed).changes
        confirmed = [change.index for change in changes if change.confirmed]
        nightly.append((size, [counts_of(change) for change in changes]))
    return nightly


def counts_of(change: ChangePoint) -> Found:
    """Return a change, and whether its stability counts."""
    return Found(
        index=change.index,
        rises=change.effect > 0.0,
        counts=change.confirmed and abs(change.effect) >= LARGE,
    )


def found_there(values: Series, places: list[int]) -> list[Found]:
    """Return what a method found that gives places only: the effect is that of the medians."""
    logs = np.log(values)
    bounds = [0, *places, values.size]
    every = []
    for before, index, after in zip(bounds, bounds[1:], bounds[2:], strict=False):
        left = np.median(logs[max(before, index - LEVEL) : index])
        right = np.median(logs[index : min(after, index + LEVEL)])
        effect = float(np.expm1(right - left))
        every.append(Found(index=index, rises=effect > 0.0, counts=abs(effect) >= LARGE))
    return every


def follow(nightly: list[tuple[int, list[Found]]], verdicts: list[Verdict]) -> None:
    """Add the verdicts of one series, with what became of them on later nights."""
    own: list[Verdict] = []
    for size, every in nightly:
        taken: set[int] = set()
        for verdict in own:
            same = [
                abs(each.index - verdict.index)
                for each in every
                if each.rises == verdict.rises and abs(each.index - verdict.index) <= NEAR
            ]
            present = bool(same)
            verdict.flips += present != verdict.present
            verdict.missing += not present
            verdict.present = present
            taken.update(
                each.index
                for each in every
                if each.rises == verdict.rises and abs(each.index - verdict.index) <= NEAR
            )
        own.extend(
            Verdict(index=each.index, rises=each.rises)
            for each in every
            if each.counts and size - each.index >= OLD and each.index not in taken
        )
    verdicts.extend(own)


def stability(verdicts: list[Verdict]) -> Stability:
    """Count what became of verdicts."""
    return Stability(
        verdicts=len(verdicts),
        ever=sum(verdict.missing > 0 for verdict in verdicts),
        at_end=sum(not verdict.present for verdict in verdicts),
        flips=[verdict.flips for verdict in verdicts],
    )


def print_stability(every: dict[str, Series], peers: dict[str, Finder]) -> None:
    """Print what became of the verdicts of all methods."""
    nights = sum(series.size for series in every.values())
    print(f"\nstability: {len(every)} series, {nights} nights, one by one")  # noqa: T201
    head = f"{'verdicts':>8}{'ever missing':>14}{'at end':>10}{'most flips':>12}"
    print(f"{'':{LONGEST_NAME}}{head}{'more than two':>18}")  # noqa: T201
    verdicts: list[Verdict] = []
    for series in every.values():
        follow(found_night_by_night(series), verdicts)
    print(stability(verdicts).line("hindmost robust"), flush=True)  # noqa: T201
    for name, find in peers.items():
        verdicts = []
        for series in every.values():
            prefixes = [series[:size] for size in range(FIRST, series.size + 1)]
            places, _ = find(prefixes)
            follow(
                [
                    (prefix.size, found_there(prefix, sorted(there)))
                    for prefix, there in zip(prefixes, places, strict=True)
                ],
                verdicts,
            )
        print(stability(verdicts).line(name), flush=True)  # noqa: T201


# Steps that are put in, and detections without a step


def stretches(
    every: dict[str, Series], cut: int, nights: int = STRETCH, tolerance: float = OF_MEDIANS
) -> list[tuple[str, Series]]:
    """Return the stretches in which the medians of blocks agree.

    Parameters
    ----------
    every : dict of str to Nights
    cut : int
        Nights that agree as well, and are then cut off either end.
    nights : int
        Of a stretch.
    tolerance : float
        Largest relative distance of the medians.
    """
    chosen = []
    for name, series in every.items():
        start = 0
        while start + nights + 2 * cut <= series.size:
            part = series[start : start + nights + 2 * cut]
            if is_stable(np.log(part), tolerance):
                chosen.append((f"{name} {start}", part[cut : cut + nights]))
                start += nights
            else:
                start += BLOCK
    return chosen


def with_step(name: str, values: Series, size: float) -> SimulatedNights:
    """Put a step up or down at a random place."""
    random = np.random.default_rng(zlib.crc32(f"{name} {size}".encode()))
    place = int(random.integers(MARGIN, values.size - MARGIN, endpoint=True))
    factor = 1.0 + size if random.random() < 0.5 else 1.0 / (1.0 + size)
    shifted = values.copy()
    shifted[place:] *= factor
    return SimulatedNights(
        kind=f"steps of {size:.0%}",
        values=shifted,
        changes=np.array([place]),
        effects=np.array([factor - 1.0]),
        outliers=np.zeros(values.size, np.bool_),
    )


def without_step(name: str, values: Series, kind: str) -> SimulatedNights:
    """Return a stretch as it is, permuted, or permuted in blocks."""
    random = np.random.default_rng(zlib.crc32(f"{name} {kind}".encode()))
    order = np.arange(values.size)
    if kind == "permuted":
        order = random.permutation(order)
    elif kind == "in blocks":
        cuts = [*range(0, values.size, BLOCK), values.size]
        blocks = [order[start:stop] for start, stop in pairwise(cuts)]
        order = np.concatenate([blocks[i] for i in random.permutation(len(blocks))])
    return SimulatedNights(
        kind=kind,
        values=values[order],
        changes=np.zeros(0, np.int64),
        effects=np.zeros(0),
        outliers=np.zeros(values.size, np.bool_),
    )


def print_steps(parts: list[tuple[str, Series]], methods: dict[str, Finder]) -> None:
    """Print recall and precision of steps, and detections where there is none."""
    print(f"\n{len(parts)} stretches of {STRETCH} nights")  # noqa: T201
    kinds = ("as they are", "permuted", "in blocks")
    sizes = "".join(f"{f'{size:.0%} recall':>12}{'precision':>10}" for size in STEPS)
    heads = "".join(f"{kind:>13}" for kind in kinds)
    print(f"{'':{LONGEST_NAME}}{sizes}{heads} (false in 1000)")  # noqa: T201
    for method, find in methods.items():
        cells = []
        for size in STEPS:
            total = scored(find, [with_step(name, part, size) for name, part in parts])
            cells.append(f"{total.recall:12.1%}{total.precision:10.1%}")
        for kind in kinds:
            total = scored(find, [without_step(name, part, kind) for name, part in parts])
            cells.append(f"{total.false_per_1000:13.2f}")
        print(f"{method:{LONGEST_NAME}}{''.join(cells)}", flush=True)  # noqa: T201


def scored(find: Finder, truth: list[SimulatedNights]) -> Score:
    """Pool the scores of a method over many series."""
    total = Score()
    places, _ = find([series.values for series in truth])
    for found, series in zip(places, truth, strict=True):
        total += score_changes(found, series.changes.tolist(), nights=series.values.size)
    return total


def robust(every: list[Series]) -> tuple[list[list[int]], float]:
    """Find changes by the robust method."""
    return [[change.index for change in detect(values).changes] for values in every], 0.0


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    own = sys.executable
    parser.add_argument("folder", nargs="?", default=os.environ.get(DATA))
    parser.add_argument("--half", choices=HALVES, default="state")
    parser.add_argument("--series", type=int, default=60, help="most series for stability")
    parser.add_argument("--stretches", type=int, default=600, help="most stretches")
    parser.add_argument("--with-ends", action="store_true", help="keep the ends of stretches")
    parser.add_argument("--otava", default=os.environ.get("HINDMOST_OTAVA_PYTHON", own))
    parser.add_argument("--ruptures", default=os.environ.get("HINDMOST_RUPTURES_PYTHON", own))
    chosen = parser.parse_args()
    if not chosen.folder:
        print(f"Skipped: name a folder of nightly results, or set {DATA}.")  # noqa: T201
        return 0
    peers = {
        name: elsewhere(python, program)
        for name, (python, program, option) in peer_programs(chosen.otava, chosen.ruptures).items()
        if is_there(name, python, program, option)
    }
    every = read_series(Path(chosen.folder), chosen.half, 60)
    print(f"half {chosen.half!r}: {len(every)} series of 60 nights or more")  # noqa: T201
    parts = stretches(every, 0 if chosen.with_ends else BLOCK // 2)
    parts.sort(key=lambda part: zlib.crc32(f"sample {part[0]}".encode()))
    parts = parts[: chosen.stretches]
    print_steps(parts, {"hindmost robust": robust, **peers})
    print_stability(some(every, chosen.series), peers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
