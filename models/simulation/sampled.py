"""Solves of many ranks whose work is drawn from laws while they are walked through.

The recursion is that of `hindmost.models.simulation.walker`, for programs whose iterations have the
same events. Nothing that grows with ranks times iterations is kept: a million ranks take some tens
of megabytes. Threads share the ranks and meet where the recursion needs all of them; draws are
counted (`hindmost.models.simulation.counted_draws`) and maxima know no order, so that every number
of threads gives the same clocks to the bit.
"""

from __future__ import annotations

import os
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.compiled import declared, part
from hindmost.models.simulation.blocks import COMPLETE, POST, RECEIVE, REDUCE, SEND, Neighbours
from hindmost.models.simulation.counted_draws import Quantiles, draw, stream
from hindmost.models.simulation.lockstep import LINE, counters, publish, wait_for_all
from hindmost.models.simulation.walker import MOST_PENDING

Times = NDArray[np.float64]

AT_ONCE = 512
"""Ranks whose times are drawn before they are added: 4 KiB, in the nearest cache."""
FEWEST_RANKS = 1024
"""Of a thread: with fewer, threads spend more time on waiting for each other."""
RANK_BODIES = 1 << 27
"""Of a call of the loop, about a second: between calls, the command can be interrupted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnWork:
    """Work before an event, on all ranks; several of one event are added to each other.

    Attributes
    ----------
    event : int
        Place in the iteration.
    laws : tuple of Quantiles
        By place in the restart cycle; one for all places.
    ranks_together, iterations_together : int
        Ranks, and iterations, in a row that have the same draw: noise of whole nodes, or noise that
        lasts.
    probability : float
        Of a time other than 0, above 0 and up to 1.
    scaled : bool
        Whether it takes longer on slow ranks.
    """

    event: int
    laws: tuple[Quantiles, ...]
    ranks_together: int = 1
    iterations_together: int = 1
    probability: float = 1.0
    scaled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledProgram:
    """What ranks do in every iteration.

    Attributes
    ----------
    ranks : int
    kinds : tuple of int
        Events of an iteration, see `EventKind`.
    work : tuple of DrawnWork
    latency_s, overhead_s : tuple of float
        Of each event, see `Latencies`.
    neighbours : Neighbours
    lag : int
        Posted reductions that a completion leaves pending.
    slowness : float64 array, shape (rank,), optional
        Factor of the work of each rank.
    cycle : int
        Iterations of a restart cycle, before which all ranks meet; 0 if they never do.
    between_s : float
        Time between two cycles.
    """

    ranks: int
    kinds: tuple[int, ...]
    work: tuple[DrawnWork, ...]
    latency_s: tuple[float, ...]
    overhead_s: tuple[float, ...]
    neighbours: Neighbours
    lag: int = 0
    slowness: Times | None = None
    cycle: int = 0
    between_s: float = 0.0


class SampledWalk:
    """Ranks on their way through a sampled program.

    Parameters
    ----------
    program : SampledProgram
    seed : int
        Walks with the same seed draw the same times.
    threads : int, optional
        None: one for each core that this process may use, if there are ranks enough.

    Attributes
    ----------
    clock : float64 array, shape (rank,), seconds
        Since all ranks met.
    walked : int
        Iterations so far.
    """

    def __init__(self, program: SampledProgram, *, seed: int = 0, threads: int | None = None):
        refuse_nonsense(program)
        ranks = program.ranks
        most = len(os.sched_getaffinity(0)) if threads is None else threads
        wanted = ranks // FEWEST_RANKS if threads is None else ranks
        self._program, self._seed = program, np.uint64(seed)
        self._threads = max(1, min(most, wanted))
        self.clock, self.walked = np.zeros(ranks), 0
        terms = program.work
        tables = {id(law): law for term in terms for law in term.laws}
        row = {each: number for number, each in enumerate(tables)}
        places = max(len(term.laws) for term in terms)
        self._tables = np.array([law.seconds for law in tables.values()])
        self._law = np.array(
            [[row[id(term.laws[at % len(term.laws)])] for at in range(places)] for term in terms]
        )
        self._terms = np.array(
            [
                (each.event, each.ranks_together, each.iterations_together, each.scaled)
                for each in terms
            ],
            np.int64,
        )
        self._probability = np.array([each.probability for each in terms])
        self._slowness = np.ones(ranks) if program.slowness is None else program.slowness
        self._sent = np.zeros((2, ranks))
        # Of each thread: the steps that it published; when its last rank came to a reduction, by
        # step; where it is in its list of reductions that are pending.
        steps = sum(each in (REDUCE, POST, SEND) for each in program.kinds) + 2
        ring = 2 * (program.lag + 3) * steps
        self._steps = counters(self._threads)
        self._last = np.zeros((self._threads, ring * LINE))
        self._posted = np.zeros((self._threads, ring), np.int64)
        self._ends = np.zeros((self._threads, LINE), np.int64)

    def walk(self, iterations: int) -> None:
        """Walk on."""
        at_once = max(1, RANK_BODIES // self._program.ranks)
        loop = walk_sampled.compile()
        with ThreadPoolExecutor(self._threads) as pool:
            for begin in range(self.walked, self.walked + iterations, at_once):
                end = min(begin + at_once, self.walked + iterations)
                try:
                    walks = [
                        pool.submit(loop, *self._arguments(thread, begin, end))
                        for thread in range(self._threads)
                    ]
                    for each in wait(walks, return_when=FIRST_EXCEPTION).done:
                        each.result()
                except BaseException:
                    self._steps[-LINE] = 1  # nobody waits for a thread that did not begin
                    raise
        self.walked += iterations

    def _arguments(self, thread: int, begin: int, end: int) -> tuple[Any, ...]:
        """Return what the loop takes on a thread."""
        program = self._program
        low = program.ranks * thread // self._threads
        high = program.ranks * (thread + 1) // self._threads
        clock, drawn = self.clock[low:high], np.zeros(AT_ONCE)
        neighbours = program.neighbours
        return (
            np.array(program.kinds, np.int64), np.array(program.latency_s),
            np.array(program.overhead_s), self._terms, self._probability, self._law, self._tables,
            self._slowness[low:high], neighbours.first, neighbours.source, program.lag,
            program.cycle, program.between_s, self._seed, begin, end, thread, self._threads, low,
            clock, clock.view(np.int64), self._sent, self._steps, self._last,
            self._posted[thread], self._ends[thread], drawn, drawn.view(np.int64),
        )  # fmt: skip


def refuse_nonsense(program: SampledProgram) -> None:
    """Raise a DataError for a program that cannot be walked through."""
    events = len(program.kinds)
    allowed = {REDUCE, POST, COMPLETE, SEND, RECEIVE}
    if not program.kinds or not set(program.kinds) <= allowed:
        raise DataError(f"Events of kinds {program.kinds}; each is one of {sorted(allowed)}.")
    if not program.work or any(not 0 <= each.event < events for each in program.work):
        raise DataError(f"Work belongs to one of the {events} events of an iteration, from 0 on.")
    if not len(program.latency_s) == len(program.overhead_s) == events:
        raise DataError(f"{events} events need as many latencies and overheads.")
    if min(*program.latency_s, *program.overhead_s, program.between_s) < 0.0:
        raise DataError("A negative latency, overhead or time between cycles.")
    for each in program.work:
        if not 0.0 < each.probability <= 1.0 or not each.laws:
            raise DataError("Drawn work needs a law, and a probability above 0 and up to 1.")
        if each.ranks_together < 1 or each.iterations_together < 1:
            raise DataError("At least 1 rank and 1 iteration have the same draw.")
    if program.slowness is not None and (
        program.slowness.shape != (program.ranks,) or not program.slowness.min() >= 0.0
    ):
        raise DataError(f"The slowness of {program.ranks} ranks is as many factors from 0 on.")
    if program.kinds.count(POST) != program.kinds.count(COMPLETE):
        raise DataError("An iteration completes as many reductions as it posts.")
    if not 0 <= program.lag < MOST_PENDING:
        raise DataError(f"A lag of {program.lag}; it is from 0 to {MOST_PENDING - 1}.")
    if RECEIVE in program.kinds and program.kinds.count(SEND) != 1:
        raise DataError("An iteration with receipts sends once.")


@declared(
    "(i8[::1], f8[::1], f8[::1], i8[:,::1], f8[::1], i8[:,::1], f8[:,::1], f8[::1], i8[::1], "
    "i8[::1], i8, i8, f8, u8, i8, i8, i8, i8, i8, f8[::1], i8[::1], f8[:,::1], i8[::1], "
    "f8[:,::1], i8[::1], i8[::1], f8[::1], i8[::1])",
    division="numpy",
)
def walk_sampled(
    kinds: NDArray[np.int64],
    latency: Times,
    overhead: Times,
    terms: NDArray[np.int64],
    probability: Times,
    law: NDArray[np.int64],
    tables: Times,
    slowness: Times,
    first: NDArray[np.int64],
    source: NDArray[np.int64],
    lag: int,
    cycle: int,
    between: float,
    seed: np.uint64,
    begin: int,
    end: int,
    thread: int,
    threads: int,
    low: int,
    clock: Times,
    clock_bits: NDArray[np.int64],
    sent: Times,
    steps: NDArray[np.int64],
    last: Times,
    posted: NDArray[np.int64],
    ends: NDArray[np.int64],
    drawn: Times,
    drawn_bits: NDArray[np.int64],
) -> None:
    """Advance the clocks t_p of the ranks of one thread, by the recursion of the walker.

    ``ends``: the first pending post, one past the last, the steps that this thread published, the
    one at which it last sent, and how often it sent. Halos come and go in two arrays by turns: when
    a thread sends again, the others have read what it sent two times before.
    """
    ranks, ring = clock.size, posted.size
    # Positive numbers have the order of their bits, and maxima of whole numbers use vectors.
    top = np.zeros(1)
    top_bits = top.view(np.int64)
    for body in range(begin, end):
        place = body
        if cycle > 0:
            place = body % cycle
            if place == 0 and body > 0:
                # All ranks meet; what was posted before is through.
                find_last(clock_bits, top_bits)
                ends[2] += 1
                last[thread, ends[2] % ring * LINE] = top[0]
                publish(steps, thread * LINE, ends[2])
                wait_for_all(steps, threads, ends[2])
                met = 0.0
                for other in range(threads):
                    met = max(met, last[other, ends[2] % ring * LINE])
                for rank in range(ranks):
                    clock[rank] = met + between
                ends[0] = ends[1]
                sent[ends[4] % 2, low : low + ranks] = clock
                ends[2] += 1
                publish(steps, thread * LINE, ends[2])
                ends[3] = ends[2]
        for event in range(kinds.size):
            what = kinds[event]
            cost, least = latency[event], overhead[event]
            # t_p + w_p: every rank works up to the event.
            for term in range(terms.shape[0]):
                if terms[term, 0] == event:
                    key = stream(seed, np.uint64(term), np.uint64(body // terms[term, 2]))
                    table = tables[law[term, place % law.shape[1]]]
                    add_drawn(
                        key, low, terms[term, 1], terms[term, 3], probability[term], table,
                        slowness, clock, drawn, drawn_bits,
                    )  # fmt: skip
            if what in (REDUCE, POST):
                # What the other threads need of these ranks: max t_p.
                find_last(clock_bits, top_bits)
                ends[2] += 1
                last[thread, ends[2] % ring * LINE] = top[0]
                publish(steps, thread * LINE, ends[2])
            if what == REDUCE:
                # t_p = max_q (t_q + w_q) + L
                wait_for_all(steps, threads, ends[2])
                met = 0.0
                for other in range(threads):
                    met = max(met, last[other, ends[2] % ring * LINE])
                for rank in range(ranks):
                    clock[rank] = met + cost
            elif what == POST:
                posted[ends[1] % ring] = ends[2]
                ends[1] += 1
            elif what == COMPLETE:
                # t_p = max(t_p + w_p + o, P + L)
                done = 0.0
                if ends[1] - ends[0] > lag:
                    step = posted[ends[0] % ring]
                    ends[0] += 1
                    wait_for_all(steps, threads, step)
                    for other in range(threads):
                        done = max(done, last[other, step % ring * LINE])
                    done += cost
                for rank in range(ranks):
                    clock[rank] = max(clock[rank] + least, done)
            elif what == SEND:
                # s_p = t_p
                ends[4] += 1
                sent[ends[4] % 2, low : low + ranks] = clock
                ends[2] += 1
                publish(steps, thread * LINE, ends[2])
                ends[3] = ends[2]
            else:
                # t_p = max(t_p + w_p + o, max over neighbours q of s_q + L)
                wait_for_all(steps, threads, ends[3])
                come_from = sent[ends[4] % 2]
                for rank in range(ranks):
                    come = clock[rank] + least
                    for edge in range(first[low + rank], first[low + rank + 1]):
                        come = max(come, come_from[source[edge]] + cost)
                    clock[rank] = come


@part
def find_last(clock_bits: NDArray[np.int64], top_bits: NDArray[np.int64]) -> None:
    """Write the largest clock."""
    largest = np.int64(0)
    for rank in range(clock_bits.size):
        largest = max(largest, clock_bits[rank])
    top_bits[0] = largest


@part
def add_drawn(
    key: np.uint64,
    low: int,
    together: int,
    scaled: int,
    probability: float,
    table: Times,
    slowness: Times,
    clock: Times,
    drawn: Times,
    drawn_bits: NDArray[np.int64],
) -> None:
    """Add work that is drawn to the clocks of ranks, some of which may share a draw."""
    ranks = clock.size
    if together == 1:
        for begin in range(0, ranks, drawn.size):
            count = min(drawn.size, ranks - begin)
            draw(key, low + begin, probability, table, drawn[:count], drawn_bits[:count])
            some, slow = clock[begin : begin + count], slowness[begin : begin + count]
            if scaled:
                for rank in range(count):
                    some[rank] += slow[rank] * drawn[rank]
            else:
                for rank in range(count):
                    some[rank] += drawn[rank]
        return
    for group in range(low // together, (low + ranks - 1) // together + 1):
        draw(key, group, probability, table, drawn[:1], drawn_bits[:1])
        begin = max(group * together - low, 0)
        for rank in range(begin, min((group + 1) * together - low, ranks)):
            clock[rank] += slowness[rank] * drawn[0] if scaled else drawn[0]
