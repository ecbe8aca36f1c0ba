"""How long runs will take, from run files of earlier ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.jobs.plan.plan import PlannedRun, Value

START_S = 15.0
"""What a run takes beside its solves: starting ranks, reading Python and PETSc, assembling."""
WARMUP = 1
"""Solves that are not recorded, where neither file nor command say how many."""
LENGTHS = ("iterations", "cycles")
"""Names of a sweep that time is in proportion to."""
_WORKLOAD = ("problem", "workload", "deck")
"""What sweeps may call what a run file has as its workload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """An earlier run.

    Attributes
    ----------
    known : dict of str to Value
        What is known of its configuration.
    options : tuple of str
        What followed ``--``.
    per_iteration_s : float
    """

    known: dict[str, Any]
    options: tuple[str, ...]
    per_iteration_s: float
    iterations: int


@dataclass(slots=True)
class Estimate:
    """Times of earlier runs, at a quantile; call it with a run.

    Attributes
    ----------
    quantile : float
        In (0, 1).
    earlier : list of Earlier
    unreadable : list of str
        Files that were left out, and why.
    found : dict
        By configuration that was asked for: its time and how many earlier runs it is from.
    """

    quantile: float
    earlier: list[Earlier]
    unreadable: list[str] = field(default_factory=list)
    found: dict[tuple[Any, ...], tuple[float | None, int]] = field(default_factory=dict)
    asked: Counter[tuple[Any, ...]] = field(default_factory=Counter)

    def __call__(self, run: PlannedRun) -> float | None:
        """Return the seconds that a run will take at the quantile; None if none was like it."""
        key = (*sorted(run.configuration.items()), run.command)
        if key not in self.found:
            self.found[key] = self.look(run)
        self.asked[key] += 1
        return self.found[key][0]

    def look(self, run: PlannedRun) -> tuple[float | None, int]:
        """Look for earlier runs of the same configuration."""
        times = [
            each.per_iteration_s * length_of(run, each) for each in self.earlier if alike(run, each)
        ]
        if not times:
            return None, 0
        repeats = number_after(run.command, "--repeats", 1)
        solves = repeats + number_after(run.command, "--warmup", WARMUP)
        return START_S + solves * upper(times, self.quantile), len(times)

    @property
    def without(self) -> int:
        """The number of runs that had no earlier one."""
        return sum(n for key, n in self.asked.items() if self.found[key][0] is None)

    @property
    def from_few(self) -> int:
        """The number of runs with so few earlier ones that the slowest stands for the quantile."""
        enough = self.quantile / (1 - self.quantile)
        return sum(n for key, n in self.asked.items() if 0 < self.found[key][1] < enough)


def read_estimate(folder: Path, quantile: float) -> Estimate:
    """Read earlier run files of a folder and of those in it.

    Raises
    ------
    UsageError
        The folder holds none, or the quantile is none.
    """
    if not 0 < quantile < 1:
        raise UsageError(f"--quantile {quantile:g}: it lies between 0 and 1, as 0.95.")
    paths = sorted(folder.rglob("*.h5")) if folder.is_dir() else []
    if not paths:
        raise UsageError(f"--estimate {folder}: no run files (*.h5) there.")
    earlier, unreadable = [], []
    for path in paths:
        try:
            run = open_run(path)
            if run.header.complete and run.header.iterations > 0:
                earlier.append(earlier_run(run))
            else:
                unreadable.append(f"{path}: incomplete")
        except DataError as error:
            unreadable.append(str(error))
    return Estimate(quantile, earlier, unreadable)


def earlier_run(run: Run) -> Earlier:
    """Return what counts of a run file."""
    header = run.header
    known = {
        **dict.fromkeys(_WORKLOAD, header.workload),
        "solver": header.solver,
        **({"restart": header.restart} if header.restart else {}),
        **{name: value for name, value in header.spec.items() if is_value(value)},
        "ranks": header.ranks,
    }
    return Earlier(
        known=known,
        options=tuple(str(word) for word in header.spec.get("petsc_options", ())),
        per_iteration_s=run.solve_time_s / header.iterations,
        iterations=header.iterations,
    )


def is_value(value: Any) -> bool:
    """Tell whether a sweep could set a value."""
    return isinstance(value, str | int | float | bool)


def alike(run: PlannedRun, earlier: Earlier) -> bool:
    """Tell whether an earlier run was of the same configuration, but for its length.

    What a run file does not know has to be among the options, which have to be the same.
    """
    options = options_of(run.command)
    if options != earlier.options:
        return False
    return all(
        earlier.known[name] == value if name in earlier.known else among(value, options)
        for name, value in run.configuration.items()
        if name not in LENGTHS
    )


def among(value: Value, words: Iterable[str]) -> bool:
    """Tell whether a value is one of the words."""
    return str(value) in words


def options_of(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return what follows ``--``."""
    return command[command.index("--") + 1 :] if "--" in command else ()


def length_of(run: PlannedRun, earlier: Earlier) -> int:
    """Return the iterations that a run will do: as the sweep says, else as the earlier one."""
    lengths: Mapping[str, Value] = run.configuration
    named = [int(lengths[name]) for name in LENGTHS if name in lengths]
    return named[0] if named else number_after(run.command, "--iterations", earlier.iterations)


def number_after(command: tuple[str, ...], word: str, default: int) -> int:
    """Return the number that follows a word of a command."""
    for before, after in pairwise(command):
        if before == word and after.isdecimal():
            return int(after)
    return default


def upper(times: list[float], quantile: float) -> float:
    """Return the time that a further run stays below with a probability of at least the quantile.

    The order statistic of rank ceil(q (n + 1)), which holds for any law of exchangeable times;
    with fewer than q / (1 - q) times there is none, and the largest is returned.
    """
    rank = math.ceil(quantile * (len(times) + 1) - 1e-9)
    return sorted(times)[min(rank, len(times)) - 1]
