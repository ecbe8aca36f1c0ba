"""Live feeds of real ranks: what is in them, that nothing else changes, and how they end."""

import itertools
import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from tests.conftest import BIN, Ranks
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched

import hindmost
from hindmost.analysis.watch.server import WatchServer
from hindmost.harness.runfile.feed import FeedReader, bin_edges_ns, find_feed, parsed, write_control
from hindmost.harness.runfile.reader import Run

pytestmark = pytest.mark.mpi

PATIENCE_S = 600.0
CYCLES = 30


def lines_of(feed: Path) -> list[dict[str, Any]]:
    lines = [parsed(text) for text in feed.read_bytes().splitlines()]
    assert all(line is not None for line in lines)
    return [line for line in lines if line is not None]


def frames_of(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] == "frame"]


LOOP = """
import sys, time
import numpy as np
from pathlib import Path
from hindmost.harness.recorder.library import load
load()
from hindmost.harness import mpi
from hindmost.harness.live.feed import LiveFeed
from hindmost.harness.runfile.bodies import PHASES
comm = mpi.start()
with LiveFeed(Path("."), comm, "loop", 1, (*PHASES, "hydro")) as feed:
    feed.begin("mine", 1, 40)
    for step in range(1, 41):
        time.sleep(0.002)
        rank = comm.rank
        feed.step(step, np.array([10.0 * rank, 100.0, 0.0, 0.0, 1000.0, 5.0]))
        comm.Barrier()
    feed.finish()
"""


