"""Computation scaling: how the total work of all ranks grows with their number.

The other factor of POP's global efficiency. With t the total local work of all ranks, s the size of
the problem, and instructions and processor cycles if they were counted::

    global efficiency   = parallel efficiency x computation scaling
    computation scaling = (t / s of the reference) / (t / s)
                        = instruction scaling x IPC scaling x frequency scaling (x counted share)

For strong scaling s is the same in all runs and cancels; for weak scaling it grows with the ranks.
POP counts only during useful work. A recording counts whole bodies (iterations), including waiting,
since ranks spin in MPI. The share of work in the counted time is then one more factor, and the
other three are as counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from hindmost.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """The total work of all ranks of a run.

    Attributes
    ----------
    local_s : float
        Local work, summed over ranks, in seconds.
    size : float
        Size of the problem, such as unknowns times iterations; 1 to compare equal runs.
    instructions, cycles : float or None
        Counted on all ranks; None if not counted.
    counted_s : float or None
        Time of the ranks during counting, in seconds; None for the local work alone.

    Raises
    ------
    DataError
        Work or a size that is not above 0.
    """

    local_s: float
    size: float = 1.0
    instructions: float | None = None
    cycles: float | None = None
    counted_s: float | None = None

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        if not (self.local_s > 0.0 and self.size > 0.0):
            raise DataError(
                f"Local work of {self.local_s} s for a size of {self.size}; both must be above 0."
            )

    @property
    def counted(self) -> bool:
        """Whether instructions and cycles are known."""
        return bool(self.instructions and self.cycles)

    @property
    def rates(self) -> tuple[float, float, float, float]:
        """Instructions per size and per cycle, cycles per second, share of work, if counted."""
        instructions, cycles = float(self.instructions or 0.0), float(self.cycles or 0.0)
        counted_s = self.local_s if self.counted_s is None else self.counted_s
        return (
            instructions / self.size,
            instructions / cycles,
            cycles / counted_s,
            self.local_s / counted_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputationScaling:
    """Work relative to a reference run; below 1 all ranks together work more, or slower.

    Attributes
    ----------
    computation : float
        The product of the others.
    instructions, ipc, frequency : float or None
        Of instructions, instructions per cycle, cycles per second; None if not counted.
    counted_share : float or None
        1 if only work was counted; else the effect of counting while ranks wait.
    """

    computation: float
    instructions: float | None = None
    ipc: float | None = None
    frequency: float | None = None
    counted_share: float | None = None

    @classmethod
    def against(cls, run: Computation, reference: Computation) -> ComputationScaling:
        """Compare a run with a reference; compared with itself, all factors are 1."""
        scaling = (reference.local_s / reference.size) / (run.local_s / run.size)
        if not (run.counted and reference.counted):
            return cls(computation=scaling)
        here, there = run.rates, reference.rates
        return cls(
            computation=scaling,
            instructions=there[0] / here[0],
            ipc=here[1] / there[1],
            frequency=here[2] / there[2],
            counted_share=there[3] / here[3],
        )
