"""Whether joint changes stay found as nights come in, and whether they would if they were held.

Run as ``python -m benchmarks.history_joint_stays FOLDER --half choose``, in some minutes, on the
data of ``benchmarks.history_nightly``. Every ten nights, each timer is judged with the nights so
far. Printed are, of the joint changes of a timer that are ten nights old, those that are missing
on a later night and at the end, and how often they flip: as they are found, and if they were held.

Held means: a joint change that was found stays until the shift of the series that showed it then
is less than half of what it was. The shift is the median over these series of the difference of
the medians of 30 nights before and after, fewer where the series has another change of its own.

A held false one stays too. So the same is counted in the noise of ``benchmarks.history_joint``,
judged every ten nights: all that were ever found.
"""

from __future__ import annotations

import argparse
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from benchmarks.history_joint import MISSING, NIGHTS, NOISES, SERIES, draw
from benchmarks.history_nightly import DATA, NEAR, OLD
from benchmarks.nightly_series import HALVES
from numpy.typing import NDArray

from hindmost.analysis.history.dates import SECONDS_A_DAY
from hindmost.analysis.history.detecting import detect_in
from hindmost.analysis.history.shared_nights import night_odds
from hindmost.analysis.readers.history import NightlySeries
from hindmost.analysis.readers.read import read_history
from hindmost.models.changepoint import detect
from hindmost.models.changepoint.detection import RECOVERED
from hindmost.models.changepoint.joint import (
    APART,
    FEWEST_BESIDE,
    SPAN,
    JointChange,
    Leftover,
    find_joint_changes,
    leftover,
)

EVERY, LAST = 10, 320
"""Nights between two readings of the real series, and how many of the last ones are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A series up to a night.

    Attributes
    ----------
    nights : int64 array, shape (observation,)
    logs : float64 array, shape (observation,)
    rest : Leftover
    """

    nights: NDArray[np.int64]
    logs: NDArray[np.float64]
    rest: Leftover


@dataclass(slots=True, kw_only=True)
class Followed:
    """A joint change that is followed.

    Attributes
    ----------
    night : int
    effect : float
        Median shift of the members when it was first found.
    members : tuple of int
        Series.
    found, held : list of bool
        On the readings since then: whether it is found, and whether it would be held.
    """

    night: int
    effect: float
    members: tuple[int, ...]
    found: list[bool] = field(default_factory=lambda: [True])
    held: list[bool] = field(default_factory=lambda: [True])

    def is_same(self, change: JointChange) -> bool:
        """Tell whether a joint change of a later reading is this one."""
        return change.rises == (self.effect > 0.0) and abs(change.night - self.night) <= NEAR


def shift_of_members(
    followed: Followed, rows: Mapping[int, Row], others: Sequence[int]
) -> float | None:
    """Return the median shift of the members; None where none has nights on both sides."""
    night, shifts = followed.night, []
    for member in followed.members:
        if member not in rows:
            continue
        row = rows[member]
        own = [int(each) for each in row.rest.changes if abs(each - night) >= APART]
        first = max((each for each in (*others, *own) if each < night), default=0)
        last = min((each for each in (*others, *own) if each > night), default=row.nights[-1] + 1)
        before = row.logs[(row.nights >= first) & (row.nights < night)][-SPAN:]
        after = row.logs[(row.nights >= night) & (row.nights < last)][:SPAN]
        if min(before.size, after.size) >= FEWEST_BESIDE:
            shifts.append(float(np.median(after) - np.median(before)))
    return float(np.median(shifts)) if shifts else None


def follow(readings: Sequence[Mapping[int, Row]]) -> list[Followed]:
    """Return what becomes of the joint changes of a panel that are `OLD` nights old."""
    every: list[Followed] = []
    for rows in readings:
        numbers = list(rows)
        changes = find_joint_changes([row.rest for row in rows.values()])
        new = [each for each in changes if not any(own.is_same(each) for own in every)]
        for own in every:
            found = any(own.is_same(each) for each in changes)
            held = found
            if own.held[-1] and not found:
                others = [each.night for each in every if each is not own and each.held[-1]]
                shift = shift_of_members(own, rows, others)
                held = shift is not None and shift / own.effect >= RECOVERED
            own.found.append(found)
            own.held.append(held)
        nights = [row.nights for row in rows.values()]
        calendar = np.unique(np.concatenate(nights)) if nights else np.zeros(0, np.int64)
        every += [
            Followed(
                night=each.night,
                effect=float(np.median(each.shifts)),
                members=tuple(numbers[member] for member in each.members),
            )
            for each in new
            if np.count_nonzero(calendar > each.night) >= OLD
        ]
    return every


