"""Exchange of ghosts: rows that others need are packed and sent; ghosts arrive contiguously.

There are two methods, which move the same bytes: persistent requests, created at the first exchange
of a number of columns after the mesh changed, and nonblocking messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.mesh.patch import HaloExchange
from hindmost.models.compiled import compiled
from hindmost.registry import Registry

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


class Packing:
    """The packed mirrors, which both methods share."""

    def __init__(self, communicator: Any, mirrors: Mirrors) -> None:
        self.communicator = communicator
        self.mirrors = mirrors
        self._buffers: dict[tuple[str, int], NDArray[Any]] = {}

    @property
    def messages(self) -> int:
        """Number of messages that this rank sends in one exchange."""
        return int(self.mirrors.peers.size)

    def bytes_sent(self, columns: int) -> int:
        """Return the bytes that this rank sends in one exchange of `columns` numbers per cell."""
        return 8 * columns * int(self.mirrors.row.size)

    def _packed(self, field: NDArray[Any]) -> NDArray[Any]:
        """Fill and return the buffer of the mirrors."""
        kind = (field.dtype.char, field.shape[1])
        if kind not in self._buffers:
            self._buffers[kind] = np.empty((self.mirrors.row.size, field.shape[1]), field.dtype)
        buffer = self._buffers[kind]
        compiled(pack_loop)(self.mirrors.row, field, buffer)
        return buffer


class NonblockingExchange(Packing):
    """Isend from the packed mirrors, Irecv directly into the ghost rows."""

    def fill(self, field: NDArray[Any]) -> None:
        """Fill the ghost rows of a field, shape (at least owned + ghosts, columns), contiguous."""
        mirrors = self.mirrors
        if mirrors.peers.size == 0:
            return
        from mpi4py import MPI

        requests = []
        for at, peer in enumerate(mirrors.peers.tolist()):
            ghosts = field[
                mirrors.owned + mirrors.received[at] : mirrors.owned + mirrors.received[at + 1]
            ]
            requests.append(self.communicator.Irecv(ghosts, source=peer, tag=TAG))
        buffer = self._packed(field)
        for at, peer in enumerate(mirrors.peers.tolist()):
            part = buffer[mirrors.sent[at] : mirrors.sent[at + 1]]
            requests.append(self.communicator.Isend(part, dest=peer, tag=TAG))
        MPI.Request.Waitall(requests)

    def close(self) -> None:
        """Do nothing: no request outlives an exchange."""


class PersistentExchange(Packing):
    """Send_init and Recv_init once, Startall and Waitall every time."""

    def __init__(self, communicator: Any, mirrors: Mirrors) -> None:
        super().__init__(communicator, mirrors)
        self._requests: dict[tuple[str, int], list[Any]] = {}
        self._arrivals: dict[tuple[str, int], NDArray[Any]] = {}

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

    def close(self) -> None:
        """Free the requests."""
        for requests in self._requests.values():
            for request in requests:
                request.Free()
        self._requests.clear()


class ClosableExchange(HaloExchange, Protocol):
    """An exchange of the mesh, which also fills int8 fields."""

    mirrors: Mirrors

    def fill(self, field: NDArray[Any]) -> None:
        """Fill the ghost rows of a field."""

    def close(self) -> None:
        """Free its resources of MPI."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeWay:
    """A method to exchange ghosts.

    Attributes
    ----------
    name : str
    make : function
        Makes it from a communicator and mirrors.
    """

    name: str
    make: Callable[[Any, Mirrors], ClosableExchange]


EXCHANGES: Registry[ExchangeWay] = Registry(
    "exchange",
    (
        ExchangeWay(name="persistent", make=PersistentExchange),
        ExchangeWay(name="nonblocking", make=NonblockingExchange),
    ),
)
"""The methods of ``--exchange``."""


def pack_loop(row: NDArray[np.int32], field: NDArray[Any], buffer: NDArray[Any]) -> None:
    """Copy rows of a field, shape (row, column), into a buffer, shape (mirror, column)."""
    for at in range(len(row)):
        for column in range(field.shape[1]):
            buffer[at, column] = field[row[at], column]
