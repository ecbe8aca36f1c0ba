"""Injected noise: how laws are read, what they draw, and the detours of bodies."""

import ctypes
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.harness.test_bodies import gmres_bodies, recording
from tests.planned_noise import planned_ns

from hindmost.errors import DataError, UsageError
from hindmost.harness.recorder.bodies import DETOUR
from hindmost.harness.recorder.build import recorder_library
from hindmost.harness.recorder.injection import (
    Law,
    RankInjection,
    draws,
    read_law,
)
from hindmost.harness.runfile.bodies import INJECTED, PHASES
from hindmost.models.laws.noise_law import exact_time

LAWS = [
    "exponential:mean=50us",
    "exponential:mean=50us,probability=0.1,ranks=1",
    "fixed:length=1ms,probability=0.01",
    "fixed:length=1500us,probability=1,ranks=0,2-5,asleep",
    "periodic:period=10ms,length=100us",
    "exponential:mean=50us,rate=100/s",
    "fixed:length=1ms,rate=2.5/s,asleep",
    "periodic:period=10ms,length=100us,ranks=1,at=calls,asleep",
]


@pytest.mark.parametrize("text", LAWS)
def test_a_law_is_written_as_it_is_read(text: str) -> None:
    assert str(read_law(text)) == text


def test_a_law_has_one_way_to_be_written() -> None:
    assert str(read_law("exponential:mean=0.05ms")) == "exponential:mean=50us"
    assert str(read_law("fixed:probability=.5,asleep,ranks=2,0,length=1s")) == (
        "fixed:length=1s,probability=0.5,ranks=0,2,asleep"
    )


