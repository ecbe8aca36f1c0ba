"""When the allocation ends, and whether another run fits before that."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hindmost.harness.runfile.provenance import process_age_s

END_VARIABLE = "SLURM_JOB_END_TIME"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """The end of an allocation, on this process's monotonic clock.

    Attributes
    ----------
    end_s : float
        When the scheduler ends it.
    stop_before_s : float
        What is to be left before the end.
    """

    end_s: float
    stop_before_s: float

    def fits(self, limit_s: float, *, whole: bool = False) -> bool:
        """Tell whether a run that takes so long ends in time.

        Parameters
        ----------
        whole : bool
            Up to the end itself, with nothing left before it.
        """
        return limit_s <= self.left_s - (0.0 if whole else self.stop_before_s)

    @property
    def left_s(self) -> float:
        """What is left until the end."""
        return self.end_s - time.monotonic()


def deadline_here(
    walltime_s: float,
    stop_before_s: float,
    environment: Mapping[str, str] = os.environ,
    *,
    ask: Callable[[], float | None] = lambda: None,
) -> Deadline:
    """Return the end of the allocation around this process.

    It is what the scheduler says, for a person may have edited the script; where it does not, the
    plan's wall time after the script began. A scheduler's signal before the end tells less: it
    comes tens of seconds early, or late.

    Parameters
    ----------
    walltime_s, stop_before_s : float
        As the plan has them.
    ask : callable
        Asks the scheduler how many seconds are left, where the environment does not have the end
        (older Slurm, PBS); None where it does not say.
    """
    end = environment.get(END_VARIABLE, "")
    left_s = int(end) - time.time() if end.isdigit() else ask()
    if left_s is None:
        left_s = walltime_s - process_age_s()
    return Deadline(end_s=time.monotonic() + left_s, stop_before_s=stop_before_s)
