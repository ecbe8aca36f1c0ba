"""The exchange of ghosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.models.compiled import compiled

TAG = 71


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrors:
    """The rows that each peer needs.

    Attributes
    ----------
    peers : int32 array, shape (peer,)
        Ranks; numbers of rows sent and received may differ.
    row : int32 array, shape (mirror,)
        Owned rows that peers need, peer by peer.
    sent, received : int64 arrays, shape (peer + 1,)
        Begin of each peer's mirrors in `row`, and of its ghosts after the owned rows.
    owned : int
    """

    peers: NDArray[np.int32]
    row: NDArray[np.int32]
    sent: NDArray[np.int64]
    received: NDArray[np.int64]
    owned: int


class Exchange:
    """Rows that peers need are packed and sent; ghosts arrive contiguously.

    Requests are persistent: made at the first exchange of a number of columns after the mesh
    changed, started and waited for at every one.
    """

    def __init__(self, communicator: Any, mirrors: Mirrors) -> None:
        self.communicator, self.mirrors = communicator, mirrors
        self._buffers: dict[tuple[str, int], NDArray[Any]] = {}
        self._requests: dict[tuple[str, int], list[Any]] = {}
        self._arrivals: dict[tuple[str, int], NDArray[Any]] = {}

    @property
    def messages(self) -> int:
        """Number of messages that this rank sends in one exchange."""
        return int(self.mirrors.peers.size)

    def bytes_sent(self, columns: int) -> int:
        """Return the bytes that this rank sends in one exchange of `columns` numbers per cell."""
        return 8 * columns * int(self.mirrors.row.size)

    def fill(self, field: NDArray[Any]) -> None:
        """Fill the ghost rows of a field, shape (at least owned + ghosts, columns), contiguous."""
        mirrors = self.mirrors
        if mirrors.peers.size == 0:
            return
        from mpi4py import MPI

        buffer = self._packed(field)
        kind = (field.dtype.char, field.shape[1])
        if kind not in self._requests:
            self._prepare(kind, buffer)
        MPI.Prequest.Startall(self._requests[kind])
        MPI.Request.Waitall(self._requests[kind])
        # Requests are bound to memory, but fields vary: therefore the ghosts are copied once.
        arrivals = self._arrivals[kind]
        field[mirrors.owned : mirrors.owned + arrivals.shape[0]] = arrivals

    def _prepare(self, kind: tuple[str, int], buffer: NDArray[Any]) -> None:
        mirrors = self.mirrors
        arrivals = np.empty((int(mirrors.received[-1]), kind[1]), kind[0])
        requests = []
        for at, peer in enumerate(mirrors.peers.tolist()):
            ghosts = arrivals[mirrors.received[at] : mirrors.received[at + 1]]
            part = buffer[mirrors.sent[at] : mirrors.sent[at + 1]]
            requests.append(self.communicator.Recv_init(ghosts, source=peer, tag=TAG))
            requests.append(self.communicator.Send_init(part, dest=peer, tag=TAG))
        self._arrivals[kind], self._requests[kind] = arrivals, requests

    def _packed(self, field: NDArray[Any]) -> NDArray[Any]:
        """Fill and return the buffer of the mirrors."""
        kind = (field.dtype.char, field.shape[1])
        if kind not in self._buffers:
            self._buffers[kind] = np.empty((self.mirrors.row.size, field.shape[1]), field.dtype)
        buffer = self._buffers[kind]
        compiled(pack_loop)(self.mirrors.row, field, buffer)
        return buffer

    def close(self) -> None:
        """Free the requests."""
        for requests in self._requests.values():
            for request in requests:
                request.Free()
        self._requests.clear()


def pack_loop(row: NDArray[np.int32], field: NDArray[Any], buffer: NDArray[Any]) -> None:
    """Copy rows of a field, shape (row, column), into a buffer, shape (mirror, column)."""
    for at in range(len(row)):
        for column in range(field.shape[1]):
            buffer[at, column] = field[row[at], column]
