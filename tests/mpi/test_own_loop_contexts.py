"""A run of hindmost.record knows where in the program its calls were made."""

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks

import hindmost
from hindmost.harness.runfile.reader import Run

pytestmark = pytest.mark.mpi

PROGRAM = """
import numpy as np
import hindmost
hindmost.listen()
from mpi4py import MPI
comm = MPI.COMM_WORLD

def exchange():
    there, back = np.zeros(4), np.empty(4)
    comm.Sendrecv(there, 1 - comm.rank, 0, back, 1 - comm.rank, 0)

def residual():
    return comm.Allreduce(MPI.IN_PLACE, np.ones(1))

def only_on_one():
    request = comm.Irecv(np.empty(1), 1)
    while not request.Test():
        pass

def step(number):
    exchange()
    residual()
    if number % 2:
        residual()
    if comm.rank == 0:
        only_on_one()
    else:
        comm.Send(np.zeros(1), 0)

comm.Barrier()  # not in the loop
residual()
for name in ("first", "second"):
    with hindmost.record(f"{name}.h5", comm) as recorder:
        for number in range(12):
            with recorder.iteration():
                step(number)
"""


def chain(run: Run, context: int) -> list[str]:
    """Return the functions of the program by which it came to calls of a context."""
    table = run.contexts
    return [table.places[frame] for frame in table.chain(context).tolist()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    from tests.conftest import starter

    folder = tmp_path_factory.mktemp("contexts")
    done = starter(folder)(2, script=PROGRAM)
    assert done.returncode == 0, done.stderr
    return [hindmost.open(folder / f"{name}.h5") for name in ("first", "second")]


@pytest.mark.parametrize("number", [0, 1])
def test_events_have_the_lines_of_the_program(runs: list[Run], number: int) -> None:
    run = runs[number]
    run.verify()
    context = run.variable("event_context")
    last = [{"only_on_one (script.py:16)", "only_on_one (script.py:17)"}, {"step (script.py:28)"}]
    for rank in (0, 1):
        made = context[3, rank][context[3, rank] > 0].tolist()
        called = [[place for place in chain(run, each) if "script.py" in place] for each in made]
        for places in called:
            assert places[0].startswith("<module> (script.py:")
            assert places[1].startswith("step (script.py:")
        inner = {places[-1] for places in called}
        assert inner - last[rank] == {"exchange (script.py:10)", "residual (script.py:13)"}
        assert inner & last[rank]
        lines = {places[1] for places in called if places[-1].startswith("residual")}
        assert lines == {"step (script.py:22)", "step (script.py:24)"}
        even = context[2, rank][context[2, rank] > 0].tolist()
        assert not any("step (script.py:24)" in chain(run, each) for each in even)


def test_calls_that_found_nothing_are_of_their_place_and_of_their_loop(runs: list[Run]) -> None:
    for run in runs:
        polls = run.variable("context_polls")
        assert polls.sum() <= run.header.spec.get("polls", 0)
        for context in np.flatnonzero(polls).tolist():
            assert any("only_on_one" in place for place in chain(run, context))


def test_a_loop_without_mpi_has_none(ranks: Ranks, tmp_path: Path) -> None:
    with hindmost.record(tmp_path / "alone.h5") as recorder:
        for _ in range(3):
            with recorder.iteration():
                pass
    assert not hindmost.open(tmp_path / "alone.h5").has("event_context")
