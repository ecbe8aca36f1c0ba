"""The call contexts that a recorder notes, as it writes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PLACE = np.dtype(
    [
        ("offset", "<i8"),
        ("function", "<i8"),
        ("bytes", "<i8"),
        ("module", "<i4"),
        ("pad", "<i4"),
    ]
)
"""A frame of a context, as in the C source; see `CallContexts`."""


def outer_first(start: NDArray[np.int64], inner_first: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the frames of all chains with the outermost frame of each first.

    Parameters
    ----------
    start : int64 array, shape (context + 1,)
        Where each chain begins.
    inner_first : uint32 array, shape (place,)
        The chains with the innermost frame first, as the recorder has them.
    """
    lengths = np.diff(start)
    mirrored = np.repeat(start[:-1] + start[1:] - 1, lengths) - np.arange(start[-1])
    return np.asarray(inner_first[mirrored])
