"""POP's efficiencies of a parallel run, as factors and as seconds lost.

After POP, the Performance Optimisation and Productivity centre of excellence: "POP standard metrics
for performance analysis of parallel applications" (pop-coe.eu), and C. Rosas, J. Gimenez and
J. Labarta, "Scalability prediction for fundamental performance factors", Supercomputing Frontiers
and Innovations 1(2), 2014. With the local work t_p of rank p, the run time T, and the time I of the
run on an ideal network, where messages cost nothing::

    parallel efficiency = mean_p t_p / T = load balance x communication efficiency
      load balance      = mean_p t_p / max_p t_p
      communication     = max_p t_p / T  = serialisation x transfer
        serialisation   = max_p t_p / I
        transfer        = I / T

POP's other factor is how the total work grows with the number of ranks. With t the total local work
of all ranks, s the size of the problem, and instructions and processor cycles if they were
counted::

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

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.text import counted, percent, seconds

ROUNDING = 1e-9
"""Share by which rounding may lift a mean above the maximum."""
LOST_TO = {
    "load_balance": "load imbalance",
    "serialisation": "serialisation",
    "transfer": "other time in MPI",
    "communication": "serialisation and other time in MPI",
}
"""What people read of the time that is lost to each factor."""
WORK, INJECTED_NOISE, OUTSIDE = "work", "injected noise", "outside iterations"
NO_CORE = "time without a core"
PARTS = {
    WORK: "own work, the mean of all ranks",
    INJECTED_NOISE: "detours added on purpose, the mean of all ranks",
    LOST_TO["load_balance"]: "work of the busiest rank in the whole run, beyond the mean",
    LOST_TO["serialisation"]: "different ranks are the slowest in different iterations, and the "
    "others wait for them (POP: serialisation)",
    LOST_TO["transfer"]: "messages and calls of MPI, and cores that ranks lose there "
    "(POP: transfer)",
    LOST_TO["communication"]: "time in MPI that the run cannot divide",
    # computed by analysis.runs.cores.core_wait, entered by analysis.runs.efficiency.of_run
    NO_CORE: "ranks were ready to run and had none, as the kernel counts it for the whole run; "
    "taken from the other parts in proportion to their size, as it is not known when",
    OUTSIDE: "before the first, after the last and between iterations: restarts, or the program "
    "around its inner loop",
}
"""The parts of a time, in their order on every bar and in every list, and what each is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiencies:
    """Where the time of ranks went: factors between 0 and 1, whose product is the useful share.

    Attributes
    ----------
    ranks : int
    run_time_s : float
        T: from the start of the first rank to the end of the last, in seconds.
    mean_local_s, max_local_s : float
        Own work of a rank: mean over ranks, and of the rank with most work, in seconds.
    ideal_s : float or None
        I: the time on an ideal network, in seconds; None if unknown, and communication is then not
        split.

    Raises
    ------
    DataError
        Impossible times: negative, not a number, a mean above the maximum.
    """

    ranks: int
    run_time_s: float
    mean_local_s: float
    max_local_s: float
    ideal_s: float | None = None

    JSON = (
        "ranks parallel load_balance communication serialisation transfer "
        "run_time_s mean_local_s max_local_s ideal_s lost_s"
    )

    def __post_init__(self) -> None:
        """Refuse impossible times."""
        mean, most, whole = self.mean_local_s, self.max_local_s, self.run_time_s
        if not (0.0 <= mean <= most * (1.0 + ROUNDING) < np.inf and 0.0 < whole < np.inf):
            raise DataError(
                f"A run of {whole} s with local work of {mean} s on average and {most} s at most; "
                "the run time must be above 0, and the mean from 0 to the maximum."
            )
        if self.ideal_s is not None and not 0.0 <= self.ideal_s < np.inf:
            raise DataError(f"A run time of {self.ideal_s} s on an ideal network; it must be >= 0.")

    @classmethod
    def of_ranks(
        cls, local: NDArray[np.float64], run_time_s: float, ideal_s: float | None = None
    ) -> Efficiencies:
        """Return the efficiencies of ranks.

        Parameters
        ----------
        local : float64 array, shape (rank,), seconds
            Work of every rank by itself.
        run_time_s : float
        ideal_s : float, optional
            On an ideal network.
        """
        if local.size == 0:
            raise DataError("There are no ranks; efficiencies need at least one.")
        return cls(
            ranks=int(local.size),
            run_time_s=float(run_time_s),
            mean_local_s=float(local.mean()),
            max_local_s=float(local.max()),
            ideal_s=None if ideal_s is None else float(ideal_s),
        )

    @property
    def parallel(self) -> float:
        """Share of the ranks' time that is own work: the product of all factors."""
        return self.mean_local_s / self.run_time_s

    @property
    def load_balance(self) -> float:
        """Mean over maximum of local work; 1 without any work."""
        return ratio(self.mean_local_s, self.max_local_s)

    @property
    def communication(self) -> float:
        """Work of the rank with most work, over the run time."""
        return self.max_local_s / self.run_time_s

    @property
    def serialisation(self) -> float | None:
        """Efficiency left by ranks that wait for each other in turn; None if unknown."""
        return None if self.ideal_s is None else ratio(self.max_local_s, self.ideal_s)

    @property
    def transfer(self) -> float | None:
        """Efficiency left by the cost of messages; None if unknown."""
        return None if self.ideal_s is None else self.ideal_s / self.run_time_s

    @property
    def lost_s(self) -> dict[str, float]:
        """Seconds of the run lost to each factor; with the mean local work they sum to T."""
        most, whole = self.max_local_s, self.run_time_s
        balance = {"load_balance": most - self.mean_local_s}
        if self.ideal_s is None:
            return {**balance, "communication": whole - most}
        return {
            **balance,
            "serialisation": self.ideal_s - most,
            "transfer": whole - self.ideal_s,
        }

    def parts_s(self, whole_s: float, injected_s: float = 0.0) -> dict[str, float]:
        """Return where a time goes: seconds of each of `PARTS` that is known; they sum to it.

        Parameters
        ----------
        whole_s : float
            Time of the solve or loop; what exceeds the run time lies outside of iterations.
        injected_s : float
            Part of the mean local work that was injected as noise.
        """
        injected_s = min(injected_s, self.mean_local_s)
        return {
            WORK: self.mean_local_s - injected_s,
            INJECTED_NOISE: injected_s,
            **{LOST_TO[name]: lost_s for name, lost_s in self.lost_s.items()},
            OUTSIDE: max(whole_s - self.run_time_s, 0.0),
        }

    def explain(self) -> str:
        """Return how much of the run time is lost to what, in a sentence."""
        lost = [f"{seconds(lost_s)} to {LOST_TO[name]}" for name, lost_s in self.lost_s.items()]
        return (
            f"Of {seconds(self.run_time_s)} on {counted(self.ranks, 'rank')}, "
            f"{seconds(self.mean_local_s)} are work (parallel efficiency "
            f"{percent(self.parallel)}); {', '.join(lost[:-1])} and {lost[-1]} are lost."
        )


def ratio(part: float, whole: float) -> float:
    """Return the share of a part; 1 of nothing."""
    return part / whole if whole > 0.0 else 1.0


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
