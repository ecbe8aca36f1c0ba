"""How often small steps in quiet stretches of real nightly results are found.

Run as ``python -m benchmarks.local_steps FOLDER --half choose`` (part of ``make
bench-history-nightly``), in some minutes, on the data of ``benchmarks.history_nightly``: steps of
4, 5, 6 and 8 standard errors of the local noise are put into stretches of 80 nights without a
visible change, whose ends are cut off.

The local noise is that of the 20 nights on either side: the median distance from the median of
their side. A standard error is that of the difference of two means of so many nights.

Printed are the share of the steps that are found within 2 nights, of all and of those of 2.8 % or
more (the smallest change that `detect` reports), and the detections in 1000 nights of the same
stretches without a step. ``--setting`` tries other settings of the robust method. KernelCPD is run
with larger penalties as well, with which it makes fewer false detections.
"""

from __future__ import annotations

import argparse
import os
import sys
import zlib
from pathlib import Path

import numpy as np
from benchmarks.changepoints import (
    RUPTURES,
    Finder,
    Series,
    elsewhere,
    here,
    is_there,
    peer_programs,
)
from benchmarks.history_nightly import BLOCK, DATA, MARGIN, STRETCH, robust_together, stretches
from benchmarks.nightly_series import HALVES, Nights, read_series

from hindmost.models.changepoint import least_change
from hindmost.models.synthetic.nightly import SimulatedNights

SIZES = (4, 5, 6, 8)
"""Standard errors of the local noise."""
LOCAL = 20
"""Nights on either side of a step whose noise is meant."""
FIRST = (0, 38)
"""Nights of a series at which the search for stretches begins."""
PLACES = 3
"""Steps of each size that are put into a stretch, one at a time."""
WITHIN = 2
PENALTIES = (7.0, 9.0)
"""Further penalties of KernelCPD."""
LONGEST_NAME = 28


def local_error(logs: Series, place: int) -> float:
    """Return the standard error of a step: of the difference of two means of local nights."""
    sides = [logs[max(place - LOCAL, 0) : place], logs[place : place + LOCAL]]
    rest = np.concatenate([side - np.median(side) for side in sides])
    # Two medians are fitted.
    sigma = 1.4826 * float(np.median(np.abs(rest))) * np.sqrt(rest.size / (rest.size - 2))
    return float(sigma * np.sqrt(sum(1.0 / side.size for side in sides)))


def with_local_step(name: str, values: Series, size: int, number: int) -> SimulatedNights:
    """Put a step of some local standard errors at a random place."""
    random = np.random.default_rng(zlib.crc32(f"{name} {size} {number}".encode()))
    place = int(random.integers(MARGIN, values.size - MARGIN, endpoint=True))
    logs = np.log(values)
    step = size * local_error(logs, place) * (1.0 if random.random() < 0.5 else -1.0)
    logs[place:] += step
    return SimulatedNights(
        kind=f"steps of {size} standard errors",
        values=np.exp(logs),
        changes=np.array([place]),
        effects=np.array([step]),  # of the logarithm
        outliers=np.zeros(values.size, np.bool_),
    )


def shares(find: Finder, every: list[SimulatedNights], least: float) -> tuple[float, float, int]:
    """Return the share of steps found, that of steps of a least size, and the number of these."""
    places, _ = find([series.values for series in every])
    hit = np.array(
        [
            any(abs(place - series.changes[0]) <= WITHIN for place in found)
            for found, series in zip(places, every, strict=True)
        ]
    )
    large = np.array([abs(series.effects[0]) >= least for series in every])
    return float(hit.mean()), float(hit[large].mean()), int(large.sum())


def chosen_stretches(every: dict[str, Nights]) -> list[tuple[str, Nights]]:
    """Return the stretches of all series, from each of the `FIRST` nights on."""
    return [
        (f"{name} from {first}", part)
        for first in FIRST
        for name, part in stretches(
            {name: each.part(first, each.values.size) for name, each in every.items()}, BLOCK // 2
        )
    ]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", nargs="?", default=os.environ.get(DATA))
    parser.add_argument("--half", choices=HALVES, default="state")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--otava", default=os.environ.get("HINDMOST_OTAVA_PYTHON", sys.executable))
    parser.add_argument(
        "--ruptures", default=os.environ.get("HINDMOST_RUPTURES_PYTHON", sys.executable)
    )
    chosen = parser.parse_args()
    if not chosen.folder:
        print(f"Skipped: name a folder of nightly results, or set {DATA}.")  # noqa: T201
        return 0
    settings = dict(each.split("=", 1) for each in chosen.setting)
    every, _ = read_series(Path(chosen.folder), chosen.half, 60)
    parts = chosen_stretches(every)
    repeated = [part for part in parts for _ in range(PLACES)]
    methods: dict[str, tuple[Finder, Finder]] = {
        "hindmost robust": (
            robust_together(repeated, **settings),
            robust_together(parts, **settings),
        ),
        "hindmost, series alone": (here(**settings), here(**settings)),
    }
    for name, (python, program, option) in peer_programs(chosen.otava, chosen.ruptures).items():
        if is_there(name, python, program, option):
            methods[name] = (elsewhere(python, program), elsewhere(python, program))
            for penalty in PENALTIES if program == RUPTURES else ():
                other = elsewhere(python, program.replace("pen=5.0", f"pen={penalty}"))
                methods[f"KernelCPD, penalty {penalty:g}"] = (other, other)
    least = float(np.log1p(least_change("robust")))
    steps = [
        [
            with_local_step(name, part.values, size, number)
            for name, part in parts
            for number in range(PLACES)
        ]
        for size in SIZES
    ]
    print(f"half {chosen.half!r}: {len(parts)} stretches of {STRETCH} nights {settings or ''}")  # noqa: T201
    heads = "".join(f"{f't = {size}':>8}{'large':>8}{'of':>5}" for size in SIZES)
    print(f"{'':{LONGEST_NAME}}{heads}{'false in 1000':>15}")  # noqa: T201
    for method, (find, find_as_they_are) in methods.items():
        cells = []
        for simulated in steps:
            found, large, count = shares(find, simulated, least)
            cells.append(f"{found:8.0%}{large:8.0%}{count:5}")
        places, _ = find_as_they_are([part.values for _, part in parts])
        false = 1000.0 * sum(map(len, places)) / (STRETCH * len(parts))
        print(f"{method:{LONGEST_NAME}}{''.join(cells)}{false:15.2f}", flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
