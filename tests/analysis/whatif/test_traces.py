"""``hindmost whatif`` of a trace of another tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hindmost.cli import main
from hindmost.errors import DataError, UsageError

LINK = {"pieces": [{"from_bytes": 0, "latency_s": 1e-3, "per_byte_s": 1e-6}]}
FAR = {"pieces": [{"from_bytes": 0, "latency_s": 5e-3, "per_byte_s": 1e-6}]}
MACHINE = {
    "schema": "hindmost-machine",
    "version": 1,
    "name": "small",
    "ranks_per_node": 2,
    "network": {"within": LINK, "within_both_ways": LINK},
}
TRACE = """\
0 init
0 compute 2e6
0 send 1 0 1000 2
0 finalize
1 init
1 recv 0 0 1000 2
1 compute 1e6
1 finalize
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    (tmp_path / "machine.json").write_text(json.dumps(MACHINE))
    path = tmp_path / "trace.ti"
    path.write_text(TRACE)
    return path


def whatif(path: Path, *words: str) -> int:
    machine = str(path.parent / "machine.json")
    return main(["whatif", str(path), "--machine", machine, "--flops-per-second", "1e9", *words])


def entries(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert whatif(path, "--json", *words) == 0
    return list(json.loads(capsys.readouterr().out)["runs"])


@pytest.mark.parametrize(
    ("words", "expected_s"),
    [
        ((), 5e-3),  # 2 ms of work, 1 ms and 1000 bytes of a message, 1 ms of work
        (("--latency", "x2"), 6e-3),
        (("--latency", "+3ms"), 8e-3),
        (("--bandwidth", "x0.5"), 6e-3),
        (("--speed", "x2"), 3.5e-3),
        (("--speed", "rank 1: x0.5"), 6e-3),
    ],
)
def test_changes_change_the_time(
    trace: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], expected_s: float
) -> None:
    (found,) = entries(trace, capsys, *words)
    assert found["replayed_s"] == pytest.approx(5e-3)
    assert found["predicted_s"] == pytest.approx(expected_s)
    assert (found["recorded_s"], found["interval_s"]) == (None, None)
    path = found["critical_path"]
    assert sum(each["work_s"] + each["network_s"] for each in path) == pytest.approx(expected_s)


def test_ranks_on_several_nodes_take_the_link_between_them(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spread = MACHINE | {"ranks_per_node": 1}
    spread["network"] = {"within": LINK, "within_both_ways": LINK, "across": FAR}
    (trace.parent / "machine.json").write_text(json.dumps(spread))
    (found,) = entries(trace, capsys)
    assert found["predicted_s"] == pytest.approx(9e-3)


def test_large_messages_wait_for_their_receiver(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = TRACE.replace("1 recv", "1 compute 4e6\n1 recv")
    for bytes, expected_s in (("1000", 5e-3), ("100000", 4e-3 + 101e-3 + 1e-3)):
        trace.write_text(late.replace("1000", bytes))
        assert entries(trace, capsys)[0]["predicted_s"] == pytest.approx(expected_s)


def test_it_says_what_it_simulates_and_assumes(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert whatif(trace, "--latency", "x2") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "trace.ti: 2 ranks, 1 message, 0 collectives; simulated 5.00 ms on small" in said
    assert "With latency x2: simulated 6.00 ms (+20.0 %)." in said
    assert "in brackets without the change: work 50.0 % (60.0 %), network 50.0 % (40.0 %)." in said
    assert "Assumed: All collectives are of all ranks" in said
    assert whatif(trace, "--latency", "1,2,4") == 0
    table = " ".join(capsys.readouterr().out.split())
    assert "latency x4 8.00 ms +60.0 % 62.5 %" in table


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--noise", "none"], "does not have what --noise needs"),
        (["--iterations", "10"], "does not have what --iterations needs"),
        (["--pipeline-depth", "2"], "does not have what --pipeline-depth needs"),
        (["--progress", "none"], "does not have what --progress needs"),
        (["--ranks", "64"], "--ranks needs a recorded run"),
        (["--out", "x.h5"], "--out needs a recorded run"),
        (["--balance", "none"], "--balance needs a recorded run"),
        (["--speed", "rank 2: x2"], "the run has 2 ranks"),
    ],
)
def test_what_a_trace_cannot_answer_is_refused(trace: Path, words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        whatif(trace, *words)


@pytest.mark.parametrize("rate", ["0", "-1", "nan", "inf", "1e300"])
def test_rates_of_no_machine_are_refused(trace: Path, rate: str) -> None:
    machine = str(trace.parent / "machine.json")
    words = ["whatif", str(trace), "--machine", machine, "--flops-per-second", rate]
    with pytest.raises(UsageError, match="a rank does 1 to 1e18"):
        main(words)


def test_a_trace_needs_a_machine(trace: Path) -> None:
    with pytest.raises(UsageError, match="give --machine"):
        main(["whatif", str(trace), "--flops-per-second", "1e9"])


def test_traces_and_runs_stand_apart(trace: Path, tmp_path: Path) -> None:
    other = tmp_path / "run.h5"
    other.write_bytes(b"no run file")
    with pytest.raises(UsageError, match=r"is a trace and .*run\.h5 is none"):
        main(["whatif", str(trace), str(other)])
    with pytest.raises(UsageError, match="--flops-per-second is for traces"):
        main(["whatif", str(other), "--flops-per-second", "5"])


def test_a_circle_names_file_and_line(trace: Path) -> None:
    trace.write_text(
        "0 init\n0 Ssend 1 0 1\n0 recv 1 0 1\n0 finalize\n"
        "1 init\n1 Ssend 0 0 1\n1 recv 0 0 1\n1 finalize\n"
    )
    with pytest.raises(DataError, match=r"circle: rank 0 waits until .*trace\.ti, line 2"):
        whatif(trace)
