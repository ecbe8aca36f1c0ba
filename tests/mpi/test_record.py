"""``hindmost.record``: a loop of one's own, on one and two ranks, with and without MPI."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.mpi.test_recording import assert_books_close

import hindmost
from hindmost.errors import UsageError

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
    assert done.stderr.count("waiting in MPI is not seen: mpi4py.MPI was imported before") == 1
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
    assert run.phases == ("halo", "wait", "post", "local", "hydro", "output")
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
        pytest.raises(UsageError, match="an existing run is not overwritten"),
        hindmost.record(taken) as recorder,
        recorder.iteration(),
    ):
        pass
    assert taken.stat().st_size == 0
    with pytest.raises(UsageError, match=r"ends in \.h5"):
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
try:
    with hindmost.record(sys.argv[2], comm) as recorder:
        for step in range(0 if case == "idle" and comm.rank == 1 else 3):
            try:
                with recorder.iteration(), recorder.phase("work"):
                    if case == "broken" and step == 1:
                        raise RuntimeError("mine")
            except RuntimeError:
                pass
except hindmost.errors.UsageError as error:
    print(comm.rank, error, flush=True)
"""


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("case", "said"),
    [("taken", "an existing run is not overwritten"), ("idle", "No iteration was recorded")],
)
def test_ranks_fail_together(ranks: Ranks, tmp_path: Path, case: str, said: str) -> None:
    target = tmp_path / "mine.h5"
    if case == "taken":
        target.write_text("something else")
    done = ranks(2, case, target, script=TOGETHER)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(said) == 2


@pytest.mark.mpi
def test_a_broken_body_is_left_out(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, "broken", tmp_path / "mine.h5", script=TOGETHER)
    assert done.returncode == 0, done.stderr
    run = hindmost.open(tmp_path / "mine.h5")
    assert run.bodies == 2
    assert_books_close(run)
