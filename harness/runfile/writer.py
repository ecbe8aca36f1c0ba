"""Write a run file: gathered from the ranks in blocks, written by rank 0, or left out entirely."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, HindmostError
from hindmost.harness.runfile.common_events import CommonEvents, EventsSeen, common_events
from hindmost.harness.runfile.contents import Edges, Header, RankRun, SummedStretches
from hindmost.harness.runfile.cycles import COUNTS, arrays_of
from hindmost.harness.runfile.part_file import BY_ROW, PartFile, RunName, fill, make_variables
from hindmost.harness.runfile.part_file import write_whole as write_whole
from hindmost.harness.runfile.samples import RankSamples, sampling_of, variables_of
from hindmost.harness.solo import of_all

if TYPE_CHECKING:
    from mpi4py import MPI


BLOCK_BYTES = 64 << 20
"""Largest block that rank 0 gathers at once."""


Blocks = Sequence[Sequence[RankRun]]
"""What the ranks of a process bring to a run file, some ranks at a time, in their order.

It is gone through several times. The ranks of a process follow those of the process before it.
"""


def runs_of(blocks: Blocks) -> Iterator[RankRun]:
    """Go through the ranks of this process."""
    return (run for block in blocks for run in block)


def write_run_as(
    name: RunName,
    header: Header,
    blocks: Blocks,
    communicator: Any,
    every: Mapping[str, Any] | None = None,
    sums: Mapping[str, Any] | None = None,
) -> Path:
    """Write the run of all ranks into a new file; collective.

    Parameters
    ----------
    blocks : sequence of sequence of RankRun
        See `Blocks`.
    every : mapping of str to array, optional
        On rank 0, if the communicator contains only the kept ranks of a run: the variables of all
        ranks, and ``kept_rank``.
    sums : mapping of str to int, float or array, optional
        There, what is summed over all ranks; see `sums_of`.

    Returns
    -------
    Path
        The file; returned on every rank.

    Raises
    ------
    DataError
        The ranks do not agree on the number of bodies, or rank 0 cannot write.
    """
    seen = RunsSeen.of(blocks)
    counts = of_all(communicator, seen.sizes)
    if len(set(counts)) > 1:
        raise DataError(
            "The ranks recorded different numbers of iterations and restarts: "
            f"{sorted(set(counts))}."
        )
    target = failure = path = None
    if communicator.rank == 0:
        try:
            target = PartFile(name, header, seen.first.bodies.phases, len(counts))
        except Exception as error:
            failure = carried(error)
    failure = communicator.bcast(failure)
    if failure is None and target is None:
        gather_into(None, seen, blocks, communicator)
    elif failure is None and target is not None:
        try:
            with target:
                gather_into(target, seen, blocks, communicator, every, sums)
                path = target.finish()
        except Exception as error:
            failure = carried(error)
    path, failure = communicator.bcast((path, failure))
    if failure is not None:
        raise failure
    return Path(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsSeen:
    """What has to be known of the ranks of a process before anything of them is written.

    Attributes
    ----------
    first : RankRun
        Of the first rank.
    blocks : list of int
        Ranks of each block.
    sizes : list of tuple of int
        Bodies and restarts, of each rank.
    values : list of dict
        The scalar values of each rank.
    sums : dict of str to int or int64 array
        Values that are summed over ranks.
    edges : list of Edges
    samples : list of RankSamples
        Of ranks that have some.
    stretches : list of SummedStretches
        Of ranks that have them.
    events : EventsSeen
    with_counts : bool
        Whether a rank counted instructions and cycles.
    """

    first: RankRun
    blocks: list[int]
    sizes: list[tuple[int, int]]
    values: list[dict[str, Any]]
    sums: dict[str, Any]
    edges: list[Edges]
    samples: list[RankSamples]
    stretches: list[SummedStretches]
    events: EventsSeen
    with_counts: bool

    @classmethod
    def of(cls, blocks: Blocks) -> RunsSeen:
        """Look at all ranks of this process."""
        first: RankRun | None = None
        sizes, values, edges, samples, events = [], [], [], [], EventsSeen()
        stretches = []
        counts: list[int] = []
        sums: dict[str, Any] = {}
        with_counts = False
        for number, run in ((at, each) for at, block in enumerate(blocks) for each in block):
            first, bodies = first or run, run.bodies
            counts += [0] * (number + 1 - len(counts))
            counts[number] += 1
            sizes.append((bodies.duration.size, bodies.restart_duration.size))
            values.append(values_of(run))
            for name, value in sums_of(run).items():
                sums[name] = sums.get(name, 0) + value
            edges.append(run.incoming)
            samples += [] if run.samples is None else [run.samples]
            stretches += [] if run.stretches is None else [run.stretches]
            events.add(bodies)
            with_counts |= bodies.instructions is not None
        assert first is not None  # each process has a rank
        return cls(
            first=first,
            blocks=counts,
            sizes=sizes,
            values=values,
            sums=sums,
            edges=edges,
            samples=samples,
            stretches=stretches,
            events=events,
            with_counts=with_counts,
        )


def carried(error: Exception) -> HindmostError:
    """Return an error that all ranks can raise, for any failure of rank 0."""
    if isinstance(error, HindmostError):
        return error
    return DataError(f"The run file cannot be written: {type(error).__name__}: {error}")


def gather_into(
    target: PartFile | None,
    seen: RunsSeen,
    blocks: Blocks,
    communicator: MPI.Intracomm,
    every: Mapping[str, Any] | None = None,
    sums: Mapping[str, Any] | None = None,
) -> None:
    """Gather a run from all ranks and write it on rank 0; collective.

    The ranks gather block by block, so rank 0 does not leave before the last block: after a step of
    writing that failed it does no other, and raises its error at the end.
    """
    failure: Exception | None = None

    def attempt(step: Callable[..., None], *given: Any) -> None:
        nonlocal failure
        if failure is None:
            try:
                step(*given)
            except Exception as error:
                failure = error

    edges = gather_edges(Edges.together(seen.edges), communicator)
    kept = np.asarray(every["kept_rank"]) if every else None
    events, why_not = common_events(
        lambda: (run.bodies for run in runs_of(blocks)),
        seen.events,
        edges,
        communicator,
        kept,
    )
    with_counts = any(communicator.allgather(seen.with_counts))
    columns = columns_of(seen.first, 0, events, with_counts=with_counts)
    gathered = communicator.gather((seen.values, seen.sums, seen.samples, seen.stretches))
    if target is not None and gathered is not None:
        values = [each for part, _, _, _ in gathered for each in part]
        of_parts = [part for _, part, _, _ in gathered]
        sums = sums or {name: sum(part[name] for part in of_parts) for name in seen.sums}
        samples = [each for _, _, part, _ in gathered for each in part]
        stretches = [each for _, _, _, part in gathered for each in part]
        if stretches and len(stretches) == len(values):
            every = {**(every or {}), **SummedStretches.together(stretches).variables()}
        kinds = None if events is None else events.kind
        head = (target, seen.first, edges, kinds, why_not, values, sums, samples)
        attempt(write_head, *head, columns, every or {})
    before = 0  # ranks of this process
    of_processes = communicator.allgather(seen.blocks)
    for places in places_of_blocks(of_processes):
        mine = places[communicator.rank]
        block = blocks[mine.block] if mine.ranks else ()
        of_block = [
            columns_of(run, before + at, events, with_counts=with_counts)
            for at, run in enumerate(block)
        ]
        for name, like in columns.items():
            own = [each[name] for each in of_block]
            for first, rank, rows in gathered_blocks(own, like, places, communicator):
                if target is not None:
                    attempt(target.write_rows, name, first, rows, rank)
        before += len(block)
        if communicator.size == 1 and failure is not None:  # nobody gathers
            break
    if failure is not None:
        raise failure


def values_of(run: RankRun) -> dict[str, Any]:
    """Return the variables of which a rank has a single value."""
    bodies = run.bodies
    return {
        "host": run.host,
        "cpu": run.cpu,
        "cpuset": run.cpuset,
        "load_before": run.load_before,
        "load_after": run.load_after,
        "context_switches": run.context_switches,
        "core_wait": run.core_wait_s,
        "threads": run.threads,
        "others_cpu": run.others_cpu_s,
        "mpi_other": run.mpi_other_s,
        "clock_offset": run.clock_offset_s,
        "clock_uncertainty": run.clock_uncertainty_s,
        "lead_in": bodies.lead_in_s,
        "lead_out": bodies.lead_out_s,
        "solve_time": bodies.solve_time_s,
        **({} if bodies.injected is None else {"injected_outside": bodies.injected_outside_s}),
    }


def sums_of(run: RankRun) -> dict[str, Any]:
    """Return what a run file has of all ranks together."""
    return {
        "foreign_calls": run.foreign_calls,
        "foreign_threads": run.foreign_threads,
        "polls": run.polls,
        "between_polls_s": run.between_polls_s,
        **{name: values for name, values in by_context(run).items() if values is not None},
    }


def by_context(run: RankRun) -> dict[str, Any]:
    """Return what is summed over ranks by context, None where there are no contexts."""
    return {
        "context_polls": run.polls_by_context,
        "context_thread_calls": run.thread_calls_by_context,
        "context_thread_time": run.thread_s_by_context,
    }


def write_head(
    target: PartFile,
    run: RankRun,
    edges: Edges,
    kinds: NDArray[np.uint8] | None,
    why_not: str,
    per_rank: list[dict[str, Any]],
    sums: dict[str, Any],
    samples: list[RankSamples],
    columns: Mapping[str, NDArray[Any]],
    every: Mapping[str, Any],
) -> None:
    """Make the variables of a run file, and fill those that rank 0 has completely.

    Parameters
    ----------
    run : RankRun
        Of rank 0.
    kinds : uint8 array, shape (body, event), or None
        Of the events; None if there are none.
    why_not : str
        Why not; empty if there are.
    per_rank : list of dict
        The scalar values of every rank.
    sums : dict
        Those of all ranks together.
    samples : list of RankSamples
        Of every rank, or fewer.
    columns : mapping of str to array
        The variables that are gathered later, of rank 0.
    every : mapping of str to array
        See `write_run_as`.
    """
    if why_not:
        target.note("events_left_out", why_not)
    for name in ("foreign_calls", "foreign_threads", "polls", "between_polls_s"):
        if sums[name]:
            target.note(name, sums[name])
    if samples and len(samples) == len(per_rank):
        target.note("sampling", sampling_of(samples))
        every = {**every, **variables_of(samples)}
    bodies = run.bodies
    names = {"phase": target.phases}
    if bodies.activity_duration is not None:
        names["activity"] = bodies.activities
    whole = {
        "body": bodies.kind,
        "position": bodies.position,
        "residual_norm": run.residual_norm,
        **edges.variables(),
        **{name: [each[name] for each in per_rank] for name in per_rank[0]},
        **every,
    }
    if "count_total" in every:
        names["count"] = COUNTS
    if kinds is not None:
        whole["event_kind"] = kinds
    if run.solves is not None:
        whole |= arrays_of(run.solves, "")
    if run.contexts is not None:
        whole |= {**run.contexts.variables(), "context_polls": sums["context_polls"]}
        if run.thread_calls_by_context is not None and sums["context_thread_calls"].any():
            whole |= {name: sums[name] for name in by_context(run)}
    if run.cycles is not None:
        names["predictor"] = run.cycles.predictions.names
        whole |= run.cycles.whole()
    shapes = {name: np.shape(each) for name, each in whole.items()}
    for name, (rows, *more) in ((name, each.shape) for name, each in columns.items()):
        shapes[name] = (rows, len(per_rank), *more)
    make_variables(target.file, shapes, names)
    fill(target.file, whole)


def columns_of(
    run: RankRun, rank: int, common: CommonEvents | None, *, with_counts: bool
) -> dict[str, NDArray[Any]]:
    """Return the variables with a column of a rank.

    Parameters
    ----------
    rank : int
        Number among the ranks of this process.
    with_counts : bool
        Whether another rank counted instructions and cycles; NaN where this one did not.
    """
    bodies = run.bodies
    columns: dict[str, NDArray[Any] | None] = {name: getattr(bodies, name, None) for name in BY_ROW}
    if with_counts and bodies.instructions is None:
        columns |= dict.fromkeys(("instructions", "cycles"), np.full(bodies.duration.size, np.nan))
    if common is not None and bodies.events is not None:
        events = common.of(rank, bodies.events)
        columns |= {"event_work": events.work, "event_duration": events.duration}
        columns |= {
            "event_group": events.group if "group" in common.known else None,
            "event_needs": events.needs if common.receipts else None,
            "event_behind": events.behind if "behind" in common.known else None,
            "event_context": events.context if "context" in common.known else None,
        }
    if run.cycles is not None:
        columns |= run.cycles.columns()
    return {name: column for name, column in columns.items() if column is not None}


@dataclass(frozen=True, slots=True)
class PlaceOfBlock:
    """The ranks of a process that are gathered together: which block, from which rank on.

    Attributes
    ----------
    block, first, ranks : int
        ``ranks``: how many; 0 where the process has no such block.
    """

    block: int
    first: int
    ranks: int


def places_of_blocks(of_processes: Sequence[Sequence[int]]) -> Iterator[list[PlaceOfBlock]]:
    """Yield what each process brings, block by block.

    Parameters
    ----------
    of_processes : sequence of sequence of int
        Ranks of the blocks of each process.
    """
    firsts = list(accumulate(map(sum, of_processes), initial=0))
    for number in range(max(map(len, of_processes))):
        yield [
            PlaceOfBlock(number, first + sum(ranks[:number]), sum(ranks[number : number + 1]))
            for first, ranks in zip(firsts, of_processes, strict=False)
        ]


def gathered_blocks(
    ranks: Sequence[NDArray[Any]],
    like: NDArray[Any],
    places: Sequence[PlaceOfBlock],
    communicator: MPI.Intracomm,
) -> Iterator[tuple[int, int, NDArray[Any]]]:
    """Gather rows of some ranks of all processes in steps, to bound the block on rank 0.

    Parameters
    ----------
    ranks : sequence of arrays, shape (row, ...), one for each rank of this process
    like : array, shape (row, ...)
        Of any rank.
    places : sequence of PlaceOfBlock
        Of each process.

    Yields
    ------
    int, int
        The first row and the first rank of a block; on rank 0 only.
    array, shape (row, rank, ...)
    """
    count = sum(place.ranks for place in places)
    ends = list(accumulate(place.ranks for place in places))
    # Neighbouring ranks are written together.
    joints = [
        at
        for at, (one, other) in enumerate(pairwise(places), 1)
        if one.first + one.ranks != other.first
    ]
    borders = [0, *(ends[at - 1] for at in joints), count]
    firsts = [places[at].first for at in (0, *joints)]
    row_bytes = like.itemsize * int(np.prod(like.shape[1:], dtype=np.int64)) * count
    rows = max(1, BLOCK_BYTES // row_bytes)
    for first in range(0, len(like), rows):
        shape = like[first : first + rows].shape
        part = np.empty((len(ranks), *shape), like.dtype)
        for at, each in enumerate(ranks):
            part[at] = each[first : first + rows]
        whole = np.empty((count, *shape) if communicator.rank == 0 else 0, like.dtype)
        size = int(np.prod(shape, dtype=np.int64))
        communicator.Gatherv(part, [whole, [place.ranks * size for place in places]], root=0)
        if communicator.rank == 0:
            for rank, (begin, end) in zip(firsts, pairwise(borders), strict=True):
                if end > begin:
                    yield first, rank, np.moveaxis(whole[begin:end], 0, 1)


def gather_edges(incoming: Edges, communicator: MPI.Intracomm) -> Edges:
    """Gather the edges of all ranks on rank 0; other ranks get their own back."""
    parts = communicator.gather(incoming)
    if parts is None:
        return incoming
    return Edges.together(parts)
