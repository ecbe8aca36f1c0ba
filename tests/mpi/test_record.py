"""``hindmost.record``: a loop of one's own, on one and two ranks, with and without MPI."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.mpi.test_recording import assert_books_close

import hindmost
from hindmost.analysis.runs.groups import group_runs
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.runs.summary import summarise_run
from hindmost.errors import UsageError
from hindmost.harness.runfile.bodies import PHASES

ITERATIONS = 20
WORK_S, HALO_S = 5e-3, 1e-3

LOOP = f"""
import sys, time
import hindmost
if "listen" in sys.argv:
    hindmost.listen()
from mpi4py import MPI
comm = MPI.COMM_WORLD
total = bytearray(8)
with hindmost.record("mine.h5", comm, name="mine") as recorder:
    for _ in range({ITERATIONS}):
        with recorder.iteration():
            with recorder.phase("halo"):
                time.sleep({HALO_S})
            time.sleep({WORK_S} * (1 + 2 * comm.rank))
            comm.Allreduce(MPI.IN_PLACE, [total, MPI.DOUBLE])
"""


@pytest.mark.mpi
@pytest.mark.parametrize("count", [1, 2])
def test_waiting_is_seen_if_hindmost_came_first(ranks: Ranks, tmp_path: Path, count: int) -> None:
    done = ranks(count, "listen", script=LOOP)
    assert done.returncode == 0, done.stderr
    assert "hindmost" not in done.stderr
    run = hindmost.open(tmp_path / "mine.h5")
    assert run.durations.shape == (ITERATIONS, count)
    assert (run.header.workload, run.header.solver) == ("mine", "loop")
    assert run.header.spec["mpi_seen"] is True
    assert_books_close(run)
    halo, wait, local = (np.median(run.phase(name), axis=0) for name in ("halo", "wait", "local"))
    assert (halo >= HALO_S).all()
    assert local[0] >= WORK_S
    if count == 2:
        # Rank 1 works three times as long, and rank 0 waits for it.
        assert wait[0] > 0.5 * WORK_S
        assert local[0] < local[1]
        assert wait[1] < wait[0]


@pytest.mark.mpi
def test_an_honest_word_if_mpi_came_first(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, script=LOOP)
    assert done.returncode == 0, done.stderr
    said = "hindmost does not see waiting in MPI: mpi4py.MPI was imported before"
    assert done.stderr.count(said) == 1
    run = hindmost.open(tmp_path / "mine.h5")
    assert run.header.spec["mpi_seen"] is False
    assert run.phase("wait").max() == 0
    assert_books_close(run)


OWN_PHASES = f"""
import time
import hindmost
hindmost.listen()
from mpi4py import MPI
comm = MPI.COMM_WORLD
total = bytearray(8)
with hindmost.record("mine.h5", comm) as recorder:
    for step in range({ITERATIONS}):
        with recorder.iteration():
            with recorder.phase("hydro"):
                time.sleep({WORK_S} * (1 + 2 * comm.rank))
                comm.Allreduce(MPI.IN_PLACE, [total, MPI.DOUBLE])
            if comm.rank == 1 and step == 3:
                with recorder.phase("output"):
                    time.sleep({HALO_S})
