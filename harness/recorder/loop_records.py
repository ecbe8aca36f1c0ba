"""The records of a user's loop: memory for them, and the events that follow from them.

Memory is added between iterations only, one piece at a time, so a loop can have any length. Time in
a phase named ``halo``, ``wait`` or ``post`` is never work, even outside MPI calls: it counts to the
events of the calls in it, or is an event itself if there are none.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.events import events_of_bodies
from hindmost.harness.recorder.library import PHASES as MPI_PHASES
from hindmost.harness.recorder.library import RECORD, State
from hindmost.harness.runfile.bodies import RankEvents
from hindmost.harness.runfile.contents import Edges

if TYPE_CHECKING:
    from mpi4py import MPI

PIECE = 1 << 16
"""Records of a piece of memory, at least: 1.5 MB."""
MOST_RECORDS = 1 << 23
"""Of all pieces: 200 MB."""


class LoopRecords:
    """Collects what the recorder notes of a loop, from arming to disarming."""

    def __init__(self, library: Any, state: State) -> None:
        self._library, self._state = library, state
        self._pieces: list[NDArray[np.void]] = []
        self._seen = self._most = self._kept = 0
        self.lost = 0
        self._memory = np.zeros(PIECE, RECORD)
        library.hindmost_memory(self._memory.ctypes.data, self._memory.size)

    def next_body(self) -> None:
        """Begin an iteration: add a piece of memory if it may need one."""
        self._library.hindmost_next_body()
        seen = int(self._state["seen"])
        self._most = max(self._most, seen - self._seen)
        self._seen = seen
        if self._memory.size - seen >= max(2 * self._most, PIECE // 4):
            return
        self._take()
        room = 0 if self._kept > MOST_RECORDS else max(PIECE, 4 * self._most)
        self._memory = np.empty(min(room, MOST_RECORDS), RECORD)
        self._library.hindmost_more_memory(self._memory.ctypes.data, self._memory.size)
        self._seen = 0

    def _take(self) -> None:
        """Keep what was noted in the current piece of memory."""
        seen = int(self._state["seen"])
        kept = min(seen, self._memory.size)
        self.lost += seen - kept
        self._kept += kept
        self._pieces.append(self._memory[:kept])
        self._memory = self._memory[:0]

    def events(
        self,
        begin: NDArray[np.int64],
        end: NDArray[np.int64],
        regions: NDArray[np.int64],
    ) -> tuple[RankEvents | None, str]:
        """Return the events of the iterations, or None and the reason; after the loop.

        Parameters
        ----------
        begin, end : int64 array, shape (body,), nanoseconds
        regions : int64 array, shape (region, 2), nanoseconds
            Begin and end of the phases that count as a whole.
        """
        self._take()
        if self.lost:
            return None, f"{self.lost:,} records found no room in memory"
        records = np.concatenate(self._pieces)
        self._pieces.clear()
        records = records[records["what"] < 0]  # a solve in the loop may leave marks
        classes = self._state.call_classes
        whole = with_regions(records, regions, len(classes))
        return events_of_bodies(begin, end, whole, (*classes, "targets"))

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


def with_regions(
    records: NDArray[np.void], regions: NDArray[np.int64], no_call: int
) -> NDArray[np.void]:
    """Return records that fill the regions in which they lie, and one for each that has none.

    Parameters
    ----------
    records : structured array, shape (record,)
        MPI calls, in the order of time.
    regions : int64 array, shape (region, 2), nanoseconds
        In the order of time, side by side.
    no_call : int
        Number of the call that stands for a region without calls.

    Returns
    -------
    structured array, shape (record,)
        In the order of time.
    """
    if not len(regions):
        return records
    records = records.copy()
    begins, ends = regions[:, 0], regions[:, 1]
    region = np.searchsorted(begins, records["begin_ns"], side="right") - 1
    inside = (region >= 0) & (records["begin_ns"] < ends[np.maximum(region, 0)])
    place, within = np.flatnonzero(inside), region[inside]
    first, last = np.ones(place.size, np.bool_), np.ones(place.size, np.bool_)
    first[1:] = last[:-1] = within[1:] != within[:-1]
    before = np.append(0, records["end_ns"][place[:-1]]) if place.size else place
    records["begin_ns"][place] = np.where(first, begins[within], before)
    records["end_ns"][place[last]] = ends[within[last]]
    empty = regions[np.setdiff1d(np.arange(len(regions)), within)]
    alone = np.zeros(len(empty), records.dtype)
    alone["begin_ns"], alone["end_ns"] = empty[:, 0], empty[:, 1]
    alone["phase"] = MPI_PHASES.index("halo")
    alone["what"] = -1 - no_call
    both: NDArray[np.void] = np.concatenate([records, alone])
    ordered: NDArray[np.void] = both[np.argsort(both["begin_ns"], kind="stable")]
    return ordered
