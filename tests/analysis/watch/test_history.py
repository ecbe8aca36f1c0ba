"""What follows from frames, against frames of known contents."""

from typing import Any

import numpy as np
import pytest
from tests.analysis.watch.feeds import MS, RANKS, frame, head

from hindmost.analysis.watch.feed_history import MAX_FRAMES, FeedHistory, merged
from hindmost.analysis.watch.progress_text import hindmost_words


def history(frames: list[dict[str, Any]], iterations: int = 100_000) -> FeedHistory:
    told = FeedHistory(head())
    told.add({"kind": "solve", "solver": "cg", "number": 1, "iterations": iterations, "done": 0})
    for each in frames:
        told.add(each)
    return told


def test_the_rank_with_most_work_is_hindmost() -> None:
    told = history([frame(n, last=3 if n % 4 == 0 else 1) for n in range(8)])
    first, second = told.hindmost()
    assert (first.rank, second.rank) == (1, 3)
    assert (first.share, second.share) == (0.75, 0.25)
    assert first.excess_s == pytest.approx(6 * (8 - 5) * 1e-3)  # the mean of 8, 4, 4, 4 is 5
    assert told.shares() == {"halo": 0.0, "wait": 0.5, "post": 0.0, "local": 0.5}


def test_of_ranks_that_take_turns_none_is_named() -> None:
    assert hindmost_words(history([frame(n, last=n % 2) for n in range(40)])) == ""
    assert hindmost_words(history([frame(n, last=1) for n in range(4)])) == ""
    named = hindmost_words(history([frame(n, last=0 if n % 4 else 1) for n in range(40)]))
    assert named.startswith("slowest: rank 0, most work in 75 % of the time, ")


def test_old_frames_are_merged_and_nothing_is_lost() -> None:
    many = 3 * MAX_FRAMES + 7
    told = history([frame(n, last=n % RANKS) for n in range(many)])
    assert MAX_FRAMES // 2 < len(told.frames) <= MAX_FRAMES
    assert sum(sum(frame["bins"]) for frame in told.frames) == many * 100 * RANKS
    assert sum(frame["window_ns"] for frame in told.frames) == many * 10 * MS * RANKS
    assert sum(sum(frame["phase_ns"]) for frame in told.frames) == many * 10 * MS * RANKS
    ends = [frame["t_ns"] for frame in told.frames]
    assert ends == sorted(ends)
    assert told.frames[0]["heat"] == [800] * RANKS  # each was hindmost once: the largest stays


def test_merged_bins_keep_their_places() -> None:
    a, b = frame(0), frame(1)
    a |= {"first_bin": 3, "bins": [1, 2]}
    b |= {"first_bin": 5, "bins": [7]}
    assert (merged(a, b)["first_bin"], merged(a, b)["bins"]) == (3, [1, 2, 7])
    assert (merged(b, a)["first_bin"], merged(b, a)["bins"]) == (3, [1, 2, 7])


def test_the_interval_of_the_remaining_time_holds_it_as_often_as_it_says() -> None:
    random = np.random.default_rng(3)
    held, trials, steps, windows, left = 0, 400, 50, 12, 2000
    for _ in range(trials):
        took = random.gamma(4.0, 2.5e4, (windows, steps)).sum(axis=1).round()
        frames = [
            {**frame(n), "iteration": (n + 1) * steps, "t_ns": int(took[: n + 1].sum())}
            for n in range(windows)
        ]
        estimate = history(frames, windows * steps + left).estimate()
        assert estimate is not None
        assert estimate.interval_s is not None
        low, high = estimate.interval_s
        held += low <= random.gamma(4.0, 2.5e4, left).sum() * 1e-9 <= high
    assert 0.86 <= held / trials <= 0.94  # binomial: 0.9 +- 0.015


def test_a_second_solve_begins_anew_and_a_lost_writer_is_told() -> None:
    told = history([frame(n) for n in range(5)])
    told.add({"kind": "solve", "solver": "gmres", "number": 2, "iterations": 7, "done": 0})
    assert told.frames == []
    assert told.estimate() is None
    assert told.hindmost() == []
    told.lose()
    assert told.state()["end"]["status"] == "died"
