"""Which ranks keep full records: extremes, clusters, slopes."""

import numpy as np
import pytest
from benchmarks.synthetic.populations import CULPRITS, Population, draw_population
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.models.ranks.spread import Spread, on_processes

from hindmost.errors import DataError, UsageError
from hindmost.models.events import EventKind
from hindmost.models.laws.law import fit_johnsonsu
from hindmost.models.noise.times import Digest
from hindmost.models.ranks.body_extremes import digest_of_ranks
from hindmost.models.ranks.kmeans import (
    Clustering,
    cluster,
    cluster_by_silhouette,
    first_centroids,
)
from hindmost.models.ranks.profile import ProfileSum
from hindmost.models.ranks.reductions import ONE_PROCESS
from hindmost.models.ranks.selection import (
    BodiesOfRanks,
    exemplars,
    keep,
    largest,
    outliers,
    ranks_to_keep,
    select,
)
from hindmost.models.ranks.slopes import SlopeSum
from hindmost.models.ranks.vectors import RankMetrics
from hindmost.models.simulation.blocks import EventBlock

BODIES, RANKS = 60, 7
FILL = np.arange(BODIES) < 5


def bodies() -> NDArray[np.float64]:
    random = np.random.default_rng(1)
    work = 1e-4 * (1.0 + random.gamma(1.0, 0.2, (BODIES, RANKS)))
    return np.asarray(work + random.exponential(2e-5, work.shape))


def test_bodies_are_those_of_all_ranks() -> None:
    durations = bodies()
    found = digest_of_ranks(durations, FILL)
    np.testing.assert_array_equal(found.fastest, durations.min(axis=1))
    np.testing.assert_array_equal(found.slowest, durations.max(axis=1))
    np.testing.assert_allclose(found.middle, durations.mean(axis=1), rtol=1e-14)


def test_the_histogram_has_the_moments_and_the_law_of_all_bodies() -> None:
    durations = bodies()
    sample = digest_of_ranks(durations, FILL).sample
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
    found = digest_of_ranks(same, np.zeros(10, bool)).sample
    assert found.count.tolist() == [30]
    assert found.point == pytest.approx([level + 1e-6])
    assert np.sqrt(found.variance) == pytest.approx([0.0], abs=1e-15)


def test_processes_find_together_what_one_finds() -> None:
    durations = bodies()

    def on_one(spread: Spread) -> Digest:
        return digest_of_ranks(durations[:, spread.mine], FILL, reductions=spread)

    alone = digest_of_ranks(durations, FILL)
    for found in on_processes(3, RANKS, on_one):
        for name in ("fastest", "slowest", "middle"):
            np.testing.assert_allclose(getattr(found, name), getattr(alone, name), rtol=1e-12)
        for name in ("point", "count", "variance", "smallest", "largest"):
            one, other = getattr(found.sample, name), getattr(alone.sample, name)
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)


Vectors = NDArray[np.float64]


def blobs(
    ranks: int, metrics: int, groups: int, spread: float, seed: int
) -> tuple[Vectors, NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    centres = random.permutation(np.eye(metrics))[:groups] + 0.1 * random.random((groups, metrics))
    label = random.integers(0, groups, ranks)
    points: Vectors = centres[label] + spread * random.standard_normal((ranks, metrics))
    return points, label


def serial_reference(points: Vectors, centroids: Vectors) -> tuple[Vectors, Vectors]:
    """Return labels and centroids of Lloyd's iteration, written as plainly as can be."""
    while True:
        labels = np.array([((point - centroids) ** 2).sum(axis=1).argmin() for point in points])
        moved = np.array([points[labels == at].mean(axis=0) for at in range(len(centroids))])
        if np.allclose(moved, centroids, rtol=0, atol=1e-13):
            return labels, moved
        centroids = moved


def test_as_a_serial_reference_from_the_same_start() -> None:
    points, _ = blobs(300, 6, 4, 0.25, 0)
    [start] = first_centroids(points, 4, 1, 3, ONE_PROCESS)
    labels, centroids = serial_reference(points, start)
    found = cluster(points, 4, starts=1, seed=3, tolerance=0.0)
    order = [int(np.abs(centroids - centroid).sum(axis=1).argmin()) for centroid in found.centroids]
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_array_equal(np.array(order)[found.labels], labels)
    np.testing.assert_allclose(found.centroids, centroids[order], atol=1e-12)
    squares = ((points - centroids[labels]) ** 2).sum()
    np.testing.assert_allclose(found.inertia, squares, rtol=1e-12)


def assert_same(one: Clustering, parts: list[Clustering]) -> None:
    for each in parts:
        np.testing.assert_allclose(each.centroids, one.centroids, rtol=1e-12)
        np.testing.assert_array_equal(each.sizes, one.sizes)
        assert each.inertia == pytest.approx(one.inertia, rel=1e-12)
        assert each.silhouette == pytest.approx(one.silhouette, rel=1e-12)
    np.testing.assert_array_equal(np.concatenate([part.labels for part in parts]), one.labels)
    distances = np.concatenate([part.distances for part in parts])
    np.testing.assert_allclose(distances, one.distances, rtol=1e-10)


@pytest.mark.parametrize("processes", [2, 5, 60])
def test_the_same_groups_however_ranks_are_spread(processes: int) -> None:
    points, _ = blobs(60, 4, 3, 0.4, 4)

    def part(spread: Spread) -> Clustering:
        return cluster(points[spread.mine], 4, reductions=spread)

    assert_same(cluster(points, 4), on_processes(processes, 60, part))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), k=st.integers(1, 6), ranks=st.integers(1, 30))
