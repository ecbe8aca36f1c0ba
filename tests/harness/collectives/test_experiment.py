"""What is asked of ``hindmost run collectives``, before there are ranks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hindmost.errors import UsageError
from hindmost.harness.collectives.experiment import CollectivesExperiment

PLAN = CollectivesExperiment(
    operations=("allreduce", "barrier", "alltoall"),
    sizes=(8, 1024),
    calls=10,
)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (
            {"operations": ("allredux",)},
            "'allredux'; did you mean allreduce? choose allreduce, reduce, bcast",
        ),
        ({"operations": ()}, "--operations names no collective; choose allreduce"),
        ({"operations": ("bcast", "bcast")}, "--operations: a duplicate"),
        ({"sizes": ()}, "--bytes names no size"),
        ({"sizes": (8, 8)}, "--bytes: a duplicate"),
        ({"sizes": (8, 12)}, "--bytes 12: a size must be a positive multiple of 8"),
        ({"sizes": (0,)}, "--bytes 0: "),
        ({"sizes": (-8,)}, "--bytes -8: "),
        ({"sizes": (2**31,)}, "at most 2,000,000,000"),
        ({"calls": 0}, "--calls 0: it must be at least 1"),
    ],
)
def test_what_cannot_be_run(change: dict[str, object], word: str) -> None:
    with pytest.raises(UsageError) as refused:
        replace(PLAN, **change).check()  # type: ignore[arg-type]  # what tests break on purpose
    assert word in str(refused.value)


def test_a_barrier_needs_no_size() -> None:
    replace(PLAN, operations=("barrier",), sizes=()).check()
