"""Where the iterations of a loop begin among the calls of a rank."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.harness.loops.tree import ContextCalls, begins_at_entry


@pytest.mark.parametrize(
    ("contexts", "begins", "expected"),
    [
        ("sabcdabcdabcd", (1, 2, 6, 10), (1, 5, 9)),  # the header lies between a and b
        ("sabcdabcdabcd", (1, 5, 9), (1, 5, 9)),
        ("sbabababa", (1, 2, 4, 6), (1, 2, 4, 6)),  # b in each, a in all but the first
        ("sabbbbb", (1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6)),
    ],
)
def test_iterations_begin_where_control_enters(
    contexts: str, begins: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    number = np.frombuffer(contexts.encode(), np.uint8)
    time = np.arange(number.size)
    calls = ContextCalls(
        context=number.astype(np.uint32),
        begin_ns=time,
        end_ns=time + 1,
        writes=np.zeros(number.size, np.bool_),
    )
    found = begins_at_entry(np.array(begins), np.array([1]), np.array([number.size - 1]), calls)
    assert found.tolist() == list(expected)
