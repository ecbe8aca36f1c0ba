"""Time-independent traces of SimGrid's SMPI: work in flops and messages in bytes, but no times.

``smpirun -trace-ti -trace-file FILE`` writes FILE, a list of files with the actions of one rank
each; a single file with the actions of all ranks is read too, as ``smpirun -replay`` does. A line
is ``RANK ACTION ARGUMENTS``. Requests are named by source, target and tag; datatypes by a number.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.traces.messages import (
    ANY,
    NOBODY,
    Begun,
    Exchange,
    JointCall,
    MessageProgram,
    Pattern,
    RankTrace,
    message_program,
)

from hindmost.analysis.readers.text_files import read_text, split_lines
from hindmost.errors import DataError
from hindmost.models.simulation.blocks import MAX_VALUES
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
        try:
            value = int(text)
        except ValueError:
            raise self.error(f"{shown(text)} is not a whole number.") from None
        if not least <= value < below:
            raise self.error(f"{value} is not from {least} to {below - 1}.")
        return value

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


@dataclass(frozen=True, slots=True)
class Joint:
    """What all ranks do together, and how a line says it.

    Attributes
    ----------
    pattern : Pattern
    exchange : Exchange
    type_at, root_at : tuple of int
        Which argument it is: the first number, and as often the number of ranks as the second; no
        root where the second is empty.
    counts_at : int or None
        The first of the elements that each rank contributes; None if the first argument is the
        same for all. A rank that is not the root may write zeros there.
    """

    pattern: Pattern
    exchange: Exchange
    type_at: tuple[int, int]
    root_at: tuple[int, int] | None = None
    counts_at: int | None = None

    def call(self, name: str, line: Line) -> JointCall:
        """Read a line. Messages are taken as alike, of the mean size."""
        if self.exchange is Exchange.NOTHING:
            elements = 0.0
        elif self.counts_at is None:
            elements = line.amount(0)
        else:
            elements = sum(line.amount(self.counts_at + at) for at in range(line.ranks))
            elements /= 1 if self.exchange is Exchange.HALVING else line.ranks
        first, each = self.root_at or (len(line.words), 0)
        at = first + each * line.ranks
        return JointCall(
            name=name,
            pattern=self.pattern,
            exchange=self.exchange,
            root=line.whole(at, below=line.ranks) if at < len(line.words) else 0,
            bytes=elements * line.bytes_of(self.type_at[0] + self.type_at[1] * line.ranks),
        )


ALL, FROM_ROOT, TO_ROOT, PREFIX = Pattern.ALL, Pattern.FROM_ROOT, Pattern.TO_ROOT, Pattern.PREFIX
SAME, GROWING, PAIRS = Exchange.SAME, Exchange.GROWING, Exchange.PAIRS
COLLECTIVES = {
    "barrier": Joint(ALL, Exchange.NOTHING, (0, 0)),
    "bcast": Joint(FROM_ROOT, SAME, (2, 0), (1, 0)),
    "reduce": Joint(TO_ROOT, SAME, (3, 0), (2, 0)),
    "allreduce": Joint(Pattern.DOUBLING, SAME, (2, 0)),
    "gather": Joint(TO_ROOT, GROWING, (3, 0), (2, 0)),
    "gatherv": Joint(TO_ROOT, GROWING, (2, 1), (1, 1)),
    "scatter": Joint(FROM_ROOT, GROWING, (3, 0), (2, 0)),
    "scatterv": Joint(FROM_ROOT, GROWING, (2, 1), (1, 1), counts_at=0),
    "allgather": Joint(ALL, GROWING, (2, 0)),
    "allgatherv": Joint(ALL, GROWING, (1, 1), counts_at=1),
    "alltoall": Joint(ALL, PAIRS, (2, 0)),
    "alltoallv": Joint(ALL, PAIRS, (2, 2), counts_at=1),
    "reducescatter": Joint(ALL, Exchange.HALVING, (1, 1), counts_at=0),
    "scan": Joint(PREFIX, SAME, (2, 0)),
    "exscan": Joint(PREFIX, SAME, (2, 0)),
}
COMBINED_AT = {"reduce": 1, "allreduce": 1, "scan": 1, "exscan": 1}
"""Arguments that count the flops of what a reduction combines."""


NO_RANK, ANY_TAG = "-333", "-444"
"""As traces have them; the former is any rank to receive from, or none."""
FIRST = "init"


@dataclass(slots=True)
class RankReader:
    """Reads the actions of one rank.

    Attributes
    ----------
    trace : RankTrace
    flops_per_s : float
    default : int
        The datatype of messages that name none.
    last : int
        The line that was read last; 0 before the first.
    ended : bool
    requests : dict of (source, target, tag) to deque of Begun
        Messages that are waited for later.
    collectives : deque of int
        Those that are waited for later.
    """

    trace: RankTrace
    flops_per_s: float
    default: int = CHAR
    last: int = 0
    ended: bool = False
    requests: dict[tuple[int, int, int], deque[Begun]] = field(default_factory=dict)
    collectives: deque[int] = field(default_factory=deque)

    def read(self, line: Line) -> None:
        """Read one action."""
        if self.ended:
            raise line.error("an action after 'finalize'.")
        if (self.last == 0) != (line.action == FIRST):
            raise line.error(
                f"a second '{FIRST}'."
                if self.last
                else f"{shown(line.action)} where the trace of a rank should begin with '{FIRST}'."
            )
        trace, action, number = self.trace, line.action, line.number
        self.last = number
        match action:
            case "init":  # says what datatypes default to
                self.default = DOUBLE if line.words else CHAR
            case "finalize":
                self.ended = True
            case "location" | "comm_size" | "comm_split" | "comm_dup":
                pass  # takes no time
            case "compute":
                trace.do(line.amount(0) / self.flops_per_s)
            case "sleep":
                trace.do(line.amount(0))
            case "send" | "Ssend":
                trace.end(number, self.send(line))
            case "isend" | "ISsend":
                self.keep(self.send(line), sent=True)
            case "recv":
                trace.end(number, self.receive(line))
            case "irecv":
                self.keep(self.receive(line), sent=False)
            case "sendRecv" | "sendrecv":  # traces lack its tags
                bytes = line.amount(0) * line.bytes_of(4)
                line.amount(2)
                came = trace.receive(number, self.other(line, 3, ANY), 0)
                went = trace.send(number, self.other(line, 1, NOBODY), 0, bytes)
                trace.end(number, came)
                trace.end(number, went)
            case "wait":
                self.wait(line)
            case "waitall":  # for all that are open, as in SMPI's replay, whatever their number is
                line.amount(0)
                for queue in self.requests.values():
                    while queue:
                        trace.end(number, queue.popleft())
                while self.collectives:
                    trace.leave(number, self.collectives.popleft())
            case "test":  # of a request that may have ended before
                if found := self.pending(line):
                    trace.test(number, found[0])
            case _ if action in COLLECTIVES:
                trace.leave(number, trace.enter(number, COLLECTIVES[action].call(action, line)))
                if action in COMBINED_AT:
                    trace.do(line.amount(COMBINED_AT[action]) / self.flops_per_s)
            case _ if (name := action.removeprefix("i")) in COLLECTIVES:
                call = COLLECTIVES[name].call(name, line)
                self.collectives.append(trace.enter(number, call))
            case _:
                raise line.error(
                    f"the action {shown(action)} cannot be replayed. Trace a program without it."
                )

    def close(self) -> RankTrace:
        """Return what was read.

        Raises
        ------
        DataError
            The trace is cut off.
        """
        if not self.ended:
            raise DataError(
                f"{self.trace.file}, line {self.last}: the trace of rank {self.trace.rank} ends "
                "without 'finalize'. The file is truncated, or the program did not end."
            )
        self.trace.close()
        return self.trace

    def other(self, line: Line, at: int, if_none: int) -> int:
        """Return another rank that a line names; `ANY` or `NOBODY` if it names none."""
        return if_none if line.word(at) == NO_RANK else line.whole(at, below=line.ranks)

    def tag(self, line: Line, at: int) -> int:
        """Return a tag, or `ANY`."""
        return ANY if line.word(at) == ANY_TAG else line.whole(at)

    def send(self, line: Line) -> Begun:
        """Read the begin of a send."""
        bytes = line.amount(2) * line.bytes_of(3)
        ready = line.action.lower() in ("send", "isend")
        return self.trace.send(
            line.number, self.other(line, 0, NOBODY), self.tag(line, 1), bytes, ready=ready
        )

    def receive(self, line: Line) -> Begun:
        """Read the begin of a receive."""
        line.amount(2)
        line.bytes_of(3)
        return self.trace.receive(line.number, self.other(line, 0, ANY), self.tag(line, 1))

    def keep(self, begun: Begun, *, sent: bool) -> None:
        """Keep a message that is waited for later."""
        ends = (self.trace.rank, begun.other) if sent else (begun.other, self.trace.rank)
        self.requests.setdefault((*ends, begun.tag), deque()).append(begun)

    def pending(self, line: Line) -> deque[Begun]:
        """Return the requests that a line names, by source, target and tag."""
        source, target, tag = (line.whole(at, least=-LARGEST) for at in range(3))
        keys = ((s, target, t) for t in (tag, ANY) for s in (source, ANY))
        return next((self.requests[key] for key in keys if self.requests.get(key)), deque())

    def wait(self, line: Line) -> None:
        """Read the end of a request; collectives have tags below those of messages."""
        found = self.pending(line)
        if found:
            self.trace.end(line.number, found.popleft())
        elif line.whole(2, least=-LARGEST) < 0 and self.collectives:
            self.trace.leave(line.number, self.collectives.popleft())
        else:
            raise line.error(
                f"rank {self.trace.rank} waits for a message from rank {line.word(0)} to rank "
                f"{line.word(1)} with tag {line.word(2)} that it did not begin to send or receive."
            )


def read_smpi_trace(path: Path, flops_per_s: float) -> MessageProgram:
    """Read a trace.

    Raises
    ------
    DataError
        It is truncated, or contradicts itself.
    """
    files = files_of(path)
    merged = files == [path]
    ranks = ranks_in(path) if merged else len(files)
    readers = {
        rank: RankReader(RankTrace(rank, str(path if merged else files[rank])), flops_per_s)
        for rank in range(ranks)
    }
    count = 0
    for number, file in enumerate(files):
        for line, words in numbered(file):
            count += 1
            if count > MAX_VALUES:
                raise DataError(
                    f"{path} has over {MAX_VALUES:,} actions, which replays hold in memory. "
                    "Trace fewer iterations."
                )
            rank = rank_of(file, line, words, ranks)
            reader = readers[rank if merged else number]
            here = Line(
                file=str(file),
                number=line,
                action=words[1] if len(words) > 1 else "",
                words=words[2:],
                ranks=ranks,
                default=reader.default,
            )
            if not merged and rank != number:
                raise here.error(
                    f"an action of rank {rank} in the trace of rank {number}: {path} lists the "
                    "files in another order, or twice."
                )
            reader.read(here)
    return message_program([reader.close() for reader in readers.values()])


def files_of(path: Path) -> list[Path]:
    """Return the traces that a file lists, or the file itself if it has actions.

    Raises
    ------
    DataError
        A listed file does not exist.
    """
    lines = numbered(path)
    if lines and lines[0][1][0].isdecimal():
        return [path]
    files = []
    for number, words in lines:
        name = " ".join(words)
        file = listed_file(path.parent, name)
        if file is None:
            raise DataError(
                f"{path}, line {number}: {shown(name)} is not a file. Copy the folder of the "
                "traces along with their list, and use the names that the list has."
            )
        files.append(file)
    return files


def listed_file(folder: Path, name: str) -> Path | None:
    """Return a file of a list: from its folder, or in the folder of that name next to the list."""
    for file in (folder / name, folder.joinpath(*Path(name).parts[-2:])):
        with suppress(OSError, ValueError):  # such as a name that is too long
            if file.is_file():
                return file
    return None


def ranks_in(path: Path) -> int:
    """Return how many ranks a file with the actions of all has; they are numbered from 0."""
    found = {rank_of(path, line, words, 0) for line, words in numbered(path)}
    missing = next(rank for rank in range(len(found) + 1) if rank not in found)
    if missing < len(found):
        raise DataError(f"{path} has actions of rank {max(found)}, and none of rank {missing}.")
    return len(found)


def numbered(path: Path) -> list[tuple[int, list[str]]]:
    """Return the lines of a file that are not blank, as words, with their numbers."""
    lines = split_lines(read_text(path))
    return [
        (number, words)
        for number, line in enumerate(lines, 1)
        if (words := line.split()) and not words[0].startswith("#")
    ]


def rank_of(file: Path, number: int, words: list[str], ranks: int) -> int:
    """Return the rank of a line."""
    return Line(file=str(file), number=number, action="rank", words=words[:1], ranks=ranks).whole(0)
