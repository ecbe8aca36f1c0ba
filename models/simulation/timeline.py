"""What every rank does when in a simulated solve, as a recording would have it.

Ranks come to an event after their own work, and leave it when the simulator says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.simulation.local_work import LocalWork
from hindmost.models.simulation.rerun import Script, cycles_of
from hindmost.models.simulation.scaleup import (
    Case,
    Placement,
    drawn_deviations,
    own_work,
    script_on,
    simulated_rows,
)

Times = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """When ranks begin bodies, come to events, leave them, and end.

    Attributes
    ----------
    kind : uint8 array, shape (iteration, event)
    start, end : float64 array, shape (iteration, rank), seconds
        Since the begin of the solve.
    work, inside : float64 array, shape (iteration, rank, event), seconds
        Own work before an event, and time in it.
    group : int array, shape (iteration, rank, event), or None
        See `EventBlock`.
    cycle_begins : bool array, shape (iteration,)
    after : float64 array, shape (rank,), seconds
    """

    kind: NDArray[np.uint8]
    start: Times
    end: Times
    work: Times
    inside: Times
    group: NDArray[np.integer[Any]] | None
    cycle_begins: NDArray[np.bool_]
    after: Times


def scaled_script(
    work: LocalWork, placement: Placement, case: Case, seed: int = 0
) -> tuple[Script, NDArray[np.intp]]:
    """Return a solve on other ranks as a script, and the recorded bodies that it consists of."""
    program, draws = work.program, (seed, 0)
    parts = simulated_rows(program, placement.ranks, len(work.laws))
    rows = np.concatenate(parts)
    drawn = drawn_deviations(placement, rows.size, work.laws, work.dependence, draws)
    own = own_work(work, rows, case, drawn, work.laws, draws)
    pause = np.median(program.between, axis=1)
    later = float(np.median(pause[1:])) if pause.size > 1 else 0.0
    of_cycles = np.array([float(pause[0]), *[later] * (len(parts) - 1)])
    script = replace(
        script_on(work, placement, case, own, parts),
        between=np.repeat(case.work * of_cycles[:, None], placement.ranks, axis=1),
        after=np.full(placement.ranks, float(np.median(program.after))),
    )
    return script, rows


def timeline_of(script: Script) -> Timeline:
    """Walk through a solve, and note when every rank does what.

    Raises
    ------
    UsageError
        Its cycles stand for more than one each.
    """
    if script.counts is not None:
        raise UsageError(
            "A solve with other iterations is not simulated cycle by cycle, so it has no timeline: "
            "omit --iterations."
        )
    block = script.block
    start, end = np.empty((2, *block.rest.shape))
    left = np.zeros(block.work.shape)
    begin_s = 0.0
    cycles = cycles_of(script, ended=end, left=left)
    for cycle, between in zip(cycles, script.between, strict=True):
        rows = cycle.rows
        begin_s += float(between.min())
        start[rows] = begin_s + np.vstack([between - between.min(), end[rows][:-1]])
        end[rows] += begin_s
        left[rows] += begin_s
        begin_s = float(end[rows].max())
    before = np.concatenate([start[:, :, None], left[:, :, :-1]], axis=2)
    there = block.recorded[:, None, :]
    return Timeline(
        kind=np.where(block.recorded, block.kind, 0).astype(np.uint8),
        start=start,
        end=end,
        work=np.where(there, block.work, 0.0),
        inside=np.where(there, left - before - block.work, 0.0),
        group=block.group,
        cycle_begins=block.cycle_begins | (np.arange(len(start)) == 0),
        after=script.after,
    )
