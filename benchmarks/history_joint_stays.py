"""Whether joint changes stay found as nights come in: as they are found, and as they are held.

Run as ``python -m benchmarks.history_joint_stays FOLDER --half choose``, in some minutes, on the
data of ``benchmarks.history_nightly``. Each timer is read every `REVIEW` days, by the functions of
``hindmost history``. Printed are, of the joint changes of a timer that are held once, those that
are missing on a later reading and at the end, and how often they flip: as they are found, and as
they are told, which is found or held.

A held false one stays too. So the same is counted in the noise of ``benchmarks.history_joint``: all
that are ever held, and those at the end. With a step of 3 % in 40 or 100 % of the series, counted
are the panels in which it is held within `NIGHTS_AFTER` nights, and those that withdraw it again.
"""

from __future__ import annotations

import argparse
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from benchmarks.history_joint import MISSING, NIGHTS, NOISES, SERIES, SHARES, draw
from benchmarks.history_nightly import DATA
from benchmarks.nightly_series import HALVES
from numpy.typing import NDArray

from hindmost.analysis.history.joint_reviews import day_numbers, read_again
from hindmost.analysis.history.shared_nights import night_odds
from hindmost.analysis.readers.history import NightlySeries
from hindmost.analysis.readers.read import read_history
from hindmost.models.changepoint import detect
from hindmost.models.changepoint.joint import find_joint_changes, leftover
from hindmost.models.changepoint.joint_held import (
    HELD_AFTER,
    REVIEW,
    SAME,
    HeldJointChange,
    PanelSeries,
    ReviewedPanel,
)

LAST = 320
"""The last days of the real series that are read."""
FIRST = 50
"""Nights of the first reading of noise."""
STEP, NIGHTS_AFTER = 0.03, 60
"""A step of the logarithm that is put into noise, and the nights that are read after it."""


@dataclass(slots=True, kw_only=True)
class Followed:
    """A joint change that was held once.

    Attributes
    ----------
    change : HeldJointChange
    found, told : list of bool
        On the readings since then: whether it is found, and whether it is found or held.
    """

    change: HeldJointChange
    found: list[bool] = field(default_factory=lambda: [True])
    told: list[bool] = field(default_factory=lambda: [True])

    def is_same(self, other: HeldJointChange) -> bool:
        """Tell whether a joint change that is held is this one."""
        alike = (other.shift > 0.0) == (self.change.shift > 0.0)
        return alike and abs(other.night - self.change.night) <= SAME


def follow(readings: Sequence[tuple[int, Sequence[PanelSeries]]]) -> list[Followed]:
    """Return what becomes of the joint changes of a panel that are held.

    Parameters
    ----------
    readings : sequence of (int, sequence of PanelSeries)
        Nights, and the panel up to each.
    """
    every: list[Followed] = []
    reviewed = ReviewedPanel()
    for night, panel in readings:
        found = find_joint_changes([each.rest for each in panel])
        reviewed = reviewed.review(panel, found, night)
        for own in every:
            now = any(own.change.is_same(each) for each in found)
            own.found.append(now)
            own.told.append(now or any(own.is_same(each) for each in reviewed.held))
        every += [
            Followed(change=each)
            for each in reviewed.held
            if not any(own.is_same(each) for own in every)
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


def real_readings(family: Sequence[NightlySeries]) -> list[tuple[int, list[PanelSeries]]]:
    """Return one timer of all cases as it was read every `REVIEW` days."""
    newest = max(int(day_numbers(series)[-1]) for series in family)
    days = [day for day in range(newest - LAST, newest + 1) if day % REVIEW == 0]
    odds = night_odds(family)
    readings: list[tuple[int, list[PanelSeries]]] = [(day, []) for day in days]
    for series in family:
        read = read_again(series, days, "robust", {}, None, odds.get(series.name))
        for (_, panel), part in zip(readings, read, strict=True):
            if part is not None:
                panel.append(part)
    return readings


def readings_of(
    random: np.random.Generator, logs: NDArray[np.float64], stops: range
) -> list[tuple[int, list[PanelSeries]]]:
    """Return a panel as it was read before some nights; logs have shape (series, night)."""
    there = random.random((SERIES, NIGHTS)) >= MISSING
    readings: list[tuple[int, list[PanelSeries]]] = [(stop - 1, []) for stop in stops]
    for number, (values, measured) in enumerate(zip(logs, there, strict=True)):
        for (_, rows), stop in zip(readings, stops, strict=True):
            nights = np.flatnonzero(measured[:stop])
            rest = leftover(values[nights], nights, detect(np.exp(values[nights])))
            rows.append(
                PanelSeries(name=str(number), nights=nights, logs=values[nights], rest=rest)
            )
    return readings


def noise_readings(seed: int, kind: int, panel: int) -> list[tuple[int, list[PanelSeries]]]:
    """Return a panel of noise as it was read every `REVIEW` nights."""
    random = np.random.default_rng([seed, kind, panel])
    logs, _, _ = draw(random, *NOISES[kind], 0.0, 0.0)
    return readings_of(random, logs, range(FIRST, NIGHTS + 1, REVIEW))


def is_held_and_stays(seed: int, kind: int, panel: int) -> tuple[bool, bool]:
    """Tell whether the step of a panel is held, and whether it then is not withdrawn."""
    random = np.random.default_rng([seed, 100 + kind, panel])
    logs, place, _ = draw(random, *NOISES[kind], SHARES[panel % 2], STEP)
    last = min(place + NIGHTS_AFTER, NIGHTS)
    reviewed = ReviewedPanel()
    held, stays = False, True
    for night, rows in readings_of(random, logs, range(place + HELD_AFTER, last + 1, REVIEW)):
        reviewed = reviewed.review(rows, find_joint_changes([row.rest for row in rows]), night)
        held = held or any(is_step(each, place) for each in reviewed.held)
        stays = stays and not any(is_step(each.change, place) for each in reviewed.withdrawn)
    return held, stays


def is_step(held: HeldJointChange, place: int) -> bool:
    """Tell whether a joint change is the rise at a night."""
    return held.shift > 0.0 and abs(held.night - place) <= SAME


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", default=os.environ.get(DATA))
    parser.add_argument("--half", choices=HALVES, default="state")
    parser.add_argument("--seed", type=int, default=9000)
    parser.add_argument("--panels", type=int, default=30, help="of noise, of each kind")
    parser.add_argument("--stepped", type=int, default=20, help="panels with a step, of each kind")
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
        print(line("held", [each.told for each in every]), flush=True)  # noqa: T201
    print("\ncommon  AR(1)  nights of noise   ever held  held at the end")  # noqa: T201
    for kind, (common, rho) in enumerate(NOISES):
        every = [
            each
            for panel in range(chosen.panels)
            for each in follow(noise_readings(chosen.seed, kind, panel))
        ]
        held = sum(each.told[-1] for each in every)
        nights = chosen.panels * NIGHTS
        print(f"{common:6.2f}{rho:7.2f}{nights:17}{len(every):12}{held:17}", flush=True)  # noqa: T201
    print("\ncommon  AR(1)  steps  held  withdrawn")  # noqa: T201
    for kind, (common, rho) in enumerate(NOISES):
        steps = [is_held_and_stays(chosen.seed, kind, panel) for panel in range(chosen.stepped)]
        held = sum(each for each, _ in steps)
        gone = sum(each and not stays for each, stays in steps)
        print(f"{common:6.2f}{rho:7.2f}{len(steps):7}{held:6}{gone:11}", flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
