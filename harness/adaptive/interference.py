"""Deliberate interference: a memory-bound job on chosen cores, in chosen cycles.

As in M. M. Mathis and D. J. Kerbyson, "Dynamic performance prediction of an adaptive mesh
application", section 4: constant from a cycle on, or on and off. A job is this module itself:
``python -m ... CORE`` copies arrays larger than any cache, once woken, until the process that
started it ends.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass

import numpy as np

from hindmost.errors import MissingError, UsageError

RULE = (
    "A schedule lists ranges of cycles and, after '@', cores: '50-' (from cycle 50 on), "
    "'50-80,120-150@0' (twice, on core 0), '50-60@0+1' (on two cores)."
)
PART = re.compile(r"(\d+)(?:-(\d*))?")
ARRAY_BYTES = 64 << 20
DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Cycles in which interfering jobs run, and their cores.

    Attributes
    ----------
    spans : tuple of (int, int or None)
        First and last cycle of each stretch; None for no end.
    cores : tuple of int
        Empty for the last core that the ranks of a node may use.
    """

    spans: tuple[tuple[int, int | None], ...]
    cores: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a schedule as it stands on the command line."""
        cycles, at, cores = text.partition("@")
        spans = []
        for part in cycles.split(","):
            match = PART.fullmatch(part.strip())
            if match is None:
                raise UsageError(f"--interfere '{text}': '{part}' is not a range of cycles. {RULE}")
            first, last = int(match[1]), match[2]
            end = first if last is None else int(last) if last else None
            if end is not None and end < first:
                raise UsageError(f"--interfere '{text}': {part} ends before it begins. {RULE}")
            spans.append((first, end))
        numbers = cores.split("+") if at else []
        if not all(number.strip().isdecimal() for number in numbers):
            raise UsageError(f"--interfere '{text}': '{cores}' is not a list of cores. {RULE}")
        return cls(spans=tuple(spans), cores=tuple(int(number) for number in numbers))

    def working(self, cycle: int) -> bool:
        """Return whether the jobs run in a cycle."""
        return any(first <= cycle and (last is None or cycle <= last) for first, last in self.spans)


class InterferingJobs:
    """The interfering jobs of this node, asleep until a cycle wakes them; on one rank per node.

    Parameters
    ----------
    schedule : Schedule
    allowed : set of int
        Cores that the ranks of this node may use.
    """

    def __init__(self, schedule: Schedule, allowed: set[int]) -> None:
        self._schedule = schedule
        self._processes = [start(core) for core in schedule.cores or (max(allowed),)]
        self._awake = False

    def before(self, cycle: int) -> None:
        """Wake the jobs or put them to sleep, according to the schedule."""
        wanted = self._schedule.working(cycle)
        if wanted != self._awake:
            for process in self._processes:
                process.send_signal(signal.SIGCONT if wanted else signal.SIGSTOP)
            self._awake = wanted

    def end(self) -> None:
        """End them."""
        for process in self._processes:
            process.kill()
            process.wait()


def start(core: int) -> subprocess.Popen[bytes]:
    """Start a job and wait until it has its memory and sleeps."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hindmost.harness.adaptive.interference", str(core)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    became = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    if became is None or became.si_code != os.CLD_STOPPED:
        process.kill()
        process.wait()
        raise MissingError(
            f"--interfere: cannot start an interfering job on core {core}. Choose a core of this "
            f"node ({os.cpu_count()} cores), or free 128 MB of memory."
        )
    return process


def occupy(core: int) -> None:
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
    occupy(int(sys.argv[1]))
