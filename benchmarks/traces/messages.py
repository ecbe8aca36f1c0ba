"""Message by message: what ranks do in a program of which every message is known, as in a trace.

Unlike in `hindmost.models.simulation.program`, whose bodies are alike on all ranks, each rank has
operations of its own. A blocking call is two operations: it begins, and it ends. Traces of single
ranks are put together here: which receive gets which message.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.simulation.blocks import MAX_VALUES
from hindmost.text import first_of


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


ANY = -1
"""A receive from any rank, or of any tag."""
NOBODY = -2
"""A send that goes nowhere."""


@dataclass(slots=True, kw_only=True, eq=False)
class Begun:
    """A message that a rank began to send or to receive.

    Attributes
    ----------
    other, tag : int
        `ANY` if not known.
    line : int
    end : Operation
        What waits for it.
    bytes : float
        Of one that is sent.
    synchronous : bool
        See `MessageProgram`.
    ended : bool
        Whether the rank waits for its end.
    tested : int
        The last operation that tests for its end; -1 for none.
    message : int
        Its number, once `matched`.
    """

    other: int
    tag: int
    line: int
    end: Operation
    bytes: float = 0.0
    synchronous: bool = False
    ended: bool = False
    tested: int = -1
    message: int = -1


Tagged = dict[int, deque[Begun]]
"""Messages by tag, in the order of sending."""


@dataclass(slots=True)
class RankTrace:
    """What one rank does, in the order of its trace.

    Attributes
    ----------
    rank : int
    file : str
        For messages.
    """

    rank: int
    file: str
    kind: list[int] = field(default_factory=list)
    target: list[Begun | int] = field(default_factory=list)
    work: list[float] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    sends: list[Begun] = field(default_factory=list)
    receives: list[Begun] = field(default_factory=list)
    collectives: list[JointCall] = field(default_factory=list)
    entered: list[int] = field(default_factory=list)
    left: set[int] = field(default_factory=set)
    waiting_s: float = 0.0

    def do(self, seconds: float) -> None:
        """Work before the next operation."""
        self.waiting_s += seconds

    def send(self, line: int, other: int, tag: int, bytes: float, *, ready: bool = True) -> Begun:
        """Begin to send, maybe to `NOBODY`.

        ``ready`` says that the message may leave before its receiver has come.
        """
        begun = Begun(
            other=other,
            tag=tag,
            line=line,
            end=Operation.SENT,
            bytes=bytes,
            synchronous=not ready,
        )
        if other != NOBODY:
            self.sends.append(begun)
            self._add(Operation.SEND, begun, line)
        return begun

    def receive(self, line: int, other: int, tag: int) -> Begun:
        """Begin to receive, from `ANY` rank and of `ANY` tag if these are not known."""
        begun = Begun(other=other, tag=tag, line=line, end=Operation.RECEIVED)
        self.receives.append(begun)
        self._add(Operation.POST, begun, line)
        return begun

    def end(self, line: int, begun: Begun) -> None:
        """Wait for the end of a send or a receive."""
        begun.ended = True
        if begun.other != NOBODY:
            self._add(begun.end, begun, line)

    def test(self, line: int, begun: Begun) -> None:
        """Look whether a message is over, which waits for it unless a later call does."""
        begun.tested = len(self.kind)
        self._add(Operation.NOTHING, begun, line)

    def close(self) -> None:
        """End the trace: a message that is only tested is over at its last test."""
        for begun in (*self.sends, *self.receives):
            if not begun.ended and begun.tested >= 0:
                self.kind[begun.tested] = begun.end
                begun.ended = True

    def enter(self, line: int, collective: JointCall) -> int:
        """Begin the next collective; return its number."""
        self.collectives.append(collective)
        self.entered.append(line)
        number = len(self.collectives) - 1
        self._add(Operation.ENTER, number, line)
        return number

    def leave(self, line: int, number: int) -> None:
        """Wait for a collective."""
        self.left.add(number)
        self._add(Operation.LEAVE, number, line)

    def _add(self, kind: Operation, target: Begun | int, line: int) -> None:
        self.kind.append(kind)
        self.target.append(target)
        self.work.append(self.waiting_s)
        self.line.append(line)
        self.waiting_s = 0.0


def message_program(ranks: Sequence[RankTrace]) -> MessageProgram:
    """Put the traces of all ranks together: which receive gets which message.

    Messages between two ranks overtake each other only if their tags allow, as MPI has it.

    Raises
    ------
    DataError
        A message that is never received or whose end nobody waits for, a receive without a message
        or with several to choose from, or ranks that disagree on collectives.
    """
    count = sum(len(rank.kind) for rank in ranks)
    if count > MAX_VALUES:
        raise DataError(
            f"{count:,} operations of all ranks; replays hold them in memory, at most "
            f"{MAX_VALUES:,}. Trace fewer iterations."
        )
    for trace in ranks:
        refuse_open(trace)
    messages = matched(ranks)
    size = len(ranks)
    kind = np.array([one for rank in ranks for one in rank.kind], np.uint8)
    target = [
        each * size + trace.rank if isinstance(each, int) else each.message
        for trace in ranks
        for each in trace.target
    ]
    kind[np.array(target, np.int64) < 0] = Operation.NOTHING
    return MessageProgram(
        first=np.cumsum([0, *(len(rank.kind) for rank in ranks)], dtype=np.int64),
        kind=kind,
        target=np.array(target, np.int64),
        work=np.array([one for rank in ranks for one in rank.work], np.float64),
        after=np.array([rank.waiting_s for rank in ranks]),
        line=np.array([one for rank in ranks for one in rank.line], np.int32),
        files=tuple(rank.file for rank in ranks),
        source=np.array([source for source, _ in messages], np.int32),
        destination=np.array([begun.other for _, begun in messages], np.int32),
        bytes=np.array([begun.bytes for _, begun in messages], np.float64),
        synchronous=np.array([begun.synchronous for _, begun in messages], np.bool_),
        collectives=agreed(ranks),
    )


def refuse_open(trace: RankTrace) -> None:
    """Raise a DataError for a message whose end is never waited for."""
    for begun, does in (
        *((send, "send") for send in trace.sends),
        *((receive, "receive") for receive in trace.receives),
    ):
        if not begun.ended:
            raise DataError(
                f"{trace.file}, line {begun.line}: rank {trace.rank} begins to {does} a message "
                "and never waits for it, so its time is not known. The trace is incomplete, or the "
                "program frees its requests."
            )
    for number, line in enumerate(trace.entered):
        if number not in trace.left:
            raise DataError(
                f"{trace.file}, line {line}: rank {trace.rank} begins a "
                f"{trace.collectives[number].name} and never waits for it, so its time is not "
                "known. The trace is incomplete."
            )


def matched(ranks: Sequence[RankTrace]) -> list[tuple[int, Begun]]:
    """Give every message its number and every receive its message; return all with their source."""
    messages: list[tuple[int, Begun]] = []
    under_way: list[dict[int, Tagged]] = [{} for _ in ranks]  # to each rank, by source
    for trace in ranks:
        for begun in trace.sends:
            begun.message = len(messages)
            messages.append((trace.rank, begun))
            tagged = under_way[begun.other].setdefault(trace.rank, {})
            tagged.setdefault(begun.tag, deque()).append(begun)
    # Those that name their source first: a trace may not tell any rank from none.
    for of_any in (False, True):
        for trace in ranks:
            inbox = under_way[trace.rank]
            for begun in trace.receives:
                if (begun.other == ANY) == of_any:
                    where = f"{trace.file}, line {begun.line}: rank {trace.rank}"
                    begun.message = take_first(inbox, begun, where)
    for rank, inbox in enumerate(under_way):
        for source, tagged in inbox.items():
            for queue in tagged.values():
                raise DataError(
                    f"{ranks[source].file}, line {queue[0].line}: rank {source} sends rank {rank} "
                    f"a message with tag {queue[0].tag} that is never received. The traces of the "
                    "ranks do not belong together, or one is incomplete."
                )
    return messages


def take_first(inbox: dict[int, Tagged], begun: Begun, where: str) -> int:
    """Take the message that a receive gets out of those that are under way to its rank.

    Returns
    -------
    int
        Its number; -1 if a receive from any rank gets none, and so was from none.

    Raises
    ------
    DataError
        There is none, or messages of several ranks fit.
    """
    sources = inbox if begun.other == ANY else {begun.other} & inbox.keys()
    fit = sorted(source for source in sources if begun.tag == ANY or begun.tag in inbox[source])
    wanted = f"from {'any rank' if begun.other == ANY else f'rank {begun.other}'}" + (
        "" if begun.tag == ANY else f" with tag {begun.tag}"
    )
    if not fit and begun.other == ANY:
        return -1
    if not fit:
        raise DataError(
            f"{where} receives a message {wanted}, and none is left that was sent. The traces of "
            "the ranks do not belong together, or one is incomplete."
        )
    if len(fit) > 1:
        named = first_of([str(each) for each in fit])
        raise DataError(
            f"{where} receives a message {wanted}, and those of ranks {named} fit: the trace does "
            "not say which came first. Name the source in the program, and trace it again."
        )
    tagged = inbox[fit[0]]
    tag = begun.tag
    if tag == ANY:  # messages of one rank do not overtake each other
        tag = min(tagged, key=lambda each: tagged[each][0].message)
    found = tagged[tag].popleft()
    if not tagged[tag]:
        del tagged[tag]
    if not tagged:
        del inbox[fit[0]]
    return found.message


def agreed(ranks: Sequence[RankTrace]) -> tuple[JointCall, ...]:
    """Return the collectives that all ranks have in common, each with the most bytes of any rank.

    Raises
    ------
    DataError
        Ranks have different ones.
    """
    first = ranks[0]
    for trace in ranks[1:]:
        for number in range(max(len(first.collectives), len(trace.collectives))):
            ours, theirs = called(first, number), called(trace, number)
            if ours[0] != theirs[0]:
                raise DataError(
                    f"Ranks disagree on their collectives: {ours[1]}, and {theirs[1]}. Collectives "
                    "on some of the ranks cannot be replayed; else the trace is incomplete."
                )
    return tuple(
        max(each, key=lambda one: one.bytes)
        for each in zip(*(trace.collectives for trace in ranks), strict=True)
    )


def called(trace: RankTrace, number: int) -> tuple[tuple[str, int], str]:
    """Return name and root of a collective of a rank, and who calls it where, for messages."""
    if number >= len(trace.collectives):
        return ("", 0), f"rank {trace.rank} calls {number} ({trace.file})"
    found = trace.collectives[number]
    where = f"{trace.file}, line {trace.entered[number]}"
    return (found.name, found.root), f"rank {trace.rank} calls {found.name} ({where})"
