"""Two sets of runs side by side: in what they differ, which cases both have, and why times differ.

What all runs of a side have in common, and those of the other side have otherwise, is what is
compared: a solver, an option. Cases are told apart by the rest: by ranks and sizes, not by what
follows these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.analysis.runs.configuration import LOOP, apart, configuration, grouped, part_words
from hindmost.analysis.runs.over_ranks import identifying, size_of
from hindmost.harness.runfile.reader import Run
from hindmost.models.inference import repeats_words
from hindmost.text import as_long_as, counted, seconds

OF_A_CASE = ("ranks", "unknowns")
"""Results of a configuration that name a case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Runs of both sides that differ in what is compared only.

    Attributes
    ----------
    name : str
        In what it differs from other cases, and what the runs are of.
    first, second : tuple of Run
    """

    name: str
    first: tuple[Run, ...]
    second: tuple[Run, ...]

    JSON = "name runs time_ratio iterations_ratio iteration_ratio text=explain"

    @property
    def runs(self) -> tuple[int, int]:
        """Numbers of repeats."""
        return len(self.first), len(self.second)

    @property
    def times_s(self) -> tuple[float, float]:
        """Median times of the whole solve or loop, in seconds."""
        first, second = (
            float(np.median([run.solve_time_s for run in side]))
            for side in (self.first, self.second)
        )
        return first, second

    @property
    def iterations(self) -> tuple[float, float]:
        """Median numbers of iterations."""
        first, second = (
            float(np.median([run.header.iterations for run in side]))
            for side in (self.first, self.second)
        )
        return first, second

    @property
    def time_ratio(self) -> float:
        """The time of the second over that of the first."""
        return self.times_s[1] / self.times_s[0]

    @property
    def iterations_ratio(self) -> float:
        """The iterations of the second over those of the first."""
        return self.iterations[1] / self.iterations[0]

    @property
    def iteration_ratio(self) -> float:
        """The time of an iteration of the second over that of the first."""
        return self.time_ratio / self.iterations_ratio

    def explain(self) -> str:
        """Say how the times compare: the ratio of iterations times that of an iteration."""
        how = as_long_as(self.time_ratio, "A")
        return (
            f"{self.name}: B takes {how}, "
            f"{seconds(self.times_s[1])} and {seconds(self.times_s[0])}: {self.factors()}."
            + (f" Undecided: {self.undecided}." if self.undecided else "")
        )

    def factors(self) -> str:
        """Write the ratio of times as that of iterations times that of an iteration."""
        before, after = self.iterations
        count = (
            f"as many iterations ({after:,.0f})"
            if before == after
            else f"{self.iterations_ratio:.3g} times the iterations ({after:,.0f}, not "
            f"{before:,.0f})"
        )
        ratio = f"{self.iteration_ratio:.3g} times"
        return f"{count}, {'about' if ratio == '1 times' else ratio} the time of each"

    @property
    def undecided(self) -> str:
        """Why the order of the times is not decided; empty if it is."""
        first, second = ([run.solve_time_s for run in side] for side in (self.first, self.second))
        return repeats_words(first, second)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Two sets of runs.

    Attributes
    ----------
    differ : (str, str)
        In what all runs of a side differ from all of the other, in words; empty if in nothing.
    cases : tuple of Case
        Those that both have, in the order of ranks.
    names : tuple of (Run, str)
        The case of every run.
    """

    differ: tuple[str, str]
    cases: tuple[Case, ...]
    names: tuple[tuple[Run, str], ...]


def sides_of(first: Sequence[Run], second: Sequence[Run]) -> Sides:
    """Put two sets of runs side by side."""
    sides = [list(first), list(second)]
    parts = [named_parts(side) for side in sides]
    following = {
        name
        for side, known in zip(sides, parts, strict=True)
        for run, part in zip(side, known, strict=True)
        for name in configuration(run)
        if name not in part
    }
    for part in (each for side in parts for each in side):
        for name in following:
            part.pop(name, None)
    names = apart([each for side in parts for each in side])
    compared = [name for name in names if is_compared(name, parts)]
    runs = [*first, *second]
    kinds = [
        {name: value for name, value in each.items() if name not in compared}
        for side in parts
        for each in side
    ]
    told_apart = apart(kinds)
    by_case = grouped(range(len(runs)), lambda place: tuple(sorted(kinds[place].items())))
    cases, named = [], []
    for places in by_case.values():
        name = case_name(runs[places[0]], kinds[places[0]], told_apart, compared)
        named += [(runs[place], name) for place in places]
        here = [runs[place] for place in places if place < len(first)]
        there = [runs[place] for place in places if place >= len(first)]
        if here and there:
            cases.append(
                Case(
                    name=name,
                    first=tuple(here),
                    second=tuple(there),
                )
            )
    cases.sort(key=lambda case: case.first[0].header.ranks)
    return Sides(
        differ=(words_of(parts[0], compared), words_of(parts[1], compared)),
        cases=tuple(cases),
        names=tuple(named),
    )


def named_parts(runs: Sequence[Run]) -> list[dict[str, str]]:
    """Return the parts of each run of a side that identify it there, with its ranks and size."""
    points = [(float(run.header.ranks), size_of(run) or 0.0) for run in runs]
    parts = identifying(runs, points)
    for run, part in zip(runs, parts, strict=True):
        known = configuration(run)
        part |= {name: known[name] for name in OF_A_CASE}
    return parts


def is_compared(name: str, parts: Sequence[Sequence[dict[str, str]]]) -> bool:
    """Tell whether a part has one value on either side."""
    return name not in OF_A_CASE and all(
        len({part.get(name) for part in side}) == 1 for side in parts
    )


def words_of(parts: Sequence[dict[str, str]], compared: Sequence[str]) -> str:
    """Write what is compared of a side, in full."""
    return ", ".join(
        part_words(name, parts[0].get(name)) for name in compared if f"-{name}" not in compared
    )


def case_name(
    run: Run, kind: dict[str, str], told_apart: Sequence[str], compared: Sequence[str]
) -> str:
    """Name a case by its ranks and what tells it from others."""
    header = run.header
    solver = "" if "solver" in compared or header.solver == LOOP else header.solver
    workload = "" if "workload" in compared else header.workload
    base = " on ".join(filter(None, (solver, workload)))
    others = [
        f"{int(kind[name]):,} unknowns" if name == "unknowns" else part_words(name, kind.get(name))
        for name in told_apart
        if name not in ("ranks", "workload", "solver")
    ]
    return ", ".join(filter(None, (base, counted(header.ranks, "rank"), *others)))
