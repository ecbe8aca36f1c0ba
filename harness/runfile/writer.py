"""Write a run file: gathered from the ranks in blocks, written by rank 0, or left out entirely."""

from __future__ import annotations

from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, HindmostError
from hindmost.harness.runfile.bodies import RankBodies, RankEvents
from hindmost.harness.runfile.common_events import common_events
from hindmost.harness.runfile.contents import Edges, Header, RankRun
from hindmost.harness.runfile.cycles import COUNTS
from hindmost.harness.runfile.part_file import BY_ROW, PartFile, RunName, fill, make_variables
from hindmost.harness.runfile.part_file import write_whole as write_whole
from hindmost.harness.runfile.schema import OPTIONAL, TEXTS
from hindmost.harness.solo import of_all

if TYPE_CHECKING:
    from mpi4py import MPI


BLOCK_BYTES = 64 << 20
"""Largest block that rank 0 gathers at once."""


def write_run(folder: Path, header: Header, run: RankRun, communicator: MPI.Intracomm) -> Path:
    """Write the run of all ranks into a new, numbered file of a folder; collective.

    See `write_run_as`.
    """
    return write_run_as(RunName.of(folder, header), header, [run], communicator)


def write_run_as(
    name: RunName,
    header: Header,
    runs: Sequence[RankRun],
    communicator: Any,
    every: Mapping[str, Any] | None = None,
) -> Path:
    """Write the run of all ranks into a new file; collective.

    Parameters
    ----------
    runs : sequence of RankRun
        What the ranks of this process recorded: one, or all where there is only this process.
    every : mapping of str to array, optional
        On rank 0, if the communicator contains only the kept ranks of a run: the variables of all
        ranks, and ``kept_rank``.

    Returns
    -------
    Path
        The file; returned on every rank.

    Raises
    ------
    DataError
        The ranks do not agree on the number of bodies, or rank 0 cannot write.
    """
    sizes = [(run.bodies.duration.size, run.bodies.restart_duration.size) for run in runs]
    counts = of_all(communicator, sizes)
    if len(set(counts)) > 1:
        raise DataError(
            "The ranks recorded different numbers of iterations and restarts: "
            f"{sorted(set(counts))}."
        )
    target = failure = path = None
    if communicator.rank == 0:
        try:
            target = PartFile(name, header, runs[0].bodies.phases, len(counts))
        except Exception as error:
            failure = carried(error)
    failure = communicator.bcast(failure)
    if failure is None and target is None:
        gather_into(None, runs, communicator)
    elif failure is None and target is not None:
        try:
            with target:
                gather_into(target, runs, communicator, every).raise_first()
                path = target.finish()
        except Exception as error:
            failure = carried(error)
    path, failure = communicator.bcast((path, failure))
    if failure is not None:
        raise failure
    return Path(path)


def carried(error: Exception) -> HindmostError:
    """Return an error that all ranks can raise, for any failure of rank 0."""
    if isinstance(error, HindmostError):
        return error
    return DataError(f"The run file cannot be written: {type(error).__name__}: {error}")


class Attempts:
    """Steps of writing on rank 0; after a failed one, later steps are skipped.

    The ranks gather block by block, so rank 0 must not leave before the last block.
    """

    def __init__(self) -> None:
        self._error: Exception | None = None

    def do(self, step: Callable[[], None]) -> None:
        """Do a step, unless an earlier one failed."""
        if self._error is None:
            try:
                step()
            except Exception as error:
                self._error = error

    def raise_first(self) -> None:
        """Raise the error of the first failed step."""
        if self._error is not None:
            raise self._error


def gather_into(
    target: PartFile | None,
    runs: Sequence[RankRun],
    communicator: MPI.Intracomm,
    every: Mapping[str, Any] | None = None,
) -> Attempts:
    """Gather a run from all ranks and write it on rank 0; collective."""
    attempts = Attempts()
    bodies = with_counts_everywhere([run.bodies for run in runs], communicator)
    edges = gather_edges(Edges.together([run.incoming for run in runs]), communicator)
    kept = np.asarray(every["kept_rank"]) if every else None
    events, why_not = common_events(bodies, edges, communicator, kept)
    columns = [
        columns_of(run, own, None if events is None else events[at])
        for at, (run, own) in enumerate(zip(runs, bodies, strict=True))
    ]
    values = communicator.gather([values_of(run) for run in runs])
    if target is not None and values is not None:
        per_rank = [each for part in values for each in part]
        first_events = None if events is None else events[0]
        head = (target, runs[0], bodies[0], edges, first_events, why_not, per_rank)
        attempts.do(partial(write_head, *head, columns[0].keys(), every))
    for name in columns[0]:
        mine = [each[name] for each in columns]
        for first, block in gathered_blocks(mine, communicator):
            if target is not None and block is not None:
                attempts.do(partial(target.write_rows, name, first, block))
    return attempts


def values_of(run: RankRun) -> dict[str, Any]:
    """Return the variables of which a rank has a single value, or a sum."""
    bodies = run.bodies
    return {
        "host": run.host,
        "cpu": run.cpu,
        "cpuset": run.cpuset,
        "load_before": run.load_before,
        "load_after": run.load_after,
        "context_switches": run.context_switches,
        "core_wait": run.core_wait_s,
        "mpi_other": run.mpi_other_s,
        "foreign_calls": run.foreign_calls,
        "polls": run.polls,
        "clock_offset": run.clock_offset_s,
        "clock_uncertainty": run.clock_uncertainty_s,
        "lead_in": bodies.lead_in_s,
        "lead_out": bodies.lead_out_s,
        "solve_time": bodies.solve_time_s,
        **({} if bodies.injected is None else {"injected_outside": bodies.injected_outside_s}),
        **({} if run.contexts is None else {"context_polls": run.polls_by_context}),
    }


