"""The section ``noise``: system noise of the ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hindmost.harness.probes.noise import (
    EDGES_NS,
    QUICK,
    NoiseEffort,
    RankNoise,
    histogram,
    measure_noise,
    summary,
)
from hindmost.harness.probes.sections.contract import ProbeResult, ProbeSection, ProbeSetting
from hindmost.text import percent, seconds

MOST_RANKS = 64
"""Number of ranks with raw values, evenly spaced; all ranks have summaries."""


def take(setting: ProbeSetting) -> ProbeResult | None:
    """Measure the noise on every rank; collective."""
    effort = QUICK if setting.quick else NoiseEffort()
    mine = measure_noise(setting.communicator, effort)
    everybody = setting.communicator.gather(mine)
    return None if everybody is None else described(everybody, effort)


def described(ranks: Sequence[RankNoise], effort: NoiseEffort) -> ProbeResult:
    """Summarise and report."""
    noise = summary(ranks)
    kept = {int(each) for each in np.linspace(0, len(ranks) - 1, min(len(ranks), MOST_RANKS))}
    samples = {
        "quantum_s": effort.quantum_s,
        "histogram": {"edges_ns": EDGES_NS.tolist(), "detours": histogram(ranks).tolist()},
        "ranks": [rank_samples(rank, each, rank in kept) for rank, each in enumerate(ranks)],
    }
    shares = [each.detours.share for each in ranks]
    rows = [
        ("detours per second and rank", f"{noise.detours_per_s:.4g}"),
        ("share lost to detours", f"{percent(noise.share, None)} ({percent(min(shares), None)} to "
         f"{percent(max(shares), None)} by rank)"),
        ("share lost, FWQ", percent(float(np.mean([each.fwq_share for each in ranks])), None)),
        ("share lost, FTQ", percent(float(np.mean([each.ftq_share for each in ranks])), None)),
    ]  # fmt: skip
    if noise.detour_quantiles_s:
        told = ", ".join(seconds(each) for each in noise.detour_quantiles_s)
        rows.append(("detours, quantiles 0.5, 0.9, 0.99, 1", told))
    return ProbeResult(changes={"noise": noise}, samples=samples, rows=tuple(rows))


def rank_samples(rank: int, noise: RankNoise, raw: bool) -> dict[str, Any]:
    """Return the stored values of a rank; raw values are integer nanoseconds."""
    detours = noise.detours
    kept: dict[str, Any] = {
        "rank": rank,
        "detours_per_s": detours.per_s,
        "share": detours.share,
        "fwq_share": noise.fwq_share,
        "ftq_share": noise.ftq_share,
        "begin_ns": detours.begin_ns,
        "least_gap_s": detours.least_gap_s,
        "threshold_s": detours.threshold_s,
        "elapsed_s": detours.elapsed_s,
    }
    if raw:
        kept["detour_start_ns"] = nanoseconds(detours.start_s)
        kept["detour_length_ns"] = nanoseconds(detours.length_s)
        kept["fwq_ns"] = nanoseconds(noise.fwq_s)
        kept["ftq"] = noise.ftq.tolist()
    return kept


def nanoseconds(values_s: Any) -> list[int]:
    """Return times as integer nanoseconds."""
    return [int(each) for each in np.rint(np.asarray(values_s) * 1e9)]


NOISE = ProbeSection(
    name="noise",
    summary="selfish detours, and fixed work and time quanta (FWQ, FTQ), on every rank",
    take=take,
)
