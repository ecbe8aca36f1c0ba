"""Run files, as the analysis takes them: found, grouped, turned into what models take."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.figures.units import several
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.cycles import ADAPTIVE
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.models.stochastic.replay import EventBlock, whole_bodies
from hindmost.models.stochastic.times import Events, SolveTimes


@dataclass(frozen=True, slots=True)
class Group:
    """Repeats of one configuration on one machine.

    Attributes
    ----------
    runs : tuple of Run
        Alike in everything that `configuration` lists.
    remark : str
        What sets them apart from another group of the same solver, workload and size; may be empty.
    """

    runs: tuple[Run, ...]
    remark: str = ""

    @property
    def title(self) -> str:
        """What the runs have in common, for a heading."""
        header = self.runs[0].header
        unknowns = header.spec.get("unknowns")
        size = f"{unknowns:,} unknowns, " if unknowns else ""
        ranks = f"{header.ranks} rank{'s' if header.ranks > 1 else ''}"
        restart = f", restart {header.restart}" if header.restart else ""
        remark = f" ({self.remark})" if self.remark else ""
        return (
            f"{header.solver} on {header.workload}: {size}{ranks}, "
            f"{header.iterations} iterations{restart}{remark}"
        )


def configuration(run: Run) -> dict[str, str]:
    """Return everything in which repeats of a configuration must be alike."""
    header = run.header
    return {
        "workload": header.workload,
        "unknowns": str(header.spec.get("unknowns")),
        "ranks": str(header.ranks),
        "iterations": str(header.iterations),
        "solver": header.solver,
        "restart": str(header.restart),
        "options": " ".join(header.spec.get("petsc_options", [])) or "no options",
        "hosts": ", ".join(sorted(set(run.hosts))),
        "MPI": header.mpi_library,
        "PETSc": str(header.environment.get("petsc")),
        "origin": header.origin,
    }


def find_runs(paths: Iterable[Path], *, complete: bool = False) -> list[Run]:
    """Open the run files that are named, and those in the folders that are named.

    Parameters
    ----------
    complete : bool
        Leave incomplete runs out, with a warning; refuse if nothing else is there.

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
    runs = [open_run(file) for file in files]
    whole = [run for run in runs if run.header.complete or not complete]
    if not whole:
        raise DataError(incomplete(runs[0]))
    for run in runs:
        if run not in whole:
            sys.stderr.write(f"hindmost: left out: {incomplete(run)}\n")
    return whole


def incomplete(run: Run) -> str:
    """Say why a run is of no use to models."""
    failure = run.header.spec.get("failure")
    if failure:
        return f"{run.path} is incomplete: {failure}"
    return (
        f"{run.path} is incomplete: records were lost, so its bodies are not the whole solve. "
        "Run again with --warmup 1."
    )


def not_alike(run: Run) -> str:
    """Say why models of the noise are not for an adaptive run, and what is."""
    return (
        f"{run.path}: the cycles of an adaptive run do different work, so they do not follow one "
        "law, and models of the noise do not hold. How well they were predicted: `hindmost report` "
        "and `hindmost show`; how long a later run will take: `hindmost predict adaptive`."
    )


def alike_only(runs: Iterable[Run]) -> list[Run]:
    """Leave adaptive runs out, with a warning; refuse if nothing else is there.

    Raises
    ------
    UsageError
        All are adaptive.
    """
    every = list(runs)
    left = [run for run in every if run.header.workload != ADAPTIVE]
    if every and not left:
        raise UsageError(not_alike(every[0]))
    for run in every:
        if run not in left:
            sys.stderr.write(f"hindmost: left out: {not_alike(run)}\n")
    return left


def reduced(run: Run) -> str:
    """Say why a run that kept some ranks only is of no use to models of waiting."""
    return (
        f"{run.path} has full records of {run.columns} of {run.header.ranks} ranks (run --keep): "
        "who waits for whom cannot be told without the others, so no model is fitted. 'hindmost "
        "ranks' and 'hindmost show' use what was kept; run without --keep to fit."
    )


def title_of(run: Run) -> str:
    """Return solver, workload and ranks, as over every figure."""
    header = run.header
    return f"{header.solver} on {header.workload}, {several(header.ranks, 'rank')}"


