"""Loops of one's own whose ranks differ, and calls of other threads: in order, or left out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.mpi.test_recording import assert_books_close

import hindmost
from hindmost.analysis.runs.check import check_group
from hindmost.analysis.runs.configuration import Group
from hindmost.analysis.runs.efficiency.of_run import compute as compute_efficiencies
from hindmost.models.events import EventKind

pytestmark = pytest.mark.mpi

SEND, RECEIVE = EventKind.SEND, EventKind.RECEIVE

THREADS = """
import json, threading, time
import numpy as np
import hindmost
hindmost.listen()
from mpi4py import MPI
comm = MPI.COMM_WORLD
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
other, total = comm.Dup(), np.zeros(1)
go, heard = threading.Event(), 0

def listen():
    global heard
    go.wait()
    while other.recv(source=1 - comm.rank):
        heard += 1

thread = threading.Thread(target=listen)
thread.start()
with hindmost.record("threads.h5", comm) as recorder:
    go.set()
    for step in range(60):
        with recorder.iteration():
            comm.Allreduce(MPI.IN_PLACE, total)
            if step % 20 == 0:
                other.send(True, 1 - comm.rank)
                while heard <= step // 20:  # until the thread has the other rank's
                    time.sleep(1e-4)
other.send(False, 1 - comm.rank)
thread.join()
found = comm.gather(heard)
if found:
    print(json.dumps(found))
"""


def test_calls_of_other_threads_are_counted_and_change_nothing(
    ranks: Ranks, tmp_path: Path
) -> None:
    done = ranks(2, script=THREADS)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == [3, 3]
    run = hindmost.open(tmp_path / "threads.h5")
    # Each message is received in two calls; the thread may be in one more.
    assert 12 <= run.header.spec["foreign_calls"] <= 14
    assert run.header.spec["foreign_threads"] == 2  # one of each rank
    kinds = run.variable("event_kind")
    assert (kinds[:, 0] != EventKind.NONE).all()
    assert np.count_nonzero(kinds == EventKind.REDUCE) == 60
    codes = [finding.code for finding in check_group(Group((run,)))]
    assert "foreign-calls" in codes


EQUAL_SIZE = """
import hindmost
hindmost.listen()
import numpy as np
from mpi4py import MPI
world, x, y = MPI.COMM_WORLD, np.ones(1), np.ones(1)
pair, across = world.Split(world.rank // 2), world.Split(world.rank % 2)
turned = pair.Split(0, -pair.rank)
for name, used in (("across", across), ("turned", turned)):
    if world.rank < 2:
        with hindmost.record(name + ".h5", pair) as recorder:
            for _ in range(20):
                with recorder.iteration():
                    used.Allreduce(x, y)
    elif name == "across":
        for _ in range(20):
            used.Allreduce(x, y)
    world.Barrier()
"""


def test_a_communicator_is_known_by_its_ranks_not_by_its_size(ranks: Ranks, tmp_path: Path) -> None:
    """Of three ranks 0 and 1 are recorded; 0 and 2 meet, which are as many."""
    done = ranks(3, script=EQUAL_SIZE)
    assert done.returncode == 0, done.stderr
    across, turned = (hindmost.open(tmp_path / f"{name}.h5") for name in ("across", "turned"))
    assert not across.has("event_kind")
    assert (turned.variable("event_kind")[:, 0] == EventKind.REDUCE).all()


UNLIKE = """
import hindmost
hindmost.listen()
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, last, box = comm.rank, comm.size - 1, np.zeros(1)
row = comm.Split(rank // 2, rank)

def chain():
    if rank > 0:
        comm.Recv(box, rank - 1)
    if rank < last:
        comm.Send(box, rank + 1)

def workers():
    if rank == 0:
        for other in range(1, comm.size):
            comm.send(other, other)
        for _ in range(last):
            comm.recv()
    else:
        comm.recv(source=0)
        comm.send(rank, 0)

def rows():
    row.Allreduce(MPI.IN_PLACE, box)
    comm.Barrier()

def out_of_order():
    first, second = comm.Iallreduce(MPI.IN_PLACE, box), comm.Ibarrier()
    second.Wait()
    first.Wait()

def alone():
    MPI.COMM_SELF.Allreduce(MPI.IN_PLACE, box)

for loop in (chain, workers, rows, out_of_order, alone):
    with hindmost.record(loop.__name__ + ".h5", comm) as recorder:
        for _ in range(5):
            with recorder.iteration():
                loop()
row.Free()
"""


def test_ranks_that_differ_are_put_in_order_or_left_out(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(4, script=UNLIKE)
    assert done.returncode == 0, done.stderr
    runs = {path.stem: hindmost.open(path) for path in tmp_path.glob("*.h5")}
    for run in runs.values():
        run.verify()
        assert_books_close(run)
    # Each rank stands after the one before it; the last has the last receipt.
    chain = runs["chain"]
    for row, spent in zip(
        chain.variable("event_kind"), chain.variable("event_duration"), strict=True
    ):
        receipts = np.flatnonzero(row == RECEIVE)
        assert receipts.size >= 3
        assert spent[3, receipts[-1]] > 0.0
    assert chain.edges.source.tolist() == [0, 1, 2]
    assert chain.edges.target.tolist() == [1, 2, 3]
    workers = runs["workers"]
    assert workers.variable("event_kind")[0].tolist()[:4] == [SEND, RECEIVE, SEND, RECEIVE]
    # Each row of two has a collective of its own, for which one rank of the row stands.
    assert set(runs["rows"].variable("event_group").ravel().tolist()) >= {0, 2}
    why = "collectives were completed in another order than they were started"
    assert not runs["out_of_order"].has("event_kind")
    assert runs["out_of_order"].header.spec["events_left_out"] == why
    assert why in compute_efficiencies(runs["out_of_order"]).explain()
    # What a rank does alone is no meeting.
    assert set(runs["alone"].variable("event_kind").ravel().tolist()) == {SEND}
