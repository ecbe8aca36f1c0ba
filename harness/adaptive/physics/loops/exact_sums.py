"""Sums that do not depend on the order: every term is added exactly, to integers.

A small superaccumulator (Neal, Fast exact summation using small and large superaccumulators, 2015):
a double's mantissa is added, at the position of its exponent, to 64-bit bins of 32 bits each. Bins
of several ranks are added as integers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.adaptive.physics.loops.first_order import Array, vectors

Bins = NDArray[np.int64]
BINS = 68
"""64 for exponents, three for carries, the last counts infinities and NaNs."""
TERMS = 1024
"""Terms between two carries, which a bin can hold."""


@vectors
def add_terms(bits: Any, size: int, bins: Bins) -> None:
    """Add doubles, given as their bits.

    Parameters
    ----------
    bits : int64 array, shape (at least size,)
    size : int
        At most `TERMS`.
    bins : int64 array, shape (BINS,)
    """
    for k in range(size):
        word = bits[k]
        sign = word >> 63
        field = (word >> 52) & 0x7FF
        tiny = field == 0
        mantissa = (word & 0xFFFFFFFFFFFFF) | (0 if tiny else 0x10000000000000)
        shift = 0 if tiny else field - 1
        place = np.uint64(shift >> 5)
        within = shift & 31
        low = (mantissa << within) & 0xFFFFFFFF
        high = mantissa >> (32 - within)
        bins[place] += (low ^ sign) - sign
        bins[place + np.uint64(1)] += (high ^ sign) - sign
        if field == 0x7FF:
            bins[BINS - 1] += 1
    carry(bins)


@vectors
def carry(bins: Bins) -> None:
    """Propagate carries, so that all bins but the uppermost lie in 0 .. 2**32 - 1."""
    for place in range(BINS - 2):
        over = bins[place] >> 32
        bins[place] -= over << 32
        bins[place + 1] += over


@vectors
def exact_dots(
    a: Array, b: Array, c: Array, owned: int, terms: Array, bits: Any, bins: Bins
) -> None:
    """Sum a c and b c over the owned rows; only the products are rounded.

    Parameters
    ----------
    terms : float64 array, shape (TERMS,)
        Work array, with `bits` as its view.
    bits : int64 array, shape (TERMS,)
    bins : int64 array, shape (2, BINS)
    """
    bins[:] = 0
    for first in range(0, owned, TERMS):
        size = min(TERMS, owned - first)
        for k in range(size):
            row = np.uint64(first + k)
            terms[k] = a[row] * c[row]
        add_terms(bits, size, bins[0])
        for k in range(size):
            row = np.uint64(first + k)
            terms[k] = b[row] * c[row]
        add_terms(bits, size, bins[1])


@vectors
def rounded(bins: Bins) -> float:
    """Return the value of bins, after a sum over ranks.

    Parameters
    ----------
    bins : int64 array, shape (BINS,)
    """
    if bins[BINS - 1] > 0:
        return math.nan
    carry(bins)
    sign = 1
    if bins[BINS - 2] < 0:
        sign = -1
        for place in range(BINS - 1):
            bins[place] = -bins[place]
        carry(bins)
    total = 0.0
    for place in range(BINS - 2, -1, -1):
        if bins[place] != 0:
            total += math.ldexp(float(bins[place]), 32 * place - 1074)
    return sign * total
