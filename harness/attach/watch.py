"""Follow the iterations of a program while it runs: which loop iterates, and when iterations begin.

The process that waits for the first rank polls the page of `hindmost.harness.attach.pairs`, looks
the loops up in the program's code whenever a new pair of contexts has come, and writes into the
page which pairs begin an iteration. It makes no call of MPI, and its memory does not grow with the
run.
"""

from __future__ import annotations

import mmap
import time
from collections import defaultdict, deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.attach.background import Background
from hindmost.harness.attach.pairs import BY_PROGRAM, PAIRS, PairsPage
from hindmost.harness.attach.raw import HEAD, MAGIC, Frame, Span, contexts_of
from hindmost.harness.loops.online import OnlineLoops
from hindmost.harness.loops.tree import LoopKey
from hindmost.harness.runfile.contexts import CallContexts
from hindmost.models.ahead.checkpoints import CheckpointsSeen
from hindmost.models.ahead.next_iterations import NextIterations

NS = 1e-9
ITERATIONS = 3
"""Effective iterations from which on a loop is the one that iterates."""
MAX_MARKS = 256
"""Iterations that are measured of those that began since the last time."""
LATEST = 200
"""Iterations over which they are counted."""
PAUSES, LONGEST_PAUSE_S = 20.0, 1.0
"""The next look at the code comes after so many times the processor time of the last one."""
OF_CONTEXTS = (
    *(Frame.MODULES, Frame.CODES, Frame.PLACES, Frame.CHAIN_ENDS, Frame.CHAINS),
    Frame.BACK,
)


class ContextsSoFar:
    """The call contexts that one rank has written so far; frames of records are passed over.

    Parameters
    ----------
    path : Path
        The raw file of its node.
    """

    def __init__(self, path: Path, rank: int = 0) -> None:
        self._path, self._rank, self._at = path, rank, 0
        self._frames: list[tuple[Frame, int, Span]] = []

    def read(self) -> CallContexts:
        """Return the contexts whose frames are whole."""
        with self._path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        while self._at + HEAD.size <= len(data):
            magic, kind, length, number, rank, _, _ = HEAD.unpack_from(data, self._at)
            begin = self._at + HEAD.size
            if magic != MAGIC or begin + length > len(data):
                break
            if rank == self._rank and kind in OF_CONTEXTS:
                self._note(data, Frame(kind), number, Span(offset=begin, count=length))
            self._at = begin + length
        spans: dict[Frame, list[Span]] = defaultdict(list)
        for kind, _, span in self._frames:
            spans[kind].append(span)
        return contexts_of(data, spans, [])  # conversion says what is odd

    def _note(self, data: mmap.mmap, kind: Frame, number: int, span: Span) -> None:
        if kind is not Frame.BACK:
            self._frames.append((kind, number, span))
            return
        (first,) = np.frombuffer(data, "<u4", 1, span.offset)  # the rank takes back frames
        self._frames = [frame for frame in self._frames if frame[1] < first]


class LoopIterations:
    """The iterations of a loop: how long the next ones take, and what checkpoints cost."""

    def __init__(self) -> None:
        self.next, self.checkpoints = NextIterations(), CheckpointsSeen()
        self.begin_ns: int | None = None
        self._written_bytes = self._passed = 0
        self._last_s: deque[float] = deque(maxlen=LATEST)

    @property
    def count(self) -> int:
        """Iterations that have ended."""
        return self.next.observed + self._passed

    @property
    def begun(self) -> int:
        """Iterations that have begun."""
        return self.count + (self.begin_ns is not None)

    def effective(self, now_ns: float) -> float:
        """Return how many iterations share the loop's time, the running one among them.

        (sum t)^2 / sum t^2: of a loop over commands one of which takes nearly all, about one.
        """
        times = np.array(self._last_s)
        if self.begin_ns is not None:
            times = np.append(times, max(0.0, (now_ns - self.begin_ns) * NS))
        return float(times.sum() ** 2 / max(1e-300, (times**2).sum()))

    def pass_over(self, count: int) -> None:
        """Count iterations that are not measured; the one that is begun next comes after them."""
        self._passed += count + (self.begin_ns is not None)
        self.begin_ns = None

    def begin(self, begin_ns: int, written_bytes: int) -> None:
        """Note that an iteration begins, which ends the one before."""
        if self.begin_ns is not None:
            if begin_ns <= self.begin_ns:  # it was known from the first call of its pair
                return
            measured_s = max(1e-9, (begin_ns - self.begin_ns) * NS)
            level_s = self.next.level if self.count > 2 else measured_s
            written = written_bytes - self._written_bytes
            self.checkpoints.observe(written, measured_s, level_s, ended_s=begin_ns * NS)
            self.next.observe(measured_s)
            self._last_s.append(measured_s)
        self.begin_ns, self._written_bytes = begin_ns, written_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopsSeen:
    """What an analysis of the code has found.

    Attributes
    ----------
    loops : OnlineLoops or None
        None while no context is known.
    slots : int64 array, shape (pair,)
        Of the pairs that were looked at.
    pairs : int
        How many there were.
    cost_s : float
        Processor time.
    """

    loops: OnlineLoops | None
    slots: NDArray[np.int64]
    pairs: int
    cost_s: float