def test_frames_are_the_sums_and_extrema_of_what_ranks_did(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(4, script=LOOP)
    assert done.returncode == 0, done.stderr
    lines = lines_of(tmp_path / "loop-p4-0.live.jsonl")
    assert [line["kind"] for line in lines if line["kind"] != "frame"] == ["head", "solve", "end"]
    assert lines[-1]["status"] == "done"
    head, frames = lines[0], frames_of(lines)
    assert (head["ranks"], head["columns"]) == (4, 4)
    assert frames[-1]["iteration"] == 40
    before = 0
    for frame in frames:
        steps = frame["iteration"] - before
        before = frame["iteration"]
        per_step = [10.0 * (0 + 1 + 2 + 3), 400.0, 0.0, 0.0, 4000.0, 20.0]
        assert frame["phase_ns"] == [steps * each for each in per_step]
        assert sum(frame["bins"]) == 4 * steps
        _, least_wait, most_wait, most_halo, longest = frame["extrema"]
        edges = bin_edges_ns(frame["first_bin"], len(frame["bins"]))
        assert edges[1] > 2e6  # each has slept so long
        assert edges[-2] <= longest[1] < edges[-1]
        assert least_wait == [0, 100.0 * steps]  # of equals, the first
        assert most_wait == [0, 100.0 * steps]
        assert most_halo == [3, 30.0 * steps]
        assert longest[1] >= 2e6 * (steps > 0)
        assert len(frame["heat"]) == 4
        assert max(frame["heat"]) <= 1000
    assert len(frames) > 1


FULL_DISK = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900))
"""


def test_a_full_disk_ends_the_feed_and_not_the_run(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, script=LOOP.replace("with LiveFeed", FULL_DISK + "with LiveFeed"))
    assert done.returncode == 0, done.stderr
    feed = tmp_path / "loop-p2-0.live.jsonl"
    assert feed.stat().st_size == 900
    with FeedReader(feed) as reader:
        assert {line["kind"] for line in reader.read_lines()} <= {"solve", "frame"}


def commands(folder: Path) -> Commands:
    """Return solves and an adaptive run with feeds, for a folder."""
    return {
        "solved": (
            "run", "laplacian-1d", "--unknowns", "2000", "--solver", "cg", "--solver", "gmres",
            "--solver", "pgmres", "--iterations", "200", "--warmup", "0", "--live",
            "--out", folder / "solved",
        ),
        "adapted": (
            "run", "adaptive", "--deck", "timing-a", "--base", "24x16", "--steps", "4",
            "--cycles", str(CYCLES), "--live", "--out", folder / "adapted",
        ),
    }  # fmt: skip


@pytest.fixture(scope="module")
def solved(launched: Launched) -> Path:
    out, done = launched[0] / "solved", launched[1]["solved"]
    assert done.returncode == 0, done.stderr
    assert f"live: hindmost watch {out / 'laplacian-1d-p2-0.live.jsonl'}" in done.stderr
    return out


def test_every_iteration_of_every_rank_is_in_one_frame(solved: Path) -> None:
    lines = lines_of(find_feed(solved))
    assert lines[-1] == {"kind": "end", "status": "done", "failure": ""}
    assert [line["kind"] for line in lines].count("solve") == 3
    for solve, group in itertools.groupby(lines[1:-1], key=lambda line: line["kind"]):
        if solve != "frame":
            continue
        frames = list(group)
        iterations = [frame["iteration"] for frame in frames]
        # The last frame has what is left, which is no iteration where the one before ended at 200.
        assert iterations[:-1] == sorted(set(iterations[:-1]))
        assert iterations[0] == 64
        assert iterations[-1] == 200
        assert sum(sum(frame["bins"]) for frame in frames) == 2 * 200
        for frame in frames:
            assert sum(frame["phase_ns"]) == pytest.approx(frame["window_ns"], abs=10)
            work = frame["window_ns"] - sum(frame["phase_ns"][:4])
            assert frame["extrema"][0][1] >= work / 2 - 1


def test_the_feed_agrees_with_the_run_files(solved: Path) -> None:
    lines = lines_of(find_feed(solved))
    frames: list[dict[str, Any]] = []
    for line in lines:
        if line["kind"] == "solve":
            frames = []
        elif line["kind"] == "frame":
            frames.append(line)
        elif line["kind"] == "done":
            run = hindmost.open(solved / line["file"])
            run.verify()
            for place, name in enumerate(("halo", "wait", "post")):
                told = sum(frame["phase_ns"][place] for frame in frames) * 1e-9
                # The feed has the whole solve, bodies lack what comes before, between and after.
                assert told >= run.phase(name).sum() * 0.999 - 1e-6
            # Rank 0 writes frames, by its clock; another rank's last body may end later.
            assert frames[-1]["t_ns"] * 1e-9 >= run.durations[:, 0].sum()


def start(out: Path, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [BIN / "mpiexec", "-n", "2", BIN / "hindmost", "run", "diagonal", "--unknowns", "600",
         "--solver", "cg", "--warmup", "0", "--live", "--out", out, *more],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def feed_with_frames(out: Path, process: subprocess.Popen[bytes]) -> Path:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        found = list(out.glob("*.live.jsonl"))
        if found and b'"frame"' in found[0].read_bytes():
            return found[0]
        time.sleep(0.02)
    raise AssertionError("no frame has come")


def test_viewers_and_their_wishes_leave_the_run_as_it_is(tmp_path: Path) -> None:
    iterations, repeats = 4_000, 4
    asked = ("--iterations", str(iterations), "--repeats", str(repeats))
    with start(tmp_path, *asked) as process:
        feed = feed_with_frames(tmp_path, process)
        with WatchServer(feed) as server:
            urlopen(server.address() + "news").close()
            write_control(feed, server.history.head, 0.2, "wait")
            assert process.wait(timeout=PATIENCE_S) == 0
    for number in range(repeats):
        run = hindmost.open(tmp_path / f"diagonal-cg-p2-{number}.h5")
        run.verify()
        assert run.bodies == iterations
    lines = lines_of(feed)
    frames = frames_of(lines)
    assert sum(sum(frame["bins"]) for frame in frames) == 2 * iterations * repeats
    metrics = [lines[0]["metrics"][frame["metric"]] for frame in frames]
    assert metrics[0] == "work"
    assert metrics[-1] == "wait"
    periods = [lines[0]["periods_s"][frame["period"]] for frame in frames]
    assert (periods[0], periods[-1]) == (0.0, 0.2)
    assert not list(tmp_path.glob("*.control"))
    for frame in frames:
        if lines[0]["metrics"][frame["metric"]] == "wait":
            share = 1000 * frame["phase_ns"][1] / frame["window_ns"]
            # A mean of the ranks' shares, weighted by their windows.
            assert min(frame["heat"]) - 1 <= share <= max(frame["heat"]) + 1


def test_a_killed_run_is_told_from_one_that_ended(tmp_path: Path) -> None:
    with start(tmp_path, "--iterations", "4000", "--repeats", "9000") as process:
        feed = feed_with_frames(tmp_path, process)
        with FeedReader(feed) as reader:
            assert reader.is_written() is True
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=PATIENCE_S)
            end = time.monotonic() + PATIENCE_S
            while reader.is_written() and time.monotonic() < end:
                time.sleep(0.05)
            assert reader.is_written() is False
    told = subprocess.run(
        [BIN / "hindmost", "watch", feed, "--once", "--json"], capture_output=True, check=False
    )
    assert told.returncode == 1
    assert json.loads(told.stdout)["end"]["status"] == "died"


@pytest.fixture(scope="module")
def adapted(launched: Launched) -> tuple[list[dict[str, Any]], Run]:
    """Return the lines of an adaptive run's feed, and the run."""
    out, done = launched[0] / "adapted", launched[1]["adapted"]
    assert done.returncode == 0, done.stderr
    run = hindmost.open(out / "adaptive-timing-a-p2-0.h5")
    return lines_of(out / "adaptive-p2-0.live.jsonl"), run


