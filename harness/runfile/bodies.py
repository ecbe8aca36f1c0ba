"""The bodies (iterations) of a solve on one rank, from the recorder to the run file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

PHASES = ("halo", "wait", "post", "unclassified", "local")
"""The phases of a body, exclusive; their sum is its duration. A loop may have more, after these.

``unclassified`` is time in MPI calls of no known kind.
"""

INJECTED = "injected"
"""The phase of noise that was put in on purpose, last of all; only runs with such noise have it."""

OTHER_WORK = "other"
"""The activity of local work that is in no PETSc event of an activity, last of all."""

EARLIER_PHASES = ("halo", "wait", "post", "local")
"""Phases of files before version 3, in which unclassified MPI time is part of ``local``."""

WAITING = ("halo", "wait")
"""The phases in which a rank depends on others."""

NOT_WORK = (*WAITING, "unclassified")
"""The phases that are not a rank's own work. It is unknown whether unclassified time is work."""

NO_GROUP = -1
"""Instead of the rank that stands for the group of an event."""
DIFFERENT = "the ranks did not take part in the same collectives in every iteration"

SUMMED = "only sums were kept of the calls in some iterations (attach --all keeps all)"
PART = "some MPI calls were among a part of the ranks"
WHO_WAITS_IS_NOT_KNOWN = (DIFFERENT, PART)
"""Reasons for missing events with which ranks may not wait for all others in an iteration."""
IN_MPI = (*NOT_WORK, "post")
"""The phases in which a rank is inside MPI."""


def sum_of_phases(
    phases: NDArray[np.floating[Any]], chosen: Sequence[bool] | None = None
) -> NDArray[np.float64]:
    """Return the sum of the phases of every body: float64, shape (body, rank), seconds.

    Parameters
    ----------
    phases : float array, shape (body, rank, phase), seconds
    chosen : sequence of bool, one a phase, optional
        Which to sum; all if not given.
    """
    total = np.zeros(phases.shape[:2])
    # One after another: numpy sums along a short last axis ten times as slowly.
    for at in range(phases.shape[2]):
        if chosen is None or chosen[at]:
            total += phases[:, :, at]
    return total


class BodyKind(IntEnum):
    """The kinds of bodies; the values are those in run files."""

    REGULAR = 0
    FILL = 1
    DRAIN = 2
    REPLACEMENT = 3


MESSAGE = np.dtype(
    [
        ("body", "i4"),
        ("event", "i4"),
        ("rank", "i4"),
        ("channel", "u2"),
        ("sent", "?"),
        ("found", "?"),
        ("at_s", "f8"),
    ]
)
"""A message that a rank sends or receives at an event of a body; both are -1 outside the bodies.

``rank`` is the other rank, and ``channel`` stands for communicator and tag: messages between two
ranks in one channel are received in the order of sending. ``found``: a probe found the message that
is received later. ``at_s`` is on the common clock: when a send began, or a receipt ended.
"""

PADDING = {
    "kind": 0,
    "work": 0,
    "duration": 0,
    "group": NO_GROUP,
    "needs": -1,
    "behind": 0,
    "context": 0,
}
"""The arrays of `RankEvents`, and their values where there is no event, or nothing is known."""


def nothing_known(name: str) -> NDArray[Any]:
    """Return what stands for an array of events of which nothing is known: shape (1, 1)."""
    return np.full((1, 1), PADDING[name], np.uint32 if name == "context" else np.int32)


