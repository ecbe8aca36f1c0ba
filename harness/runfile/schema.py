"""The contents of a run file: its dimensions and variables, with the values that they may have.

This is the one declaration: writers make the variables from it, `checks` refuses what differs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.contexts import NOWHERE
from hindmost.harness.runfile.samples import IterationPart, SampleKind
from hindmost.models.events import EventKind

SCHEMA = "hindmost-run"
VERSION = 5
"""Since 2, a file may have columns of some ranks only; since 3, ``unclassified`` is a separate
phase; since 4, a file may have the call contexts of its events; since 5, whose messages
receipts need."""

SUFFIX = ".h5"

MAX_IN_CHUNK = {"rank": 1024, "event": 24}
"""Entries of a chunk along a dimension whose chunks are larger: some readers want few of them."""

UNLIMITED = (
    *("iteration", "restart", "edge", "block", "block_edge"),
    *("frame", "chain_place", "module", "code"),
    *("stretch", "sample", "sampled_thread", "stack", "stack_frame", "code_place"),
)
"""Dimensions that may be empty or grow."""
NAMED = ("phase", "predictor", "count", "activity")
"""Dimensions whose coordinates are names."""

ROUNDING_S = 1e-9
"""No clock resolves less; rounding may make a time of zero negative by this much."""
MAX_S = 1e11
"""Three thousand years; sums of such times and their squares are finite."""


@dataclass(frozen=True, slots=True)
class Range:
    """The values that a variable may have.

    Attributes
    ----------
    least : float
    most : float or str
        Or what the values are numbers of: ``rank``, ``body`` or ``mesh``.
    may_lack : bool
        Whether values may be missing (NaN).
    """

    least: float
    most: float | str = math.inf
    may_lack: bool = False

    def largest(self, ranks: int, bodies: int) -> float:
        """Return the largest value in a run."""
        if isinstance(self.most, str):
            return {"rank": ranks - 1, "body": max(bodies, 1) - 1, "mesh": bodies}[self.most]
        return self.most


def chunk_shape(
    dimensions: Sequence[str], sizes: Mapping[str, int], itemsize: int
) -> tuple[int, ...]:
    """Return the shape of the chunks of a variable, of which a file has hardly more than its data.

    Along each dimension all chunks are as long as each other, so that the last one is nearly full.
    They are as long as is allowed, and longer where a chunk would be small.

    Parameters
    ----------
    sizes : mapping of str to int
        Of the dimensions.
    itemsize : int
        Bytes of a value.
    """
    longest = {
        name: min(
            max(sizes[name], 1),
            MAX_IN_CHUNK.get(name, 256 if name in UNLIMITED else sizes[name]),
        )
        for name in dimensions
    }
    for name in reversed(dimensions):
        others = itemsize * math.prod(longest.values()) // longest[name]
        longest[name] = max(longest[name], min(sizes[name], (1 << 18) // others))
    return tuple(
        -(-max(sizes[name], 1) // -(-max(sizes[name], 1) // longest[name])) for name in dimensions
    )


TIME = Range(-ROUNDING_S, MAX_S)
SIGNED = Range(-MAX_S, MAX_S)
COUNT = Range(0)
RANK, BODY, MESH = Range(0, "rank"), Range(0, "body"), Range(0, "mesh")
ANY = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable of the file.

    Attributes
    ----------
    name : str
    dimensions : tuple of str
    type, units, long_name : str
        As in the file.
    allowed : Range or None
        None for any value.
    group : str
        Variables of a group are in a file together or not at all, those that are ``alone`` each by
        itself; empty if every file has the variable.
    """

    name: str
    dimensions: tuple[str, ...]
    type: str
    units: str
    long_name: str
    allowed: Range | None
    group: str

    @property
    def large(self) -> bool:
        """Whether it is too large to be read when a file is opened: times of each body."""
        return len(self.dimensions) > 1 and self.dimensions[0] != "restart" and bool(self.units)


