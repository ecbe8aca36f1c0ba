"""Run files, as the analysis takes them: found, grouped, turned into what models take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hindmost.errors import DataError, UsageError
from hindmost.harness.recorder.pattern import BodyKind
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.models.stochastic.times import SolveTimes


@dataclass(frozen=True, slots=True)
class Group:
    """Repeats of one configuration.

    Attributes
    ----------
    runs : tuple of Run
        Same workload, size, solver, ranks, iterations and restart length.
    """

    runs: tuple[Run, ...]

    @property
    def title(self) -> str:
        """What the runs have in common, for a heading."""
        header = self.runs[0].header
        unknowns = header.spec.get("unknowns")
        size = f"{unknowns:,} unknowns, " if unknowns else ""
        ranks = f"{header.ranks} rank{'s' if header.ranks > 1 else ''}"
        return (
            f"{header.solver} on {header.workload}: {size}{ranks}, {header.iterations} iterations"
        )


def find_runs(paths: Iterable[Path]) -> list[Run]:
    """Open the run files that are named, and those in the folders that are named.

    Raises
    ------
    UsageError
        Nothing is there.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob("*.h5"))
            if not inside:
                raise UsageError(f"{path} holds no run file (*.h5); 'hindmost run' writes them.")
            files += inside
        elif path.exists():
            files.append(path)
        else:
            raise UsageError(f"{path} does not exist.")
    return [open_run(file) for file in files]


def group_runs(runs: Iterable[Run]) -> list[Group]:
    """Put repeats of the same configuration together, in the order in which they come."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        header = run.header
        key = (
            header.workload,
            header.spec.get("unknowns"),
            header.ranks,
            header.iterations,
            header.solver,
            header.restart,
        )
        groups.setdefault(key, []).append(run)
    return [Group(tuple(members)) for members in groups.values()]


def solve_times(run: Run) -> SolveTimes:
    """Turn a run file into what the stochastic models take.

    Raises
    ------
    DataError
        The run is incomplete.
    """
    if not run.header.complete:
        raise DataError(
            f"{run.path} is incomplete: records were lost, so its bodies are not the whole solve. "
            "Run again with --warmup 1."
        )
    edges = run.edges
    between = run.lead_in + run.restart_durations.sum(axis=0) + run.lead_out
    return SolveTimes(
        durations=run.durations,
        work=run.work,
        fill=run.kind == BodyKind.FILL,
        position=run.position,
        between_s=float(np.median(between)),
        edge_source=edges.source,
        edge_target=edges.target,
        synchronisation=run.header.synchronisation,
        lag=run.header.lag,
        solve_time_s=run.solve_time_s,
    )
