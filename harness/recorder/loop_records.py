"""The records of a user's loop: memory for them, and what was sent.

Memory is added between iterations only, one piece at a time, up to 0.5 GB on a rank.
Iterations after that are not kept.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.library import RECORD, State
from hindmost.harness.runfile.bodies import MOST_SOURCES
from hindmost.harness.runfile.contents import Edges

if TYPE_CHECKING:
    from mpi4py import MPI

PIECE = 1 << 22
"""Records of a piece of memory, at least: 100 MB, of which only what is used is taken."""
MOST_RECORDS = 1 << 24
"""From which on no piece is added: a loop of days must not take the memory of the program."""


class LoopRecords:
    """Collects what the recorder notes of a loop, from arming to disarming.

    Attributes
    ----------
    lost : int
        Records for which there was no room: the loop is too long, or an iteration had very many
        more than those before it.
    until_ns : int
        When the last record before these ended.
    """

    def __init__(self, library: Any, state: State) -> None:
        self._library, self._state = library, state
        self._pieces: list[NDArray[np.void]] = []
        self._seen = self._most = self._kept = 0
        self.lost, self.until_ns = 0, (1 << 63) - 1
        self._memory = np.empty(PIECE, RECORD)
        library.hindmost_memory_for(self._memory.ctypes.data, PIECE, min(PIECE, 1 << 16))

    def next_body(self) -> None:
        """Begin an iteration: add a piece of memory if it may need one."""
        self._library.hindmost_next_body()
        seen = int(self._state["seen"])
        self._most = max(self._most, seen - self._seen)
        self._seen = seen
        enough = self._memory.size - seen >= max(2 * self._most, PIECE // 4)
        if enough or self._kept >= MOST_RECORDS:
            return
        self._take()
        self._memory = np.empty(max(PIECE, 4 * self._most), RECORD)
        self._library.hindmost_more_memory(self._memory.ctypes.data, self._memory.size)
        self._seen = 0

    def _take(self) -> None:
        """Keep what was noted in the current piece of memory."""
        seen = int(self._state["seen"])
        kept = min(seen, self._memory.size)
        if seen > kept and not self.lost and kept:
            self.until_ns = int(self._memory["end_ns"][kept - 1])
        self.lost += seen - kept
        self._kept += kept
        self._pieces.append(self._memory[:kept])
        self._memory = self._memory[:0]

    def calls(self) -> NDArray[np.void]:
        """Return the MPI calls of the loop, after it: structured array, shape (call,)."""
        self._take()
        records = np.concatenate(self._pieces)
        self._pieces.clear()
        calls: NDArray[np.void] = records[records["what"] < 0]  # a solve in it may leave marks
        return calls

    def sources(self, communicator: MPI.Intracomm) -> tuple[int, ...]:
        """Return the ranks whose messages receipts need, by bit; see `RankEvents`."""
        ranks = np.empty(MOST_SOURCES, np.int32)
        count = self._library.hindmost_sources(communicator.py2f(), ranks.ctypes.data)
        return tuple(ranks[:count].tolist())

    def sent(self, communicator: MPI.Intracomm, bodies: int) -> Edges | None:
        """Return the ranks to which this rank sent in the loop, None if there were too many.

        Parameters
        ----------
        bodies : int
            Divides the number of messages.
        """
        room = communicator.size
        ranks = np.empty(room, np.int32)
        messages, sizes = np.empty(room, np.int64), np.empty(room, np.int64)
        arrays = [ctypes.c_void_p(array.ctypes.data) for array in (ranks, messages, sizes)]
        count = self._library.hindmost_peers(communicator.py2f(), room, *arrays)
        if count < 0:
            return None
        return Edges.sent(communicator.rank, ranks[:count], messages[:count], sizes[:count], bodies)
