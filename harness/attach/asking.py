"""What a program may ask under `hindmost attach --stop-before`: whether to stop, and time left.

The functions are those of the preloaded recorder, as of hindmost.h; without it there is no limit.
"""

from __future__ import annotations

import ctypes
import math


def should_stop() -> bool:
    """Tell whether to stop after this iteration. Collective."""
    ask = getattr(ctypes.CDLL(None), "hindmost_should_stop", None)
    return bool(ask and ask())


def time_left_s() -> float:
    """Return the seconds until the program must have ended; infinite without a limit."""
    ask = getattr(ctypes.CDLL(None), "hindmost_time_left", None)
    if ask is None:
        return math.inf
    ask.restype = ctypes.c_double
    return float(ask())
