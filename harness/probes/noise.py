"""System noise of a rank: detours of a loop that only reads the clock, and FWQ.

- *Selfish detours*: a gap between two readings of more than 9 times the smallest gap is a detour.
  Its length is the gap minus the smallest gap. 9 is the usual factor of this benchmark: caches and
  the clock itself stay below it, an interrupt does not.
- *FWQ*, fixed work quanta: the same work is timed repeatedly; the lost share is
  1 - minimum / mean.

FWQ also detects a core that slows down, in frequency or by shared resources; detours do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.probes.section import ProbeResult, ProbeSection, ProbeSetting
from hindmost.harness.turns import in_turn, sleepy_barrier
from hindmost.models.adaptive.machine import SystemNoise
from hindmost.models.compiled import compiled
from hindmost.text import percent, seconds

FACTOR = 9
"""Factor over the smallest gap above which a gap is a detour."""
ROOM = 500_000
"""Largest number of detours per rank, and readings of the clock to find the smallest gap."""
QUANTILES = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseEffort:
    """The duration of the measurement.

    Attributes
    ----------
    detours_s, fwq_s : float
        Duration of each loop.
    quantum_s : float
        Work of FWQ, seconds.
    """

    detours_s: float = 10.0
    fwq_s: float = 5.0
    quantum_s: float = 1e-3


QUICK = NoiseEffort(detours_s=0.3, fwq_s=0.2, quantum_s=2e-4)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankNoise:
    """The noise of one rank.

    Attributes
    ----------
    begin_ns : int
        The host's monotonic clock at the start of the loop, to compare ranks of one host.
    least_gap_s, threshold_s, elapsed_s : float
    start_s, length_s : float64 array, shape (detour,), seconds
        Time since the start of the loop; gap minus the smallest gap.
    fwq_s : float64 array, shape (quantum,), seconds
        Times of the same work.
    """

    begin_ns: int
    least_gap_s: float
    threshold_s: float
    elapsed_s: float
    start_s: NDArray[np.float64]
    length_s: NDArray[np.float64]
    fwq_s: NDArray[np.float64] = field(default_factory=lambda: np.ones(1))

    @property
    def per_s(self) -> float:
        """Detours per second."""
        return self.length_s.size / self.elapsed_s

    @property
    def share(self) -> float:
        """The lost share of the time, 0 to 1."""
        return float(self.length_s.sum()) / self.elapsed_s

    @property
    def fwq_share(self) -> float:
        """The share of the time that FWQ lost."""
        return 1 - float(self.fwq_s.min() / self.fwq_s.mean())


def measure_noise(communicator: Any, effort: NoiseEffort) -> RankNoise:
    """Measure the noise on all ranks at once; collective.

    Returns
    -------
    RankNoise
        This rank's.
    """
    in_turn(communicator, compile_loops)
    sleepy_barrier(communicator)
    communicator.Barrier()
    detours = find_detours(effort.detours_s)
    units = units_per_second()
    communicator.Barrier()
    return replace(detours, fwq_s=fixed_work_quanta(effort, units))


def compile_loops() -> None:
    """Run every loop for a moment."""
    find_detours(1e-6)
    fixed_work_quanta(NoiseEffort(fwq_s=1e-5, quantum_s=1e-5), units_per_second())


def find_detours(duration_s: float) -> RankNoise:
    """Measure detours on this rank."""
    from hindmost.harness.probes import clock_loops as loops

    spec = np.zeros(2, np.int64)
    start, gap = (np.zeros(ROOM, np.int64) for _ in range(2))
    start[:], gap[:] = 1, 1  # pages are there before the loop writes to them
    least = max(compiled(loops.least_gap)(spec, ROOM), 1)
    found, elapsed, begin = compiled(loops.find_detours)(
        spec, FACTOR * least, round(duration_s * 1e9), start, gap
    )
    return RankNoise(
        begin_ns=begin,
        least_gap_s=least * 1e-9,
        threshold_s=FACTOR * least * 1e-9,
        elapsed_s=max(elapsed, 1) * 1e-9,
        start_s=start[:found] * 1e-9,
        length_s=(gap[:found] - least) * 1e-9,
    )


def units_per_second() -> float:
    """Return the units of work that this rank does per second at most."""
    from hindmost.harness.probes import clock_loops as loops

    taken = np.zeros(50, np.int64)
    units = 20_000
    compiled(loops.fixed_work)(np.zeros(2, np.int64), units, taken)
    return float(units / (taken.min() * 1e-9))


def fixed_work_quanta(effort: NoiseEffort, units: float) -> NDArray[np.float64]:
    """Time the same work repeatedly, in seconds."""
    from hindmost.harness.probes import clock_loops as loops

    taken = np.ones(max(round(effort.fwq_s / effort.quantum_s), 1), np.int64)
    compiled(loops.fixed_work)(
        np.zeros(2, np.int64), max(round(units * effort.quantum_s), 1), taken
    )
    return taken * 1e-9


def summary(ranks: Sequence[RankNoise]) -> SystemNoise:
    """Return the noise of the machine: mean rate and share over ranks, quantiles of all detours."""
    lengths = np.concatenate([rank.length_s for rank in ranks])
    quantiles = np.quantile(lengths, QUANTILES, method="higher") if lengths.size else ()
    return SystemNoise(
        detours_per_s=float(np.mean([rank.per_s for rank in ranks])),
        share=float(np.mean([rank.share for rank in ranks])),
        detour_quantiles_s=tuple(float(quantile) for quantile in quantiles),
    )


def take(setting: ProbeSetting) -> ProbeResult | None:
    """Measure the noise on every rank; collective."""
    effort = QUICK if setting.quick else NoiseEffort()
    mine = measure_noise(setting.communicator, effort)
    everybody = setting.communicator.gather(mine)
    return None if everybody is None else described(everybody, effort)


def described(ranks: Sequence[RankNoise], effort: NoiseEffort) -> ProbeResult:
    """Summarise and report."""
    noise = summary(ranks)
    # Raw values of some ranks, evenly spaced; all have summaries.
    kept = {int(each) for each in np.linspace(0, len(ranks) - 1, min(len(ranks), 64))}
    samples = {
        "quantum_s": effort.quantum_s,
        "ranks": [rank_samples(rank, each, rank in kept) for rank, each in enumerate(ranks)],
    }
    shares = [rank.share for rank in ranks]
    rows = [
        ("detours per second and rank", f"{noise.detours_per_s:.4g}"),
        ("share lost to detours", f"{percent(noise.share, None)} ({percent(min(shares), None)} to "
         f"{percent(max(shares), None)} by rank)"),
        ("share lost, FWQ", percent(float(np.mean([rank.fwq_share for rank in ranks])), None)),
    ]  # fmt: skip
    if noise.detour_quantiles_s:
        told = ", ".join(seconds(each) for each in noise.detour_quantiles_s)
        rows.append(("detours, quantiles 0.5, 0.9, 0.99, 1", told))
    return ProbeResult(changes={"noise": noise}, samples=samples, rows=tuple(rows))


def rank_samples(rank: int, noise: RankNoise, raw: bool) -> dict[str, Any]:
    """Return the stored values of a rank; raw values are integer nanoseconds."""
    names = ("share", "fwq_share", "begin_ns", "least_gap_s", "threshold_s", "elapsed_s")
    kept: dict[str, Any] = {
        "rank": rank,
        "detours_per_s": noise.per_s,
        **{name: getattr(noise, name) for name in names},
    }
    if raw:
        kept["detour_start_ns"] = nanoseconds(noise.start_s)
        kept["detour_length_ns"] = nanoseconds(noise.length_s)
    return kept


def nanoseconds(values_s: Any) -> list[int]:
    """Return times as integer nanoseconds."""
    return [int(each) for each in np.rint(np.asarray(values_s) * 1e9)]


NOISE = ProbeSection(
    name="noise",
    summary="selfish detours, and fixed work quanta (FWQ), on every rank",
    take=take,
)
