"""Samples of real programs: which function has more work, threads, and calls that are not cut."""

import re
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import BIN
from tests.programs.attaching import PROGRAMS, compiled, environment_for

import hindmost
from hindmost.analysis.runs.cores import line_in, regions_of
from hindmost.analysis.runs.sampled import RunSamples
from hindmost.analysis.runs.stretches import stretches_of
from hindmost.errors import DataError
from hindmost.harness.attach.convert import convert_all, sampling_words
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.samples import SampleKind
from hindmost.harness.stack import current_stack
from hindmost.models.ranks.attribution import attribute
from hindmost.models.ranks.teams import TeamWork

pytestmark = pytest.mark.mpi
STEPS, FEW_STEPS, TIMES = 100, 30, 10
"""Steps of the program where samples are counted, and where they are not; and how many times the
work in `heavy` rank 1 has."""
RATE = 2000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("sampled"), "sampled", "-O1", "-g", "-fopenmp")


def line_of(word: str) -> int:
    lines = (PROGRAMS / "sampled.c").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if word in line)


def recorded(program: Path, folder: Path, how: str, steps: int = FEW_STEPS) -> tuple[Run, str]:
    """Run the program on two ranks with samples; return its run, and what it printed."""
    environment = environment_for(folder, "--sample", str(RATE))
    words = f"{BIN / 'mpiexec'} -n 2 {program} {steps} {TIMES} {how}"
    done = subprocess.run(
        ["sh", "-ec", f"{environment}\n{words}"],
        check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    (file,) = convert_all(folder, folder)
    return hindmost.open(file), done.stdout


def named(run: Run) -> tuple[str, int, bool]:
    """Return function and line of rank 1's extra work where `heavy` is, and whether it is sure."""
    samples = RunSamples.of(run)
    assert samples is not None
    spent_s = [
        samples.context_s[:, list(stretch.contexts)].sum(axis=1) for stretch in stretches_of(run)
    ]
    most = int(np.argmax([each[1] - each[0] for each in spent_s]))
    found = attribute(samples.in_stretch(1, stretches_of(run)[most].contexts))
    place = samples.places[found.place]
    return place.function, place.line, found.sure


def threads_in(run: Run, function: str) -> set[tuple[int, int]]:
    """Return the threads that have a sample in a function: rank and number."""
    samples = RunSamples.of(run)
    assert samples is not None
    begin = np.append(0, samples.end)[samples.stack]
    inner = [
        samples.places[samples.place[at]].function if kind == SampleKind.WORK else ""
        for at, kind in zip(begin, samples.kind, strict=True)
    ]
    chosen = np.array([each == function for each in inner])
    return set(zip(samples.rank[chosen].tolist(), samples.thread[chosen].tolist(), strict=True))


def test_more_work_is_found_in_its_function_and_line(program: Path, tmp_path: Path) -> None:
    """The call to `light` in the same stretch, and its line, are not named."""
    run, _ = recorded(program, tmp_path, "plain", STEPS)
    assert named(run) == ("heavy", line_of("HEAVY"), True)
    assert run.header.spec["sampling"]["mechanism"] == "event"
    assert run.header.spec["sampling"]["per_second"] == pytest.approx(RATE)


def test_threads_are_sampled_each(program: Path, tmp_path: Path) -> None:
    run, _ = recorded(program, tmp_path, "threads")
    aside = threads_in(run, "aside")
    assert {rank for rank, _ in aside} == {0, 1}
    assert len(aside) == 4
    assert {thread for _, thread in threads_in(run, "heavy")} == {0}
    assert (run.variable("threads") >= 3).all()
    assert (run.variable("others_cpu") > 0.0).all()
    time_s, number = run.variable("thread_time"), run.variable("thread_number")
    for rank, thread in aside:
        own = (run.variable("thread_rank") == rank) & (number == thread)
        assert time_s[own] > 0.0


def test_threads_that_block_the_signal_are_counted(program: Path, tmp_path: Path) -> None:
    run, _ = recorded(program, tmp_path, "silent")
    assert not threads_in(run, "aside")
    sampling = run.header.spec["sampling"]
    assert sampling["unsampled"] >= 4
    assert f"; none of {sampling['unsampled']} threads: SIGPROF" in sampling_words(sampling)


def test_a_thread_with_more_work_is_found_in_its_region(program: Path, tmp_path: Path) -> None:
    run, _ = recorded(program, tmp_path, "team", STEPS)
    samples = RunSamples.of(run)
    assert samples is not None
    names, region = regions_of(samples)
    teams = []
    for rank in range(2):
        mine = (samples.rank == rank) & (samples.kind == SampleKind.WORK)
        teams.append(TeamWork.of(samples.thread[mine], region[mine], samples.count[mine]))
    assert [team.threads.size for team in teams] == [2, 2]
    slow = teams[1].imbalance()
    assert slow is not None
    assert (names[slow.region], slow.thread) == ("share", 1)
    assert slow.times == pytest.approx(TIMES, rel=0.5)
    line = line_in(samples, region, 1, int(teams[1].threads[1]), slow.region)
    assert str(line) == f"heavy (sampled.c:{line_of('HEAVY')})"
    assert teams[1].efficiency < 0.7


def test_every_thread_of_a_program_that_hangs_is_placed(program: Path, tmp_path: Path) -> None:
    environment = environment_for(tmp_path, "--sample", str(RATE), "--most-seconds", "3")
    words = f"{BIN / 'mpiexec'} -n 2 {program} 5 1 hangs"
    subprocess.run(
        ["sh", "-c", f"{environment}\n{words}"], check=False, capture_output=True, timeout=120
    )
    reported: list[str] = []
    with suppress(DataError):
        convert_all(tmp_path, tmp_path, reported.append)
    said = " ".join(reported)
    assert "rank 0 was in MPI_Barrier" in said
    does = "(waits for a thread to end|is)"  # as far as the C library's symbols tell
    assert re.search(rf"thread 0 {does} in main \(sampled.c:{line_of('JOINS')}\)", said)
    assert f"waits for a lock in stuck (sampled.c:{line_of('STUCK')})" in said
    assert f"is in aside (sampled.c:{line_of('ASIDE')})" in said


def test_blocking_calls_are_never_cut_short(program: Path, tmp_path: Path) -> None:
    """2,500 calls of five kinds on each rank; where these block is known without a signal."""
    run, said = recorded(program, tmp_path, "blocks", STEPS)
    assert said.split() == ["0", "interrupted"] * 2
    samples = RunSamples.of(run)
    assert samples is not None
    blocked = samples.kind == SampleKind.BLOCKED
    inner = samples.place[np.append(0, samples.end)[samples.stack[blocked]]]
    assert {samples.places[place].function for place in inner} == {"block"}


def test_timers_serve_where_perf_is_forbidden(program: Path, tmp_path: Path) -> None:
    run, _ = recorded(program, tmp_path, "forbids")
    assert run.header.spec["sampling"]["mechanism"] == "timer"
    assert run.variable("sample_count").sum() > 0


def test_a_program_with_a_handler_of_its_own_gets_no_signal_of_ours(
    program: Path, tmp_path: Path
) -> None:
    """The first signal would end it."""
    run, said = recorded(program, tmp_path, "profiles")
    assert said.count("interrupted") == 2
    assert "SIGPROF" in run.header.spec["sampling"]["why_none"]


def test_a_program_sees_the_default_action_and_may_set_it(program: Path, tmp_path: Path) -> None:
    run, said = recorded(program, tmp_path, "asks")
    assert said.split() == ["0", "interrupted"] * 2
    assert not run.header.spec["sampling"]["why_none"]


def test_code_where_a_library_was_unloaded_is_sampled(program: Path, tmp_path: Path) -> None:
    """Its tables are no more."""
    library = tmp_path / "unloaded.so"
    words = ("-shared", "-fPIC", '-DPADDING="9"', "-o", library, PROGRAMS / "contexts_library.c")
    subprocess.run([current_stack().mpicc, *words], check=True, timeout=120)
    run, said = recorded(program, tmp_path, str(library))
    assert said.count("interrupted") == 2
    assert run.variable("sample_count").sum() > 0
