"""Sums and extremes of all ranks, held against plain numpy over the whole matrix."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models.ranks.spread import Spread, on_processes

from hindmost.models.events import EventKind
from hindmost.models.laws.johnsonsu import fit_johnsonsu
from hindmost.models.noise.all_ranks import BodyExtremes, EventExtremes
from hindmost.models.ranks.body_extremes import extremes_of_bodies, extremes_of_events
from hindmost.models.simulation.blocks import EventBlock

BODIES, RANKS = 60, 7
FILL = np.arange(BODIES) < 5


def bodies() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    random = np.random.default_rng(1)
    work = 1e-4 * (1.0 + random.gamma(1.0, 0.2, (BODIES, RANKS)))
    return work + random.exponential(2e-5, work.shape), work


def events() -> EventBlock:
    random = np.random.default_rng(2)
    kind = np.zeros((BODIES, 5), np.uint8)
    kind[:, :4] = (EventKind.SEND, EventKind.RECEIVE, EventKind.REDUCE, EventKind.REDUCE)
    kind[::3, 3] = EventKind.NONE  # what follows does not count
    return EventBlock(
        kind=kind,
        work=random.random((BODIES, RANKS, 5)),
        duration=random.random((BODIES, RANKS, 5)),
        rest=random.random((BODIES, RANKS)),
        cycle_begins=np.arange(BODIES) % 20 == 0,
    )


def test_bodies_are_those_of_all_ranks() -> None:
    durations, work = bodies()
    found = extremes_of_bodies(durations, work, FILL)
    np.testing.assert_array_equal(found.least, durations.min(axis=1))
    np.testing.assert_array_equal(found.most, durations.max(axis=1))
    np.testing.assert_allclose(found.mean, durations.mean(axis=1), rtol=1e-14)
    np.testing.assert_allclose(found.deviation, durations.std(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(found.work_most, work.max(axis=1))
    np.testing.assert_array_equal(found.wait_least, (durations - work).min(axis=1))
    assert found.mean_s == pytest.approx(durations.mean(), rel=1e-14)
    assert found.deviation_s == pytest.approx(durations.std(), rel=1e-12)


def test_the_histogram_has_the_moments_and_the_law_of_all_bodies() -> None:
    durations, work = bodies()
    sample = extremes_of_bodies(durations, work, FILL).sample(FILL)
    counted = durations[~FILL]
    assert sample.size == counted.size
    assert (sample.smallest, sample.largest) == (counted.min(), counted.max())
    assert sample.mean == pytest.approx(counted.mean(), rel=1e-14)
    assert sample.std == pytest.approx(counted.std(), rel=1e-12)
    law, true = fit_johnsonsu(sample), fit_johnsonsu(counted)
    assert law.mean == pytest.approx(true.mean, rel=1e-9)
    assert law.variance == pytest.approx(true.variance, rel=1e-6)


@pytest.mark.parametrize("level", [1e-4, 0.0])
def test_bodies_that_are_all_the_same_have_one_bin(level: float) -> None:
    same = np.full((10, 3), level + 1e-6)
    found = extremes_of_bodies(same, same, np.zeros(10, bool))
    assert found.bin_count.tolist() == [30]
    assert found.bin_mean == pytest.approx([level + 1e-6])
    assert found.bin_deviation == pytest.approx([0.0], abs=1e-15)


def test_processes_find_together_what_one_finds() -> None:
    durations, work = bodies()
    block = events()

    def on_one(spread: Spread) -> tuple[BodyExtremes, EventExtremes]:
        mine = spread.mine
        part = EventBlock(
            kind=block.kind,
            work=block.work[:, mine],
            duration=block.duration[:, mine],
            rest=block.rest[:, mine],
            cycle_begins=block.cycle_begins,
        )
        return (
            extremes_of_bodies(durations[:, mine], work[:, mine], FILL, reductions=spread),
            extremes_of_events(part, reductions=spread),
        )

    alone = extremes_of_bodies(durations, work, FILL), extremes_of_events(block)
    for found in on_processes(3, RANKS, on_one):
        for kind, one, other in zip((BodyExtremes, EventExtremes), found, alone, strict=True):
            for field in fields(kind):
                np.testing.assert_allclose(
                    getattr(one, field.name), getattr(other, field.name), rtol=1e-12, atol=1e-15,
                    err_msg=field.name,
                )  # fmt: skip


def test_stretches_go_from_reduction_to_reduction() -> None:
    block = events()
    found = extremes_of_events(block)
    since = np.zeros(RANKS)
    stretch, tail = np.zeros((BODIES, 5)), np.zeros(BODIES)
    for body in range(BODIES):
        if block.cycle_begins[body]:
            since[:] = 0.0
        for event in range(5):
            kind = block.kind[body, event]
            if kind == EventKind.NONE:
                break
            since += block.work[body, :, event]
            if kind == EventKind.SEND:
                since += block.duration[body, :, event]
            if kind == EventKind.REDUCE:
                stretch[body, event] = since.max()
                since[:] = 0.0
        since += block.rest[body]
        if body % 20 == 19:
            tail[body] = since.max()
    np.testing.assert_allclose(found.stretch, stretch, rtol=1e-12)
    np.testing.assert_allclose(found.tail, tail, rtol=1e-12)
    np.testing.assert_array_equal(found.rest, block.rest.max(axis=1))
    np.testing.assert_allclose(found.segment[:, 1], block.work[:, :, 1].max(axis=1))
    np.testing.assert_allclose(
        found.segment[:, 0], (block.work[:, :, 0] + block.duration[:, :, 0]).max(axis=1)
    )
    assert (found.segment[::3, 3:] == 0.0).all()
    np.testing.assert_allclose(found.duration_least[:, 2], block.duration[:, :, 2].min(axis=1))
