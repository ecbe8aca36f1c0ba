"""Populations of ranks with known culprits: what a choice of ranks is held against.

A blocking solver on a box of ranks, one rank a subdomain: ranks inside have six neighbours, those
on faces, edges and corners fewer, and less to do. Every rank has a level of its own, every node and
every body its noise, and now and then a body of any rank is disturbed. Halos come a transfer after
the last neighbour has sent, and a reduction ends the body. On top of that comes the culprit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.text import choose

BODY_S = 1e-3
LEVELS = 0.01
"""Standard deviation of the ranks' own levels, relative."""
NOISE = 0.02
"""Of a body of a rank."""
NODE_NOISE = 0.005
DISTURBED, DISTURBANCE = 2e-4, 0.3
"""Share of bodies that are disturbed, and the mean of what that adds."""
MESSAGE_S = 5e-6
TRANSFER_S = 1e-5
"""Of a halo, once all neighbours have sent; its noise is a tenth of it."""
SLOW_TRANSFER_S = 1.5e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Ranks of a synthetic run.

    Attributes
    ----------
    kind : str
    compute_s, send_s : float64 array, shape (iteration, rank), seconds
        Own work: computing, and handling messages.
    transfer_s : float64 array, shape (iteration, rank), seconds
        What a halo takes after the last neighbour has sent it.
    messages, bytes : float64 array, shape (rank,)
        Sent in every body.
    hosts : tuple of str, one a rank
    culprits : int64 array, shape (culprit,)
        Ranks.
    """

    kind: str
    compute_s: NDArray[np.float64]
    send_s: NDArray[np.float64]
    transfer_s: NDArray[np.float64]
    messages: NDArray[np.float64]
    bytes: NDArray[np.float64]
    hosts: tuple[str, ...]
    culprits: NDArray[np.int64]

    @property
    def work_s(self) -> NDArray[np.float64]:
        """Own work of every body: float64, shape (iteration, rank), seconds."""
        return self.compute_s + self.send_s

    @property
    def halo_s(self) -> NDArray[np.float64]:
        """Time from the own sending until all halos are there: float64, shape (iteration, rank)."""
        work = self.work_s
        sides = box(work.shape[1])
        latest = work.reshape(-1, *sides).copy()
        for axis in (1, 2, 3):
            for shift in (1, -1):
                here, there = shifted(axis, shift), shifted(axis, -shift)
                latest[here] = np.maximum(latest[here], work.reshape(-1, *sides)[there])
        waiting: NDArray[np.float64] = latest.reshape(work.shape) - work + self.transfer_s
        return waiting

    @property
    def wait_s(self) -> NDArray[np.float64]:
        """Time in the reduction, until the last rank has come: float64, shape (iteration, rank)."""
        come = self.work_s + self.halo_s
        waiting: NDArray[np.float64] = come.max(axis=1, keepdims=True) - come
        return waiting

    @property
    def slow_transfer_s(self) -> NDArray[np.float64]:
        """What transfers take beyond the quickest of the body: float64, shape (iteration, rank)."""
        slow: NDArray[np.float64] = self.transfer_s - self.transfer_s.min(axis=1, keepdims=True)
        return slow

    @property
    def idle_s(self) -> NDArray[np.float64]:
        """What every rank waits in all: float64, shape (rank,), seconds."""
        waiting: NDArray[np.float64] = (self.halo_s + self.wait_s).sum(axis=0)
        return waiting


Culprit = Callable[[Population, np.random.Generator], NDArray[np.int64]]
"""Adds its work to a population and says which ranks have it."""


def slow_node(population: Population, random: np.random.Generator) -> NDArray[np.int64]:
    """Make every rank of one node 5 % slower."""
    nodes = np.array(population.hosts)
    chosen = np.flatnonzero(nodes == random.choice(nodes))
    population.compute_s[:, chosen] *= 1.05
    return chosen


def slow_core(population: Population, random: np.random.Generator) -> NDArray[np.int64]:
    """Make one rank 8 % slower."""
    chosen = random.choice(len(population.hosts), 1)
    population.compute_s[:, chosen] *= 1.08
    return chosen


def daemon(population: Population, random: np.random.Generator) -> NDArray[np.int64]:
    """Let a daemon on one core of four nodes take half a body every 25 bodies."""
    nodes = np.array(population.hosts)
    chosen = np.array(
        [
            random.choice(np.flatnonzero(nodes == name))
            for name in random.choice(np.unique(nodes), 4, replace=False)
        ]
    )
    for rank in chosen:
        population.compute_s[random.integers(25) :: 25, rank] += 0.5 * BODY_S
    return chosen


def drifting_rank(population: Population, random: np.random.Generator) -> NDArray[np.int64]:
    """Let two ranks become slower, by 10 % at the end."""
    chosen = random.choice(len(population.hosts), 2, replace=False)
    population.compute_s[:, chosen] *= np.linspace(1.0, 1.1, len(population.compute_s))[:, None]
    return chosen


def hot_spot(population: Population, random: np.random.Generator) -> NDArray[np.int64]:
    """Let one rank exchange messages with twelve more."""
    chosen = random.choice(len(population.hosts), 1)
    population.messages[chosen] += 12
    population.bytes[chosen] += 12 * 4096.0
    population.send_s[:, chosen] += 12 * MESSAGE_S
    return chosen


def slow_link(population: Population, random: np.random.Generator) -> NDArray[np.int64]:
    """Let one rank's halos take 150 us and not 10."""
    chosen = random.choice(len(population.hosts), 1)
    population.transfer_s[:, chosen] += SLOW_TRANSFER_S - TRANSFER_S
    return chosen


