"""Lines of SMPI's time-independent traces, and the collectives in them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hindmost.errors import DataError
from hindmost.models.simulation.messages import Exchange, JointCall, Pattern
from hindmost.parsing import LARGEST, plain_number, shown

CHAR, DOUBLE = 2, 0
BYTES = {
    1: "2 6 8 9 16 17 21 45 57",
    2: "3 10 18 22 46",
    4: "1 5 11 15 19 23 38 39 47",
    8: "0 4 7 12 13 20 24 25 28 29 30 33 34 35 40 42 48 59",
    16: "14 26 31 32 36 37 43 49",
    32: "27 50",
}
DATATYPE_BYTES = {
    int(number): bytes for bytes, numbers in BYTES.items() for number in numbers.split()
}
"""Bytes by the number of a datatype, as SimGrid 3.32 has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a trace.

    Attributes
    ----------
    file : str
    number : int
    action : str
    words : sequence of str
        The arguments.
    ranks : int
        Of all traces.
    default : int
        The datatype of messages for which the line names none.
    """

    file: str
    number: int
    action: str
    words: Sequence[str]
    ranks: int
    default: int = CHAR

    def error(self, what: str) -> DataError:
        """Return an error of this line."""
        return DataError(f"{self.file}, line {self.number}: {what}")

    def word(self, at: int) -> str:
        """Return an argument."""
        if at >= len(self.words):
            raise self.error(
                f"{self.action} has {len(self.words)} of at least {at + 1} arguments; the line is "
                "truncated, or the trace is of another version."
            )
        return self.words[at]

    def amount(self, at: int) -> float:
        """Return an argument that is a finite number, not below 0."""
        text = self.word(at)
        try:
            value = plain_number(text)
        except ValueError:
            value = math.nan
        if not 0.0 <= value < LARGEST:
            raise self.error(f"{shown(text)} is not an amount: a number from 0 to {LARGEST:.0e}.")
        return value

    def whole(self, at: int, least: int = 0, below: int = 1 << 31) -> int:
        """Return an argument that is a whole number."""
        text = self.word(at)
        digits = text.removeprefix("-")
        # Digits are counted first: Python refuses to read thousands of them.
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= 10):
            raise self.error(f"{shown(text)} is not a whole number.")
        if not least <= int(text) < below:
            raise self.error(f"{text} is not from {least} to {below - 1}.")
        return int(text)

    def bytes_of(self, at: int) -> int:
        """Return the bytes of a datatype; of the default if the argument is omitted."""
        if at >= len(self.words):
            return DATATYPE_BYTES[self.default]
        number = self.whole(at, least=-1)
        if number not in DATATYPE_BYTES:
            raise self.error(
                f"datatype {number} is none of MPI's own, so the trace does not say how many bytes "
                "it has. Trace a program that sends, for instance, MPI_DOUBLE."
            )
        return DATATYPE_BYTES[number]


Reads = Callable[[Line], JointCall]
"""What reads a collective."""


def simple(
    name: str, pattern: Pattern, exchange: Exchange, *, type_at: int, root_at: int | None = None
) -> Reads:
    """Return what reads a collective whose first argument counts the elements of a message."""

    def read(line: Line) -> JointCall:
        return JointCall(
            name=name,
            pattern=pattern,
            exchange=exchange,
            root=optional_root(line, root_at),
            bytes=line.amount(0) * line.bytes_of(type_at),
        )

    return read


def each_its_own(
    name: str, pattern: Pattern, exchange: Exchange, *, first: int, rooted: bool
) -> Reads:
    """Return what reads a collective with a count for every rank, from an argument on.

    A rank that is not the root may write zeros. Messages are taken as alike, of the mean size.
    """

    def read(line: Line) -> JointCall:
        ranks = line.ranks
        count = sum(line.amount(first + each) for each in range(ranks)) / ranks
        after = ranks + 1
        root = optional_root(line, after if rooted else None)
        bytes = count * line.bytes_of(after + rooted)
        return JointCall(name=name, pattern=pattern, exchange=exchange, root=root, bytes=bytes)

    return read


def optional_root(line: Line, at: int | None) -> int:
    """Return the root that an argument names; 0 if it is omitted or there is none."""
    if at is None or at >= len(line.words):
        return 0
    return line.whole(at, below=line.ranks)


def barrier(line: Line) -> JointCall:
    """Read a barrier."""
    return JointCall(name="barrier", pattern=Pattern.ALL, exchange=Exchange.NOTHING)


def reduce_scatter(line: Line) -> JointCall:
    """Read a reduction whose result is spread over the ranks."""
    ranks = line.ranks
    count = sum(line.amount(each) for each in range(ranks))
    line.amount(ranks)
    return JointCall(
        name="reducescatter",
        pattern=Pattern.ALL,
        exchange=Exchange.HALVING,
        bytes=count * line.bytes_of(ranks + 1),
    )


def gather_v(line: Line) -> JointCall:
    """Read a gather of unlike many elements, of which each rank writes its own first."""
    after = line.ranks + 1
    return JointCall(
        name="gatherv",
        pattern=Pattern.TO_ROOT,
        exchange=Exchange.GROWING,
        root=optional_root(line, after),
        bytes=line.amount(0) * line.bytes_of(after + 1),
    )


def all_to_all_v(line: Line) -> JointCall:
    """Read an exchange of all with all, of which every rank sends others unlike many bytes."""
    ranks = line.ranks
    count = sum(line.amount(1 + each) for each in range(ranks)) / ranks
    bytes = count * line.bytes_of(2 * ranks + 2)
    return JointCall(name="alltoallv", pattern=Pattern.ALL, exchange=Exchange.PAIRS, bytes=bytes)


COLLECTIVES: dict[str, Reads] = {
    "barrier": barrier,
    "bcast": simple("bcast", Pattern.FROM_ROOT, Exchange.SAME, root_at=1, type_at=2),
    "reduce": simple("reduce", Pattern.TO_ROOT, Exchange.SAME, root_at=2, type_at=3),
    "allreduce": simple("allreduce", Pattern.ALL, Exchange.ALLREDUCE, type_at=2),
    "gather": simple("gather", Pattern.TO_ROOT, Exchange.GROWING, root_at=2, type_at=3),
    "gatherv": gather_v,
    "scatter": simple("scatter", Pattern.FROM_ROOT, Exchange.GROWING, root_at=2, type_at=3),
    "scatterv": each_its_own("scatterv", Pattern.FROM_ROOT, Exchange.GROWING, first=0, rooted=True),
    "allgather": simple("allgather", Pattern.ALL, Exchange.GROWING, type_at=2),
    "allgatherv": each_its_own("allgatherv", Pattern.ALL, Exchange.GROWING, first=1, rooted=False),
    "alltoall": simple("alltoall", Pattern.ALL, Exchange.PAIRS, type_at=2),
    "alltoallv": all_to_all_v,
    "reducescatter": reduce_scatter,
    "scan": simple("scan", Pattern.PREFIX, Exchange.SAME, type_at=2),
    "exscan": simple("exscan", Pattern.PREFIX, Exchange.SAME, type_at=2),
}
"""What all ranks do together."""

COMBINED_AT = {"reduce": 1, "allreduce": 1, "scan": 1, "exscan": 1}
"""Arguments that count the flops of what a reduction combines."""