def line(name: str, every: Sequence[Sequence[bool]]) -> str:
    """Return a row of the table."""
    ever = sum(not all(each) for each in every)
    flips = [int(np.count_nonzero(np.diff(each))) for each in every]
    return (
        f"{name:12}{len(every):8}{ever:14}{sum(not each[-1] for each in every):8}"
        f"{max(flips, default=0):12}{sum(each > 2 for each in flips):15}"
    )


def real_readings(family: Sequence[NightlySeries]) -> list[dict[int, Row]]:
    """Return one timer of all cases as it was read every `EVERY` nights."""
    days = [np.floor(each.times / SECONDS_A_DAY).astype(np.int64) for each in family]
    calendar = np.unique(np.concatenate(days))
    odds = night_odds(family)
    stops = calendar[max(calendar.size - LAST - 1, 0) :: EVERY]
    readings: list[dict[int, Row]] = [{} for _ in stops]
    for number, (series, own) in enumerate(zip(family, days, strict=True)):
        # One series after the other, so that its earlier reviews are remembered.
        for rows, stop in zip(readings, np.searchsorted(own, stops, side="right"), strict=True):
            if stop:
                found = detect_in(series, "robust", {}, None, int(stop), odds.get(series.name))
                if not found.too_short:
                    logs = np.log(series.values[:stop])
                    rest = leftover(logs, own[:stop], found)
                    rows[number] = Row(nights=own[:stop], logs=logs, rest=rest)
    return readings


def noise_readings(seed: int, kind: int, panel: int) -> list[dict[int, Row]]:
    """Return a panel of noise as it was read every `EVERY` nights."""
    random = np.random.default_rng([seed, kind, panel])
    logs, _, _ = draw(random, *NOISES[kind], 0.0, 0.0)
    there = random.random((SERIES, NIGHTS)) >= MISSING
    readings: list[dict[int, Row]] = [{} for _ in range(5 * EVERY, NIGHTS + 1, EVERY)]
    for number, (values, measured) in enumerate(zip(logs, there, strict=True)):
        for rows, stop in zip(readings, range(5 * EVERY, NIGHTS + 1, EVERY), strict=True):
            nights = np.flatnonzero(measured[:stop])
            found = detect(np.exp(values[nights]))
            rest = leftover(values[nights], nights, found)
            rows[number] = Row(nights=nights, logs=values[nights], rest=rest)
    return readings


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", default=os.environ.get(DATA))
    parser.add_argument("--half", choices=HALVES, default="state")
    parser.add_argument("--seed", type=int, default=9000)
    parser.add_argument("--panels", type=int, default=30, help="of noise, of each kind")
    chosen = parser.parse_args()
    if chosen.folder:
        families: dict[tuple[str, str], list[NightlySeries]] = {}
        for series in read_history(Path(chosen.folder)).series:
            name = series.name
            if chosen.half == "both" or zlib.crc32(name.case.encode()) % 2 == HALVES.index(
                chosen.half
            ):
                families.setdefault((name.machine, name.timer), []).append(series)
        every = [each for family in families.values() for each in follow(real_readings(family))]
        head = f"{'changes':>8}{'ever missing':>14}{'at end':>8}{'most flips':>12}"
        print(f"{'':12}{head}{'more than two':>15}")  # noqa: T201
        print(line("found", [each.found for each in every]))  # noqa: T201
        print(line("held", [each.held for each in every]), flush=True)  # noqa: T201
    print("\ncommon  AR(1)  nights of noise  ever found  held at the end")  # noqa: T201
    for kind, (common, rho) in enumerate(NOISES):
        every = [
            each
            for panel in range(chosen.panels)
            for each in follow(noise_readings(chosen.seed, kind, panel))
        ]
        held = sum(each.held[-1] for each in every)
        nights = chosen.panels * NIGHTS
        print(f"{common:6.2f}{rho:7.2f}{nights:17}{len(every):12}{held:17}", flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
