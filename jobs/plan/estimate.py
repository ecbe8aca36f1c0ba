"""Estimate how long runs take, from the run files of earlier runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.jobs.core.plan import PlannedRun, Value

QUANTILE = 0.95
"""Of the times of earlier runs."""
START_S = 15.0
"""Time of a run outside its solves: starting ranks, importing Python and PETSc, assembly."""
WARMUP = 1
"""Unrecorded solves, where neither file nor command gives their number."""
LENGTHS = ("iterations", "cycles")
"""Names of a sweep that run time is proportional to."""
_WORKLOAD = ("problem", "workload", "deck")
"""Names that sweeps may use for the workload of a run file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRun:
    """An earlier run.

    Attributes
    ----------
    known : dict of str to Value
        The known part of its configuration.
    options : tuple of str
        The words after ``--``.
    per_iteration_s : float
    """

    known: dict[str, Any]
    options: tuple[str, ...]
    per_iteration_s: float
    iterations: int


@dataclass(slots=True)
class RunTimeEstimate:
    """Times of earlier runs at `QUANTILE`; call it with a run.

    Attributes
    ----------
    earlier : list of EarlierRun
    unreadable : list of str
        Files that were skipped, and why.
    found : dict
        By configuration: the estimated time, and the number of earlier runs it is based on.
    """

    earlier: list[EarlierRun]
    unreadable: list[str] = field(default_factory=list)
    found: dict[tuple[Any, ...], tuple[float | None, int]] = field(default_factory=dict)
    asked: Counter[tuple[Any, ...]] = field(default_factory=Counter)

    JSON = "quantile earlier_runs runs_without=without runs_from_few=from_few left_out=unreadable"

    def quantile(self) -> float:
        """Return which quantile of the times of earlier runs a run is expected to take."""
        return QUANTILE

    def earlier_runs(self) -> int:
        """Return the number of runs that it rests on."""
        return len(self.earlier)

    def __call__(self, run: PlannedRun) -> float | None:
        """Return the seconds that a run will take at the quantile; None without a similar one."""
        key = (*sorted(run.configuration.items()), run.command)
        if key not in self.found:
            self.found[key] = self.look(run)
        self.asked[key] += 1
        return self.found[key][0]

    def look(self, run: PlannedRun) -> tuple[float | None, int]:
        """Find earlier runs of the same configuration."""
        times = [
            each.per_iteration_s * length_of(run, each) for each in self.earlier if alike(run, each)
        ]
        if not times:
            return None, 0
        repeats = number_after(run.command, "--repeats", 1)
        solves = repeats + number_after(run.command, "--warmup", WARMUP)
        return START_S + solves * upper(times), len(times)

    @property
    def without(self) -> int:
        """The number of runs without an earlier run."""
        return sum(n for key, n in self.asked.items() if self.found[key][0] is None)

    @property
    def from_few(self) -> int:
        """The number of runs with too few earlier ones for the quantile; the slowest is used."""
        enough = QUANTILE / (1 - QUANTILE)
        return sum(n for key, n in self.asked.items() if 0 < self.found[key][1] < enough)


def read_estimate(folder: Path) -> RunTimeEstimate:
    """Read the earlier run files in a folder and its subfolders.

    Raises
    ------
    UsageError
        The folder has no run files.
    """
    paths = sorted(folder.rglob("*.h5")) if folder.is_dir() else []
    if not paths:
        why = "the folder has" if folder.is_dir() else "not a folder, so there are"
        raise UsageError(f"--estimate {folder}: {why} no run files (*.h5).")
    found = RunTimeEstimate([])
    for path in paths:
        try:
            run = open_run(path)
            if run.header.complete and run.header.iterations > 0:
                found.earlier.append(earlier_run(run))
            else:
                found.unreadable.append(f"{path}: incomplete")
        except DataError as error:
            found.unreadable.append(str(error))
    return found


def earlier_run(run: Run) -> EarlierRun:
    """Return what an estimate needs of a run file."""
    header = run.header
    known = {
        **dict.fromkeys(_WORKLOAD, header.workload),
        "solver": header.solver,
        **({"restart": header.restart} if header.restart else {}),
        **{name: each for name, each in header.spec.items() if isinstance(each, Value)},
        "ranks": header.ranks,
    }
    return EarlierRun(
        known=known,
        options=tuple(str(word) for word in header.spec.get("petsc_options", ())),
        per_iteration_s=run.solve_time_s / header.iterations,
        iterations=header.iterations,
    )


def alike(run: PlannedRun, earlier: EarlierRun) -> bool:
    """Tell whether an earlier run had the same configuration, except for its length.

    Values that a run file lacks must be among the options, which must be the same.
    """
    options = options_of(run.command)
    if options != earlier.options:
        return False
    return all(
        earlier.known[name] == value if name in earlier.known else str(value) in options
        for name, value in run.configuration.items()
        if name not in LENGTHS
    )


def options_of(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return what follows ``--``."""
    return command[command.index("--") + 1 :] if "--" in command else ()


def length_of(run: PlannedRun, earlier: EarlierRun) -> int:
    """Return the number of iterations of a run: from the sweep, else as in the earlier run."""
    lengths: Mapping[str, Value] = run.configuration
    named = [int(lengths[name]) for name in LENGTHS if name in lengths]
    return named[0] if named else number_after(run.command, "--iterations", earlier.iterations)


def number_after(command: tuple[str, ...], word: str, default: int) -> int:
    """Return the number that follows a word of a command."""
    for before, after in pairwise(command):
        if before == word and after.isdecimal():
            return int(after)
    return default


def upper(times: list[float], quantile: float = QUANTILE) -> float:
    """Return the time that a further run stays below with a probability of at least the quantile.

    The order statistic of rank ceil(q (n + 1)), which holds for any law of exchangeable times;
    with fewer than q / (1 - q) times there is none, and the largest is returned.
    """
    rank = math.ceil(quantile * (len(times) + 1) - 1e-9)
    return sorted(times)[min(rank, len(times)) - 1]
