"""Worlds of known truth: a program, its noise and its network, run on any number of ranks.

A rank works, exchanges halos with the neighbours of its grid and takes part in reductions. Each
message costs a latency and its bytes, which share a node's link; a reduction is done by recursive
doubling, message by message. All of it is worked out here, one iteration after the other with all
ranks at once, and nothing of it uses the simulator that is held against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.models.events import EventKind

Times = NDArray[np.float64]

WORK, SEND, RECEIVE, REDUCE, POST, COMPLETE = range(6)
KINDS = {
    SEND: EventKind.SEND,
    RECEIVE: EventKind.RECEIVE,
    REDUCE: EventKind.REDUCE,
    POST: EventKind.POST,
    COMPLETE: EventKind.COMPLETE,
}
LOOPS: dict[str, tuple[tuple[int, float], ...]] = {
    "loop": ((WORK, 0.1), (SEND, 0.0), (WORK, 0.5), (RECEIVE, 0.0), (WORK, 0.4), (REDUCE, 0.0)),
    "cg": (
        (WORK, 2.0), (REDUCE, 0.0), (WORK, 3.0), (SEND, 0.0), (WORK, -1.0), (RECEIVE, 0.0),
        (WORK, 3.0), (REDUCE, 0.0), (WORK, 10.0), (REDUCE, 0.0),
    ),
    "pipecg": (
        (WORK, 3.0), (SEND, 0.0), (WORK, -1.0), (RECEIVE, 0.0), (WORK, 1.0), (COMPLETE, 0.0),
        (WORK, 29.0), (POST, 0.0),
    ),
}  # fmt: skip
"""What an iteration does, with parts of the work, or vectors read and written; -1: the product of
its own rows. Conjugate gradients as PETSc has them."""
PRODUCT = 12.0
"""Vectors that the product of a matrix of seven entries a row reads and writes."""
VECTORS = 30.0
"""Of an iteration of conjugate gradients, whose work a world has."""
SEND_S = 0.3e-6
"""To start sending halos."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A program, its noise and its network.

    Attributes
    ----------
    program : str
        ``loop`` or ``cg``.
    weak : bool
        Whether a rank has the same work on any number of ranks; else it is divided.
    ranks, iterations : int
        As recorded.
    work_s : float
        Undisturbed work of an iteration of a recorded rank.
    jitter : float
        Standard deviation of the work of a step, as a share of it.
    detours : tuple of float
        How many there are an iteration and rank, their mean in seconds, and the index of their
        tail: 0 for exponential ones.
    common : float
        Share of the detours that all ranks of a node have at the same time.
    apart : float
        Standard deviation of what ranks differ by all the time, as a share of the work.
    per_node : int
        Ranks of a node.
    within_s, across_s : float
        Latency of a message within a node and between nodes.
    per_byte_s : float
        Of either.
    library_s : float
        What a reduction, or its start, costs a rank in addition.
    dimensions : int
        Of the grid of ranks that exchange halos; 0 for none.
    halo_bytes : float
        Of a message between recorded ranks.
    daemon : tuple of float, seconds
        The period by which a daemon wakes on each rank, at its own phase, and how long it runs.
    spells : tuple of float
        Share of the time in which a rank is slow, the mean length of a spell in seconds, and the
        factor of its work meanwhile.
    """

    program: str
    weak: bool
    ranks: int
    iterations: int
    work_s: float
    jitter: float
    detours: tuple[float, float, float]
    common: float
    apart: float
    per_node: int
    within_s: float
    across_s: float
    per_byte_s: float
    library_s: float
    dimensions: int
    halo_bytes: float
    daemon: tuple[float, float] = (0.0, 0.0)
    spells: tuple[float, float, float] = (0.0, 1.0, 1.0)


NOISE = ("iteration", "daemon", "spells")
"""Families of noise: detours by the iteration, with exponential or Pareto lengths; a daemon that
wakes by the clock; and spells in which a rank is slower."""


def with_noise(world: World, family: str, random: np.random.Generator) -> World:
    """Return a world with noise of another family; none of the others has a law of lengths."""
    nothing = (0.0, *world.detours[1:])
    if family == "daemon":
        period_s = float(np.exp(random.uniform(np.log(1e-3), np.log(2e-2))))
        daemon = period_s, float(random.uniform(0.002, 0.03)) * period_s
        return replace(world, detours=nothing, daemon=daemon)
    if family == "spells":
        mean_s = float(np.exp(random.uniform(np.log(3e-3), np.log(5e-2))))
        spells = float(random.uniform(0.02, 0.2)), mean_s, float(random.uniform(1.1, 1.8))
        return replace(world, detours=nothing, spells=spells)
    return world


def draw_world(random: np.random.Generator) -> World:
    """Draw a world: 2 to 4 ranks with 0.1 to 5 ms of work an iteration, on one node or several."""
    work_s = float(np.exp(random.uniform(np.log(1e-4), np.log(5e-3))))
    often = float(np.exp(random.uniform(np.log(0.003), np.log(0.3))))
    alone = random.random() < 0.5
    across_s = float(random.uniform(1e-6, 4e-6))
    return World(
        program=str(random.choice(["loop", "cg"])),
        weak=bool(random.random() < 0.6),
        ranks=int(random.integers(2, 5)),
        iterations=int(random.integers(300, 1200)),
        work_s=work_s,
        jitter=float(random.choice([0.002, 0.01, 0.04])),
        detours=(
            often,
            float(random.uniform(0.02, 0.3)) * work_s,
            float(random.choice([0.0, 0.0, 0.2])),
        ),
        common=float(random.choice([0.0, 0.0, 0.5])),
        apart=float(random.choice([0.0, 0.01, 0.03])),
        per_node=1 if alone else int(random.choice([8, 32, 64])),
        within_s=across_s if alone else float(random.uniform(0.3e-6, 1e-6)),
        across_s=across_s,
        per_byte_s=float(random.uniform(0.8e-10, 4e-10)),
        library_s=float(random.uniform(0.2e-6, 2e-6)),
        dimensions=int(random.integers(0, 4)),
        halo_bytes=float(random.choice([800, 8_000, 80_000])),
    )


@dataclass(slots=True, kw_only=True)
class Walked:
    """A solve, or a loop, on some ranks.

    Attributes
    ----------
    start : float64 array, shape (iteration, rank), seconds
    kind : list of int
        Of the events of an iteration.
    work, duration : float64 array, shape (iteration, rank, event), seconds
        Own work before each event, and the time in it.
    rest : float64 array, shape (iteration, rank), seconds
    total_s : float
    """

    start: Times
    kind: list[int]
    work: Times
    duration: Times
    rest: Times
    total_s: float = field(default=0.0)


def walk_world(
    world: World,
    ranks: int,
    random: np.random.Generator,
    *,
    program: str | None = None,
    noise: float = 1.0,
    apart: float = 1.0,
    latency: float = 1.0,
    network: float = 1.0,
) -> Walked:
    """Run the program of a world on some ranks.

    Parameters
    ----------
    program : str, optional
        Another one than that of the world: ``pipecg`` for ``cg``.
    noise, apart, latency, network : float
        Factors of what disturbs ranks, of what they differ by all the time, of latencies, and of
        all that messages and reductions cost.
    """
    steps = LOOPS[program or world.program]
    if not world.dimensions:
        steps = tuple(step for step in steps if step[0] not in (SEND, RECEIVE))
    share = 1.0 if world.weak else world.ranks / ranks
    node = np.arange(ranks) // world.per_node
    pairs = neighbours(ranks, world.dimensions)
    surface = share ** ((world.dimensions - 1) / world.dimensions) if world.dimensions > 1 else 1.0
    costs = MessageCosts(world, node, latency=latency, network=network)
    halo_s = costs.between(*pairs, world.halo_bytes * surface)
    library_s = network * world.library_s
    level = np.maximum(1.0 + world.apart * random.standard_normal(ranks), 0.5)
    level = level.mean() + apart * (level - level.mean())
    parts = np.array([part_s(world, what, size) for what, size in steps])
    events = [what for what, _ in steps if what != WORK]
    shape = world.iterations, ranks
    start, rest = np.zeros(shape), np.zeros(shape)
    work, duration = np.zeros((2, *shape, len(events)))
    detours = noise * detours_of(world, node, random)
    where = random.choice(parts.size, shape, p=parts / parts.sum())
    every, nothing = np.arange(ranks), np.zeros(ranks)
    clock, sent, posted = nothing, nothing, None
    machine = Disturbed(world, ranks, noise, random)
    for body in range(world.iterations):
        start[body] = clock
        jitter = noise * world.jitter * random.standard_normal((parts.size, ranks))
        own = share * parts[:, None] * level * np.maximum(1.0 + jitter, 0.5)
        own[where[body], every] += detours[body]
        own += machine.more(clock, own)
        event, since = 0, nothing
        for step, (what, _) in enumerate(steps):
            if what == WORK:
                since = since + own[step]
                continue
            come = clock + since
            leave, sent, posted = after(what, come, sent, posted, pairs, halo_s, costs, library_s)
            work[body, :, event], duration[body, :, event] = since, leave - come
            clock, event, since = leave, event + 1, nothing
        rest[body] = since
        clock = clock + since
    return Walked(
        start=start,
        kind=[int(KINDS[event]) for event in events],
        work=work,
        duration=duration,
        rest=rest,
        total_s=float(clock.max()),
    )


class Disturbed:
    """What happens to ranks by the clock: a daemon, and spells in which they are slow.

    Parameters
    ----------
    world : World
    ranks : int
    noise : float
        Factor of it.
    random : numpy.random.Generator
    """

    def __init__(self, world: World, ranks: int, noise: float, random: np.random.Generator) -> None:
        self.world, self.noise, self.random = world, noise, random
        self.phase_s = world.daemon[0] * random.random(ranks)
        self.slow = random.random(ranks) < world.spells[0]
        self.since_s = np.zeros(ranks)

    def more(self, clock: Times, own: Times) -> Times:
        """Return what the steps of an iteration take in addition: float64, shape (step, rank)."""
        (period_s, length_s), (share, mean_s, factor) = self.world.daemon, self.world.spells
        more = np.zeros_like(own)
        if share:
            passed = -np.expm1(-(clock - self.since_s) / mean_s)
            odds = np.where(self.slow, 1.0, share / (1.0 - share)) * passed
            self.slow ^= self.random.random(clock.size) < odds
            self.since_s = clock.copy()
            more += np.where(self.slow, self.noise * (factor - 1.0), 0.0) * own
        if period_s:
            ends = clock + own.sum(axis=0)
            wakes = np.floor((ends - self.phase_s) / period_s)
            wakes -= np.floor((clock - self.phase_s) / period_s)
            more[int(own.sum(axis=1).argmax())] += self.noise * length_s * wakes
        return more


def after(
    what: int,
    come: Times,
    sent: Times,
    posted: Times | None,
    pairs: tuple[NDArray[np.intp], NDArray[np.intp]],
    halo_s: Times,
    costs: MessageCosts,
    library_s: float,
) -> tuple[Times, Times, Times | None]:
    """Return when ranks leave an event, when they have sent, and when a reduction is through."""
    if what == SEND:
        return come + SEND_S, come + SEND_S, posted
    if what == RECEIVE:
        leave = come.copy()
        np.maximum.at(leave, pairs[1], sent[pairs[0]] + halo_s)
        return leave, sent, posted
    if what == REDUCE:
        return costs.reduced(come) + library_s, sent, posted
    if what == POST:
        return come + library_s, sent, costs.reduced(come + library_s)
    return (come if posted is None else np.maximum(come, posted)), sent, posted


def part_s(world: World, what: int, size: float) -> float:
    """Return the undisturbed work of a step on the recorded ranks, in seconds."""
    if what != WORK:
        return 0.0
    if world.program == "loop":
        return size * world.work_s
    return (PRODUCT if size < 0.0 else size) * world.work_s / VECTORS


def detours_of(world: World, node: NDArray[np.intp], random: np.random.Generator) -> Times:
    """Draw what disturbs ranks: float64, shape (iteration, rank), seconds."""
    often, mean_s, index = world.detours

    def drawn(count: int, share: float) -> Times:
        shape = world.iterations, count
        size = random.exponential(1.0, shape)
        if index > 0.0:  # generalised Pareto, of the same mean
            size = (1.0 - index) * np.expm1(index * size) / index
        return np.where(random.random(shape) < share * often, mean_s * size, 0.0)

    own, shared = drawn(node.size, 1.0 - world.common), drawn(int(node[-1]) + 1, world.common)
    return np.asarray(own + shared[:, node])


class MessageCosts:
    """What messages cost between ranks on nodes.

    Parameters
    ----------
    world : World
    node : int array, shape (rank,)
    latency, network : float
        Factors, see `walk_world`.
    """

    def __init__(
        self, world: World, node: NDArray[np.intp], *, latency: float, network: float
    ) -> None:
        self.world, self.node, self.latency, self.network = world, node, latency, network
        ranks = node.size
        rounds = ranks.bit_length() - 1
        # Recursive doubling is for powers of two: those too many hand their data on, in pairs.
        extra = ranks - (1 << rounds)
        self.first, self.second = 2 * np.arange(extra), 2 * np.arange(extra) + 1
        active = np.concatenate([self.second, np.arange(2 * extra, ranks)])
        self.active = active
        self.other = [np.arange(active.size) ^ (1 << each) for each in range(rounds)]
        self.round_s = [self.between(active[each], active, 8.0) for each in self.other]
        self.there_s = self.between(self.first, self.second, 8.0)
        self.back_s = self.between(self.second, self.first, 8.0)

    def between(self, source: NDArray[np.intp], target: NDArray[np.intp], bytes: float) -> Times:
        """Return the time of messages that leave at once: float64, shape (message,), seconds."""
        away = self.node[source] != self.node[target]
        at_once = np.bincount(self.node[source], away, minlength=int(self.node[-1]) + 1)
        sharing = np.where(away, np.maximum(at_once[self.node[source]], 1.0), 1.0)
        latency_s = np.where(away, self.world.across_s, self.world.within_s)
        return self.network * (self.latency * latency_s + bytes * self.world.per_byte_s * sharing)

    def reduced(self, come: Times) -> Times:
        """Return when ranks have the sum, from when they come: float64, shape (rank,), seconds."""
        clock = come.copy()
        clock[self.second] = np.maximum(come[self.second], come[self.first] + self.there_s)
        here = clock[self.active]
        for other, round_s in zip(self.other, self.round_s, strict=True):
            here = np.maximum(here, here[other] + round_s)
        clock[self.active] = here
        clock[self.first] = clock[self.second] + self.back_s
        return clock


def neighbours(ranks: int, dimensions: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return who sends to whom in a grid of as equal sides as the number of ranks allows."""
    cells = np.arange(ranks).reshape(tuple(sides(ranks, dimensions)))
    pairs = [
        (np.moveaxis(cells, axis, 0)[:-1].ravel(), np.moveaxis(cells, axis, 0)[1:].ravel())
        for axis in range(dimensions)
    ]
    low, high = (
        np.concatenate([np.empty(0, np.intp), *(pair[side] for pair in pairs)]) for side in (0, 1)
    )
    return np.concatenate([low, high]), np.concatenate([high, low])


def sides(ranks: int, dimensions: int) -> Iterator[int]:
    """Yield the sides of a grid, the longest first: each takes the largest primes that are left."""
    found = [1] * max(dimensions, 1)
    prime, left = [], ranks
    for each in range(2, ranks + 1):
        while left % each == 0:
            prime.append(each)
            left //= each
    for each in reversed(prime):
        found[int(np.argmin(found))] *= each
    yield from sorted(found, reverse=True)
