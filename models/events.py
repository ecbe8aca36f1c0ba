"""What a rank does at an event of a body: the words that recordings and models share."""

from __future__ import annotations

from enum import IntEnum


class EventKind(IntEnum):
    """What a rank does at an event of a body; the values stand in run files."""

    NONE = 0
    """Fills up bodies that have fewer events than others."""
    REDUCE = 1
    """Blocking reduction: nobody goes on before all have come."""
    POST = 2
    """Start of a non-blocking reduction."""
    COMPLETE = 3
    """Completion of the reduction that was posted first of those not yet completed."""
    SEND = 4
    """Start of an exchange of halos."""
    RECEIVE = 5
    """End of an exchange of halos: neighbours must have sent."""