def shifted(axis: int, shift: int) -> tuple[slice, ...]:
    """Return all places of a box of bodies that have a neighbour there, on an axis of the box."""
    places = [slice(None)] * 4
    places[axis] = slice(1, None) if shift > 0 else slice(None, -1)
    return tuple(places)


CULPRITS: dict[str, Culprit] = {
    "slow node": slow_node,
    "slow core": slow_core,
    "daemon": daemon,
    "drifting rank": drifting_rank,
    "hot spot": hot_spot,
    "slow link": slow_link,
}
"""Every kind of population, by what is wrong with it."""


def draw_population(
    kind: str, ranks: int, seed: int, *, iterations: int = 400, node_ranks: int = 32
) -> Population:
    """Draw a population.

    Parameters
    ----------
    kind : str
        Of `CULPRITS`.
    ranks : int
        A multiple of ``node_ranks``.

    Raises
    ------
    UsageError
        An unknown kind, or nodes that are not full.
    """
    if kind not in CULPRITS:
        raise UsageError(f"Unknown population '{kind}'; {choose(CULPRITS)}.")
    if ranks % node_ranks or ranks <= 0:
        raise UsageError(f"{ranks} ranks on nodes of {node_ranks}; every node must be full.")
    random = np.random.default_rng([seed, list(CULPRITS).index(kind), ranks])
    sides = box(ranks)
    place = np.indices(sides).reshape(3, -1)
    neighbours = np.zeros(ranks)
    for axis, side in enumerate(sides):
        neighbours += (place[axis] > 0).astype(float) + (place[axis] < side - 1)
    level = (0.96 + 0.04 * neighbours / 6.0) * np.exp(LEVELS * random.standard_normal(ranks))
    shape = (iterations, ranks)
    noise = NOISE * random.gamma(1.0, 1.0, shape)
    noise += NODE_NOISE * random.standard_normal((iterations, ranks // node_ranks)).repeat(
        node_ranks, axis=1
    )
    noise += (random.random(shape) < DISTURBED) * random.exponential(DISTURBANCE, shape)
    # drawn apart, so that populations without slow transfers stay what they were
    transfers = np.random.default_rng([seed, list(CULPRITS).index(kind), ranks, 1])
    population = Population(
        kind=kind,
        compute_s=BODY_S * level * (1.0 + noise),
        send_s=MESSAGE_S * neighbours * (1.0 + 0.1 * random.random(shape)),
        transfer_s=TRANSFER_S * (1.0 + 0.1 * transfers.random(shape)),
        messages=neighbours.copy(),
        bytes=neighbours * 4096.0,
        hosts=tuple(f"node{rank // node_ranks:04d}" for rank in range(ranks)),
        culprits=np.empty(0, np.int64),
    )
    culprits = np.sort(CULPRITS[kind](population, random))
    return Population(
        **{
            name: getattr(population, name)
            for name in ("kind", "compute_s", "send_s", "transfer_s", "messages", "bytes", "hosts")
        },
        culprits=culprits.astype(np.int64),
    )


def box(ranks: int) -> tuple[int, int, int]:
    """Return the sides of the box of so many ranks that is nearest to a cube."""
    best = (1, 1, ranks)
    for a in range(1, round(ranks ** (1 / 3)) + 1):
        if ranks % a:
            continue
        rest = ranks // a
        b = next(b for b in range(int(rest**0.5 + 1e-9), 0, -1) if rest % b == 0)
        if b >= a and rest // b - a < best[2] - best[0]:
            best = (a, b, rest // b)
    return best