"""


@pytest.mark.mpi
def test_phases_of_ones_own(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, script=OWN_PHASES)
    assert done.returncode == 0, done.stderr
    run = hindmost.open(tmp_path / "mine.h5")
    assert run.phases == (*PHASES, "hydro", "output")
    assert_books_close(run)
    run.verify()
    hydro, wait = (np.median(run.phase(name), axis=0) for name in ("hydro", "wait"))
    # Waiting inside a phase of one's own is waiting, and its work is work.
    assert wait[0] > 0.5 * WORK_S
    assert hydro[1] > hydro[0] >= WORK_S
    assert np.allclose(run.work + run.phase("wait"), run.durations, atol=1e-6)
    output = run.phase("output")
    assert output[3, 1] >= HALO_S
    assert np.count_nonzero(output) == 1


def test_without_mpi(tmp_path: Path) -> None:
    with hindmost.record(tmp_path / "alone.h5") as recorder:
        for _ in range(5):
            with recorder.iteration(), recorder.phase("halo"):
                time.sleep(1e-3)
            time.sleep(5e-4)  # between iterations: still part of the run
    run = hindmost.open(tmp_path / "alone.h5")
    assert run.durations.shape == (5, 1)
    assert (run.phase("halo") >= 1e-3).all()
    assert_books_close(run)
    assert hindmost.open(tmp_path / "alone.h5").summary["balance_s"] < 1e-6


def test_it_needs_neither_mpi4py_nor_petsc(tmp_path: Path) -> None:
    program = (
        "import sys, hindmost\n"
        "for name in ('mpi4py', 'petsc4py'): sys.modules[name] = None\n"
        "with hindmost.record('alone.h5') as recorder:\n"
        "    with recorder.iteration(): pass\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    assert hindmost.open(tmp_path / "alone.h5").bodies == 1


def test_misuse_is_refused(tmp_path: Path) -> None:
    taken = tmp_path / "taken.h5"
    taken.touch()
    with (
        pytest.raises(UsageError, match="hindmost never overwrites a run"),
        hindmost.record(taken) as recorder,
        recorder.iteration(),
    ):
        pass
    assert taken.stat().st_size == 0
    with pytest.raises(UsageError, match=r"must end in \.h5"):
        hindmost.record(tmp_path / "run.nc")
    with pytest.raises(UsageError, match="No iteration"), hindmost.record(tmp_path / "none.h5"):
        pass
    with (
        pytest.raises(UsageError, match="cannot be called 'local'"),
        hindmost.record(tmp_path / "phase.h5") as recorder,
        recorder.iteration(),
        recorder.phase("local"),
    ):
        pass
    with (
        pytest.raises(UsageError, match="outside an iteration"),
        hindmost.record(tmp_path / "phase.h5") as recorder,
        recorder.phase("halo"),
    ):
        pass


@pytest.mark.parametrize("name", ["", "x" * 1001, "a\0b", "two\nlines", "\ud800", 7], ids=ascii)
def test_names_that_no_file_can_keep_are_refused_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        hindmost.record(tmp_path / "run.h5", name=name)
    with hindmost.record(tmp_path / "run.h5", name="é" * 1000) as recorder, recorder.iteration():
        with pytest.raises(UsageError, match="phase"), recorder.phase(name):
            pass
        with recorder.phase("x" * 1000):
            pass
    assert hindmost.open(tmp_path / "run.h5").header.workload == "é" * 1000


def test_a_loop_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        hindmost.record(tmp_path / "failed.h5") as recorder,
        recorder.iteration(),
    ):
        _ = 1 / 0
    assert not list(tmp_path.iterdir())


TOGETHER = """
import sys
import hindmost
import hindmost.errors
hindmost.listen()
from mpi4py import MPI
comm = MPI.COMM_WORLD
case = sys.argv[1]
given = {"solver": "cg", "x": (1 if comm.rank == 0 else True) if case == "differ" else 1}
name = f"mine{comm.rank}" if case == "names" else "mine"
if case == "unwritable" and comm.rank == 0:
    from hindmost.harness.runfile import writer
    def refuse(*_): raise RuntimeError("no such kind")
    writer.make_variables = refuse
if case == "unfinished" and comm.rank == 0:
    from hindmost.harness.runfile import writer
    def refuse(*_): raise ValueError("embedded NULLs")
    writer.write_attributes = refuse
try:
    with hindmost.record(sys.argv[2], comm, name=name, parameters=given) as recorder:
        for step in range(0 if case == "idle" and comm.rank == 1 else 3):
            try:
                with recorder.iteration(), recorder.phase("work"):
                    if case == "broken" and step == 1:
                        raise RuntimeError("mine")
                    if case == "apart" and step == 2 * comm.rank:  # 0 on rank 0, 2 on rank 1
                        raise RuntimeError("mine")
            except RuntimeError:
                pass
