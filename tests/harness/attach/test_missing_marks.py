"""What is said of programs without iterations, of calls, and of solves that are not recorded."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness.attach.raw_files import (
    CALLS,
    PART,
    PART_RECORDS,
    US,
    Stream,
    gmres,
    two_ranks,
)

import hindmost
from hindmost.harness.attach.convert import convert
from hindmost.harness.attach.missing_marks import why_nothing
from hindmost.harness.attach.raw_program import RawProgram, read_program
from hindmost.harness.attach.settings import AttachRequest


def program(folder: Path, *ends: dict[str, Any], **said: Any) -> RawProgram:
    """Return a program of two ranks without sections."""
    more = ("MPI_Bcast", "MPI_Barrier", "MPI_Comm_dup")
    names = {"call_names": [*CALLS, *more], "call_classes": [*CALLS.values(), *["COLLECTIVE"] * 3]}
    for each, facts in zip(two_ranks(**{**names, **said}), ends * (2 // len(ends)), strict=True):
        each.end(**{"solves_seen": 0, **facts}).write(folder / "app-0.raw")
    return read_program(folder / "app-0.raw")


BOTH = {"MPI_Allreduce": 40, "MPI_Comm_dup": 9, "MPI_Barrier": 1}


@pytest.mark.parametrize(
    ("ends", "said", "words"),
    [
        (
            ({"calls": BOTH}, {"calls": {**BOTH, "MPI_Bcast": 3}}),
            {"mark_call": "MPI_Bcast"},
            "rank 0 made 0 calls of MPI_Bcast on communicators of all ranks; it takes at least 2. "
            "Calls that can end iterations, as often as they were made on each rank: MPI_Allreduce "
            "40. Record again",
        ),
        (
            ({"calls": BOTH},),
            {"mark_call": "MPI_Barrier", "mark_nth": 4},
            "--iterate-at MPI_Barrier:4: rank 0 made 1 call of MPI_Barrier on communicators of all "
            "ranks; it takes at least 5",
        ),
        (
            ({"calls": BOTH, "calls_of_some": {"MPI_Allreduce": 40}},),
            {"mark_call": "MPI_Allreduce"},
            "rank 0 made 0 calls of MPI_Allreduce on communicators of all ranks; it takes at least "
            "2. No MPI call was made more than once on all ranks alike",
        ),
        (({"calls": BOTH},), {}, "no KSPSolve and no iterations between marks were seen in app"),
        (({},), {"petsc_version": ""}, "which uses MPI and no shared libpetsc. No MPI call"),
        (
            ({"solves_of_other_prefixes": 3},),
            {"only": "ice_"},
            "none of 3 solves of app, inner ones included, has the options prefix 'ice_' (--only)",
        ),
        (({"solves_seen": 2},), {}, "app made 2 solves, all inside recordings of its own"),
        (({"own_recordings": 1},), {}, "Nothing was recorded: app records itself"),
        (({"finalized": False},), {}, "the program ended without MPI_Finalize before a solve"),
    ],
)
def test_why_nothing_was_recorded(
    ends: tuple[dict[str, Any], ...], said: dict[str, Any], words: str, tmp_path: Path
) -> None:
    assert words in why_nothing(program(tmp_path, *ends, **said))


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"iterate_at": "MPI_Bcast"},
        {"inject": "exponential:mean=1us", "iterate_at": "MPI_Bcast"},
        {"only": "ice_"},
        {"every": 2},
    ],
)
def test_what_is_advised_can_be_asked_for(asked: dict[str, Any], tmp_path: Path) -> None:
    """With the other options of the first time, but for those that are to be left out."""
    said = {
        "mark_call": asked.get("iterate_at", ""),
        "injected": asked.get("inject", ""),
        "chooses_solves": bool({"only", "every"} & asked.keys()),
    }
    words = why_nothing(program(tmp_path, {"calls": BOTH}, **said))
    _, _, after = words.partition("Record again")
    left_out, advised = re.findall(r"Leave out ([^.]*)\.", words), re.findall(r"-at (\w+)", after)
    assert advised
    kept = {name: value for name, value in asked.items() if f"--{name}" not in "".join(left_out)}
    for call in advised:
        AttachRequest(out=tmp_path, **{**kept, "iterate_at": call}).text(None)


def test_solves_that_were_not_recorded_count_once(tmp_path: Path) -> None:
    ranks = two_ranks()
    for rank in ranks:
        rank.section(gmres(0, 5, work=5 * US, step=9 * US))
        # Five solves of both ranks, and four that each rank made alone.
        led = 4 + 5 * (rank.rank == 0)
        rank.end(solves_not_recorded_led=led).write(tmp_path / "app-0.raw")
    (path,) = convert(tmp_path / "app-0.raw", tmp_path)
    assert hindmost.open(path).header.spec["attached"]["solves_skipped"] == 13


def parts_of_a_loop(folder: Path, *, ended: bool) -> Path:
    """Write a loop in three parts, with a pause after the first two, on two ranks."""
    for rank in two_ranks(mark_call="MPI_Allreduce", mark_nth=2):
        stream = Stream(1000 * US)
        done = 0
        for iteration in range(9):
            stream.mark("I", iteration)
            if iteration in (3, 6):
                facts = {
                    "what": "loop",
                    "type": "loop",
                    "complete": False,
                    "kept": len(stream.array),
                }
                rank.add(PART_RECORDS, stream.array[done:].tobytes())
                rank.said(PART, stream, facts)
                done = len(stream.records)
                stream.work(50 * US).mark(998, 50 * US)
            if iteration < 8:
                stream.work(8 * US).call("MPI_Allreduce", 2 * US)
        if ended:
            rank.section(stream, what="loop", type="loop", rest=stream.array[done:])
            rank.end()
        rank.write(folder)
    return folder


def test_parts_of_a_loop_are_put_together(tmp_path: Path) -> None:
    (path,) = convert(parts_of_a_loop(tmp_path / "app-0.raw", ended=True), tmp_path)
    run = hindmost.open(path)
    assert run.durations[:, 0] == pytest.approx([10e-6] * 8)
    assert run.solve_time == pytest.approx(80e-6)  # the two pauses are not in it
    assert run.header.complete
    assert run.header.iteration_is == "each 2 calls of MPI_Allreduce"


def test_what_the_recorder_writes_within_an_iteration_is_time_in_a_call(tmp_path: Path) -> None:
    """Rank 1 writes for 50 us after a call; rank 0 waits for it in the next one."""
    for rank in two_ranks(mark_call="auto"):
        stream = Stream(1000 * US)
        for iteration in range(8):
            late = 50 * US * (iteration == 3)
            stream.work(4 * US).call("MPI_Waitall", US)
            if rank.rank == 1 and late:
                stream.work(late).mark(998, late)
            stream.work(3 * US)
            stream.call("MPI_Allreduce", 2 * US + late * (rank.rank == 0))
        rank.section(stream, what="loop", type="loop", complete=True)
        rank.end().write(tmp_path / "app-0.raw")
    (path,) = convert(tmp_path / "app-0.raw", tmp_path, iterate_at=("MPI_Allreduce", 1))
    run = hindmost.open(path)
    expected = np.full((7, 2), 10e-6)
    expected[2] = 60e-6
    assert run.durations == pytest.approx(expected)
    assert run.phase("halo")[2] == pytest.approx([1e-6, 51e-6], abs=1e-9)
    assert run.starts[:, 0] == pytest.approx(run.starts[:, 1])


def test_a_loop_that_was_cut_off_keeps_its_parts(tmp_path: Path) -> None:
    (path,) = convert(parts_of_a_loop(tmp_path / "app-0.raw", ended=False), tmp_path)
    run = hindmost.open(path)
    assert run.durations[:, 0] == pytest.approx([10e-6] * 6)
    assert run.solve_time == pytest.approx(60e-6)
    assert not run.header.complete


def test_a_loop_whose_end_is_torn_keeps_its_parts(tmp_path: Path) -> None:
    folder = parts_of_a_loop(tmp_path / "app-0.raw", ended=True)
    whole = (folder / "node-0000000.raw").read_bytes()
    frames = [at for at in range(len(whole)) if whole.startswith(b"HMRN", at)]
    (folder / "node-0000000.raw").write_bytes(whole[: frames[-4] + 40])  # in its last records
    (path,) = convert(folder, tmp_path)
    assert len(hindmost.open(path).durations) == 6