def test_groups_are_never_empty_and_every_rank_is_with_the_nearest(
    seed: int, k: int, ranks: int
) -> None:
    points = np.random.default_rng(seed).integers(0, 3, (ranks, 2)).astype(float)
    found = cluster(points, k, tolerance=0.0)
    assert found.k <= min(k, len(np.unique(points, axis=0)))
    assert found.sizes.min() > 0
    squares = ((points[:, None] - found.centroids) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.distances**2, squares.min(axis=1), atol=1e-9)


@pytest.mark.parametrize("groups", [1, 2, 3, 5])
def test_the_number_of_groups_is_found(groups: int) -> None:
    points, _ = blobs(600, 6, groups, 0.03, 10 + groups)
    assert cluster_by_silhouette(points).k == groups


def test_one_cloud_is_one_group_and_a_few_ranks_are_not_all_groups_of_their_own() -> None:
    random = np.random.default_rng(0)
    for metrics in (2, 5, 20):
        assert cluster_by_silhouette(random.random((500, metrics))).k == 1
    assert cluster_by_silhouette(random.random((4, 3))).k < 4


def test_what_cannot_be_grouped_is_refused() -> None:
    with pytest.raises(UsageError, match="0 clusters from 5 starts"):
        cluster(np.ones((3, 2)), 0)
    with pytest.raises(DataError, match="No rank"):
        cluster(np.ones((0, 2)), 2)
    with pytest.raises(DataError, match="not a number"):
        cluster(np.array([[1.0], [np.nan]]), 2)


def metrics_of(values: Vectors, domains: tuple[str, ...]) -> RankMetrics:
    names = tuple(f"m{at}" for at in range(len(domains)))
    return RankMetrics(values=values, names=names, units=("",) * len(domains), domains=domains)


def test_normalisation_is_that_of_the_paper() -> None:
    values = np.array([[2.0, 10.0, 7.0], [4.0, 20.0, 7.0], [3.0, 30.0, 0.0]])
    found = metrics_of(values, ("time", "time", "bytes")).normalised()
    # (m - min_m) / max_d, the maximum over the domain
    wanted = np.array([[0.0, 0.0, 1.0], [2 / 30, 10 / 30, 1.0], [1 / 30, 20 / 30, 0.0]])
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    assert not metrics_of(np.zeros((3, 2)), ("time", "bytes")).normalised().any()


def test_metrics_that_are_none_are_refused() -> None:
    with pytest.raises(DataError, match="'m1' of rank 1 is not a number"):
        metrics_of(np.array([[1.0, 2.0], [1.0, np.nan]]), ("time", "time"))
    with pytest.raises(DataError, match=r"must be \(rank, metric\)"):
        metrics_of(np.ones(3), ("time",))