def test_an_adaptive_run_feeds_its_cycles(adapted: tuple[list[dict[str, Any]], Run]) -> None:
    lines, run = adapted
    frames = frames_of(lines)
    assert frames[-1]["iteration"] == run.bodies == CYCLES
    for place, name in enumerate(lines[0]["phases"]):
        told = sum(frame["phase_ns"][place] for frame in frames) * 1e-9
        assert told == pytest.approx(run.phase(name).sum(), rel=1e-5, abs=1e-7)


def test_an_adaptive_run_says_what_it_foresees(adapted: tuple[list[dict[str, Any]], Run]) -> None:
    lines, run = adapted
    [solve] = [line for line in lines if line["kind"] == "solve"]
    assert solve["predictors"] == run.predictors
    predicted = run.variable("predicted")
    told = [frame for frame in frames_of(lines) if "foreseen" in frame]
    assert len(told) >= 2
    assert "foreseen" not in lines[-2]  # the last frame: nothing is left
    decides = run.predictors.index("shape-level")
    for frame in told:
        foreseen = frame["foreseen"]
        cycle = foreseen["cycle"]
        assert frame["iteration"] < cycle <= CYCLES
        assert foreseen["decides"] == decides
        # What was told before the cycle is what the file says was predicted of it.
        row = [each and each * 1e-9 for each in foreseen["next_ns"]]
        want = [each if each == each else None for each in predicted[cycle - 1].tolist()]
        assert row == pytest.approx(want, abs=1e-9)
        rest = (CYCLES - cycle + 1) * predicted[cycle - 1, decides]
        assert foreseen["rest_ns"] * 1e-9 == pytest.approx(rest)
    errors = abs(predicted / run.durations[:, :1] - 1.0) * 100.0
    for frame in told:
        cycle = frame["foreseen"]["cycle"]
        lately = errors[max(1, cycle - 11) : cycle - 1]
        want = lately.mean(axis=0).tolist() if len(lately) else [None] * len(run.predictors)
        assert frame["foreseen"]["error_percent"] == pytest.approx(want, abs=0.01)


WILD = """
import ctypes, sys
import numpy as np
from hindmost.harness.recorder.library import load
library = load()
with open("wild.jsonl", "wb") as file:
    for value in (1e40, -1e308, np.inf, np.nan, 1e17):
        vector = np.full(16 + library_bins + 3 + 12 + 256, value)
        library.hindmost_live_write_as(
            file.fileno(), 256, 16, ctypes.c_void_p(vector.ctypes.data),
            ctypes.c_int64(2**62), ctypes.c_int64(2**62),
        )
""".replace("library_bins", "96")


def test_numbers_that_no_clock_shows_never_overflow_the_line(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(1, script=WILD)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "wild.jsonl").read_text().splitlines()
    assert len(lines) == 5
    for line in lines:
        frame = json.loads(line)
        assert len(frame["heat"]) == 256
        assert max(frame["heat"]) < 1e18
