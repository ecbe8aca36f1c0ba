"""Runs of one program on several numbers of ranks: what identifies it, and what follows the ranks.

A run on one rank has another matrix type than one on four, other preconditioners on its blocks, no
messages, another process grid and, in weak scaling, a smaller problem. None of that makes it
another program. A part of a configuration tells programs apart if it always does (`IDENTIFIES`), or
if it has several values at one number of ranks. What has one value at each follows the ranks if it
came out of the run, or if its values differ in numbers only; a word that was given identifies.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hindmost.analysis.runs.configuration import (
    GROWS,
    LOOP,
    OWN_SOLVER,
    STRUCTURE,
    apart,
    configuration,
    grouped,
    is_own_loop,
    part_words,
)
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.harness.runfile.reader import Run
from hindmost.text import counted, first_of

T = TypeVar("T")
Point = tuple[float, ...]
IDENTIFIES = ("workload", "solver", "restart", OWN_SOLVER, LOOP, INJECTED, "MPI", "PETSc", "origin")
"""Parts that tell programs apart, even if each has one value at every number of ranks."""
FOUND = ("mat_type", "pc_type", "mpi_seen", *STRUCTURE)
"""Parts that a program chose, or that were seen of it, so that also words may follow the ranks."""
RESULTS = (*GROWS, "nonzeros", "solves", "ranks_of_program")
"""Parts that come out of a run: they tell no programs apart."""
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
ALIKE = 0.1
"""Share by which sizes of one problem per rank differ: meshes have whole numbers of cells."""
DIMENSIONS = (1, 2, 3)
"""Powers of an argument to which the size of a problem may be proportional."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSeries:
    """Runs of one program over numbers of ranks.

    Attributes
    ----------
    kind : str
        ``strong``, ``weak``, ``by size`` (of adaptive runs, relative to the cells of their cycles),
        ``other`` if the problem grows in another way, or ``none`` on one number of ranks.
    runs : tuple of Run
        In the order of ranks.
    assumed : tuple of str
        What was assumed, in sentences.
    """

    kind: str
    runs: tuple[Run, ...]
    assumed: tuple[str, ...] = ()


def series_over_ranks(runs: Iterable[Run]) -> list[RankSeries]:
    """Divide runs into series of one program: strong scaling, weak scaling, and others.

    Runs with the same size are strong scaling. Others with the same size per rank are weak scaling,
    together with a run that they share with a series of strong scaling. The size is the number of
    unknowns; of programs that do not say it, it is inferred from their arguments.
    """
    return [series for alike in programs_among(list(runs)) for series in by_size(alike)]


def programs_among(runs: Sequence[Run]) -> list[list[Run]]:
    """Put runs of a program together that differ in their ranks, their size and what follows."""
    programs: list[list[Run]] = []
    for alike in grouped(runs, identity_of).values():
        points = [(float(run.header.ranks), size_of(run) or 0.0) for run in alike]
        known: dict[Hashable, list[Run]] = {}
        for run, parts in zip(alike, identifying(alike, points), strict=True):
            if size_of(run) is None and not counts_cells(run):  # the numbers may be its size
                parts = {name: template(text) for name, text in parts.items()}
            known.setdefault(tuple(sorted(parts.items())), []).append(run)
        programs += known.values()
    return programs


def identity_of(run: Run) -> tuple[str | None, ...]:
    """Return the parts that always tell programs apart."""
    parts = configuration(run)
    return tuple(parts.get(name) for name in IDENTIFIES)


def identifying(runs: Sequence[Run], points: Sequence[Point]) -> list[dict[str, str]]:
    """Return the parts of each configuration that tell it from others, without what follows.

    Parameters
    ----------
    points : sequence of tuple of float, one per run
        The values that a part may follow: ranks, and others that vary by intention.
    """
    parts = [
        {
            name: value
            for name, value in configuration(run).items()
            if name not in RESULTS and not (name == "iterations" and is_own_loop(run))
        }
        for run in runs
    ]
    for places in grouped(range(len(runs)), lambda place: identity_of(runs[place])).values():
        some = [parts[place] for place in places]
        variables = variables_in([runs[place] for place in places])
        for name in apart(some):
            values = [part.pop(name, None) for part in some]
            single = {values[at] for at, place in enumerate(places) if runs[place].header.ranks > 1}
            at = [points[place] for place in places]
            kept = not_following(
                values, at, found=name in FOUND or name in variables, several=single
            )
            for part, value in zip(some, kept, strict=True):
                part |= {} if value is None else {name: value}
    return parts


