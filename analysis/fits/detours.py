"""Detours of the ranks of a run, estimated from times alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import Group, injected_noise
from hindmost.analysis.runs.efficiency.withheld import mpi_unseen
from hindmost.analysis.runs.finding import Finding
from hindmost.analysis.show.table import RIGHT, Column, Table
from hindmost.errors import DataError
from hindmost.harness.runfile.bodies import INJECTED, BodyKind
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import SystemNoise
from hindmost.models.noise.detours import (
    MIN_ITERATIONS,
    DetourFamily,
    RankDetours,
    find_detours,
)
from hindmost.text import counted, named_ranks, percent, seconds

MAX_RANKS = 32
"""Ranks that are looked at, evenly spread."""
LIMITS = (
    "Times do not tell the cause of a detour, nor where in an iteration it came: the machine's own "
    "detours are among these, and detours of similar lengths count as one law whatever their "
    "causes. Not seen: detours while a rank waits; detours of one length in every iteration, which "
    "look like work."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDetours:
    """What a run file says of the noise that was injected into a rank, in the same iterations.

    Attributes
    ----------
    count : int
        Iterations with injected time.
    mean_s : float
        Mean injected time of these.
    """

    count: int
    mean_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RankEstimate:
    """The detours of one rank of a run.

    Attributes
    ----------
    rank : int
    host : str
    detours : RankDetours
    stored : StoredDetours or None
        None if no noise was injected into the run.
    """

    rank: int
    host: str
    detours: RankDetours
    stored: StoredDetours | None

    JSON = (
        "rank host **detours share=detours.share noise_share=detours.noise_share "
        "least_s=detours.least_s stored"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetours:
    """The detours of a run.

    Attributes
    ----------
    run : Run
    ranks : tuple of RankEstimate
        Of at most `MAX_RANKS` ranks.
    findings : tuple of Finding
    """

    run: Run
    ranks: tuple[RankEstimate, ...]
    findings: tuple[Finding, ...]

    JSON = (
        "file=run.path workload=run.header.workload solver=run.header.solver "
        "ranks=run.header.ranks injected detours=ranks findings"
    )

    @property
    def injected(self) -> str:
        """The law of the noise that was injected; empty without."""
        return injected_noise(self.run)


def detours_of(run: Run) -> RunDetours:
    """Estimate the detours of a run from the times of its regular iterations.

    Raises
    ------
    DataError
        There are too few iterations, or it is unknown what of them is waiting.
    """
    if mpi_unseen(run):
        raise DataError(
            f"{run.path}: MPI calls were not seen, so waiting for other ranks cannot be told from "
            "detours."
        )
    regular = np.flatnonzero(run.kind == BodyKind.REGULAR)
    if regular.size < MIN_ITERATIONS:
        raise DataError(
            f"{run.path} has {counted(regular.size, 'regular iteration')}; detours are estimated "
            f"from {MIN_ITERATIONS} or more."
        )
    columns = np.unique(np.linspace(0, run.columns - 1, min(run.columns, MAX_RANKS)).astype(int))
    work, start = chosen(run, columns)
    place = run.position if run.header.restart else np.zeros(run.bodies, np.int32)
    numbers = run.variable("kept_rank") if run.reduced else np.arange(run.columns)
    stored = run.variable(INJECTED)[:, columns] if run.has(INJECTED) else None
    estimates = []
    for at, column in enumerate(columns.tolist()):
        found = find_detours(work[regular, at], start[regular, at], place[regular])
        assert found is not None
        estimates.append(
            RankEstimate(
                rank=int(numbers[column]),
                host=run.hosts[column],
                detours=found,
                stored=None if stored is None else stored_in(stored[regular, at]),
            )
        )
    return RunDetours(run=run, ranks=tuple(estimates), findings=tuple(findings_of([Group((run,))])))


def chosen(
    run: Run, columns: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return work and start of some ranks: float64 arrays, shape (iteration, column), seconds."""
    parts = [
        (run.work_in(rows)[:, columns], run.variable("start", rows)[:, columns])
        for rows in run.blocks()
    ]
    work, start = zip(*parts, strict=True)
    return np.concatenate(work), np.concatenate(start)


def stored_in(injected_s: NDArray[np.float64]) -> StoredDetours:
    """Return what was injected into the iterations of a rank: shape (iteration,), seconds."""
    taken = injected_s[injected_s > 0.0]
    return StoredDetours(count=taken.size, mean_s=float(taken.mean()) if taken.size else 0.0)


# How it is shown.


def detours_table(found: RunDetours) -> Table:
    """Return a row for every law of detours of every rank that was looked at."""
    known = any(rank.stored is not None for rank in found.ranks)
    heads = ("rank", "detours", "iterations", "mean length", "per second", "of the time", "timing")
    rows = [
        (*cells, *((stored_words(rank.stored) if first else "",) if known else ()))
        for rank in found.ranks
        for first, cells in rank_rows(rank)
    ]
    return Table(
        columns=(
            *(Column(head, RIGHT if 2 <= at <= 5 else "left") for at, head in enumerate(heads)),
            *((Column("injected"),) if known else ()),
        ),
        rows=rows,
        notes=tuple(notes(found)),
    )


