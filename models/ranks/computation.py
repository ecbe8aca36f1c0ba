"""Computation scaling: how the work of all ranks together grows with their number.

The other factor of POP's global efficiency. With t the local work of all ranks, s the size of what
was asked for, and instructions and processor cycles where they were counted::

    global efficiency   = parallel efficiency x computation scaling
    computation scaling = (t / s of the reference) / (t / s)
                        = instruction scaling x IPC scaling x frequency scaling (x counted share)

For strong scaling s is the same in all runs and drops out; for weak scaling it grows with the
ranks. POP counts in useful work only. Where a recording counts whole bodies, waiting included, as a
rank does that spins in MPI, the share of the counted time that is work is a factor of its own, and
the other three are told as counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hindmost.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """The work of all ranks of a run together.

    Attributes
    ----------
    local_s : float
        Local work, summed over ranks, in seconds.
    size : float
        Of what was asked for, such as unknowns times iterations; 1 if only equal runs are compared.
    instructions, cycles : float or None
        Counted on all ranks; None where they were not.
    counted_s : float or None
        Time of the ranks in which they were counted, in seconds; None: the local work alone.

    Raises
    ------
    DataError
        Work or a size that is not above nothing.
    """

    local_s: float
    size: float = 1.0
    instructions: float | None = None
    cycles: float | None = None
    counted_s: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not (self.local_s > 0.0 and self.size > 0.0):
            raise DataError(
                f"Local work of {self.local_s} s for a size of {self.size}; both must be above 0."
            )

    @property
    def counted(self) -> bool:
        """Whether instructions and cycles are known."""
        return bool(self.instructions and self.cycles)

    def to_json(self) -> dict[str, Any]:
        """Return the numbers; what is not known is null."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputationScaling:
    """How work holds out against a reference run; below 1 all ranks together do more, or slower.

    Attributes
    ----------
    computation : float
        The product of the others.
    instructions, ipc, frequency : float or None
        Of instructions, of instructions a cycle, of cycles a second; None where not counted.
    counted_share : float or None
        1 where only work was counted; else what waiting adds to what was counted.
    """

    computation: float
    instructions: float | None = None
    ipc: float | None = None
    frequency: float | None = None
    counted_share: float | None = None

    @classmethod
    def against(cls, run: Computation, reference: Computation) -> ComputationScaling:
        """Hold a run against a reference; the reference against itself is 1 throughout."""
        scaling = (reference.local_s / reference.size) / (run.local_s / run.size)
        if not (run.counted and reference.counted):
            return cls(computation=scaling)
        here, there = Rates.of(run), Rates.of(reference)
        return cls(
            computation=scaling,
            instructions=there.instructions / here.instructions,
            ipc=here.ipc / there.ipc,
            frequency=here.frequency / there.frequency,
            counted_share=there.work_share / here.work_share,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the factors; what is not known is null."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What instructions and cycles come to: instructions a size, a cycle; cycles a second."""

    instructions: float
    ipc: float
    frequency: float
    work_share: float

    @classmethod
    def of(cls, run: Computation) -> Rates:
        """Return the rates of a run whose instructions and cycles are known."""
        instructions, cycles = float(run.instructions or 0.0), float(run.cycles or 0.0)
        counted_s = run.local_s if run.counted_s is None else run.counted_s
        return cls(
            instructions=instructions / run.size,
            ipc=instructions / cycles,
            frequency=cycles / counted_s,
            work_share=run.local_s / counted_s,
        )