WRONG = {
    "exponential": "the law exponential needs mean=",
    "exponential:mean=50": "write a time with its unit, as 50us",
    "exponential:mean=0us": "it must be at least 1ns",
    "exponential:mean=-1us": "write a time with its unit",
    "exponential:mean=50us,mean=60us": "'mean' is given twice",
    "exponential:mean=50us,at=noon": "at is 'noon'; choose iterations or calls",
    "exponential:mean=50us,often": "'often' is no part of the law exponential",
    "exponential:mean=50us,rate=3": "write detours per second, as 100/s",
    "exponential:mean=50us,rate=0/s": "write detours per second, as 100/s",
    "exponential:mean=50us,rate=20000/s": "detours fill 100 % of the time",
    "fixed:length=1ms,rate=2000/s": "detours fill 200 % of the time",
    "exponential:mean=50us,rate=3/s,probability=0.1": "either probability= or rate=",
    "fixed:length=1ms": "the law fixed needs probability= or rate=",
    "fixed:length=1ms,probability=1.5": "it must be above 0 and at most 1",
    "fixed:length=1ms,probability=0": "it must be above 0 and at most 1",
    "fixed:length=1ms,probability=often": "it must be above 0 and at most 1",
    "periodic:period=1ms": "the law periodic needs length=",
    "periodic:period=1ms,length=1ms": "detours fill 100 % of the time",
    "periodic:period=1ms,length=2ms": "detours fill 200 % of the time",
    "poisson:rate=3": "unknown law 'poisson'",
    "exponential:mean=50us,ranks=5-2": "write ranks in ascending order",
    "exponential:mean=50us,ranks=all": "write ranks as 0,2-5",
    "trace:": "the law trace needs a file",
    "trace:ranks=1": "the law trace needs a file",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_law_is_named(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_law(text)
    assert WRONG[text] in str(raised.value)
    assert text in str(raised.value)


def test_a_rank_that_does_not_exist_is_named() -> None:
    law = read_law("exponential:mean=50us,ranks=0,2-5")
    law.check_ranks(6)
    with pytest.raises(UsageError, match=r"there is no rank 5; the run has ranks 0 to 3"):
        law.check_ranks(4)


def test_times_are_written_exactly() -> None:
    assert [exact_time(ns) for ns in (1, 1500, 2_000_000, 3_000_000_000)] == [
        "1ns", "1500ns", "2ms", "3s",
    ]  # fmt: skip


# What a law draws.


@pytest.fixture(scope="module")
def recorder() -> ctypes.CDLL:
    """Return the recorder, for its draws only: MPI's calls in this process do not go through it."""
    library = ctypes.CDLL(str(recorder_library()), mode=ctypes.RTLD_LOCAL)
    library.hindmost_next_detour.argtypes = [ctypes.c_int64]
    library.hindmost_next_detour.restype = ctypes.c_int64
    return library


def taken_ns(
    recorder: ctypes.CDLL, injection: RankInjection, times_ns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the detours that the recorder takes at points at these times."""
    injection.begin(recorder)
    return np.array([recorder.hindmost_next_detour(t) for t in times_ns.tolist()])


@pytest.mark.parametrize("text", LAWS[:4])
def test_the_recorder_draws_what_is_planned(recorder: ctypes.CDLL, text: str) -> None:
    injection = read_law(text.replace(",ranks=0,2-5", "")).of_rank(1, seed=3, repeat=2)
    planned = planned_ns(injection, 3000)
    taken = taken_ns(recorder, injection, np.zeros(3000, np.int64))
    assert np.abs(taken - planned).max() <= 1  # logarithms of two libraries
    assert (taken_ns(recorder, injection, np.zeros(3000, np.int64)) == taken).all()


def test_draws_follow_the_law() -> None:
    injection = read_law("exponential:mean=50us,probability=0.25").of_rank(0, seed=0, repeat=0)
    planned = planned_ns(injection, 200_000)
    taken = planned[planned > 0]
    assert taken.size / planned.size == pytest.approx(0.25, rel=0.02)
    assert taken.mean() == pytest.approx(50_000, rel=0.02)
    assert np.median(taken) == pytest.approx(50_000 * np.log(2), rel=0.02)


def test_ranks_repeats_and_seeds_have_draws_of_their_own() -> None:
    law = read_law("exponential:mean=50us")
    streams = {
        law.of_rank(rank, seed=seed, repeat=repeat).stream
        for rank in range(10)
        for seed in range(-3, 10)
        for repeat in range(10)
    }
    assert len(streams) == 10 * 13 * 10
    numbers = np.arange(10_000)
    first, second = (draws(law.of_rank(r, seed=0, repeat=0).stream, numbers) for r in (0, 1))
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.05


def test_other_ranks_get_nothing(recorder: ctypes.CDLL) -> None:
    law = read_law("exponential:mean=50us,ranks=1")
    assert law.of_rank(0, seed=0, repeat=0).law is Law.NONE
    assert not planned_ns(law.of_rank(0, seed=0, repeat=0), 100).any()


def test_periodic_detours_come_by_the_clock(recorder: ctypes.CDLL) -> None:
    law = read_law("periodic:period=10ms,length=100us")
    injection = law.of_rank(1, seed=0, repeat=0)
    times = np.arange(0, 1_000_000_000, 3_000_000)
    taken = taken_ns(recorder, injection, times)
    first = 10_000_000 - injection.first_ns  # the first detour
    due = np.maximum((times - first) // 10_000_000 + 1, 0)
    assert (np.cumsum(taken) == due * 100_000).all()
    # None is lost where no point came for a while.
    assert taken_ns(recorder, injection, np.array([1_000_000_000])).sum() == 100 * 100_000
    phases = [law.of_rank(rank, seed=0, repeat=0).first_ns for rank in range(200)]
    assert np.mean(phases) == pytest.approx(5e6, rel=0.15)
    assert len(set(phases)) == 200


def test_a_trace_is_replayed(recorder: ctypes.CDLL, tmp_path: Path) -> None:
    law = read_law(f"trace:{trace_file(tmp_path, RANK)}")
    injection = replace(law.of_rank(0, seed=0, repeat=0), first_ns=100_000)
    # The span of a millisecond begins at 0.1 ms: detours at 0.3, 0.9, 1.3, 1.9 ms ...
    times = np.array([299_999, 300_000, 899_999, 900_000, 1_299_999, 1_300_000, 2_300_000])
    assert taken_ns(recorder, injection, times).tolist() == [0, 2000, 0, 1000, 0, 2000, 3000]


# Bodies with detours.


def test_detours_are_a_phase_and_the_books_close() -> None:
    plain = recording(
        ("N", 1500, 1500),
        ("wait", 1600, 1700),
        ("O", 2150, 2150),
        ("N", 2500, 2500),
        ("O", 2800, 2800),
        ("N", 3000, 3000),
    )
    records = plain.records.copy()
    records = np.insert(records, [0, 2, 3, 6], records[:1])
    for place, begin, end in ((0, 1200, 1210), (3, 1800, 1850), (5, 2200, 2300), (9, 3100, 3130)):
        records[place] = (begin, end, DETOUR, 0, 0, 0, 0)
    disturbed = replace(plain, records=records, injecting=True)
    before, after = (gmres_bodies(each) for each in (plain, disturbed))
    assert after.phases == (*PHASES, INJECTED)
    assert after.injected is not None
    np.testing.assert_allclose(after.injected, [150e-9, 0.0])
    assert after.injected.sum() + after.injected_outside_s == pytest.approx(190e-9)
    np.testing.assert_allclose(after.phase_duration.sum(axis=1), after.duration, rtol=1e-6)
    np.testing.assert_allclose(after.phase_duration[:, -1], after.injected, rtol=1e-6)
    np.testing.assert_allclose(after.duration, before.duration)
    local = PHASES.index("local")
    np.testing.assert_allclose(
        after.phase_duration[:, local] + after.injected, before.phase_duration[:, local], rtol=1e-5
    )
    assert after.events is not None
    assert before.events is not None
    # A detour is the rank's own time, as the system's would be.
    np.testing.assert_allclose(after.events.work, before.events.work)
    first = after.first(1)
    assert first.injected is not None
    assert first.injected.sum() + first.injected_outside_s == pytest.approx(190e-9)


def test_a_run_without_noise_has_no_such_phase() -> None:
    bodies = gmres_bodies(recording(("N", 1100, 1100), ("O", 1200, 1200), ("N", 1500, 1500)))
    assert bodies.phases == PHASES
    assert bodies.injected is None


# Laws by time.


def test_detours_by_time_come_at_their_rate(recorder: ctypes.CDLL) -> None:
    for text, mean_ns in (("exponential:mean=50us", 50_000.0), ("fixed:length=20us", 20_000.0)):
        injection = read_law(f"{text},rate=200/s").of_rank(1, seed=3, repeat=0)
        assert injection.law is Law.TIMED
        seconds, count = 1e-9 * injection.span_ns, injection.start_ns.size
        assert count / seconds == pytest.approx(200.0, rel=0.05)
        assert injection.each_ns.mean() == pytest.approx(mean_ns, rel=0.05)
        gaps = np.diff(injection.start_ns)
        assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)  # at random
        points = np.arange(0, 2_000_000_000, 100_000)
        taken = taken_ns(recorder, injection, points)
        due = injection.start_ns <= points[-1]
        assert taken.sum() == injection.each_ns[due].sum()
        other = read_law(f"{text},rate=200/s").of_rank(0, seed=3, repeat=0)
        assert not np.array_equal(other.start_ns, injection.start_ns)


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
    "1 2\n3 4 5\n": "columns changed from 2 to 3",
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
    assert [length.size for length in lengths] == [2, 2, 3, 2]  # in turn
    assert lengths[0] == pytest.approx([100_000, 200_000], rel=0.01)


WRONG_FORMATS = {
    "# Fixed Time Quantum Benchmark\n 0  17\n 1  17\n": "counts work and not time",
    "# a [us] b [ns]\n0 1\n5 1\n": "names several units",
    NETGAUGE.replace("[ns]\tself", "[ms]\tself").replace("duration [ns]", "duration [ms]"): "sever",
    "# start [s] duration [s]\n0 1\n1e9 1\n": "is its unit right?",
    "# Fixed Work Quantum\n# duration [us]\n0 10\n1 10\n2 10\n": "no noise to inject",
    "# start [us] duration [us]\n0 -1\n5 1\n": "two columns of times",
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
