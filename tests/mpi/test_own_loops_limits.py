"""What the recorder cannot know of a loop, and what it has no room for: said, and never work."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks, starter
from tests.mpi.test_recording import assert_books_close

import hindmost
from hindmost.analysis.runs.efficiency.of_run import local_work
from hindmost.analysis.runs.tallies import Block
from hindmost.models.events import EventKind

START = """
import json, time
import numpy as np
import hindmost
hindmost.listen()
from mpi4py import MPI
from hindmost.harness.attach import own_marks
from hindmost.harness.recorder.library import load
comm = MPI.COMM_WORLD
box = np.zeros(1)
"""

UNKNOWN = """
with hindmost.record("unknown.h5", comm) as recorder:
    for _ in range(4):
        with recorder.iteration():
            request = MPI.Grequest.Start(None, None, None)
            request.Complete()
            request.Wait()
            file = MPI.File.Open(comm, "data", MPI.MODE_CREATE | MPI.MODE_RDWR)
            file.Write_at(8 * comm.rank, box)
            file.Close()
            comm.Barrier()
unknown = comm.gather(load().hindmost_unknown_requests())
if unknown:
    with open("unknown.json", "w") as file:
        json.dump(unknown, file)
"""


@dataclass(frozen=True)
class Recorded:
    """The folder with the files of all loops, and what was printed."""

    folder: Path
    printed: str


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Record the loops on two ranks, one after the other in one program."""
    folder = tmp_path_factory.mktemp("loops")
    done = starter(folder)(2, script=START + UNKNOWN + MARKED + AHEAD + NESTED + MANY + LONG)
    assert done.returncode == 0, done.stderr
    return Recorded(folder, done.stdout)


@pytest.mark.mpi
def test_files_and_unknown_requests_are_unclassified_and_no_work(recorded: Recorded) -> None:
    assert json.loads((recorded.folder / "unknown.json").read_text()) == [4, 4]
    run = hindmost.open(recorded.folder / "unknown.h5")
    assert_books_close(run)
    spent = run.phase("unclassified")
    assert (spent > 0.0).all()
    assert (run.work < run.durations - spent + 1e-9).all()
    local, _ = local_work(Block(run, slice(None)))
    assert (local < run.durations - spent + 1e-6).all()
    assert set(run.variable("event_kind").ravel().tolist()) == {EventKind.REDUCE}


MANY = """
with hindmost.record("many.h5", comm) as recorder:
    with recorder.iteration():
        requests = [MPI.COMM_SELF.Irecv(np.zeros(1), 0) for _ in range(40_000)]
        for _ in range(40_000):
            MPI.COMM_SELF.Send(box, 0)
        MPI.Request.Waitall(requests)
    after = load().hindmost_unknown_requests()
    with recorder.iteration():
        comm.Ibarrier().Wait()
if comm.rank == 0:
    with open("many.json", "w") as file:
        json.dump([after, load().hindmost_unknown_requests()], file)
"""


@pytest.mark.mpi
def test_more_requests_than_the_table_holds(recorded: Recorded) -> None:
    in_the_crowd, afterwards = json.loads((recorded.folder / "many.json").read_text())
    assert 0 < in_the_crowd < 40_000
    assert afterwards == in_the_crowd  # the table has room again
    run = hindmost.open(recorded.folder / "many.h5")
    assert run.phase("unclassified").max() == 0.0
    assert (run.phase("wait")[1] > 0.0).all()


LONG = """
own_marks.MEMORY_BYTES = 4096 * 24
with hindmost.record("full.h5", comm) as recorder:
    for calls in (1, 1, 1, 5000, 1):
        with recorder.iteration():
            for _ in range(calls):
                comm.Allreduce(MPI.IN_PLACE, box)
own_marks.BUDGET_BYTES = own_marks.MEMORY_BYTES = 16384 * 28
with hindmost.record("bounded.h5", comm) as recorder:
    for step in range(5000):
        try:
            with recorder.iteration(), recorder.phase("norm"):
                if step == 4000 and comm.rank == 1:
                    raise ValueError
                for _ in range(10):
                    comm.Allreduce(MPI.IN_PLACE, box)
        except ValueError:
            for _ in range(10):
                comm.Allreduce(MPI.IN_PLACE, box)
    comm.Barrier()
"""


@pytest.mark.mpi
def test_an_iteration_of_more_calls_than_the_memory_holds_has_their_sums(
    recorded: Recorded,
) -> None:
    run = hindmost.open(recorded.folder / "full.h5")
    assert_books_close(run)
    assert (run.bodies, run.header.complete) == (5, True)
    assert (run.phase("wait") > 0.0).all()
    assert run.header.records_lost == 0
    assert 1 <= run.summed <= 2  # the last one is kept in full if it takes longest


