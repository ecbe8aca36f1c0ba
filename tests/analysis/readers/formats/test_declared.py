"""Formats by declaration: sites' harnesses, benchmarks of languages, benchmarks of the network."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.readers.history_files import (
    CATCH,
    CRITERION_LINES,
    GO_TEXT,
    by_name,
    jmh,
    perflog,
    ramble,
    reframe_report,
    talp,
)

from hindmost.analysis.readers.read import read_experiment, read_history
from hindmost.cli import main
from hindmost.errors import DataError

NIGHTS = 40


def write_perflogs(folder: Path, *, step: float) -> Path:
    """Write the logs of 40 nights, in ReFrame's folders; the last ten take longer."""
    random = np.random.default_rng(4)
    lines = [
        {
            "job_completion_time": f"2026-{10 + night // 31}-{night % 31 + 1:02}T03:00:12+01:00",
            "triad_value": f"{1e5 * random.lognormal(0.0, 0.01):.1f}",
            "took_value": f"{random.lognormal(0.0, 0.01) * (step if night >= 30 else 1.0):.4f}",
        }
        for night in range(NIGHTS)
    ]
    logs = folder / "perflogs" / "blake" / "cpu"
    logs.mkdir(parents=True)
    (logs / "stream.log").write_text(perflog(*lines))
    failed = {**lines[0], "result": "fail", "triad_value": "None", "took_value": "None"}
    (logs / "bad.log").write_text(perflog(failed, name="bad"))
    return folder / "perflogs"


def test_a_page_from_reframes_folder_in_one_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs, page = write_perflogs(tmp_path, step=1.2), tmp_path / "page.html"
    assert main(["history", str(logs), "--report", str(page)]) == 1
    out = capsys.readouterr().out
    assert "fail: 1 slowdown confirmed in 1 case" in out
    assert "blake:cpu, stream %size=1 [gnu], took: " in out
    assert "stream %size=1 [gnu], took" in page.read_text()


def test_reframe_logs_that_name_a_test_by_its_display_name(tmp_path: Path) -> None:
    logs = write_perflogs(tmp_path, step=1.0)
    for log in logs.rglob("*.log"):
        log.write_text(log.read_text().replace("|name|", "|display_name|"))
    assert ("blake:cpu", "stream %size=1 [gnu]", "took") in by_name(read_history(logs))


def test_reframe_logs(tmp_path: Path) -> None:
    history = read_history(write_perflogs(tmp_path, step=1.0))
    found = by_name(history)
    case = ("blake:cpu", "stream %size=1 [gnu]")
    assert set(found) == {(*case, "triad"), (*case, "took")}
    triad, took = found[(*case, "triad")], found[(*case, "took")]
    # The lower threshold alone says it, and of took there are both.
    assert (triad.unit, triad.smaller_is_better) == ("MB/s", False)
    assert (took.unit, took.smaller_is_better) == ("s", True)
    assert len(triad.values) == NIGHTS
    assert triad.circumstances[0].software == {"environment": "gnu"}
    (failure,) = history.failures
    assert (failure.case, failure.reason) == ("bad [gnu]", "fail")


def test_a_value_beyond_its_reference_counts_and_cut_lines_do_not(tmp_path: Path) -> None:
    text = perflog(
        {"job_completion_time": "2026-10-01T03:00:12", "result": "fail", "took_value": "2.5"},
        {"job_completion_time": "2026-10-02T03:00:12", "took_value": "nan"},
    )
    path = tmp_path / "stream.log"
    path.write_text(f"{text}pass|2026-10-0")
    history = read_history(path)
    found = by_name(history)[("blake:cpu", "stream %size=1 [gnu]", "took")]
    assert found.values.tolist() == [2.5]
    assert [failure.reason for failure in history.failures] == ["took is NaN"]
    assert any("line 4: 2 fields" in warning for warning in history.warnings)


def test_a_report_of_reframe_says_what_its_log_says(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(reframe_report()))
    history = read_history(path)
    found = by_name(history)
    case = ("blake:cpu", "stream %size=1 [gnu]")
    assert found[(*case, "triad")].values.tolist() == [123.4]
    assert not found[(*case, "triad")].smaller_is_better
    (failure,) = history.failures
    assert (failure.case, failure.reason) == ("bad [gnu]", "fail in sanity")


@pytest.mark.parametrize("older", [False, True])
def test_talp(tmp_path: Path, older: bool) -> None:
    path = tmp_path / "talp.json"
    path.write_text(json.dumps(talp(older=older)))
    found = {key[1:]: each for key, each in by_name(read_history(path)).items()}
    assert found[("Global [4]", "elapsedTime")].values.tolist() == [2.5]
    assert not found[("Global [4]", "parallelEfficiency")].smaller_is_better
    # OpenMP was not used.
    assert not any("omp" in timer for _, timer in found)
    assert ("solve [4]", "mpiLoadBalance") in found


def test_ramble(tmp_path: Path) -> None:
    path = tmp_path / "results.2026-11-20_03.00.12.json"
    path.write_text(json.dumps(ramble()))
    history = read_history(path)
    found = {key[1:]: each for key, each in by_name(history).items()}
    assert set(found) == {
        ("amg.problem1.n4", "Total Time"),
        ("amg.problem1.n4", "Figure of Merit (setup)"),
    }
    assert found[("amg.problem1.n4", "Total Time")].values.tolist() == [12.5]
    assert not found[("amg.problem1.n4", "Figure of Merit (setup)")].smaller_is_better
    assert [(failure.case, failure.reason) for failure in history.failures] == [
        ("amg.problem1.n8", "FAILED")
    ]


