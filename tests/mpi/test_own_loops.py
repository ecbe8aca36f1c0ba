"""Loops of one's own: MPI time counts by what the call is, however the loop is written."""

from itertools import pairwise

import pytest
from tests.conftest import starter
from tests.mpi.parts import replayed_parts
from tests.mpi.test_recording import assert_books_close

import hindmost
from hindmost.analysis.runs.efficiency.of_run import compute as compute_efficiencies
from hindmost.analysis.runs.tallies import solve_times
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind
from hindmost.models.noise.maxplus import fit_both

pytestmark = pytest.mark.mpi

ITERATIONS = 5
WORK_S = 25e-3
"""Of rank 1: long beside what a busy machine may do to either rank. Rank 0 has nothing to do."""

LOOPS = f"""
import time
import numpy as np
import hindmost
hindmost.listen()
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, other = comm.rank, 1 - comm.rank
here, there, total = np.zeros(64), np.zeros(64), np.zeros(1)
ring = comm.Create_cart([2], [True])
pair = np.zeros(2)
window = MPI.Win.Create(np.zeros(64), comm=comm)
groups = MPI.COMM_SELF.Create_intercomm(0, comm, other, 3)
never = comm.Irecv(np.zeros(1), other, 77)
halo = [comm.Send_init(here, other, 3), comm.Recv_init(there, other, 3)]

def work():
    time.sleep({WORK_S} * rank)

def blocking(recorder):
    work()
    comm.Sendrecv(here, other, 0, there, other, 0)
    comm.Bcast(total, 0)

def non_blocking(recorder):
    work()
    MPI.Request.Waitall([comm.Irecv(there, other, 0), comm.Isend(here, other, 0)])
    comm.Bcast(total, 0)

def one_by_one(recorder):
    work()
    requests = [comm.Irecv(there, other, 0), comm.Isend(here, other, 0)]
    while MPI.Request.Waitany(requests) != MPI.UNDEFINED:
        pass

def lower_case(recorder):
    work()
    comm.send({{"rank": rank}}, other)
    comm.recv(source=other)
    comm.bcast("all" if rank == 0 else None)

def lower_case_sum(recorder):
    work()
    comm.allreduce(rank)

def probes(recorder):
    work()
    comm.Send(here, other)
    comm.Probe(other)
    comm.Recv(there, other)

def polls(recorder):
    work()
    for _ in range(10):  # a busy machine may let the message arrive before the first question
        comm.Iprobe(other, 77)
    comm.Send(here, other)
    while not comm.Iprobe(other):
        pass
    comm.Recv(there, other)

def persistent(recorder):
    work()
    MPI.Prequest.Startall(halo)
    MPI.Request.Waitall(halo)

def neighbours(recorder):
    work()
    ring.Neighbor_alltoall(pair, np.zeros(2))

def between_groups(recorder):
    work()
    groups.Sendrecv(here, 0, 0, there, 0, 0)

def split_sum(recorder):
    request = comm.Iallreduce(MPI.IN_PLACE, total)
    work()
    request.Wait()
    request = comm.Iallreduce(MPI.IN_PLACE, total)
    request.Wait()

def tested_sum(recorder):
    work()
    request = comm.Iallreduce(MPI.IN_PLACE, total)
    for _ in range(10):
        never.Test()
    while not request.Test():
        pass

def in_a_phase(recorder):
    with recorder.phase("norm"):
        work()
        comm.Allreduce(MPI.IN_PLACE, total)

def between(recorder):
    work()

def fences(recorder):
    work()
    window.Fence()

loops = [blocking, non_blocking, one_by_one, lower_case, lower_case_sum, probes, polls, persistent,
         neighbours, between_groups, split_sum, tested_sum, in_a_phase, between, fences]
for loop in loops:
    with hindmost.record(loop.__name__ + ".h5", comm, name=loop.__name__) as recorder:
        for _ in range({ITERATIONS}):
            with recorder.iteration():
                loop(recorder)
            if loop is between:
                comm.Barrier()
never.Cancel()
never.Wait()
if MPI.Get_version()[0] >= 4:
    reduction = comm.Allreduce_init(here, there)
    parts = [comm.Psend_init(here, 2, other, 5), comm.Precv_init(there, 2, other, 5)]

    def persistent_sum():
        reduction.Start()
        reduction.Wait()

    def partitioned():
        MPI.Prequest.Startall(parts)
        parts[0].Pready_range(0, 1)
        MPI.Request.Waitall(parts)

    def exchange():
        comm.Isendrecv(here, other, 0, there, other, 0).Wait()

    for loop in (persistent_sum, partitioned, exchange):
        with hindmost.record(loop.__name__ + ".h5", comm) as recorder:
            for _ in range({ITERATIONS}):
                with recorder.iteration():
                    work()
                    loop()
    for request in (reduction, *parts):
        request.Free()
"""

WHERE = {
    "blocking": "halo",
    "non_blocking": "halo",
    "one_by_one": "halo",
    "lower_case": "halo",
    "lower_case_sum": "halo",
    "probes": "halo",
    "persistent": "halo",
    "neighbours": "halo",
    "between_groups": "halo",
    "split_sum": "wait",
    "in_a_phase": "wait",
    "between": "wait",
    "fences": "wait",
}
"""In which phase the rank waits that has less to do."""


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("loops")
    done = starter(folder)(2, script=LOOPS)
    assert done.returncode == 0, done.stderr
    return {path.stem: hindmost.open(path) for path in folder.glob("*.h5")}