@settings(max_examples=60, deadline=None)
@given(
    scores=st.lists(st.floats(-1e300, 1e300) | st.sampled_from([0.0, -0.0, 1.0]), max_size=40),
    count=st.integers(0, 45),
    processes=st.integers(1, 3),
)
def test_the_largest_are_those_of_a_sorted_list(
    scores: list[float], count: int, processes: int
) -> None:
    values = np.array(scores, np.float64)
    wanted = sorted(range(values.size), key=lambda at: (-values[at], at))[:count]

    def part(spread: Spread) -> NDArray[np.bool_]:
        return largest(values[spread.mine], np.array([count]), ids=spread.mine, reductions=spread)

    found = np.concatenate(on_processes(processes, values.size, part))
    assert np.flatnonzero(found).tolist() == sorted(wanted)


def test_exemplars_and_outliers_of_every_group() -> None:
    points = np.array([[0.0], [0.1], [0.2], [0.9], [5.0], [5.1], [5.5]])
    found = cluster(points, 2)
    # means 0.3 and 5.2: nearest 0.2 and 5.1, farthest 0.9 and 5.5
    np.testing.assert_array_equal(np.flatnonzero(exemplars(found)), [2, 5])
    np.testing.assert_array_equal(np.flatnonzero(outliers(found, 2)), [3, 6])
    np.testing.assert_array_equal(np.flatnonzero(outliers(found, 1)), [3])  # the larger group


@pytest.mark.parametrize("share", [0.002, 0.01, 0.05, 0.25, 1.0])
def test_the_share_is_kept_exactly_and_named_ranks_count(share: float) -> None:
    population = draw_population("daemon", 512, 1, iterations=50)
    for always in ((), (17,)):
        chosen, _ = keep(seen(population), share, always=always)
        assert chosen.kept.sum() == ranks_to_keep(share, 512)
        assert ((chosen.reasons >= 0) == chosen.kept).all()
    assert chosen.kept[17]
    assert chosen.names[chosen.reasons[17]] == "always"
    assert (chosen.reasons == chosen.names.index("always")).sum() == 1
    with pytest.raises(UsageError, match="above 0 and at most 1"):
        ranks_to_keep(0.0, 10)


def seen(
    population: Population,
    ranks: slice | NDArray[np.int64] = slice(None),
    *,
    with_events: bool = True,
) -> BodiesOfRanks:
    return BodiesOfRanks(
        parts={"compute": population.compute_s[:, ranks], "send": population.send_s[:, ranks]},
        not_work={"halo": population.halo_s[:, ranks], "wait": population.wait_s[:, ranks]},
        transfer=population.slow_transfer_s[:, ranks] if with_events else None,
        counts={
            "messages": ("count", population.messages[ranks]),
            "bytes": ("bytes", population.bytes[ranks]),
        },
        ids=np.arange(len(population.hosts), dtype=np.int64)[ranks],
        node_of=np.unique(population.hosts, return_inverse=True)[1].astype(np.int64)[ranks],
        nodes=len(set(population.hosts)),
    )


@pytest.mark.parametrize("processes", [3, 24])
def test_the_same_choice_however_ranks_are_spread(processes: int) -> None:
    population = draw_population("slow node", 24, 2, iterations=40, node_ranks=4)
    whole, meeting = keep(seen(population), 0.2)
    parts = on_processes(
        processes, 24, lambda spread: keep(seen(population, spread.mine), 0.2, reductions=spread)
    )
    kept = np.concatenate([chosen.reasons for chosen, _ in parts])
    np.testing.assert_array_equal(kept, whole.reasons)
    lost = np.concatenate([met.lost_s for _, met in parts])
    np.testing.assert_allclose(lost, meeting.lost_s, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("kind", CULPRITS)
def test_culprits_are_kept_at_5_percent(kind: str) -> None:
    kept, plain = [], []
    for seed in (70, 71, 72):
        population = draw_population(kind, 2048, seed, iterations=200)
        chosen, _ = keep(seen(population), 0.05)
        kept.append(chosen.kept[population.culprits].mean())
        alone = select(chosen.clustering, ranks_to_keep(0.05, 2048), {})
        plain.append(alone.kept[population.culprits].mean())
        idle = np.argsort(population.idle_s)
        for top, paper in ((5, 1.0), (10, 0.7), (20, 0.45)):  # the paper's best table
            assert chosen.kept[idle[:top]].mean() >= paper
    assert np.mean(kept) >= 0.95
    assert np.mean(kept) >= np.mean(plain)


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
