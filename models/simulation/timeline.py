"""What every rank does when in a simulated solve, as a recording would have it.

Ranks come to an event after their own work, and leave it when the simulator says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.simulation.local_work import LocalWork
from hindmost.models.simulation.rerun import Script, walk_cycles
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
    """When ranks do what.

    Attributes
    ----------
    script : Script
        With the work before events; what lies behind the end of a body has no meaning.
    start, end : float64 array, shape (iteration, rank), seconds
        Of bodies, since the begin of the solve.
    inside : float64 array, shape (iteration, rank, event), seconds
        Time in an event; 0 behind the end of a body.
    """

    script: Script
    start: Times
    end: Times
    inside: Times


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
    script = script_on(work, placement, case, own, parts)
    there = replace(
        script.program,
        between=np.repeat(case.work * of_cycles[:, None], placement.ranks, axis=1),
        after=np.full(placement.ranks, float(np.median(program.after))),
    )
    return replace(script, program=there), rows


def timeline_of(script: Script) -> Timeline:
    """Walk through a solve, and note when every rank does what.

    Raises
    ------
    UsageError
        Its cycles stand for more than one each.
    """
    if script.program.counts is not None:
        raise UsageError(
            "A solve with other iterations is not simulated cycle by cycle, so it has no timeline: "
            "omit --iterations."
        )
    block = script.block
    start, end = np.empty((2, *block.rest.shape))
    left = np.zeros(block.work.shape)
    begin_s = 0.0
    walk_cycles(script, with_path=False, ended=end, left=left)
    for rows, between in zip(block.cycles(), script.program.between, strict=True):
        begin_s += float(between.min())
        start[rows] = begin_s + np.vstack([between - between.min(), end[rows][:-1]])
        end[rows] += begin_s
        left[rows] += begin_s
        begin_s = float(end[rows].max())
    before = np.concatenate([start[:, :, None], left[:, :, :-1]], axis=2)
    inside = np.where(block.recorded[:, None, :], left - before - block.work, 0.0)
    return Timeline(script=script, start=start, end=end, inside=inside)
