"""The time of a job until its limit: what `show` says of it, and its chart."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import run_values
from tests.harness.test_time_left import STOP, USE

import hindmost
from hindmost.analysis.report.run_figures import figure_named
from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.runs.figures.sampled import MAX_POINTS, longest_of_each
from hindmost.analysis.show.chart import Chart
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.time_left import KEY
from hindmost.harness.runfile.writer import write_whole
from hindmost.records import to_document

BEFORE_S = 50.0
"""From the begin of the watch to that of the loop."""


@pytest.fixture
def watched(tmp_path: Path, header: Header) -> Path:
    values = run_values(iterations=40, ranks=3, restart=40, seed=0)
    began_s = datetime.fromisoformat(header.t0_utc).timestamp() - BEFORE_S
    attached = {
        "name": "app",
        "execution": "here 1 2",
        "program": ["app"],
        "solves": 0,
        "seconds": 1.0,
        KEY: to_document(replace(USE, began_utc_s=began_s)),
    }
    spec = {**header.spec, "attached": attached}
    return write_whole(tmp_path, replace(header, solver="loop", restart=0, spec=spec), values)


def test_show_says_how_the_time_was_used(watched: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(watched)]) in (0, 1)
    assert USE.ending() in " ".join(capsys.readouterr().out.split())


def test_the_chart_has_iterations_bounds_checkpoints_and_the_stop(watched: Path) -> None:
    run = hindmost.open(watched)
    chart = figure_named("time-left").make(run, FigureChoice())
    assert isinstance(chart, Chart)
    series = {one.name: one for one in chart.series}
    assert list(series) == [
        "what the next iteration may take",
        "iterations",
        "what a checkpoint took",
        "told to stop",
        "limit",
    ]
    slowest = int(run.durations.sum(axis=0).argmax())
    ends = BEFORE_S + run.starts[:, slowest] + run.durations[:, slowest]
    np.testing.assert_allclose(series["iterations"].x, ends, atol=1e-6)
    assert set(series["told to stop"].x) == {STOP.at_s}
    assert set(series["limit"].x) == {USE.limit_s}
    assert len(series["what a checkpoint took"].x) == len(USE.checkpoints)


def test_a_run_without_a_limit_has_no_such_chart(run_file: Path) -> None:
    with pytest.raises(UsageError, match="--stop-before"):
        figure_named("time-left").make(hindmost.open(run_file), FigureChoice())


def test_of_many_iterations_the_longest_are_drawn() -> None:
    times = np.random.default_rng(1).exponential(size=7 * MAX_POINTS + 3)
    places = longest_of_each(times)
    assert places.size == MAX_POINTS
    assert int(times.argmax()) in places
    assert (np.diff(places) > 0).all()
