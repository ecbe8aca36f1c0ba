"""What a replay changes: the network, the speed of ranks, noise, the depth of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.models.simulation.blocks import COMPLETE, NONE, ONE_WAY, POST, RECEIVE, REDUCE
from hindmost.models.simulation.network import allreduce_messages
from hindmost.text import counted

Times = NDArray[np.float64]

MOST = 1e6
"""Of a factor, whose least is its inverse, and of a time in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detours:
    """A law of noise: at most one detour of each rank in each body, or detours by the clock.

    Attributes
    ----------
    length_s : float
        Of each, or the mean.
    probability : float
        Of a detour in a body.
    exponential : bool
        Whether lengths follow an exponential law; else all are alike.
    per_s : float or None
        Detours a second of work, in place of the probability; lengths are exponential.
    """

    length_s: float
    probability: float = 1.0
    exponential: bool = False
    per_s: float | None = None

    @property
    def mean_s(self) -> float:
        """Mean time of detours of a rank in a body, in seconds."""
        return self.length_s * self.probability

    def draw(
        self, random: np.random.Generator, shape: tuple[int, int], work_s: Times | float = 0.0
    ) -> Times:
        """Draw the detours: shape (iteration, rank), seconds; `work_s` is their work."""
        if self.per_s is not None:
            # The sum of n exponential lengths follows a gamma law of shape n.
            count = random.poisson(np.broadcast_to(self.per_s * np.asarray(work_s), shape))
            return np.asarray(self.length_s * random.standard_gamma(count))
        lengths = random.exponential(self.length_s, shape) if self.exponential else self.length_s
        return np.where(random.random(shape) < self.probability, lengths, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is unlike the recorded run; by default nothing.

    Attributes
    ----------
    latency : float
        Factor of the latency of messages and reductions.
    more_latency_s : float
        Is added to the latency of every message, in seconds. A reduction takes as many messages
        after each other as recursive doubling has.
    bandwidth : float
        Factor of the bandwidth of messages between neighbours. Reductions of Krylov solvers are a
        few numbers, so their time is all latency.
    speed : dict of int to float
        Factor of the speed of ranks: their local work takes 1 / factor of the time.
    every_speed : float
        Factor of the speed of all ranks, in addition.
    balanced : bool
        Whether all ranks have the same work, over all iterations, in each stretch between events.
    noise : float
        Factor of how much local work and what events cost deviate from their typical values; 0
        replaces them by these.
    detours : Detours or None
        Noise in addition to the recorded one.
    depth : int or None
        Reductions in flight; None: as recorded.
    progress : bool
        Whether non-blocking reductions progress while ranks work.
    uninjected : bool
        Remove the noise that was injected; that of the machine stays.
    solver : str or None
        The partner of the recorded solver; None: as recorded.
    iterations : int or None
        Of the solve; None: as recorded.
    """

    latency: float = 1.0
    more_latency_s: float = 0.0
    bandwidth: float = 1.0
    speed: Mapping[int, float] = field(default_factory=dict)
    every_speed: float = 1.0
    balanced: bool = False
    noise: float = 1.0
    detours: Detours | None = None
    depth: int | None = None
    progress: bool = True
    uninjected: bool = False
    solver: str | None = None
    iterations: int | None = None

    def __post_init__(self) -> None:
        """Refuse factors of no machine."""
        factors = {
            "latency": (self.latency, True),
            "noise": (self.noise, True),
            "bandwidth": (self.bandwidth, False),
            "speed": (self.every_speed, False),
            **{f"speed of rank {rank}": (each, False) for rank, each in self.speed.items()},
        }
        for name, (factor, zero) in factors.items():
            if not (1.0 / MOST <= factor <= MOST or (zero and factor == 0.0)):
                nothing = "0, or " if zero else ""
                raise UsageError(
                    f"A {name} of x{factor:g}; factors are {nothing}{1.0 / MOST:g} to {MOST:g}."
                )
        if not 0.0 <= self.more_latency_s <= MOST:
            raise UsageError(
                f"{self.more_latency_s:g} s more latency; give a time from 0 to {MOST:g} s, "
                "or a factor below 1."
            )
        if self.detours is not None and not 0.0 <= self.detours.mean_s < np.inf:
            raise UsageError("This law of noise has no finite mean, so it predicts no time.")
        if self.detours is not None and self.detours.mean_s > MOST:
            raise UsageError(
                f"This law of noise takes {self.detours.mean_s:g} s of an iteration; the most is "
                f"{MOST:g} s."
            )
        if self.depth is not None and self.depth < 1:
            raise UsageError(f"A pipeline of depth {self.depth}; its depth is 1 or more.")
        if not self.progress and self.depth not in (None, 1):
            raise UsageError(
                f"A pipeline of depth {self.depth} on an MPI without progress is not modelled: "
                "give --pipeline-depth or --progress none."
            )

    @property
    def of_network(self) -> bool:
        """Whether messages take another time."""
        return self.latency != 1.0 or self.more_latency_s > 0.0 or self.bandwidth != 1.0

    @property
    def quieter(self) -> bool:
        """Whether there is less noise than recorded, and nothing else changes."""
        less = self.noise < 1.0 or self.uninjected
        return less and replace(self, noise=1.0, uninjected=False) == Change()

    def network(self, costs: Times, ranks: int, byte_share: float) -> Times:
        """Return what events cost on the changed network.

        Parameters
        ----------
        costs : float64 array, shape (event, kind), seconds
        byte_share : float
            Part of the time of a message between neighbours that its bytes take, 0 to 1.

        Returns
        -------
        float64 array, shape (event, kind), seconds
        """
        changed = costs.copy()
        reductions = [REDUCE, COMPLETE]
        changed[:, reductions] *= self.latency
        changed[:, reductions] += allreduce_messages(ranks) * self.more_latency_s
        of_bytes = byte_share * costs[:, RECEIVE]
        changed[:, RECEIVE] = self.latency * (costs[:, RECEIVE] - of_bytes)
        changed[:, RECEIVE] += of_bytes / self.bandwidth + self.more_latency_s
        changed[:, ONE_WAY] *= self.latency  # along a tree
        changed[:, ONE_WAY] += (ranks - 1).bit_length() * self.more_latency_s
        return changed

    def slowness(self, ranks: int) -> Times:
        """Return the factor of the local work of every rank: float64, shape (rank,).

        Raises
        ------
        UsageError
            The run has no such rank.
        """
        beyond = [rank for rank in self.speed if not 0 <= rank < ranks]
        if beyond:
            raise UsageError(
                f"A speed of rank {beyond[0]}; the run has {counted(ranks, 'rank')}, 0 to "
                f"{ranks - 1}."
            )
        factor = np.full(ranks, self.every_speed)
        for rank, each in self.speed.items():
            factor[rank] *= each
        return np.asarray(1.0 / factor)


def without_progress(kind: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the events of a cycle on an MPI whose reductions progress only inside MPI calls.

    A reduction then takes its time once all ranks have come to its completion, as a blocking one.
    A completion of what was never posted becomes a post, of which nobody waits for the end.

    Parameters
    ----------
    kind : uint8 array, shape (iteration, event)
    """
    changed, pending = kind.copy(), 0
    for body, row in enumerate(kind.tolist()):
        for event, what in enumerate(row):
            if what == NONE:
                break
            if what == POST:
                pending += 1
            elif what == COMPLETE:
                changed[body, event] = REDUCE if pending else POST
                pending = max(pending - 1, 0)
    return changed