def not_following(
    values: Sequence[str | None],
    points: Sequence[Point],
    *,
    found: bool,
    several: set[str | None],
) -> list[str | None]:
    """Return the values of a part, None for those that follow the points.

    Values that are there at all points have nothing to do with them. If each point has one other
    value at most, those are one.

    Parameters
    ----------
    found : bool
        Whether the part was found, not given: then words may follow, too.
    several : set of str or None
        The values on several ranks: what is given there alone follows.
    """
    at_point: dict[Point, set[str | None]] = {}
    for point, value in zip(points, values, strict=True):
        at_point.setdefault(point, set()).add(value)
    everywhere = set.intersection(*at_point.values())
    others = [each - everywhere for each in at_point.values()]
    following = set().union(*others)
    if max(map(len, others)) > 1 or len(following) < 2:
        return list(values)
    texts = {value for value in following if value is not None}
    numbers = len({template(text) for text in texts}) == 1 and (
        None not in following or None not in several
    )
    if not found and (everywhere or not numbers):
        return list(values)
    one = " or ".join(sorted(texts)) if everywhere else None
    return [one if value in following else value for value in values]


def template(text: str) -> str:
    """Return a text without its numbers."""
    return NUMBER.sub("#", text)


def size_of(run: Run) -> float | None:
    """Return the number of unknowns of a run; None if it does not say it."""
    unknowns = run.header.spec.get("unknowns")
    return float(unknowns) if unknowns else None


def counts_cells(run: Run) -> bool:
    """Tell whether a run counts the cells of its cycles."""
    return run.has("cells") or (run.has("count_total") and "cells" in run.texts("count"))


def by_size(runs: Sequence[Run]) -> Iterator[RankSeries]:
    """Divide runs of a program into strong scaling, weak scaling, and others."""
    if counts_cells(runs[0]):
        yield series("by size" if several_ranks(runs) else "none", runs)
        return
    known = [size_of(run) for run in runs]
    sizes = dict(zip(map(id, runs), given_sizes(runs), strict=True))
    said = None not in known
    if said:
        sizes = {id(run): (size,) for run, size in zip(runs, known, strict=True) if size}

    def size(run: Run) -> tuple[float, ...]:
        return sizes[id(run)]

    strong = [each for each in grouped(runs, size).values() if several_ranks(each)]
    left = [run for run in runs if not any(run in each for each in strong)]
    grown = [] if not left else scaled(runs, left, size, DIMENSIONS[:1] if said else DIMENSIONS)
    left = [run for run in left if not any(run in each for _, each in grown)]
    for each in strong:
        yield series("strong", each, () if said else ("same",))
    for kind, each in grown:
        yield series(kind, each, () if said else ("grown",))
    if several_ranks(left) and not said and len(grouped(left, size)) == len(ranks_of(left)):
        yield series("other", left)
        return
    for each in grouped(left, size).values():
        yield series("none", each)


def scaled(
    runs: Sequence[Run],
    left: Sequence[Run],
    size: Callable[[Run], tuple[float, ...]],
    dimensions: Sequence[int],
) -> list[tuple[str, list[Run]]]:
    """Return the series of runs whose size grows with the ranks, or is given per rank.

    Each has at least one of the runs that are left, on several numbers of ranks. The size may be a
    product, or a power, of what differs.
    """
    best: list[tuple[str, list[Run]]] = []
    for power in (*dimensions, *(-dimension for dimension in dimensions)):
        if not all(each > 0.0 for run in runs for each in size(run)):
            return []
        of_rank = [
            abs(power) * math.log(math.prod(size(run)))
            - math.copysign(1.0, power) * math.log(run.header.ranks)
            for run in runs
        ]
        near = [
            [runs[place] for place in places]
            for places in neighbours(range(len(runs)), of_rank.__getitem__)
        ]
        series = [
            ("weak" if power > 0 else "strong", each)
            for each in near
            if several_ranks(each)
            and any(run in left for run in each)
            and len(grouped(each, lambda run: (run.header.ranks, size(run)))) == len(ranks_of(each))
        ]
        if covered(series, left) > covered(best, left):
            best = series
    return best


def neighbours(values: Iterable[T], logarithm: Callable[[T], float]) -> list[list[T]]:
    """Put values together whose logarithms differ by less than `ALIKE` from the next one."""
    found: list[list[T]] = []
    for value in sorted(values, key=logarithm):
        if found and logarithm(value) - logarithm(found[-1][-1]) < ALIKE:
            found[-1].append(value)
        else:
            found.append([value])
    return found


def covered(series: Sequence[tuple[str, list[Run]]], left: Sequence[Run]) -> int:
    """Return how many of the runs that are left some series have."""
    return sum(any(run in each for _, each in series) for run in left)