except hindmost.errors.HindmostError as error:
    # In one piece, so that ranks do not speak at once.
    print(f"{comm.rank} {type(error).__name__} {error}", flush=True)
"""


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("taken", "hindmost never overwrites a run"),
        ("idle", "No iteration was recorded"),
        ("differ", "UsageError parameters: x is 1 on rank 0 and True on rank 1"),
        ("names", "UsageError name is 'mine0' on rank 0 and 'mine1' on rank 1"),
        ("unwritable", "DataError The run file cannot be written: RuntimeError: no such kind"),
        ("unfinished", "DataError The run file cannot be written: ValueError: embedded NULLs"),
    ],
)
def test_ranks_fail_together(ranks: Ranks, tmp_path: Path, case: str, said: str) -> None:
    target = tmp_path / "mine.h5"
    if case == "taken":
        target.write_text("something else")
    done = ranks(2, case, target, script=TOGETHER)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(said) == 2
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".py"] == (
        ["mine.h5"] if case == "taken" else []
    )


@pytest.mark.mpi
def test_a_broken_body_is_left_out(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, "broken", tmp_path / "mine.h5", script=TOGETHER)
    assert done.returncode == 0, done.stderr
    run = hindmost.open(tmp_path / "mine.h5")
    assert run.bodies == 2
    assert_books_close(run)
    assert not run.header.complete
    assert run.header.spec["raised"] == [
        {"iteration": 1, "ranks": [0, 1], "errors": ["RuntimeError"]}
    ]
    assert done.stderr.count("iteration 1 raised RuntimeError on all ranks") == 1


@pytest.mark.mpi
def test_an_iteration_that_raised_on_one_rank_is_left_out_on_all(
    ranks: Ranks, tmp_path: Path
) -> None:
    done = ranks(2, "apart", tmp_path / "mine.h5", script=TOGETHER)
    assert done.returncode == 0, done.stderr
    run = hindmost.open(tmp_path / "mine.h5")
    assert (run.bodies, run.header.iterations) == (1, 1)  # the second is the only one of both
    assert_books_close(run)
    run.verify()
    assert run.header.spec["raised"] == [
        {"iteration": 0, "ranks": [0], "errors": ["RuntimeError"]},
        {"iteration": 2, "ranks": [1], "errors": ["RuntimeError"]},
    ]
    assert not run.header.complete
    said = "iteration 0 raised RuntimeError on rank 0; iteration 2 raised RuntimeError on rank 1"
    assert said in run.header.spec["failure"]
    assert done.stderr.count(said) == 1
    assert said in "\n".join(summarise_run(run).lines())


def test_the_time_of_an_iteration_that_raised_is_kept(tmp_path: Path) -> None:
    with hindmost.record(tmp_path / "run.h5") as recorder:
        for step in range(4):
            with suppress(ValueError), recorder.iteration(), recorder.phase("own"):
                time.sleep(1e-3)
                if step in (1, 3):
                    raise ValueError
    run = hindmost.open(tmp_path / "run.h5")
    assert run.bodies == 2
    assert run.durations[0, 0] >= 2e-3
    assert run.lead_out[0] >= 1e-3
    assert_books_close(run)


def test_unnamed_loops_are_told_apart_by_their_place(tmp_path: Path) -> None:
    for number in range(2):
        with hindmost.record(tmp_path / f"first-{number}.h5") as recorder, recorder.iteration():
            pass
    with hindmost.record(tmp_path / "second.h5") as recorder, recorder.iteration():
        pass
    groups = group_runs(find_runs([tmp_path]))
    assert [len(group.runs) for group in groups] == [2, 1]
    titles = [group.title for group in groups]
    assert all(title.startswith("loop on test_record.py:") for title in titles)
    assert len(set(titles)) == 2
