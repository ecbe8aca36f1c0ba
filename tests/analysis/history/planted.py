"""Nightly results with steps that were planted in them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.history import FailedRun, History, NightlySeries, SeriesName

FIRST = datetime(2026, 1, 1, 5, 30, tzinfo=UTC)
TOTAL, FILL, SOLVE, EXPORT = "Total", "Fill", "Solve", "Export"
PARENTS = {FILL: TOTAL, SOLVE: TOTAL, EXPORT: FILL}
NIGHTS = 40
STEP = 34
"""The night that is slower than all before it."""


def noise(seed: int, nights: int, level: float = 10.0) -> NDArray[np.float64]:
    logs = np.random.default_rng(seed).normal(0.0, 0.01, nights)
    return np.asarray(level * np.exp(logs), np.float64)


def stepped(
    seed: int, *, nights: int = NIGHTS, step: int = STEP, by: float = 0.2, level: float = 10.0
) -> NDArray[np.float64]:
    values = noise(seed, nights, level)
    values[step:] *= 1.0 + by
    return values


def day(night: int) -> str:
    return (FIRST + timedelta(days=night)).strftime("%Y-%m-%d")


def series(
    values: NDArray[np.float64],
    *,
    case: str = "ice",
    timer: str = TOTAL,
    machine: str = "blake",
    unit: str = "s",
    smaller_is_better: bool = True,
    first: int = 0,
    spread: NDArray[np.float64] | None = None,
    work: frozenset[str] = frozenset(),
) -> NightlySeries:
    nights = range(first, first + values.size)
    parts: list[Mapping[str, str]] = [
        {"Albany": f"a{night:03d}", "Trilinos": "t0"} for night in nights
    ]
    return NightlySeries(
        name=SeriesName(machine=machine, case=case, timer=timer),
        unit=unit,
        smaller_is_better=smaller_is_better,
        times=np.array([(FIRST + timedelta(days=night)).timestamp() for night in nights]),
        values=np.asarray(values, np.float64),
        commits=tuple(f"Albany {part['Albany']}, Trilinos {part['Trilinos']}" for part in parts),
        commit_parts=tuple(parts),
        spread=spread,
        work=work,
    )


def history(*members: NightlySeries, failures: tuple[FailedRun, ...] = ()) -> History:
    return History(
        source="planted",
        series=tuple(sorted(members, key=lambda each: each.name)),
        failures=failures,
        parents=PARENTS,
        warnings=(),
    )


def hierarchy(*, case: str = "ice", by: float = 0.5) -> list[NightlySeries]:
    """Return a total, two parts and a part of a part; the slow part is the solve."""
    fill = noise(1, NIGHTS, 4.0)
    solve = stepped(2, level=5.0, by=by)
    timers = {
        TOTAL: fill + solve + noise(3, NIGHTS, 1.0),
        FILL: fill,
        SOLVE: solve,
        EXPORT: 0.1 * fill * noise(4, NIGHTS, 1.0),
    }
    return [series(values, case=case, timer=timer) for timer, values in timers.items()]


def write_nights(
    folder: Path, cases: Mapping[str, Mapping[str, NDArray[np.float64]]], nights: range
) -> list[Path]:
    """Write nightly files, one a night, that hold some timers of some cases."""
    folder.mkdir(exist_ok=True)
    paths = []
    for night in nights:
        date = FIRST + timedelta(days=night)
        record = {
            case: {
                "case": case,
                "np": 4,
                "date": int(date.strftime("%Y%m%d")),
                "passed": True,
                "Albany git commit id": f"a{night:03d}",
                "Simulation start time": "05:30:00",
                "timers": {timer: float(values[night]) for timer, values in timers.items()},
            }
            for case, timers in cases.items()
        }
        path = folder / f"ctest-{date:%Y%m%d}.json"
        path.write_text(json.dumps(record))
        paths.append(path)
    return paths
