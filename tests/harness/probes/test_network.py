from __future__ import annotations

import pytest

from hindmost.errors import UsageError
from hindmost.harness.probes.network import (
    NetworkTimes,
    described,
    message_sizes,
    pairs,
    rank_counts,
)
from hindmost.harness.probes.sampling import Timed


def test_sizes() -> None:
    sizes = message_sizes()
    assert sizes[:9] == (0, 1, 2, 3, 4, 6, 8, 12, 16)
    assert sizes[-3:] == (2 * 2**20, 3 * 2**20, 4 * 2**20)


@pytest.mark.parametrize(
    ("size", "counts"), [(1, ()), (2, (2,)), (3, (2, 3)), (8, (2, 4, 8)), (12, (2, 4, 8, 12))]
)
def test_allreduce_on_powers_of_two_and_on_all(size: int, counts: tuple[int, ...]) -> None:
    assert rank_counts(size) == counts


@pytest.mark.parametrize(
    ("nodes", "within", "across"),
    [
        ([0, 0], (0, 1), None),
        ([0, 0, 2, 2], (0, 1), (0, 2)),  # ranks fill one node after the other
        ([0, 1, 0, 1], (0, 2), (0, 1)),  # ranks are dealt out to the nodes
        ([0, 1, 1], (1, 2), (0, 1)),
    ],
)
def test_pairs(nodes: list[int], within: tuple[int, int], across: tuple[int, int] | None) -> None:
    found = pairs(nodes)
    assert found.pop("within") == within
    assert found.pop("across", None) == across


@pytest.mark.parametrize("nodes", [[0], [0, 1, 2]])
def test_a_pair_on_one_node_is_needed(nodes: list[int]) -> None:
    with pytest.raises(UsageError, match="mpiexec -n 2 hindmost probe network"):
        pairs(nodes)


def timed(sizes: tuple[int, ...], latency_s: float, per_byte_s: float) -> tuple[Timed, ...]:
    """Return times of a known link, one batch in three disturbed."""
    exact = [latency_s + per_byte_s * size for size in sizes]
    return tuple(
        Timed(size=size, repeats=10, seconds=(each, 3 * each, each))
        for size, each in zip(sizes, exact, strict=True)
    )


def test_a_known_link_comes_back() -> None:
    sizes = message_sizes()
    links = {
        "within": timed(sizes, 5e-6, 1e-9), "within_both_ways": timed(sizes, 8e-6, 3e-9),
    }  # fmt: skip
    reductions = {2: timed((8,), 7e-6, 0.0)}
    outcome = described(NetworkTimes(ranks={"within": (0, 1)}, links=links, reductions=reductions))
    network = outcome.changes["network"]
    assert len(network.within.pieces) == 1
    assert network.within.pieces[0].latency_s == pytest.approx(5e-6)
    assert network.within.pieces[0].per_byte_s == pytest.approx(1e-9)
    assert network.within_both_ways.pieces[0].per_byte_s == pytest.approx(3e-9)
    assert network.across is None
    assert {each.seconds for each in network.allreduce} == {7e-6}
    assert outcome.samples["within"]["sizes"][1]["seconds"] == pytest.approx(
        [5.001e-6, 15.003e-6, 5.001e-6]
    )
    assert ("within one way, from 0 B", "5.00 us + bytes / 1.00 GB/s") in outcome.rows
