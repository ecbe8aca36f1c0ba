"""A probe and its section of the machine file: measurement, storage and display."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SEED = 0
"""Of random orders: the same on every rank, and in every probe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The limits of a measurement.

    Attributes
    ----------
    cap_s : float
        No block but the first begins after this time.
    blocks : int
        Each times one batch of every size.
    batch_s : float
        Approximate duration of a batch, which determines its repeats.
    """

    cap_s: float
    blocks: int = 100
    batch_s: float = 3e-4


THOROUGH = Effort(cap_s=8.0)
QUICK = Effort(cap_s=0.25, blocks=20, batch_s=1e-4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """The times of one size.

    Attributes
    ----------
    size : int
        Bytes.
    repeats : int
        Messages per batch.
    seconds : tuple of float
        Time per message: the mean of each batch, in chronological order.
    """

    size: int
    repeats: int
    seconds: tuple[float, ...]

    @property
    def median_s(self) -> float:
        """The median over batches, in seconds."""
        return float(np.median(self.seconds))


def sample(
    communicator: Any, batch: Callable[[int, int], float], sizes: Sequence[int], effort: Effort
) -> tuple[Timed, ...]:
    """Time batches of every size; collective.

    A block visits all sizes in random order, so that a disturbance affects all sizes alike. The
    first rank decides when to stop, because clocks of other ranks differ.

    Parameters
    ----------
    batch : function of size and repeats
        Runs a batch on every rank; returns seconds per message, those of the first rank count.
    sizes : sequence of int
        Bytes.

    Returns
    -------
    tuple of Timed
        By size, the same on every rank.
    """
    repeats = {size: warm_up(communicator, batch, size, effort) for size in sizes}
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    random = np.random.default_rng(SEED)
    end = time.monotonic() + effort.cap_s
    for block in range(effort.blocks):
        if communicator.bcast(block > 0 and time.monotonic() > end):
            break
        for size in random.permutation(np.asarray(sizes)).tolist():
            seconds[size].append(batch(size, repeats[size]))
    timed = tuple(
        Timed(size=size, repeats=repeats[size], seconds=tuple(seconds[size])) for size in sizes
    )
    return communicator.bcast(timed)  # type: ignore[no-any-return]


def warm_up(
    communicator: Any, batch: Callable[[int, int], float], size: int, effort: Effort
) -> int:
    """Send warm-up messages, and return the number of messages per batch."""
    batch(size, 2)
    once = max(batch(size, 4), 1e-9)
    count: int = communicator.bcast(max(1, min(1000, round(effort.batch_s / once))))
    return count


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSetting:
    """The settings of probes.

    Attributes
    ----------
    communicator : MPI.Intracomm
        All ranks; used by the probes only.
    nodes : tuple of int
        The node of every rank, by its lowest rank.
    quick : bool
        Measure for a few seconds only, with coarse results.
    """

    communicator: Any
    nodes: tuple[int, ...]
    quick: bool

    @property
    def repeats(self) -> int:
        """How often each size is measured."""
        return 2 if self.quick else 5

    @property
    def ranks_here(self) -> int:
        """Ranks on the first node."""
        return self.nodes.count(self.nodes[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """The result of a probe.

    Attributes
    ----------
    changes : mapping
        Fields of `Machine` and their values.
    samples : mapping
        Raw values for JSON.
    rows : tuple of (str, str)
        Printed rows: a name, and a value with its unit.
    warnings : tuple of str
    """

    changes: Mapping[str, Any]
    samples: Mapping[str, Any]
    rows: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSection:
    """A probe with its name.

    Attributes
    ----------
    name, summary : str
    check : function of ProbeSetting
        Raises a HindmostError that says why the probe cannot run here.
    take : function of ProbeSetting
        Collective; returns the outcome on rank 0, None elsewhere.
    """

    name: str
    summary: str
    take: Callable[[ProbeSetting], ProbeResult | None]
    check: Callable[[ProbeSetting], None] = field(default=lambda setting: None)
