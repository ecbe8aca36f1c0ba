from __future__ import annotations

import pytest

from hindmost.harness.probes.sampling import LEAST_BLOCKS, Effort, sample
from hindmost.harness.solo import Solo


def test_blocks_visit_every_size_in_orders_that_change() -> None:
    asked: list[int] = []

    def batch(size: int, repeats: int) -> float:
        asked.append(size)
        return 1e-6 * size * (3 if len(asked) == 9 else 1)

    effort = Effort(cap_s=60.0, blocks=8, batch_s=1e-4)
    timed = sample(Solo(), batch, (1, 2, 4), effort)
    assert [each.size for each in timed] == [1, 2, 4]
    assert [len(each.seconds) for each in timed] == [8, 8, 8]
    assert [each.repeats for each in timed] == [100, 50, 25]
    assert [each.median_s for each in timed] == pytest.approx([1e-6, 2e-6, 4e-6])
    # Two batches of every size warm up, then blocks follow whose order changes.
    blocks = [tuple(asked[6 + 3 * block : 9 + 3 * block]) for block in range(8)]
    assert {tuple(sorted(block)) for block in blocks} == {(1, 2, 4)}
    assert len(set(blocks)) > 1


def test_no_block_begins_after_the_cap() -> None:
    timed = sample(Solo(), lambda size, repeats: 1.0, (1,), Effort(cap_s=0.0, blocks=1000))
    assert len(timed[0].seconds) == LEAST_BLOCKS
