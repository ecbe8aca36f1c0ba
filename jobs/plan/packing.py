"""Pack runs into allocations, so that runs that are compared use the same nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from hindmost.jobs.core.plan import Allocation, PlannedRun
from hindmost.jobs.plan.identity import slug
from hindmost.jobs.study.study import Pack, PackBy, StudyLimits

MINUTE_S = 60.0
"""Schedulers count walltime in minutes."""
START_S = 60.0
"""Time for a job to start its first run (modules, imports, a slow file system); reserved where the
longest walltime has room for it."""
LABEL = 20
"""Characters of a label at most."""


@dataclass(slots=True)
class _Box:
    """An allocation being filled."""

    runs: list[PlannedRun] = field(default_factory=list)
    before_s: float = 0.0
    """Expected time of all runs."""
    needed_s: float = 0.0
    """Time until the last run could reach its limit."""

    def needed_with(self, runs: Iterable[PlannedRun]) -> tuple[float, float]:
        """Return the expected and the needed time with more runs."""
        before, needed = self.before_s, self.needed_s
        for run in runs:
            needed = max(needed, before + run.limit_s)
            before += run.planned_s
        return before, needed

    def add(self, runs: Sequence[PlannedRun]) -> None:
        """Add runs at the end."""
        self.before_s, self.needed_s = self.needed_with(runs)
        self.runs += runs


def pack(
    runs: Sequence[PlannedRun], by: Pack, limits: StudyLimits
) -> tuple[list[PlannedRun], list[Allocation]]:
    """Pack runs into allocations.

    Runs that share a key (say, their ranks) fill one allocation after another, block by block. A
    block's runs of one key stay together, unless they alone pass the job limit, or the most runs
    that the study allows: then they are marked as split, and so are runs of equally many ranks that
    their keys keep apart.

    Parameters
    ----------
    runs : sequence of PlannedRun
        In their order, blocks one after another.

    Returns
    -------
    list of PlannedRun
        The same, each with its allocation.
    list of Allocation
        A walltime is what is needed for each run to be begun, with its whole limit left, if those
        before it take what is expected of them; and the times that are kept for the start and
        before the end.
    """
    by_key: dict[tuple[str, ...], list[PlannedRun]] = {}
    for run in runs:
        by_key.setdefault(key_of(run, by), []).append(run)
    placed: dict[str, PlannedRun] = {}
    allocations: list[Allocation] = []
    total = len(by_key)
    for key, members in sorted(by_key.items(), key=lambda item: item[1][0].ranks):
        for box, split in boxes(members, by, limits):
            number = len(allocations)
            name = f"a{number:03d}" + (f"-{label(key)}" if total > 1 and label(key) else "")
            allocations.append(allocation_of(name, box, limits))
            placed |= {
                run.id: replace(run, allocation=name, split=run.id in split) for run in box.runs
            }
    return marked([placed[run.id] for run in runs]), allocations


def marked(runs: Sequence[PlannedRun]) -> list[PlannedRun]:
    """Mark runs of a block and a number of ranks that are in several allocations."""
    places: dict[tuple[int, int], set[str]] = {}
    for run in runs:
        places.setdefault((run.block, run.ranks), set()).add(run.allocation)
    return [replace(run, split=run.split or len(places[run.block, run.ranks]) > 1) for run in runs]


def boxes(
    members: Sequence[PlannedRun], by: Pack, limits: StudyLimits
) -> list[tuple[_Box, set[str]]]:
    """Fill allocations with the runs of one key; return each with the ids of split runs."""
    room_s = limits.job_s - limits.stop_before_s
    most = by.runs or len(members)
    filled = [_Box()]
    split: set[str] = set()

    def fits(runs: Sequence[PlannedRun]) -> bool:
        box = filled[-1]
        return len(box.runs) + len(runs) <= most and box.needed_with(runs)[1] <= room_s

    for _, group in groupby(members, key=lambda run: run.block):
        block = list(group)
        if not fits(block) and filled[-1].runs:
            filled.append(_Box())
        if fits(block):
            filled[-1].add(block)
            continue
        split.update(run.id for run in block)
        for run in block:
            if not fits([run]) and filled[-1].runs:
                filled.append(_Box())
            filled[-1].add([run])
    return [(box, split) for box in filled]


def key_of(run: PlannedRun, by: Pack) -> tuple[str, ...]:
    """Return the key that the runs of an allocation share."""
    if isinstance(by.by, tuple):
        return tuple(str(run.configuration[name]) for name in by.by)
    return {
        PackBy.RANKS: (f"p{run.ranks}",),
        PackBy.ALL: (),
        PackBy.NONE: (run.id,),
    }[by.by]


def label(key: tuple[str, ...]) -> str:
    """Write a key so that it can be in the name of a job."""
    return slug("-".join(key))[:LABEL].strip("-.")


def allocation_of(name: str, box: _Box, limits: StudyLimits) -> Allocation:
    """Return a filled allocation."""
    minutes = math.ceil((START_S + box.needed_s + limits.stop_before_s) / MINUTE_S)
    return Allocation(
        id=name,
        runs=tuple(run.id for run in box.runs),
        nodes=max(run.nodes for run in box.runs),
        ranks_per_node=max(run.ranks_per_node for run in box.runs),
        walltime_s=min(minutes * MINUTE_S, limits.job_s),
        stop_before_s=limits.stop_before_s,
    )
