"""Kinds of events of a body (iteration), shared by recordings and models."""

from __future__ import annotations

from enum import IntEnum

MAX_PENDING = 64
"""Non-blocking collectives that may be under way at once."""


class EventKind(IntEnum):
    """What a rank does at an event of a body; run files contain the values."""

    NONE = 0
    """Padding of bodies with fewer events than others."""
    REDUCE = 1
    """Blocking reduction or barrier: no rank continues before all of its group have arrived."""
    POST = 2
    """Start of a non-blocking reduction."""
    COMPLETE = 3
    """Completion of the oldest posted reduction that is not yet complete."""
    SEND = 4
    """Start of an exchange of halos."""
    RECEIVE = 5
    """End of an exchange of halos: neighbours must have sent."""
    FROM_ROOT = 6
    """Broadcast or scatter: ranks need the root, which may leave at once."""
    TO_ROOT = 7
    """Reduction to a root or gather: the root needs all ranks, which may leave at once."""
    IN_ORDER = 8
    """Scan: each rank needs those before it."""
    UNKNOWN = 9
    """A body whose events do not fit together on all ranks: its time is each rank's own."""
