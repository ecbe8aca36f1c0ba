"""A network: the time of a message, and the messages of an allreduce."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

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


def allreduce_messages(ranks: int) -> int:
    """Return how many messages an allreduce takes after each other, by recursive doubling.

    Pairs exchange all bytes, at distances 1, 2, 4 and so on (R. Thakur, R. Rabenseifner and
    W. Gropp, 2005). On ranks that are no power of two, as many as are too many first hand their
    data to a neighbour, which hands back the result in the end. What such a neighbour hands on
    reaches the others a message later, and itself only from those that waited for another.
    """
    rounds = ranks.bit_length() - 1
    folded = ranks - (1 << rounds)
    return rounds + (folded > 0) + (2 * folded > 1 << rounds)
