from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hindmost.harness.probes.sampling import Effort, median_interval, sample, well_known
from hindmost.harness.solo import Solo


@pytest.mark.parametrize("count", [12, 25, 60, 101, 400])
def test_interval_of_a_median_has_its_level(count: int) -> None:
    # The interval between order statistics l and h holds the median with the probability that
    # between l + 1 and h of the values lie below it.
    low, high = median_interval([float(each) for each in range(count)])
    below = stats.binom(count, 0.5)
    level = below.cdf(high - 1 + 0.5) - below.cdf(low + 0.5)
    assert 0.94 < level < 0.99


def test_known_once_the_interval_is_narrow() -> None:
    effort = Effort(cap_s=1.0, least=12, width=0.02)
    assert not well_known([1.0] * 11, effort)
    assert well_known([1.0] * 12, effort)
    spread = np.random.default_rng(0).uniform(0.5, 1.5, 50)
    assert not well_known(list(spread), effort)


def test_steady_sizes_stop_early_and_disturbed_ones_go_on() -> None:
    random = np.random.default_rng(3)
    asked: list[int] = []

    def batch(size: int, repeats: int) -> float:
        asked.append(size)
        return 1e-6 * size * (1 if size < 4 else random.uniform(0.5, 1.5))

    effort = Effort(cap_s=60.0, least=8, most=40, batch_s=1e-4, width=0.02)
    timed = sample(Solo(), batch, (1, 2, 4), effort, seed=1)
    assert [each.size for each in timed] == [1, 2, 4]
    assert [len(each.seconds) for each in timed] == [8, 8, 40]
    assert [each.repeats for each in timed][:2] == [100, 50]
    assert timed[1].median_s == pytest.approx(2e-6)
    # Two batches of every size warm up, then blocks follow whose order changes.
    blocks = [tuple(asked[6 + 3 * block : 9 + 3 * block]) for block in range(8)]
    assert {tuple(sorted(block)) for block in blocks} == {(1, 2, 4)}
    assert len(set(blocks)) > 1


def test_no_block_begins_after_the_cap() -> None:
    effort = Effort(cap_s=0.0, least=12, most=1000)
    random = np.random.default_rng(3)
    timed = sample(Solo(), lambda size, repeats: random.uniform(1, 2), (1,), effort, seed=1)
    assert len(timed[0].seconds) == 3
