"""The contents of a run file: dimensions, variables, attributes and their version."""

from __future__ import annotations

from hindmost.harness.runfile.adaptive_variables import OF_CYCLES, OF_MESHES
from hindmost.harness.runfile.bodies import PHASES, BodyKind
from hindmost.harness.runfile.reduced_variables import REDUCED
from hindmost.harness.runfile.variable import Variable
from hindmost.models.events import EventKind

SCHEMA = "hindmost-run"
VERSION = 3
"""Increased if a reader of the old version would misread new files. Since 2, a file may have
columns of some ranks only; since 3, ``unclassified`` is a separate phase."""

SUFFIX = ".h5"

CHUNK_ITERATIONS = 256
CHUNK_RANKS = 1024
CHUNK_EVENTS = 24

UNLIMITED = ("iteration", "restart", "edge", "block", "block_edge")
"""Dimensions that may be empty or grow."""


VARIABLES = (
    Variable(
        name="duration",
        dimensions=("iteration", "rank"),
        type="f8",
        units="s",
        long_name="time of one body",
    ),
    Variable(
        name="start",
        dimensions=("iteration", "rank"),
        type="f8",
        units="s",
        long_name="start of a body since rank 0 left the barrier before the solve, on its clock",
    ),
    Variable(
        name="phase_duration",
        dimensions=("iteration", "rank", "phase"),
        type="f4",
        units="s",
        long_name="exclusive time of a phase in a body; the phases sum to the body",
    ),
    Variable(
        name="body",
        dimensions=("iteration",),
        type="u1",
        units="",
        long_name="kind of body",
    ),
    Variable(
        name="position",
        dimensions=("iteration",),
        type="i4",
        units="1",
        long_name="place in the restart cycle, from 0",
    ),
    *(
        Variable(
            name=name,
            dimensions=("iteration",),
            type=type_,
            units="1",
            long_name=long_name,
            optional=True,
        )
        for name, type_, long_name in (
            ("solve", "u4", "which solve of the program the body is of, from 0"),
            ("snes_step", "i4", "Newton step that the solve is part of, -1 outside of any"),
            ("time_step", "i4", "time step that the solve is part of, -1 outside of any"),
        )
    ),
    Variable(
        name="residual_norm",
        dimensions=("iteration",),
        type="f8",
        units="1",
        long_name="norm of the residual that the solver reported after the body",
    ),
    Variable(
        name="restart_duration",
        dimensions=("restart", "rank"),
        type="f8",
        units="s",
        long_name="time between the last body of a cycle and the first of the next",
    ),
    Variable(
        name="lead_in",
        dimensions=("rank",),
        type="f8",
        units="s",
        long_name="time from the barrier before the solve to the first body",
    ),
    Variable(
        name="lead_out",
        dimensions=("rank",),
        type="f8",
        units="s",
        long_name="time from the last body to the end of the solve",
    ),
    Variable(
        name="solve_time",
        dimensions=("rank",),
        type="f8",
        units="s",
        long_name="time from the barrier before the solve to its end",
    ),
    Variable(
        name="mpi_other",
        dimensions=("rank",),
        type="f8",
        units="s",
        long_name="time in MPI calls of no known kind, in the whole solve",
    ),
    Variable(
        name="context_switches",
        dimensions=("rank",),
        type="i8",
        units="1",
        long_name="involuntary context switches during the solve",
    ),
    Variable(
        name="clock_offset",
        dimensions=("rank",),
        type="f8",
        units="s",
        long_name="offset added to the rank's clock to get rank 0's, at the start",
    ),
    Variable(
        name="clock_uncertainty",
        dimensions=("rank",),
        type="f8",
        units="s",
        long_name="half the fastest round trip to rank 0",
    ),
    Variable(name="cpu", dimensions=("rank",), type="i4", units="1", long_name="core of the rank"),
    Variable(
        name="load_before",
        dimensions=("rank",),
        type="f8",
        units="1",
        long_name="load of the rank's host before the solve, one-minute mean",
        optional=True,
    ),
    Variable(
        name="load_after",
        dimensions=("rank",),
        type="f8",
        units="1",
        long_name="load of the rank's host after the solve, one-minute mean",
        optional=True,
    ),
    Variable(
        name="instructions",
        dimensions=("iteration", "rank"),
        type="f8",
        units="1",
        long_name="instructions of a body in user mode",
        optional=True,
    ),
    Variable(
        name="cycles",
        dimensions=("iteration", "rank"),
        type="f8",
        units="1",
        long_name="processor cycles of a body in user mode",
        optional=True,
    ),
    Variable(
        name="work_amount",
        dimensions=("iteration", "rank"),
        type="f8",
        units="1",
        long_name="work that the program counted in a body, in its own unit",
        optional=True,
    ),
    Variable(
        name="event_kind",
        dimensions=("iteration", "event"),
        type="u1",
        units="",
        long_name="kind of an event of a body",
        optional=True,
    ),
    Variable(
        name="event_work",
        dimensions=("iteration", "rank", "event"),
        type="f4",
        units="s",
        long_name="own work before an event, since the previous event or the start of the body",
        optional=True,
    ),
    Variable(
        name="event_duration",
        dimensions=("iteration", "rank", "event"),
        type="f4",
        units="s",
        long_name="time in an event",
        optional=True,
    ),
    Variable(
        name="activity_duration",
        dimensions=("iteration", "rank", "activity"),
        type="f4",
        units="s",
        long_name="exclusive time of an activity in a body, outside MPI; they sum to local",
        optional=True,
    ),
    Variable(
        name="injected",
        dimensions=("iteration", "rank"),
        type="f8",
        units="s",
        long_name="time in detours that were injected into a body, as the phase of that name",
        optional=True,
    ),
    Variable(
        name="injected_outside",
        dimensions=("rank",),
        type="f8",
        units="s",
        long_name="time in injected detours before the first body, after the last, and in restarts",
        optional=True,
    ),
    Variable(
        name="edge_source",
        dimensions=("edge",),
        type="i4",
        units="1",
        long_name="rank that sends a halo",
    ),
    Variable(
        name="edge_target",
        dimensions=("edge",),
        type="i4",
        units="1",
        long_name="rank that receives the halo",
    ),
    Variable(
        name="edge_bytes",
        dimensions=("edge",),
        type="i8",
        units="byte",
        long_name="size of one exchange",
    ),
    *OF_CYCLES,
    Variable(
        name="phase_cpu",
        dimensions=("iteration", "rank", "phase"),
        type="f4",
        units="s",
        long_name="processor time of a phase in a body",
        optional=True,
    ),
    *REDUCED,
    *OF_MESHES,
)
"""All numeric variables of a run. Optional ones are absent from older files, and if the machine
does not provide them."""

TEXTS = {
    "host": ("rank", "host of the rank"),
    "cpuset": ("rank", "cores that the rank may use"),
    "every_host": ("every_rank", "host of every rank, in files with columns of some ranks only"),
}
"""Variables of text, by name: dimension and meaning; all but ``host`` are optional."""

FLAGS: dict[str, type[BodyKind | EventKind]] = {"body": BodyKind, "event_kind": EventKind}
"""Variables whose values are enumerated kinds."""

OPTIONAL = frozenset(variable.name for variable in VARIABLES if variable.optional)

__all__ = [
    "CHUNK_EVENTS",
    "CHUNK_ITERATIONS",
    "CHUNK_RANKS",
    "FLAGS",
    "OPTIONAL",
    "PHASES",
    "SCHEMA",
    "SUFFIX",
    "TEXTS",
    "UNLIMITED",
    "VARIABLES",
    "VERSION",
    "Variable",
]