def write_head(
    target: PartFile,
    run: RankRun,
    bodies: RankBodies,
    edges: Edges,
    events: RankEvents | None,
    why_not: str,
    per_rank: list[dict[str, Any]],
    columns: KeysView[str],
    every: Mapping[str, Any] | None,
) -> None:
    """Make the variables of a run file, and fill those that rank 0 has completely.

    Parameters
    ----------
    why_not : str
        Why there are no events; empty if there are.
    per_rank : list of dict
        The scalar values of every rank.
    columns : keys of a dict
        The variables that are gathered later.
    """
    if why_not:
        target.note("events_left_out", why_not)
    for name in ("foreign_calls", "polls"):
        of_all = sum(each.pop(name) for each in per_rank)
        if of_all:
            target.note(name, of_all)
    sizes = {
        "iteration": bodies.duration.size,
        "rank": len(per_rank),
        "restart": bodies.restart_duration.size,
        "edge": edges.source.size,
    }
    names = {"phase": target.phases}
    if bodies.activity_duration is not None:
        names["activity"] = bodies.activities
    whole = {
        "body": bodies.kind,
        "position": bodies.position,
        "residual_norm": run.residual_norm,
        **edges.variables(),
        **{name: [each[name] for each in per_rank] for name in per_rank[0]},
    }
    if every:
        sizes["every_rank"] = len(every["every_solve_time"])
        sizes["interval"] = len(every["interval_bodies"])
        sizes["bin"] = len(every["work_bin_count"])
        if "all_bin_count" in every:
            sizes["duration_bin"] = len(every["all_bin_count"])
        whole |= every
        if "count_total" in every:
            names["count"] = COUNTS
    if events is not None:
        sizes["event"] = events.kind.shape[1]
        whole["event_kind"] = events.kind
    if run.solves is not None:
        whole |= run.solves.variables()
    if run.contexts is not None:
        whole |= run.contexts.variables()
        whole["context_polls"] = np.array(whole["context_polls"]).sum(axis=0)
        sizes |= run.contexts.sizes
    if run.cycles is not None:
        names["predictor"] = run.cycles.predictions.names
        whole |= run.cycles.whole()
        if run.cycles.blocks is not None:
            sizes["block"] = run.cycles.blocks.load.size
            if run.cycles.blocks.edges is not None:
                sizes["block_edge"] = run.cycles.blocks.edges.bytes.size
    absent = {*OPTIONAL, *TEXTS} - columns - whole.keys()
    make_variables(target.file, sizes, names, absent)
    fill(target.file, whole)


def columns_of(
    run: RankRun, bodies: RankBodies, events: RankEvents | None
) -> dict[str, NDArray[Any]]:
    """Return the variables with a column of this rank."""
    columns: dict[str, NDArray[Any] | None] = {name: getattr(bodies, name, None) for name in BY_ROW}
    if events is not None:
        columns |= {"event_work": events.work, "event_duration": events.duration}
        columns |= {"event_group": events.group, "event_context": events.context}
    if run.cycles is not None:
        columns |= run.cycles.columns()
    return {name: column for name, column in columns.items() if column is not None}


def with_counts_everywhere(
    ranks: Sequence[RankBodies], communicator: MPI.Intracomm
) -> Sequence[RankBodies]:
    """Fill the counters of ranks without them with NaN, if another rank has some."""
    if not any(of_all(communicator, [each.instructions is not None for each in ranks])):
        return ranks
    none = np.full(ranks[0].duration.size, np.nan)
    return [
        each if each.instructions is not None else replace(each, instructions=none, cycles=none)
        for each in ranks
    ]


def gathered_blocks(
    ranks: Sequence[NDArray[Any]], communicator: MPI.Intracomm
) -> Iterator[tuple[int, NDArray[Any] | None]]:
    """Gather rows of all ranks in steps, to bound the block on rank 0.

    Parameters
    ----------
    ranks : sequence of arrays, shape (row, ...), one for each rank of this process

    Yields
    ------
    int
        The first row of the block.
    array or None, shape (row, rank, ...)
        The block on rank 0, None elsewhere.
    """
    one, count = ranks[0], len(ranks) * communicator.size
    row_bytes = one.itemsize * int(np.prod(one.shape[1:], dtype=np.int64)) * count
    rows = max(1, BLOCK_BYTES // row_bytes)
    for first in range(0, len(one), rows):
        part = np.stack([each[first : first + rows] for each in ranks])
        whole = (
            np.empty((communicator.size, *part.shape), part.dtype)
            if communicator.rank == 0
            else None
        )
        communicator.Gather(part, whole, root=0)
        yield (
            first,
            None if whole is None else np.moveaxis(whole.reshape(count, *part.shape[1:]), 0, 1),
        )


def gather_edges(incoming: Edges, communicator: MPI.Intracomm) -> Edges:
    """Gather the edges of all ranks on rank 0; other ranks get their own back."""
    parts = communicator.gather(incoming)
    if parts is None:
        return incoming
    return Edges.together(parts)