def test_criterion(tmp_path: Path) -> None:
    path = tmp_path / "bench-2026-11-20.json"
    path.write_text(CRITERION_LINES)
    found = by_name(read_history(path))
    times = {case: each.values.tolist() for (_, case, _), each in found.items()}
    assert times == {"sum/10": [pytest.approx(2e-9)], "sum/20": [pytest.approx(4e-6)]}
    assert found[("", "sum/10", "time")].spread is not None
    assert found[("", "sum/20", "time")].spread is None


def test_go(tmp_path: Path) -> None:
    path = tmp_path / "go-2026-11-20.txt"
    path.write_text(GO_TEXT)
    found = {key[1:]: each for key, each in by_name(read_history(path)).items()}
    case = "example.org/fast: Sum/10 [8 threads]"
    assert found[(case, "time")].values.tolist() == [pytest.approx(2e-9)]
    assert found[(case, "memory")].values.tolist() == [16.0]
    assert not found[("example.org/fast: Copy", "MB/s")].smaller_is_better
    # No allocation at all is no measurement.
    assert (case, "allocations") not in found
    assert found[(case, "time")].circumstances[0].machine == {"cpu": "AMD EPYC"}


def test_jmh(tmp_path: Path) -> None:
    path = tmp_path / "jmh-2026-11-20.json"
    path.write_text(json.dumps(jmh()))
    found = {key[1:]: each for key, each in by_name(read_history(path)).items()}
    rate = found[("org.Sum.add [size=10]", "throughput")]
    assert (rate.unit, rate.smaller_is_better) == ("ops/ms", False)
    assert rate.values.tolist() == [12.0]
    time = found[("org.Sum.wait", "time")]
    assert (time.unit, time.smaller_is_better) == ("s", True)
    assert time.values.tolist() == [pytest.approx(3e-6)]


def test_catch(tmp_path: Path) -> None:
    path = tmp_path / "catch-2026-11-20.xml"
    path.write_text(CATCH)
    history = read_history(path)
    (series,) = history.series
    assert series.name.case == "sums: adds: fib 20"
    assert series.values.tolist() == [pytest.approx(1.5e-6)]
    assert series.spread is not None
    assert series.spread[0] == pytest.approx(1e-8)
    assert [failure.reason for failure in history.failures] == ["out of time"]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"session_info": {}, "runs": [{"testcases": [3]}]}, "should be an object"),
        ({"session_info": {}, "runs": 3}, "should be a list"),
        ({"experiments": [{"RAMBLE_STATUS": "SUCCESS"}]}, "names no case"),
        ([{"benchmark": "", "primaryMetric": {}}], "names no case"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, document: Any, words: str) -> None:
    path = tmp_path / "night-2026-11-20.json"
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=words):
        read_history(path)


OSU_TEXT = """
# OSU MPI Allreduce Latency Test v7.3
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
0                       1.00              0.90              1.10        1000
4                       1.20              1.10              1.40        1000
8                       1.30              1.10              1.40        1000
"""
IMB_TEXT = """
#-----------------------
# Benchmarking PingPong
# #processes = 2
#-----------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            1         1000         0.25         4.00
            2         1000         0.26         8.00
#-----------------------
# Benchmarking Allreduce
# #processes = 4
#-----------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4         1000         1.10         1.40         1.20
"""


def test_osu_and_imb_over_bytes_and_ranks(tmp_path: Path) -> None:
    for ranks in (2, 4):
        (tmp_path / f"allreduce.p{ranks}.txt").write_text(OSU_TEXT)
    one = read_experiment(tmp_path / "allreduce.p2.txt")
    assert one.parameters == ("bytes",)
    found = {(each.kernel, each.metric): each for each in one.series}
    assert {metric for _, metric in found} == {"Avg Latency", "Min Latency", "Max Latency"}
    latency = found[("OSU MPI Allreduce Latency Test", "Avg Latency")]
    assert latency.unit == "us"
    assert latency.values.ravel().tolist() == [1.2, 1.3]
    assert any("0 bytes" in warning for warning in one.warnings)
    assert read_experiment(tmp_path).parameters == ("ranks", "bytes")
    path = tmp_path / "imb"
    path.write_text(IMB_TEXT)
    two = read_experiment(path)
    assert two.parameters == ("ranks", "bytes")
    assert {each.kernel for each in two.series} == {"PingPong", "Allreduce"}
    (average,) = [each for each in two.series if each.metric == "t_avg"]
    assert (average.unit, average.points.tolist()) == ("us", [[4.0, 4.0]])


def test_files_that_do_not_say_their_ranks(tmp_path: Path) -> None:
    (tmp_path / "allreduce.p2.txt").write_text(OSU_TEXT)
    (tmp_path / "other.txt").write_text(OSU_TEXT)
    with pytest.raises(DataError, match=r"allreduce\.p8\.txt"):
        read_experiment(tmp_path)
    path = tmp_path / "barrier"
    path.write_text("# OSU MPI Barrier Latency Test v7.3\n# Avg Latency(us)\n   1.23\n")
    with pytest.raises(DataError, match="no row with a size"):
        read_experiment(path)
