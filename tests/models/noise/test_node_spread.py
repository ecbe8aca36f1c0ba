from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hindmost.errors import DataError
from hindmost.models.noise.node_spread import spread_over_nodes
from hindmost.records import to_document


def layout(
    sizes: list[int], *, between: float, within: float, iterations: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return times with these deviations on shuffled ranks, and the node of each rank."""
    random = np.random.default_rng(seed)
    node = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    effect = between * random.standard_normal((iterations, len(sizes)))
    pace = 1e-4 * random.lognormal(0.0, 0.5, (iterations, 1))  # iterations differ much more
    noise = within * random.standard_normal((iterations, node.size))
    return 1e-3 + pace + effect[:, node] + noise, node


@pytest.mark.parametrize("sizes", [[4, 4, 4], [1, 5, 2, 7]])
def test_splits_the_variance_as_the_f_test_does(sizes: list[int]) -> None:
    times, node = layout(sizes, between=2e-6, within=1e-6, iterations=6, seed=1)
    spread = spread_over_nodes(times, node)
    unbalanced = (sum(sizes) - sum(n * n for n in sizes) / sum(sizes)) / (len(sizes) - 1)
    for k in range(6):
        groups = [times[k, node == i] for i in range(len(sizes))]
        expected = stats.f_oneway(*groups).statistic
        ratio = 1.0 + unbalanced * spread.between[k] / spread.within[k]
        assert ratio == pytest.approx(expected, rel=1e-6)
        squares = sum(float(np.sum((group - group.mean()) ** 2)) for group in groups)
        assert spread.within[k] == pytest.approx(squares / (sum(sizes) - len(sizes)), rel=1e-6)


@pytest.mark.parametrize("sizes", [[8] * 10, [1, 3, 16, 8, 20, 2, 30]])
@pytest.mark.parametrize("between", [0.0, 1e-6, 8e-6])
def test_recovers_the_components_it_was_made_of(sizes: list[int], between: float) -> None:
    times, node = layout(sizes, between=between, within=2e-6, iterations=3000, seed=2)
    spread = spread_over_nodes(times, node)
    assert spread.pooled_within == pytest.approx(4e-12, rel=0.02)
    assert spread.pooled_between == pytest.approx(between**2, rel=0.1, abs=4e-14)
    assert spread.intraclass == pytest.approx(between**2 / (between**2 + 4e-12), abs=0.02)


def test_nodes_are_recommended_where_iterates_are_nearly_constant_on_a_node() -> None:
    times, node = layout([64] * 16, between=1e-5, within=1e-7, iterations=50, seed=4)
    spread = spread_over_nodes(times, node)
    assert spread.recommended == "nodes"
    assert "Use P = 16 (nodes)" in spread.explain()
    loose, node = layout([64] * 16, between=1e-6, within=1e-6, iterations=50, seed=4)
    spread = spread_over_nodes(loose, node)
    assert spread.recommended == "ranks"
    assert "Use P = 1024 (ranks)" in spread.explain()
    figures = json.loads(json.dumps(to_document(spread), allow_nan=False))
    assert figures["intraclass"] == pytest.approx(0.5, abs=0.1)


def test_times_without_spread_are_answered() -> None:
    spread = spread_over_nodes(np.full((3, 4), 1e-4), np.array([0, 0, 1, 1]))
    assert spread.intraclass == 0.0
    assert spread.recommended == "ranks"


@pytest.mark.parametrize(
    ("times", "node", "word"),
    [
        (np.ones((3, 4)), np.zeros(4, int), "one node"),
        (np.ones((3, 4)), np.arange(4), "alone on its node"),
        (np.ones((3, 4)), np.zeros(3, int), "shape"),
        (np.full((3, 4), np.inf), np.array([0, 0, 1, 1]), "not a number"),
    ],
)
def test_what_cannot_be_split_is_refused(
    times: NDArray[np.float64], node: NDArray[np.int64], word: str
) -> None:
    with pytest.raises(DataError, match=word):
        spread_over_nodes(times, node)