@pytest.mark.mpi
def test_of_more_calls_than_the_budget_there_are_sums(recorded: Recorded) -> None:
    run = hindmost.open(recorded.folder / "bounded.h5")
    assert_books_close(run)
    unit = run.header.spec["summed"]["unit"]
    assert unit > 1
    assert run.bodies == 5000 // unit - 1  # without that in which an iteration raised
    assert f"iteration {4000 // unit} raised ValueError on rank 1" in run.header.spec["failure"]
    assert run.header.iteration_is == f"each {unit:,} marked iterations"
    assert 0 < run.summed < run.bodies
    assert (run.phase("wait") > 0.0).all()
    assert run.header.records_lost == 0


MARKED = """
with hindmost.record("marked.h5", comm) as recorder:
    for _ in range(4):
        with recorder.iteration():
            with recorder.phase("halo"):
                time.sleep(5e-3)
                comm.Allreduce(MPI.IN_PLACE, box)
            with recorder.phase("wait"):
                time.sleep(3e-3)
            with recorder.phase("own"):
                comm.Allreduce(MPI.IN_PLACE, box)
"""


@pytest.mark.mpi
def test_a_phase_that_takes_all_is_no_work_in_events_either(recorded: Recorded) -> None:
    run = hindmost.open(recorded.folder / "marked.h5")
    assert_books_close(run)
    assert (run.phase("halo") >= 5e-3).all()
    marked = run.variable("event_duration")
    assert run.variable("event_kind")[0].tolist() == [
        EventKind.REDUCE, EventKind.SEND, EventKind.REDUCE
    ]  # fmt: skip
    assert (marked[:, :, 0] >= 5e-3).all()
    assert (marked[:, :, 1] >= 3e-3).all()
    # The last phase is the user's own: its MPI is waiting.
    both = marked[:, :, 1].astype(float) + marked[:, :, 2]
    assert (run.phase("wait") >= both - 1e-6).all()  # events are in single precision
    np.testing.assert_allclose(
        local_work(Block(run, slice(None)))[0][:-1], run.work[:-1], atol=1e-6
    )


AHEAD = """
with hindmost.record("ahead.h5", comm) as recorder:
    for _ in range(6):
        with recorder.iteration():
            time.sleep(10e-3 * comm.rank)
            comm.Bcast(box, 0)
"""


@pytest.mark.mpi
def test_the_root_of_a_broadcast_does_not_wait(recorded: Recorded) -> None:
    run = hindmost.open(recorded.folder / "ahead.h5")
    assert np.median(run.phase("wait")[:, 0]) < 5e-3
    assert (run.variable("event_kind") == EventKind.FROM_ROOT).all()
    assert (run.variable("event_group") == 0).all()


NESTED = """
from hindmost.errors import UsageError
with hindmost.record("outer.h5", comm) as recorder:
    for _ in range(3):
        with recorder.iteration():
            comm.Barrier()
    try:
        with hindmost.record("inner.h5", comm):
            pass
    except UsageError as error:
        print(error, flush=True)
    for _ in range(3):
        with recorder.iteration():
            comm.Barrier()
"""


@pytest.mark.mpi
def test_one_recording_at_a_time(recorded: Recorded) -> None:
    assert recorded.printed.count("can record one at a time: end that recording first") == 2
    run = hindmost.open(recorded.folder / "outer.h5")
    assert run.variable("event_kind").tolist() == [[EventKind.REDUCE]] * 6
    assert not (recorded.folder / "inner.h5").exists()


SOLVE_INSIDE = """
from hindmost.harness import petsc
parallel = petsc.start()
import hindmost
from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import SystemRequest
from hindmost.harness.solves.recorded import RecordedSolver
from hindmost.harness.krylov.solvers import SOLVERS
PETSc = parallel.PETSc
system = PROBLEMS["laplacian-1d"].build(SystemRequest(unknowns=3000), PETSc, PETSc.COMM_WORLD)
solver = RecordedSolver(SOLVERS["cg"], system, iterations=20, preconditioner="jacobi",
                        parallel=parallel)
solver.record()
with hindmost.record("outer.h5", parallel.communicator) as recorder:
    for _ in range(3):
        with recorder.iteration():
            solver.ksp.solve(system.right_side, system.solution)
"""


@pytest.mark.mpi
def test_a_loop_of_solves(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, script=SOLVE_INSIDE)
    assert done.returncode == 0, done.stderr
    run = hindmost.open(tmp_path / "outer.h5")
    run.verify()
    assert_books_close(run)
    # Twenty iterations have three reductions and a halo each.
    kinds = run.variable("event_kind")
    for row in kinds.tolist():
        assert 60 <= row.count(EventKind.REDUCE) < 70
        assert 20 <= row.count(EventKind.RECEIVE) < 25
