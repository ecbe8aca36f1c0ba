"""Message by message: what ranks do in a program of which every message is known, as in a trace.

Unlike in `hindmost.models.simulation.program`, whose bodies are alike on all ranks, each rank has
operations of its own. A blocking call is two operations: it begins, and it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

MOST_OPERATIONS = 1 << 25
"""Operations of all ranks that are held in memory."""
MOST_NAMED = 4
"""Ranks that a message lists."""


class Operation(IntEnum):
    """What a rank does after some work."""

    NOTHING = 0
    """Go on at once, as from a test for a message that is waited for later."""
    SEND = 1
    """Begin to send a message."""
    POST = 2
    """Begin to receive a message."""
    SENT = 3
    """Wait until a message may leave: at once, or when it was received."""
    RECEIVED = 4
    """Wait for a message."""
    ENTER = 5
    """Begin a collective."""
    LEAVE = 6
    """Wait for a collective."""


class Pattern(IntEnum):
    """Who waits for whom in a collective."""

    ALL = 1
    """All for all, as in a barrier."""
    FROM_ROOT = 2
    """A binomial tree from the root, as in a broadcast."""
    TO_ROOT = 3
    """A binomial tree to the root, as in a reduction."""
    PREFIX = 4
    """Each rank for those before it."""
    DOUBLING = 5
    """Pairs at distances 1, 2, 4 and so on, rank by rank, as in an allreduce."""


class Exchange(IntEnum):
    """How many messages of which size a collective takes."""

    NOTHING = 0
    """Empty messages, in as many rounds as doubling needs."""
    SAME = 2
    """The same bytes along every branch of a tree, or in every round."""
    GROWING = 3
    """A branch carries the bytes of all ranks behind it; twice the bytes in every round."""
    PAIRS = 4
    """A message to every other rank."""
    HALVING = 5
    """Half the bytes in every round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointCall:
    """A collective of all ranks.

    Attributes
    ----------
    name : str
    pattern : Pattern
    exchange : Exchange
    root : int
        0 where it does not matter.
    bytes : float
        Of a message, or that a rank contributes.
    """

    name: str
    pattern: Pattern
    exchange: Exchange
    root: int = 0
    bytes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MessageProgram:
    """What all ranks do.

    Attributes
    ----------
    first : int64 array, shape (rank + 1,)
        Rank p does the operations ``first[p]`` to ``first[p + 1] - 1``.
    kind : uint8 array, shape (operation,)
        See `Operation`.
    target : int64 array, shape (operation,)
        The message; of collectives, number of the collective x ranks + rank.
    work : float64 array, shape (operation,), seconds
        Before the operation.
    after : float64 array, shape (rank,), seconds
        Work after the last operation.
    line : int32 array, shape (operation,)
        In the trace, for messages.
    files : tuple of str
        The trace of every rank, for messages.
    source, destination : int32 array, shape (message,)
    bytes : float64 array, shape (message,)
    synchronous : bool array, shape (message,)
        Sent only once the receiver has come, whatever the size.
    collectives : tuple of JointCall
    """

    first: NDArray[np.int64]
    kind: NDArray[np.uint8]
    target: NDArray[np.int64]
    work: NDArray[np.float64]
    after: NDArray[np.float64]
    line: NDArray[np.int32]
    files: tuple[str, ...]
    source: NDArray[np.int32]
    destination: NDArray[np.int32]
    bytes: NDArray[np.float64]
    synchronous: NDArray[np.bool_]
    collectives: tuple[JointCall, ...]

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return int(self.after.size)

    @property
    def rank_of(self) -> NDArray[np.int64]:
        """The rank of every operation: int64, shape (operation,)."""
        return np.repeat(np.arange(self.ranks), np.diff(self.first))

    @property
    def work_s(self) -> NDArray[np.float64]:
        """The work of every rank: float64, shape (rank,), seconds."""
        return np.bincount(self.rank_of, self.work, self.ranks) + self.after

    def at(self, operation: int) -> str:
        """Return where an operation stands in the trace, for messages."""
        rank = int(np.searchsorted(self.first, operation, side="right")) - 1
        return f"{self.files[rank]}, line {self.line[operation]}"