def declare(
    dimensions: str, type_: str, units: str, allowed: Range | None, group: str = "", **names: str
) -> tuple[Variable, ...]:
    """Return variables that differ in name and meaning only."""
    return tuple(
        Variable(
            name=name,
            dimensions=tuple(dimensions.split()),
            type=type_,
            units=units,
            long_name=long_name,
            allowed=allowed,
            group=group,
        )
        for name, long_name in names.items()
    )


# fmt: off
VARIABLES = (
    *declare("iteration rank", "f8", "s", TIME,
        duration="time of one body",
    ),
    *declare("iteration rank", "f8", "s", SIGNED,
        start="start of a body since rank 0 left the barrier before the solve, on its clock",
    ),
    *declare("iteration rank phase", "f4", "s", TIME,
        phase_duration="exclusive time of a phase in a body; the phases sum to the body",
    ),
    *declare("iteration", "u1", "", Range(0, len(BodyKind) - 1),
        body="kind of body",
    ),
    *declare("iteration", "i4", "1", BODY,
        position="place in the restart cycle, from 0",
    ),
    *declare("iteration", "f8", "1", ANY,
        residual_norm="norm of the residual that the solver reported after the body",
    ),
    *declare("restart rank", "f8", "s", TIME,
        restart_duration="time between the last body of a cycle and the first of the next",
    ),
    *declare("rank", "f8", "s", TIME,
        lead_in="time from the barrier before the solve to the first body",
        lead_out="time from the last body to the end of the solve",
        mpi_other="time in MPI calls of no known kind, in the whole solve",
        clock_uncertainty="half the fastest round trip to rank 0",
    ),
    *declare("rank", "f8", "s", Range(ROUNDING_S, MAX_S),
        solve_time="time from the barrier before the solve to its end",
    ),
    *declare("rank", "i8", "1", COUNT,
        context_switches="involuntary context switches during the solve",
    ),
    *declare("rank", "f8", "s", SIGNED,
        clock_offset="offset added to the rank's clock to get rank 0's, at the start",
    ),
    *declare("rank", "i4", "1", Range(-1),
        cpu="core of the rank",
    ),
    *declare("edge", "i4", "1", RANK,
        edge_source="rank that sends a halo",
        edge_target="rank that receives the halo",
    ),
    *declare("edge", "i8", "byte", COUNT,
        edge_bytes="size of one exchange",
    ),
    *declare("iteration", "u4", "1", COUNT, group="alone",
        solve="which solve of the program the body is of, from 0",
    ),
    *declare("iteration", "i4", "1", Range(-1), group="alone",
        snes_step="Newton step that the solve is part of, -1 outside of any",
        time_step="time step that the solve is part of, -1 outside of any",
    ),
    *declare("iteration rank", "f8", "1", Range(0, 1e30, may_lack=True), group="alone",
        instructions="instructions of a body in user mode",
        cycles="processor cycles of a body in user mode",
    ),
    *declare("iteration rank", "f8", "1", Range(0, 1e30), group="alone",
        work_amount="work that the program counted in a body, in its own unit",
    ),
    *declare("iteration rank activity", "f4", "s", TIME, group="alone",
        activity_duration="exclusive time of an activity in a body, outside MPI; they sum to local",
    ),
    *declare("iteration rank", "i8", "1", COUNT, group="alone",
        cells="cells that the rank owned in the cycle",
        faces="faces of these cells",
        ghosts="cells of other ranks that the rank received in an exchange",
        messages="halo messages that the rank sent in the cycle",
        divided="cells that were divided at the end of the cycle",
        combined="cells that were combined at the end of the cycle",
        moved="cells that the rank gave to others at the end of the cycle",
        heat_iterations="iterations of the heat solver in the cycle",
        switches="involuntary context switches in the cycle",
    ),
    *declare("iteration rank", "i8", "byte", COUNT, group="alone",
        bytes="bytes of these messages",
    ),
    *declare("iteration rank", "f4", "s", TIME, group="alone",
        pulse_core="fixed computation right after the cycle, to see how fast the core is",
        pulse_memory="fixed pass over memory right after the cycle, in older files",
    ),
    *declare("iteration rank phase", "f4", "s", replace(TIME, may_lack=True), group="alone",
        phase_cpu="processor time of a phase in a body",
    ),
    *declare("iteration predictor", "f8", "s", Range(-MAX_S, MAX_S, may_lack=True), group="alone",
        predicted="time of the cycle, predicted before it ran",
    ),
    *declare("edge", "i4", "1", Range(0), group="alone",
        edge_messages="messages of one exchange",
    ),
    *declare("rank", "f8", "s", replace(TIME, may_lack=True), group="alone",
        core_wait="time in the solve in which the rank could run and had no core",
        others_cpu="processor time in the solve of all threads but the one that calls MPI",
    ),
    *declare("rank", "i8", "1", COUNT, group="alone",
        threads="threads of the process when the solve ended, those of MPI too; 0: not known",
    ),
    *declare("rank", "f8", "1", COUNT, group="loads",
        load_before="load of the rank's host before the solve, one-minute mean",
        load_after="load of the rank's host after the solve, one-minute mean",
    ),
    *declare("iteration event", "u1", "", Range(0, len(EventKind) - 1), group="events",
        event_kind="kind of an event of a body",
    ),
    *declare("iteration rank event", "i4", "1", Range(-1, "rank"), group="alone",
        event_group="rank that stands for those of a collective: its root, or any of them if it is "
        "over some ranks; -1 otherwise. Of a non-blocking collective with a root, the one rank "
        "that a rank needs (itself: nobody)",
    ),
    *declare("iteration rank event", "i4", "1", Range(-(1 << 31)), group="alone",
        event_needs="whose messages a receipt needs: bit i for the rank's i-th source in the order "
        "of edges; -1 for all of them, and for other events; -2 - i for the i-th alone",
    ),
    *declare("iteration rank event", "i4", "1", COUNT, group="alone",
        event_behind="by how many sends the message that a receipt needs is behind the last one "
        "before it, in the sequence of events",
    ),
    *declare("iteration rank event", "u4", "1", COUNT, group="alone",
        event_context="context of the first call of an event; 0 where it is not known",
    ),
    *declare("context", "i8", "1", COUNT, group="contexts",
        chain_end="where the chain of a context ends in chain_frame; the next begins there",
        context_polls="calls that found nothing, such as an MPI_Test, of all ranks, by context",
    ),
    *declare("context", "i8", "1", COUNT, group="alone",
        context_thread_calls="MPI calls of other threads than the recorded one, of all ranks",
    ),
    *declare("context", "f8", "s", TIME, group="alone",
        context_thread_time="how long the MPI calls of other threads took, over all ranks",
    ),
    *declare("chain_place", "u4", "1", COUNT, group="contexts",
        chain_frame="frames of the chains one after the other, each from the outermost on",
    ),
    *declare("frame", "i4", "1", Range(NOWHERE), group="contexts",
        frame_module="module of a frame; -1: a line of Python, -2: code of no file",
    ),
    *declare("frame", "i8", "1", Range(0), group="contexts",
        frame_offset="return address in the file of the module, or the line of Python",
        frame_function="where the function begins in that file, 0 if not known; of Python, its "
        "code",
        frame_bytes="bytes of the function; 0 if not known",
    ),
    *declare("code", "i4", "1", Range(0), group="contexts",
        code_line="first line of a function of Python",
    ),
    *declare("stretch", "i4", "1", RANK, group="stretches",
        stretch_rank="rank of the calls of two contexts in a row",
    ),
    *declare("stretch", "u4", "1", COUNT, group="stretches",
        stretch_after="context of the first of them; 0: the begin of the program",
        stretch_before="context of the second",
    ),
    *declare("stretch", "i8", "1", COUNT, group="stretches",
        stretch_calls="how often they came",
    ),
    *declare("stretch", "f8", "s", TIME, group="stretches",
        stretch_work="time between them, in all",
        stretch_mpi="time in the second, in all, and in calls between them that found nothing",
    ),
    *declare("sample", "i4", "1", RANK, group="samples",
        sample_rank="rank of samples that are equal",
    ),
    *declare("sample", "i4", "1", COUNT, group="samples",
        sample_thread="their thread, by its number in the rank; 0: the one that calls MPI",
    ),
    *declare("sample", "u4", "1", COUNT, group="samples",
        sample_context="context of the call before them; 0 where it is not known",
        sample_stack="stack of the functions in which they were taken",
    ),
    *declare("sample", "u1", "", Range(0, len(SampleKind) - 1), group="samples",
        sample_kind="what the thread did",
    ),
    *declare("sample", "u1", "", Range(0, len(IterationPart) - 1), group="samples",
        sample_part="in which iterations",
    ),
    *declare("rank", "i4", "1", COUNT, group="samples",
        slow_iterations="iterations of a rank whose own work stands out",
    ),
    *declare("sample", "i8", "1", COUNT, group="samples",
        sample_count="how many there are",
    ),
    *declare("rank", "f8", "s", TIME, group="samples",
        sample_period="processor time of a thread from one sample to the next, on average",
    ),
    *declare("rank context", "f8", "s", TIME, group="samples",
        context_time="processor time of a rank from the calls of a context to its next ones",
    ),
    *declare("sampled_thread", "i4", "1", RANK, group="samples",
        thread_rank="rank of a thread",
    ),
    *declare("sampled_thread", "i4", "1", COUNT, group="samples",
        thread_number="number of the thread in the rank",
    ),
    *declare("sampled_thread", "f8", "s", TIME, group="samples",
        thread_time="processor time of the thread until samples were last written",
    ),
    *declare("stack", "i8", "1", COUNT, group="samples",
        stack_end="where the functions of a stack end in stack_place; the next begins there",
    ),
    *declare("stack", "i4", "1", COUNT, group="samples",
        stack_region="how many of them, the innermost ones, are in an OpenMP region",
    ),
    *declare("stack_frame", "u4", "1", COUNT, group="samples",
        stack_place="places of the stacks one after the other, each from the innermost on",
    ),
    *declare("code_place", "i4", "1", COUNT, group="samples",
        place_line="line of a place; 0 where it is not known",
    ),
    *declare("iteration rank event", "f4", "s", TIME, group="events",
        event_work="own work before an event, since the previous event or the start of the body",
        event_duration="time in an event",
    ),
    *declare("iteration rank", "f8", "s", TIME, group="injected",
        injected="time in detours that were injected into a body, as the phase of that name",
    ),
    *declare("rank", "f8", "s", TIME, group="injected",
        injected_outside="time in injected detours before the first body, after the last, and "
        "in restarts",
    ),
    *declare("rank", "i4", "1", ANY, group="reduced",
        kept_rank="rank of the column, in files with columns of some ranks only",
    ),
    *declare("interval every_rank phase", "f4", "s", TIME, group="reduced",
        profile_phase="time of a phase in the bodies that begin in an interval, of every rank",
    ),
    *declare("interval", "i4", "1", COUNT, group="reduced",
        interval_bodies="number of consecutive bodies in an interval of the profile",
    ),
    *declare("every_rank", "f8", "s", Range(ROUNDING_S, MAX_S), group="reduced",
        every_solve_time="time from the barrier before the solve to its end, of every rank",
    ),
    *declare("every_rank", "i8", "1", COUNT, group="reduced",
        every_last="bodies in which the rank was the last of all, by own work and slow transfers",
    ),
    *declare("every_rank", "f8", "s", TIME, group="reduced",
        every_waited="excess time of the rank in bodies in which it was last",
    ),
    *declare("every_rank", "f8", "s", TIME, group="ranks",
        every_charged="wait time of others in bodies that the rank ended last",
        every_lost="time saved if the rank were as fast as the second slowest",
        every_deviation="standard deviation of the own work of bodies",
        every_longest="largest own work in one body",
    ),
    *declare("every_rank", "i8", "1", COUNT, group="ranks",
        every_longest_body="number of the body with the largest own work",
    ),
    *declare("every_rank", "f8", "1", SIGNED, group="ranks",
        every_drift="relative change of own work from first to last body",
    ),
    *declare("interval", "f8", "s", SIGNED, group="ranks",
        interval_start="time at which the first rank begins the interval, on the common clock",
    ),
    *declare("interval", "f8", "s", TIME, group="ranks",
        interval_run_time="run time of the restart cycles that begin in the interval, over all "
        "ranks",
    ),
    *declare("bin", "f8", "s", TIME, group="ranks",
        work_bin_from="lower edge of a bin of the own work of bodies; the last bin is open",
    ),
    *declare("bin", "i8", "1", COUNT, group="ranks",
        work_bin_count="number of bodies of all ranks whose own work lies in the bin",
    ),
    *declare("every_rank", "f8", "s", TIME, group="transfers",
        every_transfer="time of the rank in slow halo transfers",
        every_transfer_charged="wait time of the others due to its slow transfers",
    ),
    *declare("interval every_rank count", "i8", "1", COUNT, group="counts",
        profile_count="counts in the cycles of an interval, of every rank",
    ),
    *declare("iteration count", "i8", "1", COUNT, group="counts",
        count_total="counts in a cycle, of all ranks",
        count_most="largest count of a rank in a cycle",
    ),
    *declare("iteration phase", "f4", "s", TIME, group="counts",
        phase_least="least time of a phase over the ranks",
    ),
    *declare("iteration", "f8", "s", TIME, group="all bodies",
        all_least="time of a body on the rank where it is shortest, of all ranks",
        all_most="time of a body on the rank where it is longest, of all ranks",
        all_mean="time of a body, the mean of all ranks",
    ),
    *declare("duration_bin", "i8", "1", Range(1), group="all bodies",
        all_bin_count="bodies of all ranks in a bin, by their time; none of the prologue",
    ),
    *declare("duration_bin", "f8", "s", TIME, group="all bodies",
        all_bin_mean="mean time of the bodies in the bin",
        all_bin_deviation="standard deviation of the time of the bodies in the bin",
    ),
    *declare("iteration", "i4", "1", MESH, group="meshes",
        epoch="number of the mesh of the cycle, from 0",
    ),
    *declare("edge", "i4", "1", MESH, group="meshes",
        edge_epoch="number of the mesh of the edge",
    ),
    *declare("block", "i8", "1", COUNT, group="blocks",
        block_place="number of the block, row by row over the domain, in cells of the base mesh",
    ),
    *declare("block", "f8", "1", COUNT, group="blocks",
        block_load="cells in a block of the mesh",
    ),
    *declare("block", "i4", "1", RANK, group="blocks",
        block_owner="rank of the block's first cell",
    ),
    *declare("block", "i4", "1", MESH, group="blocks",
        block_epoch="number of the mesh of the row",
    ),
    *declare("block_edge", "i8", "1", COUNT, group="block edges",
        block_edge_source="place of the block that has the cells",
        block_edge_target="place of the block that needs the cells",
    ),
    *declare("block_edge", "i8", "byte", COUNT, group="block edges",
        block_edge_bytes="bytes that a block needs of another in one exchange",
    ),
    *declare("block_edge", "i4", "1", MESH, group="block edges",
        block_edge_epoch="number of the mesh of the block edge",
    ),
)
"""All numeric variables of a run. Those of a group are absent from older files, and where the
machine or the kind of run does not provide them."""
# fmt: on
VARIABLE = {variable.name: variable for variable in VARIABLES}

TEXTS = {
    "host": ("rank", "host of the rank"),
    "cpuset": ("rank", "cores that the rank may use"),
    "every_host": ("every_rank", "host of every rank, in files with columns of some ranks only"),
    "module_path": ("module", "program or library that was loaded"),
    "module_identity": ("module", "its build id, or SIZE:MTIME of its file"),
    "frame_place": ("frame", "function, file and line of a frame"),
    "code_file": ("code", "file of a function of Python"),
    "code_function": ("code", "name of a function of Python"),
    "place_function": ("code_place", "function of a place, inlined ones too"),
    "place_file": ("code_place", "its file; empty where it is not known"),
}
"""Variables of text, by name: dimension and meaning; all but ``host`` are optional."""

FLAGS: dict[str, type[BodyKind | EventKind | IterationPart | SampleKind]] = {
    "body": BodyKind,
    "event_kind": EventKind,
    "sample_kind": SampleKind,
    "sample_part": IterationPart,
}
"""Variables whose values are enumerated kinds."""
