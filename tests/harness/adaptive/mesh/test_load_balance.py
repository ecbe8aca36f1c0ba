"""Where the order is cut, and what goes where: against counting one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hindmost.harness.adaptive.mesh.part import nearest, overlaps


@given(
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=12),
    wanted=st.lists(st.integers(0, 100), min_size=1, max_size=5),
)
def test_the_nearest_edge(sizes: list[int], wanted: list[int]) -> None:
    edges = np.concatenate([[0], np.cumsum(sizes)])
    found = [edges[nearest(edges, place)] for place in wanted]
    assert found == [min(edges, key=lambda edge: (abs(edge - place), edge)) for place in wanted]


@given(
    old=st.lists(st.integers(0, 9), min_size=1, max_size=6),
    cuts=st.lists(st.floats(0, 1), min_size=1, max_size=6),
)
def test_every_cell_goes_to_its_owner(old: list[int], cuts: list[float]) -> None:
    before = np.concatenate([[0], np.cumsum(old)])
    total = int(before[-1])
    after = np.array([0, *sorted(round(cut * total) for cut in cuts), total])
    owner = np.full(total, -1)
    for rank in range(before.size - 1):
        first = before[rank]
        for target, count in enumerate(overlaps(before[rank : rank + 2], after)):
            owner[first : first + count] = target
            first += count
        assert first == before[rank + 1]
    expected = np.searchsorted(after, np.arange(total), side="right") - 1
    assert owner.tolist() == expected.tolist()
