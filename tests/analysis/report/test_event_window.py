"""The timeline of a page has the longest work of a rank, within its budget, as it was recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import run_values

from hindmost.analysis.ranks.study import report_run
from hindmost.analysis.report import event_window as module
from hindmost.analysis.report.event_window import event_window
from hindmost.analysis.show.event_chart import event_data
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.harness.runfile.writer import write_whole

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
    phases[SLOW, 1, values_of("local")] += extra
    phases[SLOW, [0, 2], values_of("wait")] += extra
    start = np.cumsum(duration, axis=0) - duration + np.asarray(values["lead_in"])
    solve = 2 * np.asarray(values["lead_in"]) + duration.sum(axis=0)
    spent = (duration[:, :, None] - work).astype(np.float32)
    values |= {"duration": duration, "event_work": work, "event_duration": spent, "start": start,
               "phase_duration": phases, "solve_time": solve}  # fmt: skip
    run = open_run(write_whole(tmp_path, header, values))
    report = report_run(run)
    monkeypatch.setattr(module, "MOST_VALUES", 6000)
    chart = event_window(run, report)
    assert chart is not None
    assert SLOW in chart.iterations
    room = 6000 // (3 * (2 + 2 + len(run.phases)))
    assert chart.iterations.size <= room
    assert f"{chart.iterations.size} of 2,000 iterations" in chart.scope
    at = chart.iterations.tolist().index(SLOW)
    assert np.allclose(chart.duration[at], duration[SLOW])
    assert np.allclose(chart.begin[at] + chart.late[at], start[SLOW])
    assert np.allclose(sum(each[at] for each in chart.numbers.values()), duration[SLOW], rtol=1e-5)
    assert len(event_data(chart)["iterations"]) == chart.iterations.size
    monkeypatch.undo()
    whole = event_window(run, report)
    assert whole is not None
    assert whole.iterations.size == 2000
    assert whole.scope == ""


def values_of(phase: str) -> int:
    """Return the place of a phase."""
    return PHASES.index(phase)
