from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.models.ranks.spread import Spread, on_processes

from hindmost.errors import UsageError
from hindmost.models.ranks.kmeans import cluster
from hindmost.models.ranks.selection import (
    BodiesOfRanks,
    exemplars,
    keep,
    largest,
    outliers,
    ranks_to_keep,
    select,
)
from hindmost.models.synthetic.populations import CULPRITS, Population, draw_population


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


@pytest.mark.parametrize("share", [0.01, 0.05, 0.25, 1.0])
def test_named_ranks_are_kept_and_counted(share: float) -> None:
    population = draw_population("daemon", 128, 1, iterations=50)
    chosen, _ = keep(seen(population), share, always=(17,))
    assert chosen.kept[17]
    assert chosen.kept.sum() == ranks_to_keep(share, 128)
    assert chosen.names[chosen.reasons[17]] == "always"
    assert (chosen.reasons == chosen.names.index("always")).sum() == 1
    assert ((chosen.reasons >= 0) == chosen.kept).all()


def test_the_share_is_kept_exactly() -> None:
    population = draw_population("daemon", 512, 1, iterations=50)
    for share in (0.002, 0.01, 0.05, 0.5, 1.0):
        chosen, _ = keep(seen(population), share)
        assert chosen.kept.sum() == ranks_to_keep(share, 512)
        assert ((chosen.reasons >= 0) == chosen.kept).all()
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
