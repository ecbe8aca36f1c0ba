"""Replays of parts of a run: a busy machine disturbs some iterations, a wrong rule errs in all."""

from collections.abc import Iterator

import numpy as np

from hindmost.analysis.runs.tallies import Block, solve_times
from hindmost.errors import DataError
from hindmost.harness.runfile.reader import Run
from hindmost.models.simulation.change import Change
from hindmost.models.simulation.program import recorded_program
from hindmost.models.simulation.rerun import ReplayedSolve, what_if


def replayed_parts(
    run: Run, size: int, within: slice | None = None
) -> Iterator[tuple[ReplayedSolve, float]]:
    """Yield the replay of each so many iterations without a change, and their recorded time.

    Those are left out in which a rank lost its core inside a call: there it seems to have sent
    after others received.
    """
    times = solve_times(run)
    begin, end, _ = (within or slice(None)).indices(run.bodies)
    for first in range(begin, end - size + 1, size):
        rows = slice(first, first + size)
        start = run.starts[rows]
        begin_s = float(start.min())
        try:
            program = recorded_program(
                start - begin_s,
                Block(run, rows).events,
                run.position[rows],
                np.zeros(run.columns),
                times.edge_source,
                times.edge_target,
            )
        except DataError:
            continue
        end_s = float((start + run.durations[rows]).max())
        yield what_if(program, Change()).recorded, end_s - begin_s
