"""Timing of batches: sizes in random order, block by block, until medians are precise."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

QUANTILE_95 = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The limits of a measurement.

    Attributes
    ----------
    cap_s : float
        No block begins after this time.
    least, most : int
        Number of blocks; each times one batch of every size whose median is not precise yet.
    batch_s : float
        Approximate duration of a batch, which determines its repeats.
    width : float
        Relative width of the 95 % interval of a median that is precise.
    """

    cap_s: float
    least: int = 12
    most: int = 400
    batch_s: float = 3e-4
    width: float = 0.02


THOROUGH = Effort(cap_s=8.0)
QUICK = Effort(cap_s=0.25, least=5, most=20, batch_s=1e-4, width=0.05)


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


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of a median, from order statistics (normal approximation).

    For fewer than six values it is their range, which is less than a 95 % interval.
    """
    ordered = sorted(values)
    count = len(ordered)
    reach = QUANTILE_95 * math.sqrt(count) / 2
    low = max(math.floor(count / 2 - reach), 0)
    high = min(math.ceil(count / 2 + reach), count - 1)
    return ordered[low], ordered[high]


def well_known(values: Sequence[float], effort: Effort) -> bool:
    """Say whether the median of the values is precise enough."""
    if len(values) < effort.least:
        return False
    low, high = median_interval(values)
    return high - low <= effort.width * float(np.median(values))


def sample(
    communicator: Any,
    batch: Callable[[int, int], float],
    sizes: Sequence[int],
    effort: Effort,
    seed: int,
) -> tuple[Timed, ...]:
    """Time batches of every size; collective.

    A block visits all sizes in random order, so that a disturbance affects all sizes alike. The
    first rank decides on the next step, because clocks and medians of other ranks differ.

    Parameters
    ----------
    batch : function of size and repeats
        Runs a batch on every rank; returns seconds per message, those of the first rank count.
    sizes : sequence of int
        Bytes.
    seed : int
        Of the order.

    Returns
    -------
    tuple of Timed
        By size, the same on every rank.
    """
    repeats = {size: warm_up(communicator, batch, size, effort) for size in sizes}
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    random = np.random.default_rng(seed)
    end = time.monotonic() + effort.cap_s
    for block in range(effort.most):
        wanted = [size for size in sizes if not well_known(seconds[size], effort)]
        late = block >= min(effort.least, 3) and time.monotonic() > end
        order: list[int] = communicator.bcast(
            [] if late else [int(size) for size in random.permutation(wanted)]
        )
        if not order:
            break
        for size in order:
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
