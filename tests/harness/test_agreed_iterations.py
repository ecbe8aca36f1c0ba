"""Ranks agree on the iterations of a loop, whatever each of them finished."""

import pickle
import threading
from typing import Any

import numpy as np
import pytest

from hindmost.harness.attach.own_iterations import AgreedIterations, RankIterations


class Together:
    """Ranks that are threads of this process, and the bytes that each is given."""

    def __init__(self, size: int) -> None:
        self.size, self.given = size, [0] * size
        self._values: list[Any] = [None] * size
        self._barrier = threading.Barrier(size)

    def rank(self, number: int) -> Any:
        """Return the communicator of a rank."""
        together = self

        class OfRank:
            size = together.size

            def exchanged(self, value: Any) -> list[Any]:
                together._values[number] = value
                together._barrier.wait()
                found = list(together._values)
                together._barrier.wait()
                return found

            def allgather(self, value: Any) -> list[Any]:
                found = self.exchanged(value)
                together.given[number] += len(pickle.dumps(found))
                return found

            def allreduce(self, value: Any) -> Any:
                found = np.sum(self.exchanged(value), axis=0)
                together.given[number] += len(pickle.dumps(found))
                return found

        return OfRank()


def agreed(ranks: list[tuple[list[int], dict[int, str], int]]) -> tuple[list[Any], int]:
    """Return what each rank gets, and the largest number of bytes that one is given."""
    together = Together(len(ranks))
    found: list[Any] = [None] * len(ranks)

    def of(number: int) -> None:
        finished, raised, begun = ranks[number]
        own = RankIterations(finished=np.array(finished, np.int64), raised=raised, begun=begun)
        found[number] = AgreedIterations.of([own], together.rank(number))

    threads = [threading.Thread(target=of, args=(number,)) for number in range(len(ranks))]
    for each in threads:
        each.start()
    for thread in threads:
        thread.join()
    return found, max(together.given)


def test_those_that_all_finished_are_kept() -> None:
    ranks = [([0, 1, 2, 4], {3: "OSError"}, 5), ([0, 2, 3, 4, 5], {1: "KeyError"}, 6)]
    for each in agreed(ranks)[0]:
        assert each.kept.tolist() == [0, 2, 4]
        assert each.why_missing == (
            "iteration 1 raised KeyError on rank 1; iteration 3 raised OSError on rank 0; "
            "the ranks began 5 to 6 iterations; iterations that all ranks finished are kept"
        )


def test_many_that_raised_are_counted() -> None:
    none: list[int] = []
    ranks = [(none, dict.fromkeys(range(at, 90, 2), "E"), 90) for at in (0, 1)]
    (first, second), _ = agreed(ranks)
    assert first.why_missing == second.why_missing
    assert "iteration 4 raised E on rank 0; 85 further iterations raised; it" in first.why_missing
    assert not first.kept.size


def test_nothing_is_missing() -> None:
    ((one,), _) = agreed([(list(range(7)), {}, 7)])
    assert (one.kept.tolist(), one.why_missing) == (list(range(7)), "")


@pytest.mark.parametrize("iterations", [100, 10_000])
def test_what_a_rank_is_given_does_not_grow_with_ranks_times_iterations(iterations: int) -> None:
    done = list(range(iterations))
    given = [agreed([(done, {}, iterations)] * ranks)[1] for ranks in (2, 16)]
    assert given[1] - given[0] < 2000  # a few bytes of each rank