def given_sizes(runs: Sequence[Run]) -> list[tuple[float, ...]]:
    """Return the numbers of each run's arguments that vary, without those of a process grid."""
    kinds = [configuration(run) for run in runs]
    names = [
        name
        for name in apart(kinds)
        if name not in (*RESULTS, *FOUND, "iterations") and name not in variables_in(runs)
    ]
    columns: list[list[float]] = []
    for name in names:
        numbers = [list(map(float, NUMBER.findall(kind.get(name, "")))) for kind in kinds]
        for place in range(max(map(len, numbers))):  # what is absent is a grid of one rank
            column = [row[place] if place < len(row) else 1.0 for row in numbers]
            columns += [column] if len(set(column)) > 1 else []
    ranks = [float(run.header.ranks) for run in runs]
    grid = grid_among(columns, ranks)
    layouts = {(*(columns[at][place] for at in grid), ranks[place]) for place in range(len(runs))}
    if len(layouts) > len(set(ranks)):  # two grids of as many ranks are no repeats
        grid = ()
    columns = [column for place, column in enumerate(columns) if place not in grid]
    return [tuple(column[place] for column in columns) for place in range(len(runs))]


def variables_in(runs: Sequence[Run]) -> set[str]:
    """Return the names of environment variables of runs: they are no size."""
    known = [run.header.environment.get("variables") for run in runs]
    return {name for each in known if isinstance(each, dict) for name in each}


def grid_among(columns: Sequence[Sequence[float]], ranks: Sequence[float]) -> tuple[int, ...]:
    """Return the places of numbers whose product is the number of ranks in every run."""
    if len(set(ranks)) < 2:
        return ()
    places = range(min(len(columns), 10))
    for count in range(1, len(places) + 1):
        for some in itertools.combinations(places, count):
            if all(
                math.prod(columns[place][run] for place in some) == of_run
                for run, of_run in enumerate(ranks)
            ):
                return some
    return ()


def series(kind: str, runs: Sequence[Run], inferred: Sequence[str] = ()) -> RankSeries:
    """Return a series in the order of ranks, with what was assumed of it."""
    runs = sorted(runs, key=lambda run: (run.header.ranks, run.solve_time_s))
    said = [ASSUMED[kind, each] for each in inferred]
    if kind == "other":
        said.append(OTHER)
    differing = [*differences(runs)] if several_ranks(runs) else []
    if differing:
        said.append(f"Taken as one program; with the ranks change: {'; '.join(differing)}.")
    return RankSeries(kind=kind, runs=tuple(runs), assumed=tuple(said))


def other_loops(runs: Sequence[Run]) -> list[str]:
    """Say of which programs other loops were measured on other numbers of ranks."""
    said = []
    at = IDENTIFIES.index(LOOP)
    for alike in grouped(
        runs, lambda run: identity_of(run)[:at] + identity_of(run)[at + 1 :]
    ).values():
        by_loop = grouped(alike, lambda run: configuration(run).get(LOOP))
        if (
            len(by_loop) < 2
            or not several_ranks(alike)
            or any(map(several_ranks, by_loop.values()))
        ):
            continue
        where = "; ".join(
            f"{'its marks' if loop is None else loop} on {ranks_text(sorted(ranks_of(each)))}"
            for loop, each in by_loop.items()
        )
        said.append(
            f"{alike[0].header.workload}: no speed-up, as the measured loop is not the same on all "
            f"ranks: {where}. Name one with attach --iterate-at."
        )
    return said


ASSUMED = {
    ("strong", "same"): "Strong scaling is assumed: the arguments give the same problem size.",
    ("strong", "grown"): "Strong scaling is inferred: an argument falls as the ranks grow, as the "
    "size of a rank's part does.",
    ("weak", "grown"): "Weak scaling is inferred: an argument grows with the ranks as a problem "
    "size does.",
}
OTHER = (
    "An argument changes with the ranks neither as in weak nor as in strong scaling, so times do "
    "not compare."
)


def differences(runs: Sequence[Run]) -> Iterator[str]:
    """Yield what differs between runs, besides what they came to, with its values by ranks."""
    kinds = [configuration(run) for run in runs]
    for name in apart(kinds):
        if name in (*RESULTS, "events", "iterations"):
            continue
        places: dict[str, list[int]] = {}
        for run, kind in zip(runs, kinds, strict=True):
            ranks = places.setdefault(part_words(name, kind.get(name)), [])
            ranks += [] if run.header.ranks in ranks else [run.header.ranks]
        yield first_of([f"{words} on {ranks_text(ranks)}" for words, ranks in places.items()])


def ranks_text(ranks: Sequence[int]) -> str:
    """Write numbers of ranks: ``1 rank``, ``2, 4 and 8 ranks``."""
    if len(ranks) == 1:
        return counted(ranks[0], "rank")
    return f"{', '.join(map(str, ranks[:-1]))} and {ranks[-1]} ranks"


def several_ranks(runs: Iterable[Run]) -> bool:
    """Tell whether runs are on more than one number of ranks."""
    return len(ranks_of(runs)) > 1


def ranks_of(runs: Iterable[Run]) -> set[int]:
    """Return the numbers of ranks of runs."""
    return {run.header.ranks for run in runs}