@pytest.mark.parametrize("name", WHERE)
def test_the_rank_with_less_to_do_waits(loops: dict[str, Run], name: str) -> None:
    run = loops[name]
    run.verify()
    assert_books_close(run)
    # Without the last body, after which nothing counts to it. A busy machine may hold up a rank
    # anywhere, but not in every body; a wrong class is wrong in all of them.
    share = {phase: run.phase(phase)[:-1] / run.durations[:-1] for phase in run.phases}
    waiting = share[WHERE[name]]
    assert waiting[:, 0].max() > 0.5
    work = run.work[:-1]
    assert work[:, 0].min() < 0.5 * WORK_S < WORK_S <= work[:, 1].min()  # none of it is waiting
    assert share["unclassified"].max() == 0.0


@pytest.mark.parametrize("name", WHERE)
def test_efficiencies_and_models_see_who_comes_last(loops: dict[str, Run], name: str) -> None:
    run = loops[name]
    # In some iteration: see above.
    found = compute_efficiencies(run, windows=ITERATIONS)
    balance = min(window.efficiencies.load_balance for window in found.windows)
    assert 0.45 < balance < 0.9  # 1.0 where waiting counts as work
    assert found.whole.serialisation is not None
    assert found.whole.transfer is not None
    if name != "split_sum":  # posted before the work: the other rank may wait for its progress
        paths_s = [part.path.work for part, _ in replayed_parts(run, 2)]
        assert any(each[1] > 0.5 * each.sum() for each in paths_s)
    times = solve_times(run)
    assert times.events is not None
    bodies_s = fit_both(times)[0].bodies_s
    assert 0.9 * ITERATIONS * WORK_S < bodies_s < 1.1 * ITERATIONS * run.durations.max()


SEND, RECEIVE = EventKind.SEND, EventKind.RECEIVE
REDUCE, POST, COMPLETE = EventKind.REDUCE, EventKind.POST, EventKind.COMPLETE
BROADCAST = EventKind.FROM_ROOT
EVENTS = {
    "blocking": [SEND, RECEIVE, BROADCAST],
    "non_blocking": [SEND, RECEIVE, BROADCAST],
    "one_by_one": [SEND, RECEIVE],
    "lower_case": [SEND, RECEIVE, BROADCAST, BROADCAST],
    "lower_case_sum": [SEND, RECEIVE, BROADCAST, BROADCAST],
    "probes": [SEND, RECEIVE],
    "polls": [SEND, RECEIVE],
    "persistent": [SEND, RECEIVE],
    "neighbours": [SEND, RECEIVE],
    "between_groups": [SEND, RECEIVE],
    "split_sum": [POST, COMPLETE, POST, COMPLETE],
    "tested_sum": [POST, COMPLETE],
    "in_a_phase": [REDUCE],
    "between": [REDUCE],
    "fences": [REDUCE],
}
"""Of every body. A pickled object may be two messages and two broadcasts: its size and itself."""


@pytest.mark.parametrize("name", EVENTS)
def test_events_of_own_loops(loops: dict[str, Run], name: str) -> None:
    run = loops[name]
    kinds = run.variable("event_kind")
    last = ITERATIONS - 1 if name == "between" else ITERATIONS
    for row in kinds[1:last].tolist():  # in the first one mpi4py may make itself a communicator
        # Messages with work between them, as on a busy machine, are events of their own.
        events = [
            kind
            for before, kind in pairwise([EventKind.NONE, *row])
            if kind != EventKind.NONE and not (kind == before and kind in (SEND, RECEIVE))
        ]
        assert events == EVENTS[name]
    edges = sorted(zip(run.edges.source.tolist(), run.edges.target.tolist(), strict=True))
    if SEND not in EVENTS[name]:
        assert edges == []
    elif name != "lower_case_sum":
        assert edges == [(0, 1), (1, 0)]


@pytest.mark.parametrize("name", [*WHERE, "polls", "tested_sum"])
def test_polling_is_counted(loops: dict[str, Run], name: str) -> None:
    spec = loops[name].header.spec
    assert (spec.get("polls", 0) > 0) == (name in ("polls", "tested_sum"))
    assert (spec.get("between_polls_s", 0.0) > 0.0) == (name in ("polls", "tested_sum"))


OF_MPI_4 = {
    "persistent_sum": ("wait", [POST, COMPLETE], []),
    "partitioned": ("halo", [SEND, RECEIVE], [512, 512]),
    "exchange": ("halo", [SEND, RECEIVE], [512, 512]),
}
"""Phase, events and bytes of loops of calls that came with version 4."""


@pytest.mark.parametrize("name", OF_MPI_4)
def test_what_came_with_mpi_4(loops: dict[str, Run], name: str) -> None:
    if name not in loops:
        pytest.skip("this MPI is older than version 4")
    run, (phase, events, sizes) = loops[name], OF_MPI_4[name]
    waiting = run.phase(phase) / run.durations
    assert waiting[:, 0].max() > 0.5 > waiting[:, 1].min()
    assert run.phase("unclassified").max() == 0.0
    assert run.variable("event_kind").tolist() == [events] * ITERATIONS
    assert run.edges.bytes.tolist() == sizes