def no_messages() -> NDArray[np.void]:
    """Return no message: structured array, shape (0,)."""
    return np.empty(0, MESSAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankEvents:
    """The events of the bodies of one rank.

    Attributes
    ----------
    kind : uint8 array, shape (body, event)
        See `EventKind`.
    work : float32 array, shape (body, event), seconds
        Own work since the previous event, or since the start of the body.
    duration : float32 array, shape (body, event), seconds
    group : int32 array, shape (body, event)
        The rank that stands for those that take part in a collective: its root, or any of them if
        it is over some ranks only; `NO_GROUP` for other events.
    needs : int32 array, shape (body, event)
        Whose messages a receipt needs: 0 where they are among the ``messages``; -1, as for other
        events, where that is not known.
    behind : int32 array, shape (body, event)
        See `hindmost.models.simulation.blocks.EventBlock`.
    messages : structured array, shape (message,)
        See `MESSAGE`; in the order of time.
    context : uint32 array, shape (body, event)
        Context of the first call of each event, by the run's `CallContexts`; 0 where it is not
        known.
    """

    kind: NDArray[np.uint8]
    work: NDArray[np.float32]
    duration: NDArray[np.float32]
    group: NDArray[np.int32] = field(default_factory=partial(nothing_known, "group"))
    needs: NDArray[np.int32] = field(default_factory=partial(nothing_known, "needs"))
    behind: NDArray[np.int32] = field(default_factory=partial(nothing_known, "behind"))
    messages: NDArray[np.void] = field(default_factory=no_messages)
    context: NDArray[np.uint32] = field(default_factory=partial(nothing_known, "context"))

    def __post_init__(self) -> None:
        """Give all arrays their shape; what is not known takes no memory."""
        for name in ("group", "needs", "behind", "context"):
            whole = np.broadcast_to(getattr(self, name), self.kind.shape)
            object.__setattr__(self, name, whole)

    def arrays(self) -> dict[str, Any]:
        """Return its arrays by name."""
        return {name: getattr(self, name) for name in PADDING}

    def knows(self, name: str) -> bool:
        """Tell whether an array says anything of any event."""
        return bool((getattr(self, name) != PADDING[name]).any())

    def first(self, bodies: int) -> RankEvents:
        """Return the events of the first bodies."""
        messages = self.messages.copy()
        messages["body"][messages["body"] >= bodies] = -1
        arrays = {name: each[:bodies] for name, each in self.arrays().items()}
        return replace(self, **arrays, messages=messages)


BY_BODY = (
    *("start", "duration", "phase_duration", "position", "kind"),
    *("residual_norm", "instructions", "cycles", "work_amount", "activity_duration", "injected"),
    "summed",
)
"""The arrays of `RankBodies` that have a row for each body; those after the first line may lack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankBodies:
    """The bodies of one solve on one rank; all times in seconds.

    Attributes
    ----------
    start : float64 array, shape (body,)
        Start of each body on the common clock, since rank 0 left the barrier before the solve.
    duration : float64 array, shape (body,)
    phase_duration : float32 array, shape (body, phase)
        In the order of ``phases``; sums to the duration.
    position : int32 array, shape (body,)
    kind : uint8 array, shape (body,)
        See `BodyKind`.
    restart_duration : float64 array, shape (restart,)
    lead_in_s, lead_out_s, solve_time_s : float
        Before the first body, after the last, and from the barrier to the end.
        ``lead_in + bodies + restarts + lead_out = solve_time``.
    phases : tuple of str
        `PHASES`, and phases that the user defined.
    residual_norm : float64 array, shape (body,), or None
        Norm of the residual after each body, NaN where the solver knows none; None of loops.
    instructions, cycles : float64 array, shape (body,), or None
        In user mode; None if the machine has no counters, NaN for bodies without counts.
    work_amount : float64 array, shape (body,), or None
        Work that the program counted in each body, in its own unit; None if it counts none.
    events : RankEvents or None
        None if unknown.
    events_left_out : str
        Why events are missing, to follow "because"; may be empty.
    activity_duration : float32 array, shape (body, activity), or None
        Local work by activity, in the order of ``activities``; None unless requested.
    activities : tuple of str
    injected : float64 array, shape (body,), or None
        Time in injected detours, also a phase; None if no rank was to have any.
    injected_outside_s : float
        The same before the first body, after the last, and in restarts.
    summed : bool array, shape (body,), or None
        Bodies of whose calls only sums are there; None if there are none.
    """

    start: NDArray[np.float64]
    duration: NDArray[np.float64]
    phase_duration: NDArray[np.float32]
    position: NDArray[np.int32]
    kind: NDArray[np.uint8]
    restart_duration: NDArray[np.float64]
    lead_in_s: float
    lead_out_s: float
    solve_time_s: float
    phases: tuple[str, ...] = PHASES
    residual_norm: NDArray[np.float64] | None = None
    instructions: NDArray[np.float64] | None = None
    cycles: NDArray[np.float64] | None = None
    work_amount: NDArray[np.float64] | None = None
    events: RankEvents | None = None
    events_left_out: str = ""
    activity_duration: NDArray[np.float32] | None = None
    activities: tuple[str, ...] = ()
    injected: NDArray[np.float64] | None = None
    injected_outside_s: float = 0.0
    summed: NDArray[np.bool_] | None = None

    def first(self, bodies: int) -> RankBodies:
        """Return the first bodies only; later ones become part of the lead-out."""
        restarts = int(np.count_nonzero(self.position[1:bodies] == 0))
        left_out = self.duration[bodies:].sum() + self.restart_duration[restarts:].sum()
        injected = 0.0 if self.injected is None else float(self.injected[bodies:].sum())
        known = {name: getattr(self, name) for name in BY_BODY}
        return replace(
            self,
            **{name: each[:bodies] for name, each in known.items() if each is not None},
            injected_outside_s=self.injected_outside_s + injected,
            restart_duration=self.restart_duration[:restarts],
            lead_out_s=self.lead_out_s + float(left_out),
            events=None if self.events is None else self.events.first(bodies),
        )
