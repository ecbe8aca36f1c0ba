"""Generators have the truth that they state."""

import numpy as np
import pytest
from benchmarks.synthetic.scaling_grids import AXES, FAMILIES, balanced, cross, draw, grid
from benchmarks.synthetic.solves import draw_work, line_of_ranks, synthetic_solve
from benchmarks.synthetic.worlds import World, draw_world, walk_world
from scipy import special
from tests.models.noise.test_stationary import max_plus_time

from hindmost.errors import UsageError
from hindmost.models.laws.quantiles import maximum_moments
from hindmost.models.noise.maxplus import fit_both
from hindmost.models.pmnf.space import ABSENT, PAPER, Term


@pytest.mark.parametrize("lag", [0, 1, 2, 5, 40])
@pytest.mark.parametrize("halo", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 6])
def test_agrees_with_the_compiled_recursion(lag: int, halo: bool, ranks: int) -> None:
    work = np.random.default_rng(lag).exponential(1.0, (70, ranks))
    edges = line_of_ranks(ranks) if halo else None
    times = synthetic_solve(work, lag=lag, latency_s=0.3, edges=edges, restart_s=0.5)
    recursion = max_plus_time(
        work,
        0.3,
        lag=lag,
        cycle_starts=np.array([0, 30, 60]),
        edge_source=times.edge_source,
        edge_target=times.edge_target,
    )
    assert times.solve_time_s == pytest.approx(recursion + 2 * 0.5, rel=1e-12)
    # Bodies tile the solve on every rank.
    np.testing.assert_allclose(times.durations[:].sum(axis=0), recursion, rtol=1e-12)
    assert np.all(times.durations[:] >= work - 1e-12)


def test_blocking_bodies_are_the_maximum_of_the_law() -> None:
    work = draw_work(special.ndtr, iterations=20_000, ranks=7, seed=1)
    times = synthetic_solve(work, latency_s=0.25)
    mean, variance = maximum_moments(special.ndtr, 7)
    scatter = np.sqrt(variance / 20_000)
    assert times.durations[:][:, 3].mean() == pytest.approx(mean + 0.25, abs=4 * scatter)
    assert np.ptp(times.durations[:], axis=1).max() == 0.0


def test_unlimited_slack_leaves_the_slowest_ranks_own_work() -> None:
    # Equation 4: T' = max_p sum_k T_p^k, where nothing ever waits within the solve.
    work = np.random.default_rng(2).exponential(1.0, (50, 5))
    times = synthetic_solve(work, lag=50, restart=50)
    assert times.solve_time_s == pytest.approx(work.sum(axis=0).max(), rel=1e-12)


def test_a_latency_of_its_own_for_every_body() -> None:
    work = np.ones((4, 2))
    times = synthetic_solve(work, latency_s=np.array([0.0, 3.0, 0.0, 3.0]))
    np.testing.assert_allclose(times.durations[:][:, 1], [1.0, 4.0, 1.0, 4.0])
    assert fit_both(times)[0].predict().seconds == pytest.approx(4 * 1.0 + 4 * 1.5)


@pytest.mark.parametrize("wrong", [{"lag": -1}, {"restart": 0}])
def test_impossible_solves_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="at least 0 and 1"):
        synthetic_solve(np.ones((3, 2)), **wrong)  # type: ignore[arg-type]


def quiet(ranks: int, **known: object) -> World:
    """Return a world without noise, whose ranks work 1 ms and reduce: a message takes 2 us."""
    values = {name: getattr(draw_world(np.random.default_rng(0)), name) for name in World.__slots__}
    alike = {"program": "loop", "weak": True, "iterations": 10, "work_s": 1e-3, "jitter": 0.0}
    costs = {"across_s": 2e-6, "per_byte_s": 0.0, "library_s": 1e-6, "per_node": 1}
    none = {"detours": (0.0, 1.0, 0.0), "apart": 0.0, "dimensions": 0}
    return World(**{**values, **alike, **costs, **none, "ranks": ranks, **known})


@pytest.mark.parametrize(("ranks", "messages"), [(2, 1), (4, 2), (512, 9), (3, 2), (7, 4)])
def test_a_quiet_world_takes_its_work_and_its_messages(ranks: int, messages: int) -> None:
    """Of ranks that are no power of two, some hand their data on first, and get it back."""
    walked = walk_world(quiet(2), ranks, np.random.default_rng(0))
    assert walked.total_s == pytest.approx(10 * (1e-3 + messages * 2e-6 + 1e-6))
    halved = walk_world(quiet(2, weak=False), 2 * ranks, np.random.default_rng(0))
    assert halved.work.sum(axis=(0, 2)) == pytest.approx(10 * 1e-3 / ranks)


def test_a_world_has_halos_and_detours_of_its_law() -> None:
    halo = quiet(4, dimensions=1, halo_bytes=1000.0, per_byte_s=1e-9)
    # A halo of 3 us begins after a tenth of the work and hides behind the next half.
    walked = walk_world(halo, 4, np.random.default_rng(0))
    assert walked.duration[:, :, 1].max() == pytest.approx(0.0, abs=1e-12)
    noisy = quiet(2, iterations=2000, detours=(0.5, 1e-4, 0.0))
    work_s = walk_world(noisy, 2, np.random.default_rng(1)).work.sum(axis=2).mean()
    assert work_s == pytest.approx(1e-3 + 0.5 * 1e-4, rel=0.01)


@pytest.mark.parametrize("parameters", [2, 3, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_those_of_the_terms(family: str, parameters: int) -> None:
    drawn = draw(np.random.default_rng(1), family, 5, parameters=parameters)
    points = cross(*AXES[:parameters])
    pairs = (*PAPER.exponents, ABSENT)
    for k, values in enumerate(drawn(points)):
        wanted = np.full(len(points), drawn.constants[k])
        for factor, numbers in zip(drawn.factors[k], drawn.terms[k], strict=True):
            wanted += factor * Term(exponents=tuple(pairs[n] for n in numbers))(points)
        np.testing.assert_allclose(values, wanted)


@pytest.mark.parametrize("parameters", [2, 3, 4])
def test_one_parameter_is_irrelevant_where_the_family_says_so(parameters: int) -> None:
    for family in FAMILIES:
        drawn = draw(np.random.default_rng(2), family, 20, parameters=parameters)
        absent = [drawn.leading(k).count(ABSENT) for k in range(20)]
        assert max(absent) <= (1 if family in ("irrelevant", "mixed") else 0)
        if family == "irrelevant":
            assert min(absent) == 1


def test_designs_have_the_points_that_they_promise() -> None:
    assert grid(*AXES[:3]).shape == (125, 3)
    sparse = cross(*AXES[:3])
    assert sparse.shape == (14, 3)
    assert ((sparse != sparse[0]).sum(axis=1)[:-1] <= 1).all()
    assert (sparse[-1] == [axis[-1] for axis in AXES[:3]]).all()


def test_balanced_terms_matter_alike() -> None:
    random = np.random.default_rng(3)
    points = grid(*AXES[:2])
    drawn = balanced(random, draw(random, "additive", 50), points)
    assert (drawn.constants >= 0.1).all()
    assert (drawn(points).mean(axis=1) <= 3.0).all()
    assert (drawn(points).mean(axis=1) >= 0.3).all()


def test_unknown_families_are_refused() -> None:
    with pytest.raises(UsageError, match="additive, multiplicative, mixed, irrelevant"):
        draw(np.random.default_rng(4), "quadratic", 1)
    with pytest.raises(UsageError, match="2 and more"):
        draw(np.random.default_rng(4), "mixed", 1, parameters=1)
