from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.models.ranks.spread import Spread, on_processes

from hindmost.errors import DataError, UsageError
from hindmost.models.ranks.kmeans import (
    Clustering,
    cluster,
    cluster_by_silhouette,
    first_centroids,
)
from hindmost.models.ranks.reductions import ONE_PROCESS
from hindmost.models.ranks.vectors import RankMetrics

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
        labels = np.array([((each - centroids) ** 2).sum(axis=1).argmin() for each in points])
        moved = np.array([points[labels == at].mean(axis=0) for at in range(len(centroids))])
        if np.allclose(moved, centroids, rtol=0, atol=1e-13):
            return labels, moved
        centroids = moved


def test_as_a_serial_reference_from_the_same_start() -> None:
    points, _ = blobs(300, 6, 4, 0.25, 0)
    [start] = first_centroids(points, 4, 1, 3, ONE_PROCESS)
    labels, centroids = serial_reference(points, start)
    found = cluster(points, 4, starts=1, seed=3, tolerance=0.0)
    order = [int(np.abs(centroids - each).sum(axis=1).argmin()) for each in found.centroids]
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
    np.testing.assert_array_equal(np.concatenate([each.labels for each in parts]), one.labels)
    distances = np.concatenate([each.distances for each in parts])
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
