"""A job that occupies a core and memory bandwidth, once woken: ``python -m ... CORE``.

It copies arrays larger than any cache until the process that started it ends.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

import numpy as np

ARRAY_BYTES = 64 << 20
DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl."""


def main(core: int) -> None:
    """Copy without end on a core, once woken."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    os.sched_setaffinity(0, {core})
    source = np.ones(ARRAY_BYTES // 8)
    target = np.empty_like(source)
    np.copyto(target, source)  # every page is there before the first cycle that is disturbed
    os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        np.copyto(target, source)


if __name__ == "__main__":
    main(int(sys.argv[1]))