def rank_rows(estimate: RankEstimate) -> Iterable[tuple[bool, tuple[str, ...]]]:
    """Yield the rows of a rank: whether it is the first, and its cells."""
    detours = estimate.detours
    name = str(estimate.rank)
    if not detours.families:
        yield True, (name, "none found", "", "", "", percent(detours.share), "")
    for number, each in enumerate(detours.families):
        first = number == 0
        yield first, (name if first else "", *family_words(each, detours))
    if round(detours.others) >= 1:
        mean_s = detours.others_s / detours.others
        of_time = percent(detours.others_s / detours.seconds)
        per_s = f"{detours.others / detours.seconds:.3g}"
        yield False, ("", "others", f"{detours.others:.0f}", seconds(mean_s), per_s, of_time, "")


def family_words(family: DetourFamily, detours: RankDetours) -> tuple[str, ...]:
    """Write a family in the cells of a row."""
    return (
        LENGTHS[family.kind],
        f"{family.count:.0f} ± {2 * family.count_error:.0f} "
        f"({percent(family.count / detours.iterations)})",
        f"{seconds(family.mean_s)} ± {percent(2 * family.mean_error_s / family.mean_s, 0)}",
        f"{family.count / detours.seconds:.3g}",
        percent(family.total_s / detours.seconds),
        timing(family, detours.iterations),
    )


ALL = 0.8
"""Alignment with a clock from which on all detours are said to follow it."""
LENGTHS = {"exponential": "exponential", "fixed": "one length"}


def timing(family: DetourFamily, iterations: int) -> str:
    """Say when the detours of a family come."""
    if family.rule is not None:
        clock = "" if family.period_s is None else f", or every {seconds(family.period_s)}"
        return f"by iteration: {family.rule.explain(iterations)}{clock}"
    if family.period_s is None:
        return "at random" if family.timing_known else "unknown"
    some = "" if family.on_clock > ALL else f"{percent(family.on_clock, 0)} of them "
    return f"{some}every {seconds(family.period_s)}"


def stored_words(stored: StoredDetours | None) -> str:
    """Say what was injected into a rank."""
    if stored is None or not stored.count:
        return "nothing"
    return f"{stored.count}, mean {seconds(stored.mean_s)}"


def notes(found: RunDetours) -> Iterable[str]:
    """Say which ranks have detours, what could not be seen, and what is not known."""
    ranks = found.ranks
    disturbed = [rank for rank in ranks if rank.detours.families]
    if len(ranks) < found.run.columns:
        yield f"Looked at {len(ranks)} of {counted(found.run.columns, 'rank')}, evenly spread."
    if 0 < len(disturbed) < len(ranks):
        hosts = {each.host for each in disturbed}
        on = f", all on {hosts.pop()}" if len(hosts) == 1 < len(set(found.run.hosts)) else ""
        where = named_ranks((each.rank for each in disturbed), found.run.header.ranks)
        yield f"Detours on {where} only{on}."
    least = max(rank.detours.least_s for rank in ranks)
    yield f"Detours shorter than {seconds(least)} cannot be told from jitter."
    families = [family for each in disturbed for family in each.detours.families]
    if families:
        yield "±: 95 %, if the laws are right; a single law for several causes is not in it."
    if any(family.rule is not None for family in families):
        yield (
            "Detours by iteration are no noise: the program itself does this, such as output "
            "or a checkpoint. Where a time is given as well, iterations are so even that a clock "
            "explains them as well."
        )
    if any(not family.timing_known for family in families):
        yield (
            "Timing unknown: these detours do not show whether they follow a clock. It takes at "
            "least 8 of them to find a clock and 30 to rule one out, in at most half of the "
            "iterations; and iterations that follow the same clock themselves hide it."
        )
    yield LIMITS


def against_probe(found: RunDetours, probed: SystemNoise) -> str:
    """Compare the noise of a run with that of the idle machine, in a sentence or two.

    The probe also sees detours that are too short for a run; so rates are compared by their share
    of the time.
    """
    most = max(rank.detours.noise_share for rank in found.ranks)
    longest = f", the longest {seconds(probed.detour_quantiles_s[-1])}"
    known = (
        f"The probe of the machine found {probed.detours_per_s:.3g} detours per second and rank"
        f"{longest if probed.detour_quantiles_s else ''}: {percent(probed.share, 2)} of the time."
    )
    if most > 2.0 * probed.share:
        return (
            f"{known} The run lost up to {percent(most, 2)}: more than the idle machine explains."
        )
    return f"{known} The run lost up to {percent(most, 2)}, which the idle machine explains."
