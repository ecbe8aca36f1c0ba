"""Traces of noise: which files are read, and what is said of others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hindmost.errors import DataError, UsageError
from hindmost.harness.recorder.injection import RankInjection, read_law


def trace_file(folder: Path, *ranks: dict[str, object]) -> Path:
    path = folder / "machine.json"
    path.write_text(json.dumps({"samples": {"noise": {"ranks": list(ranks)}}}))
    return path


RANK = {"elapsed_s": 1e-3, "detour_start_ns": [0, 400_000], "detour_length_ns": [1000, 2000]}


def test_a_trace_is_named_by_its_contents(tmp_path: Path) -> None:
    path = trace_file(tmp_path, RANK, {"elapsed_s": 1.0})
    law = read_law(f"trace:{path},ranks=1")
    assert str(law).startswith("trace:machine.json,digest=")
    assert str(tmp_path) not in str(law)
    changed = trace_file(tmp_path, {**RANK, "detour_length_ns": [1000, 2001]})
    assert str(read_law(f"trace:{changed},ranks=1")) != str(law)
    with pytest.raises(UsageError, match="there is no rank 1"):
        law.check_ranks(1)


WRONG_TRACES: dict[str, tuple[dict[str, object], str]] = {
    "is in microseconds": ({**RANK, "elapsed_s": 1e-6}, "in nanoseconds, and 'elapsed_s' in"),
    "is in seconds": ({**RANK, "detour_start_ns": [0.0, 4e-4]}, "allowed: whole nanoseconds"),
    "fills the time": (
        {**RANK, "detour_length_ns": [600_000, 500_000]},
        "fill 110 % of the time",
    ),
    "goes back": ({**RANK, "detour_start_ns": [400_000, 0]}, "in order of time"),
    "lacks a length": ({**RANK, "detour_length_ns": [1000]}, "a start and a length"),
    "has no time": ({**RANK, "elapsed_s": 0.0}, "elapsed_s is 0.0; allowed: seconds"),
    "has no detours": ({"elapsed_s": 1.0}, "has no recorded detours"),
}


@pytest.mark.parametrize("name", WRONG_TRACES)
def test_a_trace_that_cannot_be_is_named(tmp_path: Path, name: str) -> None:
    rank, why = WRONG_TRACES[name]
    path = trace_file(tmp_path, rank)
    with pytest.raises(DataError) as raised:
        read_law(f"trace:{path}")
    assert why in str(raised.value)


def test_a_file_that_is_no_trace_is_named(tmp_path: Path) -> None:
    for text in ("{", "[]", "{}", '{"samples": 3}', '{"samples": {"noise": {"ranks": 7}}}'):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(DataError, match=r"cannot be read|no recorded detours"):
            read_law(f"trace:{tmp_path / 'other.json'}")
    with pytest.raises(DataError, match="cannot be read"):
        read_law(f"trace:{tmp_path / 'missing.json'}")


def test_a_text_of_two_columns_is_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "noise.txt"
    path.write_text("# start duration\n1000000\t1000\n1400000\t2000\n\n1801000 3000\n")
    injection = read_law(f"trace:{path}").of_rank(7, seed=0, repeat=0)
    assert injection.start_ns.tolist() == [0, 400_000, 801_000]
    assert injection.each_ns.tolist() == [1000, 2000, 3000]
    assert injection.span_ns == 804_000 + 399_000
    assert injection.start_ns.flags.c_contiguous
    assert injection.each_ns.flags.c_contiguous


WRONG_TEXTS = {
    "1 2\n3 4 5\n": "line 2 is '3 4 5'",
    "0.001 0.0001\n0.002 0.0001\n": "in whole nanoseconds",
    "1 5000\n401 6000\n": "both in nanoseconds",
    "1000 10\n": "fewer than 2 detours",
    "": "fewer than 2 detours",
    "9 1\n5 1\n": "begins before the one above it",
}


@pytest.mark.parametrize("text", WRONG_TEXTS)
def test_a_text_that_is_no_trace_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "noise.txt"
    path.write_text(text)
    with pytest.raises(DataError) as raised:
        read_law(f"trace:{path}")
    assert WRONG_TEXTS[text] in str(raised.value)


# Traces of other programs.

NETGAUGE = """\
# Benchmark Method: selfish
# Selfish Benchmark
# Minimal cycle length [ns]: 12.500000
# Time [ns]\tselfish duration [ns]
0.00\t1000.25
400000.50\t2000.00
801000.00\t3000.75
# CPU overhead due to noise: 0.75%
# Measurement period: 0.00 s
"""


def lane_of(path: Path) -> RankInjection:
    return read_law(f"trace:{path}").of_rank(0, seed=0, repeat=0)


def test_a_file_of_netgauge_is_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "ng.out"
    path.write_text(NETGAUGE)
    found = lane_of(path)
    assert found.start_ns.tolist() == [0, 400_000, 801_000]
    assert found.each_ns.tolist() == [1000, 2000, 3001]
    path.write_text("# start[usec] duration[usec]\n0.0 1.5\n400.25 2.0\n")  # Argonne's
    found = lane_of(path)
    assert (found.start_ns.tolist(), found.each_ns.tolist()) == ([0, 400_250], [1500, 2000])


def test_quanta_of_netgauge_are_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "ng.out"
    rows = [f"{k}             {1000 + k % 2 + (50 if k in (20, 70) else 0)}" for k in range(100)]
    head = "# Fixed Work Quantum Benchmark\n# cycle number    duration [us]\n"
    path.write_text(head + "\n".join(rows))
    found = lane_of(path)
    assert found.each_ns.tolist() == [50_000, 50_000]
    assert found.start_ns.tolist() == [20 * 1_000_500 + 1_000_000, 70 * 1_000_500 + 1_050_000]


def test_a_file_of_osnoise_is_a_trace_of_every_rank(tmp_path: Path) -> None:
    path = tmp_path / "17.timing_data"
    work = np.full((3, 200), 3e-3, np.float32)
    work[:, 40] += 1e-4
    work[:, 140] += 2e-4
    work[2, 150] += 5e-4
    step = work + np.float32(1e-5)
    body = np.stack((work, step), axis=1).astype(np.float32).tobytes()
    path.write_bytes(np.array([3, 200], np.int32).tobytes() + body)
    law = read_law(f"trace:{path}")
    lengths = [law.of_rank(rank, seed=0, repeat=0).each_ns for rank in range(4)]
    assert [each.size for each in lengths] == [2, 2, 3, 2]  # in turn
    assert lengths[0] == pytest.approx([100_000, 200_000], rel=0.01)


WRONG_FORMATS = {
    "# Fixed Time Quantum Benchmark\n 0  17\n 1  17\n": "counts work and not time",
    "# a [us] b [ns]\n0 1\n5 1\n": "names several units",
    NETGAUGE.replace("[ns]\tself", "[ms]\tself").replace("duration [ns]", "duration [ms]"): "sever",
    "# start [s] duration [s]\n0 1\n1e9 1\n": "is its unit right?",
    "# Fixed Work Quantum\n# duration [us]\n0 10\n1 10\n2 10\n": "no noise to inject",
    "# start [us] duration [us]\n0 -1\n5 1\n": "line 2 is '0 -1'",
}


@pytest.mark.parametrize("text", WRONG_FORMATS)
def test_a_trace_of_another_program_that_cannot_be_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "noise.txt"
    path.write_text(text)
    with pytest.raises(DataError) as raised:
        read_law(f"trace:{path}")
    assert WRONG_FORMATS[text] in str(raised.value)


def test_any_bytes_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "noise.bin"
    random = np.random.default_rng(0)
    for size in (0, 1, 7, 8, 24, 1000):
        path.write_bytes(random.bytes(size))
        with pytest.raises(DataError, match=r"noise\.bin"):
            read_law(f"trace:{path}")
    path.write_bytes(np.array([1, 2], np.int32).tobytes() + b"\xff" * 16)
    with pytest.raises(DataError, match="times that cannot be"):
        read_law(f"trace:{path}")
