"""Recorded solves on other numbers of ranks, against truth that is known."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.models.simulation.programs import played

from hindmost.analysis.whatif.targets import Scaling, assumed
from hindmost.errors import DataError, UsageError
from hindmost.models.simulation.blocks import COMPLETE, POST, REDUCE, EventBlock, Neighbours
from hindmost.models.simulation.change import (
    Change,
    Detours,
    without_progress,
)
from hindmost.models.simulation.event_simulator import EventSimulator, reductions_alike
from hindmost.models.simulation.local_work import (
    Dependence,
    LocalWork,
    dependence_of,
    fit_local_work,
    scores,
)
from hindmost.models.simulation.network import Link, NodeNetwork, Piece, grid_edges, nodes_of
from hindmost.models.simulation.program import Program
from hindmost.models.simulation.scaleup import Placement
from hindmost.models.simulation.simulated_solve import (
    BY_ITERATION,
    SimulatedSolve,
    Target,
    WorkFactor,
    simulate_solves,
)

NOBODY = np.empty(0, np.int32)
BODY, NOISE, COST = 1e-3, 1e-4, 1e-5
"""Undisturbed work, mean of its exponential noise, and what a reduction costs on two ranks."""
MESSAGE = Link(pieces=(Piece(from_bytes=0, latency_s=COST, per_byte_s=0.0),))
NETWORK = NodeNetwork(within=MESSAGE, across=MESSAGE)


def recorded(kinds: list[int], noise: NDArray[np.float64], *, cycle: int = 50) -> Program:
    """Return what ranks would have recorded that do some work and then events of one kind each.

    Parameters
    ----------
    noise : float64 array, shape (iteration, rank), seconds
        In addition to `BODY`.
    """
    work = np.zeros((*noise.shape, len(kinds)))
    work[:, :, -1] = BODY + noise
    kind = np.tile(np.array(kinds, np.uint8), (len(noise), 1))
    begins = np.arange(len(noise)) % cycle == 0
    return played(kind, work, begins=begins, latency_s=COST)


def exponential(ranks: int = 2, bodies: int = 2000) -> NDArray[np.float64]:
    return np.random.default_rng(5).exponential(NOISE, (bodies, ranks))


@pytest.fixture(scope="module")
def blocking() -> LocalWork:
    return fit_local_work(recorded([REDUCE], exponential()), np.zeros(2, np.intp))


@pytest.fixture(scope="module")
def pipelined() -> LocalWork:
    return fit_local_work(recorded([POST, COMPLETE], exponential()), np.zeros(2, np.intp))


def on(
    work: LocalWork, ranks: int, *changes: Change, factor: WorkFactor | None = None
) -> list[SimulatedSolve]:
    place = Placement(node=nodes_of(ranks, 16), edges=grid_edges(ranks, 0))
    target = Target(placement=place, work=factor or WorkFactor())
    return simulate_solves(work, target, changes or [Change()], NETWORK, replicas=5)


@pytest.mark.parametrize("ranks", [2, 64, 1024])
def test_blocking_ranks_wait_for_the_maximum_of_the_law(blocking: LocalWork, ranks: int) -> None:
    """The maximum of P exponential times is NOISE H_P: sum of 1 / p."""
    (found,) = on(blocking, ranks)
    slowest = NOISE * np.sum(1.0 / np.arange(1, ranks + 1))
    truth = 2000 * (BODY + slowest + COST * np.log2(ranks))
    assert found.seconds == pytest.approx(truth, rel=0.05)
    assert found.low_s < truth < found.high_s
    assert found.miss == pytest.approx(0.0, abs=0.02)
    assert found.network_s == pytest.approx(2000 * COST * np.log2(ranks), rel=0.01)
    assert found.outside_s == pytest.approx(0.0, abs=1e-9)


def test_pipelined_ranks_are_those_of_a_walk_with_the_law(pipelined: LocalWork) -> None:
    noise = np.random.default_rng(9).exponential(NOISE, (500, 256))
    cost = COST * np.log2(256)
    simulator = EventSimulator(
        256, Neighbours.of_edges(256, NOBODY, NOBODY), reductions_alike(2, float(cost))
    )
    work = np.zeros((500, 256, 2))
    work[:, :, 1] = BODY + noise
    total_s = 0.0
    for first in range(0, 500, 50):
        simulator.meet()
        part = slice(first, first + 50)
        kind = np.tile(np.array([POST, COMPLETE], np.uint8), (50, 1))
        block = EventBlock(
            kind=kind, work=work[part], duration=np.zeros_like(work[part]),
            rest=np.zeros((50, 256)), cycle_begins=np.zeros(50, np.bool_),
        )  # fmt: skip
        simulator.walk(block)
        total_s += float(simulator.clock.max())
    (found,) = on(pipelined, 256)
    assert found.seconds == pytest.approx(4 * total_s, rel=0.03)
    assert found.low_s < 4 * total_s < found.high_s


def test_no_work_is_negative_where_events_cost_a_rank_less_than_the_others() -> None:
    """Two of three ranks stay 1 ms longer in each reduction, after which no rank works."""
    work = np.full((200, 3, 1), BODY)
    stays = np.zeros_like(work)
    stays[:, 1:] = 1e-3
    kind = np.full((200, 1), REDUCE, np.uint8)
    begins = np.arange(200) % 50 == 0
    program = played(kind, work, stays=stays, begins=begins, latency_s=COST)
    assert program.stays(program.costs.median_s).min() < -0.5e-3
    fitted = fit_local_work(program, np.zeros(3, np.intp))
    assert fitted.typical.min() >= 0.0
    assert (fitted.typical[:, None] + fitted.level).min() >= 0.0
    assert fitted.body_s == pytest.approx(BODY, rel=0.01)


def test_time_outside_the_iterations_stays_or_is_divided_once() -> None:
    """On as many ranks as recorded, with a quarter of the work: the bodies are known to the end."""
    work = np.full((400, 2, 1), BODY)
    outside_s = 0.2
    program = played(np.full((400, 1), REDUCE, np.uint8), work, after_s=outside_s)
    fitted = fit_local_work(program, np.zeros(2, np.intp))
    quarter = WorkFactor(typical=0.25, low=0.25, high=0.25)
    (found,) = on(fitted, 2, Change(noise=0.0), factor=quarter)
    assert found.outside_s == pytest.approx(0.25 * outside_s)
    bodies_s = 400 * 0.25 * BODY
    assert found.seconds >= bodies_s + 0.25 * outside_s
    assert found.high_s >= bodies_s + outside_s  # as recorded
    # Divided again, it would be a sixteenth.
    assert found.low_s >= bodies_s + 0.2 * outside_s


def test_noise_is_multiplied_and_left_out(blocking: LocalWork) -> None:
    once, twice, none = on(blocking, 64, Change(), Change(noise=2.0), Change(noise=0.0))
    network_s = 2000 * COST * 6
    median_s = BODY + NOISE * np.log(2.0)
    assert none.seconds == pytest.approx(2000 * median_s + network_s, rel=0.01)
    # But for what ranks differ by all the time, which stays.
    assert twice.seconds - none.seconds == pytest.approx(
        2 * (once.seconds - none.seconds), rel=0.01
    )
    assert once.quiet.seconds == twice.quiet.seconds == none.seconds


@pytest.mark.parametrize("share", [1.0, 1e-3])
def test_noise_makes_nothing_faster(share: float) -> None:
    """Detours without a mean: replicas scatter by orders of magnitude, and so would their end."""
    noise = 1e-6 * np.random.default_rng(1).pareto(0.6, (400, 2))
    work = fit_local_work(recorded([REDUCE], noise), np.zeros(2, np.intp))
    factor = WorkFactor(typical=share, low=share, high=share)
    once, none = on(work, 2, Change(), Change(noise=0.0), factor=factor)
    assert once.on_tail
    assert once.low_s >= none.low_s
    assert once.seconds == pytest.approx(once.as_recorded_s)
    # No less than its reductions, each of one message.
    assert none.low_s >= 0.98 * 400 * COST


def test_undisturbed_work_is_no_better_known_than_its_quartiles(blocking: LocalWork) -> None:
    (none,) = on(blocking, 2, Change(noise=0.0))
    for quarter, end_s in ((0.75, none.low_s), (0.25, none.high_s)):
        at_s = 2000 * (BODY - NOISE * np.log(quarter) + COST)
        assert end_s == pytest.approx(at_s, rel=0.01)


def test_detours_are_added(blocking: LocalWork) -> None:
    sure = Detours(length_s=3e-4, probability=1.0)
    without, more = on(blocking, 64, Change(), Change(detours=sure))
    assert more.seconds - without.seconds == pytest.approx(2000 * 3e-4, rel=1e-6)
    (law,) = on(blocking, 64, Change(detours=Detours(exponential=True, length_s=1e-3)))
    assert law.seconds > more.seconds


def test_work_is_divided_and_detours_come_by_the_clock(blocking: LocalWork) -> None:
    half = WorkFactor(typical=0.5, low=0.4, high=0.6)
    (found,), (full,) = on(blocking, 64, factor=half), on(blocking, 64)
    assert found.work_s == pytest.approx(0.5 * full.work_s)
    assert found.scenarios_s["less work"] < found.seconds < found.scenarios_s["more work"]
    assert found.seconds < found.scenarios_s[BY_ITERATION] < found.high_s
    # By the iteration, the longest of 64 ranks last as long as in iterations of all the work.
    noise_s = full.seconds - full.work_s - full.network_s
    at_s = found.scenarios_s[BY_ITERATION] - found.work_s - found.network_s
    assert at_s == pytest.approx(noise_s, rel=0.05)


@pytest.mark.parametrize("share", [pytest.param(1.0, marks=pytest.mark.slow), 0.1])
def test_detours_are_as_rare_as_the_time_of_iterations_is_short(share: float) -> None:
    """Detours of 10 ms, one in 100 iterations of each rank: they cost what time there is for them.

    On 8 ranks an iteration without any has the probability 0.99^8, and then a tenth of the rate.
    """
    bodies = 20_000
    noise = np.where(np.random.default_rng(4).random((bodies, 2)) < 0.01, 1e-2, 0.0)
    noise += 1e-7 * np.random.default_rng(5).random((bodies, 2))
    work = fit_local_work(recorded([REDUCE], noise), np.zeros(2, np.intp))
    factor = WorkFactor(typical=share, low=share, high=share)
    (found,) = on(work, 8, factor=factor)
    hit = 1.0 - (1.0 - 0.01 * share) ** 8
    truth_s = bodies * (share * BODY + 3 * COST + hit * 1e-2)
    assert found.seconds == pytest.approx(truth_s, rel=0.1)
    assert found.quiet.seconds == pytest.approx(bodies * (share * BODY + 3 * COST), rel=0.01)


def test_the_imbalance_of_the_recorded_ranks_stays() -> None:
    """One of two ranks has twice the work: so has the second half of any others, in each draw."""
    noise = 1e-6 * np.random.default_rng(3).random((400, 2)) + np.array([0.0, BODY])
    work = fit_local_work(recorded([REDUCE], noise), np.zeros(2, np.intp))
    (found,) = on(work, 16)
    truth_s = 400 * (2.0 * BODY + 4 * COST)
    assert found.miss == pytest.approx(0.0, abs=0.01)
    for predicted in (found.quiet, found.noisy):
        assert predicted.seconds == pytest.approx(truth_s, rel=0.01)
        assert predicted.low_s < 400 * 1.5 * BODY + 400 * 4 * COST + 1e-3  # equal work


def test_detours_of_a_machine_come_by_the_clock() -> None:
    detours = Detours(length_s=1e-4, per_s=50.0)
    drawn = detours.draw(np.random.default_rng(6), (200_000, 2), np.array([[1e-3, 4e-3]]))
    assert drawn.mean(axis=0) == pytest.approx([5e-6, 20e-6], rel=0.05)
    # Poisson sums of exponential lengths: a variance of 2 n length^2.
    assert drawn[:, 1].var() == pytest.approx(2 * 0.2 * 1e-8, rel=0.1)


def test_deeper_pipelines_hide_more_and_no_progress_hides_nothing(pipelined: LocalWork) -> None:
    one, three, none = on(pipelined, 64, Change(), Change(depth=3), Change(progress=False))
    assert three.seconds < one.seconds < none.seconds
    # All ranks meet at the completion, as in a blocking solver.
    blocking_s = 2000 * (BODY + NOISE * np.sum(1.0 / np.arange(1, 65)) + COST * 6)
    assert none.seconds == pytest.approx(blocking_s, rel=0.05)


def test_without_progress_completions_of_nothing_stay_harmless() -> None:
    kind = np.array([[COMPLETE, POST], [COMPLETE, POST]], np.uint8)
    assert without_progress(kind).tolist() == [[POST, POST], [REDUCE, POST]]


def test_without_a_mean_no_detour_exceeds_the_longest_recorded_one() -> None:
    """One in 1000 detours of a law without a mean: the largest of 4096 ranks was never recorded."""
    random = np.random.default_rng(1)
    noise = 1e-5 * random.random((2000, 2)) + 1e-5 * random.pareto(0.7, (2000, 2))
    work = fit_local_work(recorded([REDUCE], noise), np.zeros(2, np.intp))
    (found,) = on(work, 4096)
    assert found.on_tail
    assert found.seconds == found.as_recorded_s
    assert 0.0 < found.low_s <= found.seconds < found.high_s
    assert found.seconds <= 2000 * (BODY + noise.max() + 13 * COST)


def test_dependence_is_recovered() -> None:
    truth = Dependence(persistent=0.3, node=0.5, time=0.6, segments=0.4)
    node = nodes_of(32, 4)
    deviation = scores(truth, node, 3000, 3, (1,))
    found = dependence_of(deviation, node, np.zeros(3000, np.bool_))
    assert found.persistent == pytest.approx(truth.persistent, abs=0.1)
    assert found.node == pytest.approx(truth.node, abs=0.05)
    assert found.time == pytest.approx(truth.time, abs=0.05)
    # Of the segments, as a part of what is not persistent.
    assert found.segments == pytest.approx(truth.segments, abs=0.05)


def test_ranks_of_a_node_that_are_slow_together_cost_less() -> None:
    """With equal noise on a node, 64 ranks are 4 independent ones."""
    bodies = 2000
    alike = np.repeat(np.random.default_rng(2).exponential(NOISE, (bodies, 2)), 2, axis=1)
    work = fit_local_work(recorded([REDUCE], alike), np.array([0, 0, 1, 1]))
    assert work.dependence.node > 0.9
    (found,) = on(work, 64)
    truth = bodies * (BODY + NOISE * np.sum(1.0 / np.arange(1, 5)) + COST * 6)
    assert found.seconds == pytest.approx(truth, rel=0.05)


def test_a_rank_draws_the_same_on_any_machine() -> None:
    depends = Dependence(time=0.5, segments=0.2)
    few = scores(depends, nodes_of(10, 4), 20, 2, (3, 1))
    many = scores(depends, nodes_of(100, 4), 40, 2, (3, 1))
    assert np.array_equal(few, many[:20, :10])
    assert stats.kstest(many[-1].ravel(), "norm").pvalue > 0.001


def test_few_ranks_leave_open_by_how_much_ranks_differ() -> None:
    """With a standard deviation s of four ranks, 3 s^2 / sigma^2 follows chi-squared of 3."""
    offsets = np.array([0.0, 1e-5, 2e-5, 5e-5])
    noise = np.random.default_rng(8).exponential(1e-6, (400, 4)) + offsets
    work = fit_local_work(recorded([REDUCE], noise), np.zeros(4, np.intp))
    sigma_s = offsets.std(ddof=1) * np.sqrt(3.0 / stats.chi2(3).ppf(0.1))
    assert work.apart_s == pytest.approx(sigma_s, rel=0.02)
    (found,) = on(work, 512)
    # The slowest of 512 ranks is about three deviations above the mean.
    slowest_s = 400 * (BODY + offsets.mean() + 2.8 * sigma_s)
    assert found.high_s > slowest_s


def test_work_that_may_be_noise_is_not_divided(blocking: LocalWork) -> None:
    """The quickest hundredth has nothing of the noise, whose median is log 2 of its mean."""
    median_s = BODY + NOISE * np.log(2.0)
    assert blocking.least == pytest.approx(BODY / median_s, rel=0.01)
    (factor,) = assumed(Scaling.STRONG, 2, (64,), blocking.least).factors.values()
    assert factor.typical == factor.low == 1.0 / 32.0
    assert factor.high * median_s == pytest.approx(
        median_s / 32.0 + (median_s - BODY) * 31 / 32, rel=0.1
    )


def test_changes_without_a_meaning_are_refused(blocking: LocalWork) -> None:
    with pytest.raises(UsageError, match="not modelled"):
        Change(depth=2, progress=False)
    with pytest.raises(UsageError, match="the most that are simulated"):
        on(blocking, 1 << 19)
    short = recorded([REDUCE], exponential(bodies=10))
    with pytest.raises(DataError, match="too few to fit laws"):
        fit_local_work(short, np.zeros(2, np.intp))
