"""Times drawn from laws inside a compiled loop, by counting: no draw depends on another.

Draw r of stream k is a hash of (k, r), so that threads and ranks draw the same whatever the order,
and nothing is kept. The hash is that of SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, "Fast
splittable pseudorandom number generators", 2014); that draws may be counted instead of kept is the
idea of J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.

A law is a table of its upper quantiles. Its knots halve the probability s of a larger value again
and again, down to 2^-40, so that the longest of many ranks is as exact as the median.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.compiled import inlined, part

OCTAVES = 40
"""Halvings of the probability of a larger value."""
STEPS_BITS = 6
STEPS = 1 << STEPS_BITS
"""Knots in each of them."""
KNOTS = OCTAVES * STEPS + 2
"""The last one is never reached; it lets the lookup read two knots in a row."""
LEAST = 2.0**-OCTAVES
REST_BITS = 52 - STEPS_BITS
BASE = (1023 - OCTAVES) << STEPS_BITS
REST_MASK = (1 << REST_BITS) - 1
REST_STEP = 2.0**-REST_BITS
UNIT = 2.0**-53

GAMMA = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
BY_30, BY_27, BY_31, BY_11, ONE = (np.uint64(each) for each in (30, 27, 31, 11, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """A law as a table.

    Attributes
    ----------
    seconds : float64 array, shape (knot,)
        The value that is exceeded with the probability of each knot, see `exceeded`; descending.
    """

    seconds: NDArray[np.float64]

    @classmethod
    def of_law(cls, upper_quantile: Callable[[NDArray[np.float64]], Any]) -> Quantiles:
        """Make the table of a law.

        Parameters
        ----------
        upper_quantile : callable
            The value that is exceeded with a probability, such as ``isf`` of scipy's laws.

        Raises
        ------
        DataError
            The law has infinite, undefined or negative values.
        """
        values = np.asarray(upper_quantile(exceeded()), np.float64)
        if not np.all(np.isfinite(values)) or values.min() < 0.0:
            raise DataError(
                "A law of times has values that are negative or not finite, so no times can be "
                "drawn from it. Truncate it at 0."
            )
        return cls(seconds=np.append(values, values[-1]))

    @classmethod
    def of_values(cls, values: NDArray[np.floating[Any]]) -> Quantiles:
        """Make the table of measured times; nothing longer than the longest of them is drawn.

        Parameters
        ----------
        values : float array, any shape, seconds
        """
        if not values.size:
            raise DataError("No times to draw from.")
        return cls.of_law(lambda tail: np.quantile(values, 1.0 - tail))

    @classmethod
    def constant(cls, value_s: float) -> Quantiles:
        """Make the table of a law that has one value, in seconds."""
        return cls.of_law(lambda tail: np.full(tail.shape, value_s))


def exceeded() -> NDArray[np.float64]:
    """Return the probabilities of the knots, ascending: float64, shape (knot - 1,)."""
    octave, step = np.divmod(np.arange(KNOTS - 1), STEPS)
    return np.asarray(np.ldexp(1.0 + step / STEPS, octave - OCTAVES))


@inlined
def hashed(counter: np.uint64) -> np.uint64:
    """Return the hash of a counter."""
    value = (counter ^ (counter >> BY_30)) * FIRST
    value = (value ^ (value >> BY_27)) * SECOND
    return value ^ (value >> BY_31)


@part
def stream(seed: np.uint64, one: np.uint64, other: np.uint64) -> np.uint64:
    """Return the key of a stream of draws that has two numbers."""
    return hashed(hashed(hashed(seed + GAMMA) + one * GAMMA + ONE) + other * GAMMA + ONE)


@part
def draw(
    key: np.uint64,
    first: int,
    share: float,
    table: NDArray[np.float64],
    uniform: NDArray[np.float64],
    uniform_bits: NDArray[np.int64],
) -> None:
    """Draw times in a row.

    Parameters
    ----------
    key : uint64
        See `stream`.
    first : int
        Counter of the first draw.
    share : float
        Probability of a time other than 0.
    table : float64 array, shape (knot,), seconds
        See `Quantiles`.
    uniform : float64 array, shape (draw,)
        Is filled with times, in seconds.
    uniform_bits : int64 array, shape (draw,)
        The same memory.
    """
    start, unit = key + np.uint64(first) * GAMMA, UNIT / share
    # s: uniform on (0, 1], in steps of 2^-53, then the probability of a larger value.
    for each in range(uniform.size):
        value = hashed(start + np.uint64(each) * GAMMA)
        tail = (np.float64(np.int64(value >> BY_11)) + 1.0) * unit
        uniform[each] = max(tail, LEAST)
    # The exponent of s and the first bits of its mantissa are the knot, the others how far after.
    for each in range(uniform.size):
        bits = uniform_bits[each]
        tail = uniform[each]
        knot = min((bits >> REST_BITS) - BASE, KNOTS - 2)
        along = np.float64(bits & REST_MASK) * REST_STEP
        low, high = table[knot], table[knot + 1]
        uniform[each] = low + along * (high - low) if tail <= 1.0 else 0.0
