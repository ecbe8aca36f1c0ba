"""Profiles of work over time, and slopes that tell imbalance from late starts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.events import EventKind
from hindmost.models.ranks.profile import ProfileSum
from hindmost.models.ranks.slopes import SlopeSum
from hindmost.models.simulation.blocks import EventBlock

Values = NDArray[np.float64]


def worked(
    start: Values, work: Values, inside: Values, kinds: list[EventKind] | None = None
) -> tuple[ProfileSum, SlopeSum]:
    """Return profile and slopes of bodies of events: work, event, work, event.

    ``start`` is (body, rank); ``work`` and ``inside`` are (body, rank, event), seconds.
    """
    kinds = kinds or [EventKind.REDUCE]
    duration = work.sum(axis=2) + inside.sum(axis=2)
    block = EventBlock(
        kind=np.tile(np.array(kinds, np.uint8), (len(start), 1)),
        work=work,
        duration=inside,
        rest=np.zeros(start.shape),
        cycle_begins=np.arange(len(start)) == 0,
    )
    profile = ProfileSum(start.shape[1], float((start + duration).max()), 100)
    slopes = SlopeSum(start.shape[1])
    for rows in (slice(0, 7), slice(7, None)):
        profile.add_events(
            start[rows], duration[rows], block.part(rows), between=np.ones(start[rows].shape)
        )
        slopes.add(start[rows], duration[rows], block.part(rows))
    return profile, slopes


def of_one_reduction(begin: Values, end: Values, bodies: int = 50) -> tuple[ProfileSum, SlopeSum]:
    """Lay bodies of one second end to end; ranks work from begin to end, then reduce."""
    start = np.arange(bodies)[:, None] + begin
    work = np.broadcast_to(end - begin, start.shape)
    return worked(start, work[:, :, None].copy(), (1.0 - begin - work)[:, :, None].copy())


def test_profiles_hold_all_work_and_slopes_tell_imbalance_from_late_starts() -> None:
    spread = np.linspace(0.5, 0.9, 400)
    profile, summed = of_one_reduction(np.zeros(400), spread)
    of_run = profile.of_run
    assert (of_run.busy * np.diff(of_run.edges)).sum() == pytest.approx(50 * spread.sum())
    slopes = summed.result()
    # all at work until 0.5, none after 0.9: from 90 to 10 % in 0.32, slope 1 / 0.4
    assert slopes.fall_share == pytest.approx(0.32, abs=0.01)
    assert slopes.downward == pytest.approx(-2.5, rel=0.03)
    # until the last one ends; what the reduction itself takes is nobody's imbalance
    assert slopes.early_end_share == pytest.approx(0.9 - spread.mean(), rel=1e-6)
    assert slopes.rise_share < 0.01
    assert slopes.lasting_share == pytest.approx(slopes.early_end_share)


def test_ranks_that_leave_a_reduction_late_hint_at_communication_and_not_at_imbalance() -> None:
    late = np.linspace(0.0, 0.4, 400)
    bodies = np.arange(20)[:, None]
    # All work 0.5; the reduction lets ranks go from 0.6 to 1 after the begin of the first.
    inside = np.where(bodies == 0, 0.5 + late, 0.5)
    start = np.where(bodies == 0, 0.0, bodies + late)
    work = np.full((20, 400, 1), 0.5)
    slopes = worked(start, work, inside[:, :, None])[1].result()
    assert slopes.upward == pytest.approx(2.5, rel=0.03)
    assert slopes.late_begin_share == pytest.approx(0.2 / 1.4, rel=0.05)
    assert slopes.fall_share == slopes.lasting_share == 0.0


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_equal_ranks_under_varying_latency_hint_at_nothing(noise: float) -> None:
    random = np.random.default_rng(4)
    bodies, ranks = 60, 256
    work = 0.5 + noise * random.standard_normal((bodies, ranks, 1))
    latency = random.exponential(0.4, bodies)
    inside = work.max(axis=1, keepdims=True) - work + latency[:, None, None]
    ends = np.cumsum((work + inside)[:, :, 0], axis=0)
    start = ends - (work + inside)[:, :, 0]
    profile, summed = worked(start, work, inside)
    slopes = summed.result()
    assert max(slopes.fall_share, slopes.rise_share, slopes.early_end_share) < 0.05
    assert profile.of_body is not None
    assert profile.of_body.utilisation[0] > 0.99


def test_one_late_rank_is_no_gradual_slope_but_is_told() -> None:
    end = np.full(64, 0.5)
    end[9] = 0.9
    slopes = of_one_reduction(np.zeros(64), end)[1].result()
    assert slopes.fall_share < 0.01
    assert slopes.downward == 0.0
    assert slopes.early_end_share == pytest.approx(0.4 * 63 / 64)
    assert slopes.lasting_share == pytest.approx(slopes.early_end_share)


def test_another_late_rank_in_every_body_is_noise() -> None:
    bodies, ranks = 64, 32
    work = np.full((bodies, ranks, 1), 0.5)
    work[np.arange(bodies), np.arange(bodies) % ranks] = 0.9
    start = np.broadcast_to(np.arange(bodies, dtype=float)[:, None], (bodies, ranks)).copy()
    slopes = worked(start, work, 1.0 - work)[1].result()
    assert slopes.early_end_share == pytest.approx(0.4 * 31 / 32)
    assert slopes.lasting_share < 1e-9


def test_work_lies_between_events_where_they_were_recorded() -> None:
    # A body of 10: works 2, waits 5 in the exchange, works 2, reduces 1.
    start = 10.0 * np.arange(10)[:, None] + np.zeros((10, 8))
    work = np.full((10, 8, 2), 2.0)
    inside = np.broadcast_to([5.0, 1.0], work.shape).copy()
    profile, _ = worked(start, work, inside, [EventKind.RECEIVE, EventKind.REDUCE])
    assert profile.of_body is not None
    expected = np.repeat([1.0, 0.0, 1.0, 0.0], [20, 50, 20, 10])
    np.testing.assert_allclose(profile.of_body.utilisation, expected, atol=1e-9)
    unordered = ProfileSum(8, 100.0, 10)
    unordered.add(start, work.sum(axis=2), np.full(start.shape, 10.0))
    np.testing.assert_allclose(unordered.of_run.utilisation, 0.4)
    assert unordered.of_body is None  # where in a body the work was is not known
    # a run without a reduction has no moment at which all meet
    _, slopes = worked(start, work[:, :, :1], inside[:, :, :1], [EventKind.RECEIVE])
    assert slopes.result().meetings == 0


def test_bodies_of_different_length_do_not_pass_for_imbalance() -> None:
    length = np.random.default_rng(0).uniform(1.0, 3.0, (60, 1))
    start = np.cumsum(np.vstack([[0.0], length[:-1, 0:1]]), axis=0) * np.ones(16)
    work = (0.8 * length * np.ones(16))[:, :, None]
    slopes = worked(start, work, 0.25 * work)[1].result()
    assert slopes.fall_share == 0.0
    assert slopes.early_end_share == pytest.approx(0.0)
