"""A network: the time of a message, and of an allreduce that is made of messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import numpy as np
from msgspec import Meta

from hindmost.records import RecordError

Size = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Messages above a size: latency and time per byte.

    Attributes
    ----------
    from_bytes : int
    latency_s, per_byte_s : float
    """

    from_bytes: Size
    latency_s: Amount
    per_byte_s: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The time of a message: pieces in ascending order of their sizes, the first from 0.

    Attributes
    ----------
    pieces : tuple of Piece
    """

    pieces: tuple[Piece, ...]

    def __post_init__(self) -> None:
        sizes = [piece.from_bytes for piece in self.pieces]
        if sizes[:1] != [0] or sizes != sorted(set(sizes)):
            why = "allowed: pieces whose from_bytes begin at 0 and rise"
            raise RecordError(why, "pieces", found=sizes)

    def piece(self, bytes: float) -> Piece:
        """Return the piece that a message of a size belongs to."""
        for piece in reversed(self.pieces):  # they are few
            if piece.from_bytes <= bytes:
                return piece
        return self.pieces[0]

    def time_s(self, bytes: float) -> float:
        """Return the time of a message: T_comm(m) = L(m) + m B(m), section 3."""
        piece = self.piece(bytes)
        return piece.latency_s + bytes * piece.per_byte_s

    def byte_share(self, bytes: float) -> float:
        """Return the share of the time of a message that its bytes take, 0 to 1."""
        total_s = self.time_s(bytes)
        return bytes * self.piece(bytes).per_byte_s / total_s if total_s > 0.0 else 0.0


class Collective(StrEnum):
    """Algorithms of an allreduce (R. Thakur, R. Rabenseifner and W. Gropp, 2005)."""

    RECURSIVE_DOUBLING = "recursive-doubling"
    """Pairs exchange all bytes, at distances 1, 2, 4 and so on."""
    TREE = "tree"
    """A binomial tree to the root, and one from it."""
    RING = "ring"
    """Parts of 1/P of the bytes go around twice: summed, then gathered."""
    RABENSEIFNER = "rabenseifner"
    """Halves, quarters and so on are summed, then gathered in the opposite order."""


def allreduce_s(
    algorithm: Collective, ranks: int, bytes: float, message_s: Callable[[float], float]
) -> float:
    """Return the time of an allreduce once all ranks have come, until the last one is through.

    A rank goes on when it has what it waits for; sending costs it nothing. On ranks that are no
    power of two, recursive doubling and Rabenseifner's algorithm first let as many ranks as are too
    many hand their data to a neighbour, which hands back the result in the end.

    Parameters
    ----------
    message_s : callable
        Seconds of a message of a number of bytes, such as `Link.time_s`.
    """
    if ranks < 2:
        return 0.0
    if algorithm is Collective.RING:
        return 2 * (ranks - 1) * message_s(bytes / ranks)
    if algorithm is Collective.TREE:
        return tree_s(ranks, message_s(bytes))
    rounds = ranks.bit_length() - 1
    distances = [1 << each for each in range(rounds)]
    sizes = rounds * [bytes]
    if algorithm is Collective.RABENSEIFNER:
        halves = [bytes / (1 << each) for each in range(1, rounds + 1)]
        distances, sizes = [*reversed(distances), *distances], [*halves, *reversed(halves)]
    # Of each pair of the first ranks, the first hands its data to the second.
    folded = ranks - (1 << rounds)
    fold_s = message_s(bytes) if folded else 0.0
    clock = np.zeros(1 << rounds)
    clock[:folded] = fold_s
    rank = np.arange(clock.size)
    for distance, size in zip(distances, sizes, strict=True):
        clock = np.maximum(clock, clock[rank ^ distance] + message_s(size))
    clock[:folded] += fold_s
    return float(clock.max())


def tree_s(ranks: int, message_s: float) -> float:
    """Return the time of a binomial tree to rank 0, and back: twice its height in messages.

    The parent of a rank is the rank without its lowest bit, so its depth is its number of bits.
    """
    height = max((rank.bit_count() for rank in tops(ranks)), default=0)
    return 2 * height * message_s


def tops(ranks: int) -> list[int]:
    """Return ranks of which one has the most bits: the last, and those with a bit turned to 0.

    Where bit b of the last rank is 1, all lower bits may be 1 if bit b is 0.
    """
    last = ranks - 1
    bits = [each for each in range(last.bit_length()) if last >> each & 1]
    return [last, *((last >> each << each) - 1 for each in bits)]
