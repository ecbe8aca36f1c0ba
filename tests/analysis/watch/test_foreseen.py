"""What a run that predicts itself says of its next cycle, from its frames to the words."""

import io
import json
import math
from typing import Any

import pytest
from rich.console import Console
from tests.analysis.watch.feeds import MS, frame, head

from hindmost.analysis.watch.feed_history import FeedHistory
from hindmost.analysis.watch.progress_text import line
from hindmost.analysis.watch.screen import screen
from hindmost.harness.adaptive.decks import TIMING_A
from hindmost.harness.adaptive.foresight import foreseen, predictor_of
from hindmost.harness.runfile.feed import FeedPrediction, whole_ns
from hindmost.models.adaptive.work import Spent, Work

TOLD = {
    "cycle": 501,
    "next_ns": [None, 2 * MS, 3 * MS],
    "error_percent": [None, 12.5, 4.25],
    "decides": 2,
    "interval_ns": [2 * MS, 5 * MS],
    "rest_ns": 7_000 * MS,
}


def history(*frames: dict[str, Any], predictors: tuple[str, ...] = ("a", "b", "c")) -> FeedHistory:
    told = FeedHistory(head())
    told.add(
        {"kind": "solve", "solver": "mesh", "number": 1, "iterations": 2500, "done": 0,
         "predictors": predictors}
    )  # fmt: skip
    for each in frames:
        told.add(each)
    return told


def test_the_runs_own_prediction_says_when_it_will_end() -> None:
    told = history(frame(3), {**frame(4), "foreseen": TOLD})
    estimate = told.estimate()
    assert estimate is not None
    assert (estimate.remaining_s, estimate.interval_s, estimate.by) == (7.0, None, "c")
    state = json.loads(json.dumps(told.state(), allow_nan=False))
    assert state["predictions"] == [
        {"name": "c", "seconds": 0.003, "error_percent": 4.25},
        {"name": "a", "seconds": None, "error_percent": None},
        {"name": "b", "seconds": 0.002, "error_percent": 12.5},
    ]
    assert (state["remaining_s"], state["remaining_by"]) == (7.0, "c")
    assert state["next_interval_s"] == pytest.approx([0.002, 0.005])
    words = line(told)
    assert "iteration 500 of 2,500 (20%) after 50.0 ms, 7.00 s left by c; " in words
    assert "next cycle 3.00 ms by c (2.00 ms to 5.00 ms), recent error 4.2 %; " in words
    told.add({"kind": "end", "status": "done"})
    assert "next cycle" not in line(told)


def test_without_a_prediction_the_mean_until_now_goes_on() -> None:
    plain = history(frame(4)).estimate()
    estimate = history({**frame(4), "foreseen": {**TOLD, "rest_ns": None}}).estimate()
    assert plain is not None
    assert plain.remaining_s == pytest.approx(2000 * 1e-4)  # 100 iterations are 10 ms
    assert estimate == plain
    assert estimate.by == ""


def test_the_screen_has_a_line_for_it() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    console.print(screen(history({**frame(4), "foreseen": TOLD}), 100, 40))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert sum(line.startswith("next cycle 3.00 ms by c") for line in lines) == 1
    assert any("b 2.00 ms" in line for line in lines)


def test_foresight_tells_what_it_has_seen() -> None:
    """Cycles of 1 ms a cell whose mesh has 100, 100, 200 cells: all predictors know the next."""
    predictor = predictor_of(TIMING_A)
    for number, cells in enumerate((100.0, 100.0, 200.0)):
        work = Work(cells=cells, total=cells, steps=1)
        told = foreseen(predictor, work, number + 1, 10 - number)
        assert told.cycle == number + 1
        if number == 0:
            assert told.next_ns == (None, None, None)
            assert (told.interval_s, told.rest_ns) == (None, None)
        else:
            assert told.next_ns == pytest.approx((1e6 * cells,) * 3)
            assert told.rest_ns == pytest.approx(1e6 * cells * (10 - number))
        if number == 2:  # one ratio of measured over predicted is known: 1
            assert told.interval_s is not None
            assert told.interval_s[0] < 1e-3 * cells < told.interval_s[1]
        read = FeedPrediction.of({"foreseen": json.loads(told.text())})
        assert read is not None
        assert (read.next_ns, read.rest_ns) == (told.next_ns, told.rest_ns)
        assert read.interval_ns == told.interval_ns
        predictor.observe(Spent(seconds=1e-3 * cells), work)
    errors = foreseen(predictor, work, 4, 1).error_percent
    assert errors == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)


def test_errors_are_those_of_the_last_cycles() -> None:
    """Each cycle takes what the one before took, but for one that is twice as long, long ago."""
    predictor = predictor_of(TIMING_A)
    work = Work(cells=1.0, total=1.0, steps=1)
    seen: list[float | None] = []
    for seconds in (1.0, 1.0, 2.0, *(2.0,) * 12):
        _, error, _ = foreseen(predictor, work, 1, 1).error_percent  # of online-1
        seen.append(error)
        predictor.observe(Spent(seconds=seconds), work)
    assert seen[:2] == [None, None]
    assert seen[2:5] == pytest.approx([0.0, 25.0, 50.0 / 3])  # half of it was foreseen, once
    assert seen[12] == pytest.approx(5.0)  # one of ten
    assert seen[13] == pytest.approx(0.0)


def test_what_is_no_number_is_not_told() -> None:
    assert [whole_ns(each) for each in (math.nan, math.inf, 1.5e-9)] == [None, None, 2]
