"""Traces for Perfetto: what ranks do when, in microseconds."""

import json
from pathlib import Path

import numpy as np
import pytest

from hindmost.analysis.runs import trace_file
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import open_run


def test_a_trace_has_the_events_of_the_window(run_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    assert main(["show", str(run_file), "--trace", str(out), "--window", "5..7"]) == 0
    trace = json.loads(out.read_text(encoding="utf-8"))
    assert trace["otherData"]["origin"] == "synthetic"
    run = open_run(run_file)
    spans = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    assert {span["args"]["iteration"] for span in spans} == {5, 6, 7}
    assert {span["tid"] for span in spans} == {0, 1, 2}
    (reduction,) = (
        span
        for span in spans
        if (span["name"], span["tid"], span["args"]["iteration"]) == ("reduce", 1, 6)
    )
    work = run.variable("event_work")[6, 1, 0]
    assert reduction["ts"] == pytest.approx(1e6 * (run.starts[6, 1] + work))
    assert reduction["dur"] == pytest.approx(1e6 * run.variable("event_duration")[6, 1, 0])
    total_s = 1e-6 * sum(span["dur"] for span in spans)
    assert total_s == pytest.approx(float(np.sum(run.durations[5:8])), rel=1e-4)
    names = [each["args"]["name"] for each in trace["traceEvents"] if each["ph"] == "M"]
    assert names == ["node-0", "rank 0", "rank 1", "rank 2"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--window", "1..2"], "give --trace too"),
        (["--trace", "t.json", "--window", "7"], "first and last iteration"),
        (["--trace", "t.json", "--window", "7..5"], "a window ascends"),
        (["--trace", "t.json", "--window", "0..40"], "iterations 0 to 39"),
    ],
)
def test_bad_windows_are_refused(run_file: Path, words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        main(["show", str(run_file), *words])


def test_large_traces_are_refused(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_file, "MAX_EVENTS", 10)
    with pytest.raises(UsageError, match="Give a smaller --window"):
        trace_file.trace_of(open_run(run_file), slice(0, 40))
