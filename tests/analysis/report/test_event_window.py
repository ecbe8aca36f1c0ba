"""The timeline of a page has the longest work of a rank, within its budget, as it was recorded."""

import base64
import zlib
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import run_values

from hindmost.analysis.ranks.study import report_run
from hindmost.analysis.report import event_window as module
from hindmost.analysis.report.event_window import event_window, without_events
from hindmost.analysis.show.event_chart import PATH, EventChart, event_data, event_widget
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.events import EventKind
from hindmost.models.simulation.rerun import NOBODY

SLOW = 1234


def test_a_page_has_the_longest_iteration_of_a_long_run(
    tmp_path: Path, header: Header, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = run_values(iterations=2000, ranks=3, restart=2000, seed=1)
    work = np.array(values["event_work"])
    phases = np.array(values["phase_duration"])
    duration = np.array(values["duration"])
    extra = 5e-3
    duration[SLOW] += extra
    work[SLOW, 1] += extra
    phases[SLOW, 1, PHASES.index("local")] += extra
    phases[SLOW, [0, 2], PHASES.index("wait")] += extra
    start = np.cumsum(duration, axis=0) - duration + np.asarray(values["lead_in"])
    solve = 2 * np.asarray(values["lead_in"]) + duration.sum(axis=0)
    spent = (duration[:, :, None] - work).astype(np.float32)
    values |= {"duration": duration, "event_work": work, "event_duration": spent, "start": start,
               "phase_duration": phases, "solve_time": solve}  # fmt: skip
    run = open_run(write_whole(tmp_path, header, values))
    report = report_run(run)
    monkeypatch.setattr(module, "MAX_CELLS", 6000)
    chart = event_window(run, report)
    assert chart is not None
    assert SLOW in chart.iterations
    room = 6000 // (3 * (2 + 2 + len(run.phases)))
    assert chart.iterations.size <= room
    assert f"{chart.iterations.size} of 2,000 iterations" in chart.scope
    at = chart.iterations.tolist().index(SLOW)
    assert np.allclose(chart.duration[at], duration[SLOW])
    assert np.allclose(chart.begin[at] + chart.late[at], start[SLOW])
    assert np.allclose(
        sum(number[at] for number in chart.numbers.values()), duration[SLOW], rtol=1e-5
    )
    assert len(event_data(chart)["iterations"]) == chart.iterations.size
    monkeypatch.undo()
    whole = event_window(run, report)
    assert whole is not None
    assert whole.iterations.size == 2000
    assert whole.scope == ""


def windowed(folder: Path, header: Header, values: dict[str, object]) -> EventChart:
    run = open_run(write_whole(folder, header, values))
    chart = event_window(run, report_run(run))
    assert chart is not None
    return chart


def test_the_critical_path_is_on_the_rank_that_arrives_last(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    chart = windowed(tmp_path, header, values)
    work = np.asarray(values["event_work"])[:, :, 0]
    path = chart.path
    assert path is not None
    assert chart.why_no_path == ""
    np.testing.assert_array_equal(path.rank[:, 0], work.argmax(axis=1))
    np.testing.assert_allclose(path.span[:, 0], work.max(axis=1), rtol=1e-6)
    np.testing.assert_allclose(path.late[:, 0], 0.0, atol=1e-9)  # all ranks start together
    # After the reduction, whose end is the end of the iteration, nothing is left.
    duration = np.asarray(values["duration"]).max(axis=1)
    np.testing.assert_allclose(path.late[:, 1], duration, rtol=1e-6)
    assert path.span[:, 1].max() < 1e-9
    data = event_data(chart)
    codes = np.frombuffer(zlib.decompress(base64.b64decode(data["times"])), "<u2")
    assert codes.size == 40 * (3 * data["width"] + 3 * data["pieces"])
    np.testing.assert_array_equal(codes[-80:].reshape(40, 2) - 1, path.rank)


@pytest.mark.parametrize("posted", [False, True])
def test_pieces_of_the_path_are_where_the_recording_has_them(posted: bool) -> None:
    kind = np.array([[EventKind.POST if posted else EventKind.RECEIVE, EventKind.REDUCE, 0]])
    start = np.array([[1.0, 2.0]])
    work = np.array([[[0.5, 0.25, 9.0], [0.125, 4.0, 9.0]]])
    spent = np.array([[[0.0625, 1.0, 9.0], [1.0, 2.0, 9.0]]])
    passed = np.array([[0, 1, NOBODY, 0]])
    begin, span = module.pieces(
        kind.astype(np.uint8), passed, start=start, duration=np.array([[2.0, 8.0]]),
        event_work=work, event_duration=spent,
    )  # fmt: skip
    # Rank 0 works from 1.0; rank 1 leaves its first event at 3.125; rank 0 its last at 2.8125.
    np.testing.assert_array_equal(begin, [[1.0, 3.125, 1.0, 2.8125]])
    np.testing.assert_array_equal(span, [[0.5625 if posted else 0.5, 4.0, 0.0, 0.1875]])


def test_a_path_that_is_unknown_is_not_drawn(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    # A receipt follows the reduction, and the file does not say from whom.
    kind = np.tile(np.array([EventKind.REDUCE, EventKind.RECEIVE], np.uint8), (40, 1))
    edges = {name: np.empty(0, np.int64) for name in ("edge_source", "edge_target", "edge_bytes")}
    work = np.asarray(values["event_work"])
    inside = np.asarray(values["event_duration"])
    none = np.zeros_like(work)
    values |= edges | {
        "event_kind": kind,
        "event_work": np.concatenate([work, none], axis=2),
        "event_duration": np.concatenate([inside, none], axis=2),
    }
    chart = windowed(tmp_path, header, values)
    assert chart.path is None
    said = "the run does not say which ranks exchange messages."
    assert chart.why_no_path.startswith("The critical path is not drawn: ")
    assert chart.why_no_path.endswith(said)
    html = event_widget(chart, count(1), "Events", "").html
    assert said in html
    assert PATH not in html.partition("<script")[0]


def test_a_run_without_events_says_so(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    kept = {name: each for name, each in values.items() if not name.startswith("event_")}
    reason = "the ranks did not take part in the same collectives in every iteration"
    made = replace(header, spec={**header.spec, "events_left_out": reason})
    run = open_run(write_whole(tmp_path, made, kept))
    assert event_window(run, report_run(run)) is None
    assert without_events(run).endswith(f"neither they nor the critical path are drawn: {reason}.")
