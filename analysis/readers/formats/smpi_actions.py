"""What a rank does in SMPI's time-independent traces."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from hindmost.analysis.readers.formats.smpi_lines import (
    CHAR,
    COLLECTIVES,
    COMBINED_AT,
    DOUBLE,
    Line,
    Reads,
)
from hindmost.errors import DataError
from hindmost.models.simulation.message_matching import ANY, NOBODY, Begun, RankTrace
from hindmost.parsing import LARGEST, shown

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
    """

    trace: RankTrace
    flops_per_s: float
    default: int = CHAR
    state: str = "before"
    last: int = 0
    requests: dict[tuple[int, int, int], deque[Begun]] = field(default_factory=dict)
    collectives: deque[int] = field(default_factory=deque)

    def read(self, line: Line) -> None:
        """Read one action."""
        if self.state == "done":
            raise line.error("an action after 'finalize'.")
        if (self.state == "before") != (line.action == FIRST):
            raise line.error(
                f"{shown(line.action)} where the trace of a rank should begin with '{FIRST}'."
                if self.state == "before"
                else f"a second '{FIRST}'."
            )
        self.state, self.last = "within", line.number
        name = line.action.removeprefix("i")
        if action := ACTIONS.get(line.action):
            action(self, line)
        elif collective := COLLECTIVES.get(line.action):
            self.trace.leave(line.number, self.enter(line, collective))
            self.compute_after(line, line.action)
        elif collective := COLLECTIVES.get(name):
            self.collectives.append(self.enter(line, collective))
        else:
            raise line.error(
                f"the action {shown(line.action)} is unknown. Known are "
                f"{', '.join([*ACTIONS, *COLLECTIVES])}, and collectives that begin with i."
            )

    def close(self) -> RankTrace:
        """Return what was read.

        Raises
        ------
        DataError
            The trace is cut off.
        """
        if self.state != "done":
            raise DataError(
                f"{self.trace.file}, line {self.last}: the trace of rank {self.trace.rank} ends "
                "without 'finalize'. The file is truncated, or the program did not end."
            )
        self.trace.close()
        return self.trace

    def enter(self, line: Line, collective: Reads) -> int:
        """Begin a collective."""
        return self.trace.enter(line.number, collective(line))

    def compute_after(self, line: Line, name: str) -> None:
        """Work on what a reduction combines: the argument after its bytes, in flops."""
        if (at := COMBINED_AT.get(name)) is not None:
            self.trace.do(line.amount(at) / self.flops_per_s)

    def other(self, line: Line, at: int, if_none: int) -> int:
        """Return another rank that a line names; `ANY` or `NOBODY` if it names none."""
        return if_none if line.word(at) == NO_RANK else line.whole(at, below=line.ranks)

    def tag(self, line: Line, at: int) -> int:
        """Return a tag, or `ANY`."""
        return ANY if line.word(at) == ANY_TAG else line.whole(at)

    def start(self, line: Line) -> None:
        """Read the start of the trace, which says what datatypes default to."""
        self.default = DOUBLE if line.words else CHAR

    def finish(self, line: Line) -> None:
        """Read the end of the trace."""
        self.state = "done"

    def compute(self, line: Line) -> None:
        """Read work."""
        self.trace.do(line.amount(0) / self.flops_per_s)

    def sleep(self, line: Line) -> None:
        """Read idle time, in seconds."""
        self.trace.do(line.amount(0))

    def skip(self, line: Line) -> None:
        """Read what takes no time."""

    def send(self, line: Line) -> Begun:
        """Read the begin of a send."""
        bytes = line.amount(2) * line.bytes_of(3)
        ready = line.action.lower() in ("send", "isend")
        return self.trace.send(
            line.number, self.other(line, 0, NOBODY), self.tag(line, 1), bytes, ready=ready
        )

    def blocking_send(self, line: Line) -> None:
        """Read a send that ends."""
        self.trace.end(line.number, self.send(line))

    def receive(self, line: Line) -> Begun:
        """Read the begin of a receive."""
        line.amount(2)
        line.bytes_of(3)
        return self.trace.receive(line.number, self.other(line, 0, ANY), self.tag(line, 1))

    def blocking_receive(self, line: Line) -> None:
        """Read a receive that ends."""
        self.trace.end(line.number, self.receive(line))

    def request_send(self, line: Line) -> None:
        """Read a send that is waited for later."""
        begun = self.send(line)
        self.requests.setdefault((self.trace.rank, begun.other, begun.tag), deque()).append(begun)

    def request_receive(self, line: Line) -> None:
        """Read a receive that is waited for later."""
        begun = self.receive(line)
        self.requests.setdefault((begun.other, self.trace.rank, begun.tag), deque()).append(begun)

    def exchange(self, line: Line) -> None:
        """Read a send and a receive in one call, of which traces lack the tags."""
        bytes = line.amount(0) * line.bytes_of(4)
        line.amount(2)
        came = self.trace.receive(line.number, self.other(line, 3, ANY), 0)
        went = self.trace.send(line.number, self.other(line, 1, NOBODY), 0, bytes)
        self.trace.end(line.number, came)
        self.trace.end(line.number, went)

    def pending(self, line: Line) -> deque[Begun]:
        """Return the requests that a line names, by source, target and tag."""
        source, target, tag = (line.whole(at, least=-LARGEST) for at in range(3))
        for key in (
            (source, target, tag),
            (ANY, target, tag),
            (source, target, ANY),
            (ANY, target, ANY),
        ):
            if self.requests.get(key):
                return self.requests[key]
        return deque()

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

    def wait_all(self, line: Line) -> None:
        """Read the end of all open requests: as in SMPI's replay, whatever their number is."""
        line.amount(0)
        for queue in self.requests.values():
            while queue:
                self.trace.end(line.number, queue.popleft())
        while self.collectives:
            self.trace.leave(line.number, self.collectives.popleft())

    def test(self, line: Line) -> None:
        """Read a look at a request, which may have ended before."""
        if found := self.pending(line):
            self.trace.test(line.number, found[0])


ACTIONS: dict[str, Callable[[RankReader, Line], object]] = {
    FIRST: RankReader.start,
    "finalize": RankReader.finish,
    "compute": RankReader.compute,
    "sleep": RankReader.sleep,
    "location": RankReader.skip,
    "comm_size": RankReader.skip,
    "comm_split": RankReader.skip,
    "comm_dup": RankReader.skip,
    "send": RankReader.blocking_send,
    "Ssend": RankReader.blocking_send,
    "isend": RankReader.request_send,
    "ISsend": RankReader.request_send,
    "recv": RankReader.blocking_receive,
    "irecv": RankReader.request_receive,
    "sendRecv": RankReader.exchange,
    "sendrecv": RankReader.exchange,
    "wait": RankReader.wait,
    "waitall": RankReader.wait_all,
    "test": RankReader.test,
}
"""What a rank does by itself, or with another one."""
