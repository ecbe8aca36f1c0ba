"""When the allocation ends, and whether another run fits before."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hindmost.harness.launch import process_age_s

END_VARIABLE = "SLURM_JOB_END_TIME"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """The end of an allocation, on this process's monotonic clock.

    Attributes
    ----------
    end_s : float
        When the scheduler ends the allocation.
    stop_before_s : float
        Reserve before the end.
    """

    end_s: float
    stop_before_s: float

    def fits(self, limit_s: float, *, whole: bool = False) -> bool:
        """Tell whether a run of this length ends in time.

        Parameters
        ----------
        whole : bool
            The run may use the reserve as well.
        """
        return limit_s <= self.left_s - (0.0 if whole else self.stop_before_s)

    @property
    def left_s(self) -> float:
        """Seconds until the end."""
        return self.end_s - time.monotonic()


def deadline_here(
    walltime_s: float,
    stop_before_s: float,
    environment: Mapping[str, str] = os.environ,
    *,
    ask: Callable[[], float | None] = lambda: None,
) -> Deadline:
    """Return the end of the allocation around this process.

    The scheduler's answer counts, since a person may have edited the script; without one, the end
    is the plan's wall time after the start of the script. A scheduler's warning signal is less
    reliable: it comes tens of seconds early or late.

    Parameters
    ----------
    walltime_s, stop_before_s : float
        From the plan.
    ask : callable
        Asks the scheduler for the remaining seconds, where the environment lacks the end (older
        Slurm, PBS); returns None without an answer.
    """
    end = environment.get(END_VARIABLE, "")
    left_s = int(end) - time.time() if end.isdecimal() else ask()
    if left_s is None:
        left_s = walltime_s - process_age_s()
    return Deadline(end_s=time.monotonic() + left_s, stop_before_s=stop_before_s)
