"""Waiting for detours, in the offline model."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special
from tests.models.adaptive.machines import DECK, PLAIN

from hindmost.models.adaptive.machine import SystemNoise
from hindmost.models.adaptive.offline import (
    NOTHING,
    OfflineModel,
    detour_parts,
    excess_of_maximum,
    waiting_curve,
)
from hindmost.models.adaptive.work import PHASES, Work

NOISE = SystemNoise(detours_per_s=2000.0, share=0.02, detour_quantiles_s=(4e-7, 2e-5, 6e-5, 8e-3))
HALO = PHASES.index("halo")


@dataclass(frozen=True)
class DetoursIn:
    """The detours of an interval: as many of each part as come by chance."""

    parts: list[tuple[float, float]]
    interval_s: float

    @property
    def mean_s(self) -> float:
        return sum(rate * self.interval_s * length_s for rate, length_s in self.parts)

    def draw(self, random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        total = np.zeros(shape)
        for rate, length_s in self.parts:
            total += length_s * random.poisson(rate * self.interval_s, shape)
        return total


@pytest.mark.parametrize("mean", [1e-3, 0.2, 3.0, 80.0, 2000.0, 9000.0, 1e6])
def test_the_larger_of_two_counts_is_as_by_bessel_s_functions(mean: float) -> None:
    exact = mean * float(special.ive(0, 2.0 * mean) + special.ive(1, 2.0 * mean))
    assert excess_of_maximum(mean, 2) == pytest.approx(exact, rel=1e-9 if mean <= 2000.0 else 1e-4)
    assert excess_of_maximum(mean, 1) == 0.0


@pytest.mark.parametrize("ranks", [2, 16])
@pytest.mark.parametrize("interval_s", [5e-5, 5e-4, 5e-3])
def test_waiting_is_that_of_ranks_that_meet(ranks: int, interval_s: float) -> None:
    detours = DetoursIn(detour_parts(NOISE), interval_s)
    iterations = 400_000 // ranks
    # Every rank waits for the slowest of each interval.
    slowest_s = detours.draw(np.random.default_rng(0), (iterations, ranks)).max(axis=1)
    drawn_s = float(slowest_s.mean()) - detours.mean_s
    curve = waiting_curve(NOISE, ranks)
    # Parts are added up, which is at most too much where several lengths meet; draws are random.
    waited_s = interval_s * curve.seconds_per_cell(interval_s)
    assert 0.95 * drawn_s < waited_s < 1.3 * drawn_s


def test_parts_of_detours_have_the_probed_share_of_time() -> None:
    parts = detour_parts(NOISE)
    assert sum(rate for rate, _ in parts) == pytest.approx(NOISE.detours_per_s)
    assert sum(rate * length_s for rate, length_s in parts) == pytest.approx(NOISE.share)
    lengths = [length_s for _, length_s in parts]
    assert lengths == sorted(lengths)
    assert lengths[0] < 4e-7 < lengths[1] < 2e-5 < lengths[2] < 6e-5 < lengths[3] < 8e-3
    even = replace(NOISE, detour_quantiles_s=(1e-5, 1e-5, 1e-5, 1e-5))
    assert [length_s for _, length_s in detour_parts(even)][1:3] == [1e-5, 1e-5]
    # Quantiles of other detours than those of the share leave nothing to the longest.
    assert detour_parts(replace(NOISE, share=1e-4))[3][1] == 0.0


def test_nobody_waits_alone_or_without_noise() -> None:
    assert waiting_curve(NOISE, 1) is NOTHING
    assert waiting_curve(None, 8) is NOTHING
    assert waiting_curve(SystemNoise(detours_per_s=0.0, share=0.0), 8) is NOTHING
    grown = [waiting_curve(NOISE, ranks).seconds[20] for ranks in (2, 4, 64)]
    assert 0.0 < grown[0] < grown[1] < grown[2]


def test_ranks_wait_in_exchanges_for_detours() -> None:
    work = Work(cells=10_000, steps=10, iterations=40, adapts=True)
    quiet = OfflineModel(machine=PLAIN, application=DECK, ranks=2)
    noisy = OfflineModel(machine=replace(PLAIN, noise=NOISE), application=DECK, ranks=2)
    calm_s, found_s = quiet.phases_s(work, 40.0), noisy.phases_s(work, 40.0)
    assert [each for k, each in enumerate(found_s) if k != HALO] == [
        each for k, each in enumerate(calm_s) if k != HALO
    ]
    meetings = 1 + 10 + 3 * 40  # reductions; exchanges are fewer
    computed_s = sum(calm_s[PHASES.index(name)] for name in ("hydro", "heat", "adaption"))
    curve = waiting_curve(NOISE, 2)
    waits_s = computed_s * curve.seconds_per_cell(computed_s / meetings)
    assert found_s[HALO] - calm_s[HALO] == pytest.approx(waits_s)
    assert 0.005 * computed_s < waits_s < 0.02 * computed_s  # at most the share of detours
    # On a machine that is slower all through, detours come as often in each second.
    slow_s = 2.0 * computed_s * curve.seconds_per_cell(2.0 * computed_s / meetings)
    more_s = noisy.cycle_s(work, 40.0, pace=2.0) - quiet.cycle_s(work, 40.0, pace=2.0)
    assert more_s == pytest.approx(slow_s)
    alone = OfflineModel(machine=replace(PLAIN, noise=NOISE), application=DECK)
    assert alone.phases_s(work, 40.0)[HALO] == 0.0
