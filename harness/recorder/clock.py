"""One clock for all ranks: rank 0's.

Before and after a solve every rank finds the offset of its clock to that of a rank that knows its
own to rank 0's, from the quickest of several round trips; half of that trip is the uncertainty,
and those on the way from rank 0 add up. Between the two readings an offset
that changed is taken to have drifted evenly. Ranks of one host read the same clock: an offset
within its uncertainty is taken as none, so that noise of the measurement is not put into the times.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.library import loaded

if TYPE_CHECKING:
    from mpi4py import MPI

TRIPS = 50
"""Round trips of a reading; the quickest counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """The offset of this rank's clock to rank 0's, in nanoseconds.

    Attributes
    ----------
    offset_ns : int
        To be added to this rank's clock.
    uncertainty_ns : int
        Half the round trips.
    at_ns : int
        When it was read, on this rank's clock.
    """

    offset_ns: int
    uncertainty_ns: int
    at_ns: int


def read_clock(communicator: MPI.Intracomm) -> ClockReading:
    """Find the offset of this rank's clock to rank 0's; collective."""
    found = [ctypes.c_int64() for _ in range(3)]
    loaded().hindmost_clock_offset(
        communicator.py2f(), TRIPS, *(ctypes.byref(value) for value in found)
    )
    offset, uncertainty, at = (value.value for value in found)
    return ClockReading(offset_ns=offset, uncertainty_ns=uncertainty, at_ns=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonClock:
    """The clock of this rank, corrected to rank 0's.

    Attributes
    ----------
    before, after : ClockReading
        Around the solve.
    zero_ns : int
        On rank 0's clock, when it left the barrier before the solve.
    """

    before: ClockReading
    after: ClockReading
    zero_ns: int

    @property
    def offset_s(self) -> float:
        """What was added to this rank's clock at the first reading, in seconds."""
        return significant(self.before) * 1e-9

    @property
    def uncertainty_s(self) -> float:
        """The larger uncertainty of the two readings, in seconds."""
        return max(self.before.uncertainty_ns, self.after.uncertainty_ns) * 1e-9

    def since_zero(self, instant_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Turn instants of this rank's clock into seconds since rank 0 left the barrier."""
        before, after = self.before, self.after
        offset = significant(before)
        drift = after.offset_ns - before.offset_ns
        if abs(drift) <= before.uncertainty_ns + after.uncertainty_ns:
            # A damaged offset may leave the range of the instants.
            shift = min(max(self.zero_ns - offset, -(1 << 62)), 1 << 62)
            return np.multiply(instant_ns - shift, 1e-9, dtype=np.float64)
        share = (instant_ns - before.at_ns) / (after.at_ns - before.at_ns)
        corrected = instant_ns - self.zero_ns + before.offset_ns + share * drift
        return np.multiply(corrected, 1e-9, dtype=np.float64)


def significant(reading: ClockReading) -> int:
    """Return the offset of a reading, 0 where it is within its uncertainty."""
    return reading.offset_ns if abs(reading.offset_ns) > reading.uncertainty_ns else 0