IN_TITLE = ("workload", "unknowns", "ranks", "iterations", "solver", "restart")
"""Parts of a configuration that every title names."""


def group_runs(runs: Iterable[Run]) -> list[Group]:
    """Put repeats of the same configuration together, in the order in which they come."""
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(tuple(configuration(run).values()), []).append(run)
    kinds = [configuration(members[0]) for members in groups.values()]
    remarks = []
    for kind in kinds:
        alike = [other for other in kinds if all(other[key] == kind[key] for key in IN_TITLE)]
        apart = [key for key in kind if any(other[key] != kind[key] for other in alike)]
        remarks.append(", ".join(kind[key][:60] for key in apart))
    return [
        Group(tuple(members), remark)
        for members, remark in zip(groups.values(), remarks, strict=True)
    ]


def solve_rows(run: Run, rows: slice, own_work: NDArray[np.float64] | None = None) -> EventBlock:
    """Return the events of some bodies of a run file; those of whole bodies where none were kept.

    Works on the columns that the file has.

    Parameters
    ----------
    own_work : float64 array, shape (row, rank), seconds, or None
        Of these bodies, where it was read already.
    """
    cycle_begins = np.asarray(run.position[rows] == 0)
    if not run.has("event_kind"):
        if own_work is None:
            own_work = run.work_in(rows)
        return whole_bodies(own_work, run.header.lag, cycle_begins)
    work, duration = run.variable("event_work", rows), run.variable("event_duration", rows)
    rest = run.variable("duration", rows) - work.sum(axis=2, dtype=np.float64)
    rest -= duration.sum(axis=2, dtype=np.float64)
    return EventBlock(
        kind=run.variable("event_kind", rows),
        work=work,
        duration=duration,
        rest=np.maximum(rest, 0.0),
        cycle_begins=cycle_begins,
    )


MOST_IN_MEMORY = 8 << 20
"""Bodies of all ranks up to which a run is read at once; beyond it rows are read as needed."""


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows of a variable of a run file, read when they are asked for."""

    run: Run
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole variable."""
        return self.run.shape(self.name)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Read some rows."""
        return self.run.variable(self.name, rows)


@dataclass(frozen=True, slots=True)
class WorkRows:
    """The work of the bodies of a run file, read when it is asked for."""

    run: Run

    @property
    def shape(self) -> tuple[int, ...]:
        """Bodies and ranks."""
        return self.run.bodies, self.run.columns

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Read some rows."""
        return self.run.work_in(rows)


def solve_times(run: Run, *, by_node: bool = False) -> SolveTimes:
    """Turn a run file into what the stochastic models take.

    Parameters
    ----------
    by_node : bool
        Take P of the models of whole bodies as nodes, not ranks.

    Raises
    ------
    DataError
        The run is incomplete.
    UsageError
        It is adaptive: its cycles do not do the same.
    """
    if run.header.workload == ADAPTIVE:
        raise UsageError(not_alike(run))
    if not run.header.complete:
        raise DataError(incomplete(run))
    if run.reduced:
        raise DataError(reduced(run))
    run.verify()
    edges = run.edges
    restarts = np.median(run.restart_durations, axis=1)
    between = run.lead_in + run.restart_durations.sum(axis=0) + run.lead_out
    events = None
    if run.has("event_kind"):
        events = Events(
            kind=run.variable("event_kind"),
            work=FileRows(run, "event_work"),
            duration=FileRows(run, "event_duration"),
        )
    large = run.bodies * run.header.ranks > MOST_IN_MEMORY
    return SolveTimes(
        durations=FileRows(run, "duration") if large else run.durations,
        work=WorkRows(run) if large else run.work,
        restarts=np.asarray(restarts, np.float64),
        events=events,
        restart=run.header.restart,
        solver_iterations=run.header.iterations,
        drain=run.kind == BodyKind.DRAIN,
        nodes=len(set(run.hosts)),
        by_node=by_node,
        fill=run.kind == BodyKind.FILL,
        position=run.position,
        between_s=float(np.median(between)),
        edge_source=edges.source,
        edge_target=edges.target,
        synchronisation=run.header.synchronisation,
        lag=run.header.lag,
        solve_time_s=run.solve_time_s,
    )