class LoopWatcher:
    """Follows the outermost loop that iterates in the first rank of a program.

    Parameters
    ----------
    page : PairsPage

    Attributes
    ----------
    iterations : LoopIterations or None
        Of the loop that iterates; None while none is known.
    name : str
        Of that loop.
    is_marked : bool
        Whether the program marks the ends of its iterations.
    """

    def __init__(self, page: PairsPage) -> None:
        self._page = page
        self._contexts: ContextsSoFar | None = None
        self._analysis: Background[LoopsSeen] | None = None
        self._loops: OnlineLoops | None = None
        self._pairs_seen = self._marks_seen = 0
        self._look_again_s = 0.0
        self._numbers: dict[LoopKey, int] = {}
        self._iterations: dict[int, LoopIterations] = {}
        self._entry: dict[LoopKey, tuple[int, int]] = {}  # entries, and iterations at the last one
        self._marked: list[LoopKey] = []
        self._slots: NDArray[np.int64] = np.empty(0, np.int64)
        self.iterations: LoopIterations | None = None
        self.name = ""
        self.is_marked = False

    def follow(self, path: Path) -> None:
        """Name the raw file of the first rank's node."""
        if self._contexts is None:
            self._contexts = ContextsSoFar(path)

    def poll(self) -> bool:
        """Take in what happened since the last time; return whether another loop iterates now."""
        self._take_marks()
        chosen, name = self._iterations.get(BY_PROGRAM), "the program's marks"
        if chosen is None:
            self._look_at_code()
            key = self._outermost()
            if key is None:
                return False
            chosen = self._iterations[self._numbers[key]]
            name = self._loops.name(key) if self._loops and chosen is not self.iterations else name
        if chosen is self.iterations or chosen.count < ITERATIONS:
            return False
        self.iterations, self.name = chosen, name
        self.is_marked = chosen is self._iterations.get(BY_PROGRAM)
        return True

    def _take_marks(self) -> None:
        """Take in the iterations that began; of very many only the last ones are measured."""
        made = self._page["marks"]
        marks = self._page.marks_since(self._marks_seen, made)[-MAX_MARKS:]
        passed = made - self._marks_seen - len(marks)
        if passed > 0 and (marks["loop"] == marks["loop"][0]).all():
            series = self._iterations.setdefault(int(marks["loop"][0]), LoopIterations())
            series.pass_over(passed)
        for mark in marks:
            series = self._iterations.setdefault(int(mark["loop"]), LoopIterations())
            series.begin(int(mark["begin_ns"]), int(mark["written_bytes"]))
        self._marks_seen = made

    def _look_at_code(self) -> None:
        """Find the loops anew where pairs have come that were not there before."""
        if self._analysis is not None:
            if not self._analysis.is_answered:
                return
            found, self._analysis = self._analysis.answer(), None
            self._look_again_s = time.monotonic() + min(PAUSES * found.cost_s, LONGEST_PAUSE_S)
            if found.loops is None:
                return
            self._loops, self._slots, self._marked = found.loops, found.slots, []
            self._pairs_seen = found.pairs
        count, contexts = self._page["pairs"], self._contexts
        if count == self._pairs_seen or contexts is None or time.monotonic() < self._look_again_s:
            return
        slots = np.flatnonzero(self._page.pair["after"])
        pairs = self._page.pair[slots]

        def look() -> LoopsSeen:
            begin_s = time.thread_time()
            seen, loops = contexts.read(), None
            if seen.known:
                loops = OnlineLoops(seen, pairs["before"], pairs["after"])
            cost_s = time.thread_time() - begin_s
            return LoopsSeen(loops=loops, slots=slots, pairs=count, cost_s=cost_s)

        self._analysis = Background(look)

    def _outermost(self) -> LoopKey | None:
        """Return the outermost loop around the last call that iterates; mark what begins it."""
        loops = self._loops
        if loops is None:
            return None
        around = loops.around(self._page["context"])
        counts = self._page.pair["count"][self._slots]
        iterating, chosen = [], None
        for key in around:
            begun = int(counts[loops.begins(key)].sum())
            entries = int(counts[loops.enters(key)].sum())
            if self._entry.get(key, (-1, 0))[0] != entries:
                # The first call of the program enters its loops without a pair.
                self._entry[key] = (entries, begun if key in self._entry else begun - 1)
            number = self._numbers.get(key)
            if begun == self._entry[key][1] and number is None:
                continue
            if number is None:
                number = self._numbers[key] = BY_PROGRAM + 1 + len(self._numbers)
            series = self._iterations.setdefault(number, LoopIterations())
            iterating.append(key)
            if series.count >= ITERATIONS and series.effective(time.monotonic() / NS) >= ITERATIONS:
                chosen = key
                break
        # In a context that is not known yet the marks stay as they are.
        if around and iterating != self._marked:
            begins = np.zeros(PAIRS, np.uint32)
            for key in reversed(iterating):  # what begins two loops begins the outer one
                begins[self._slots[loops.begins(key)]] = self._numbers[key]
            self._take_first_calls(begins)
            self._page.pair["begins"][:] = begins
            self._marked = iterating
        return chosen

    def _take_first_calls(self, begins: NDArray[np.uint32]) -> None:
        """Note the iterations that began at pairs which the recorder did not know to begin any.

        An iteration with output ends in a pair that was not seen before. When its first call came
        is known; where it came again meanwhile, the running iteration is not measured.
        """
        pair = self._page.pair
        new = np.flatnonzero((begins != pair["begins"]) & (begins > 0))
        for slot in new[np.argsort(pair["begin_ns"][new])]:
            series = self._iterations[int(begins[slot])]
            if series.begin_ns is None or pair["begin_ns"][slot] <= series.begin_ns:
                continue
            series.begin(int(pair["begin_ns"][slot]), int(pair["written_bytes"][slot]))
            if pair["count"][slot] > 1:
                series.begin_ns = None
