"""``hindmost run collectives`` on real ranks: results, files, calls that begin together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched
from tests.mpi.test_recording import assert_books_close

import hindmost
from hindmost.cli import main
from hindmost.harness.collectives.alignment import LATE_NS
from hindmost.harness.collectives.operations import OPERATIONS
from hindmost.harness.runfile.reader import Run

pytestmark = pytest.mark.mpi

CALLS, HELD_UP_CALLS = 12, 4
FEW = ("--calls", str(HELD_UP_CALLS), "--warmup", "2")
TINY = ("--calls", str(CALLS), "--warmup", "2")

RESULTS = """
import json
from pathlib import Path
import numpy as np
from mpi4py import MPI
from hindmost.harness.collectives.operations import OPERATIONS
comm, told = MPI.COMM_WORLD, {}
for each in OPERATIONS:
    call, received = each.prepare(comm, 2000 if each.sized else 0)
    received.fill(-1.0)
    call()
    told[each.name] = [received.shape, received[:, [0, 1, 1999]].tolist()] \\
        if received.size else [received.shape, []]
everybody = comm.gather(told)
if comm.rank == 0:
    Path("results.json").write_text(json.dumps(everybody))
"""


HELD_UP_S = 0.3
DELAYED = f"""
import time
from unittest.mock import patch
from hindmost.harness.collectives import experiment
from hindmost.harness.collectives.alignment import Alignment
patch.object(experiment, "TRIES", 1000).start()  # a crowded machine holds ranks up as well
real, count = getattr(Alignment, WHERE), [0]
def delayed(self, *arguments):
    count[0] += 1
    # Warming up is the first 3 meetings, and the first 2 calls.
    if count[0] in (5, 6) and self._communicator.rank == 1:
        time.sleep({HELD_UP_S})
    return real(self, *arguments)
patch.object(Alignment, WHERE, delayed).start()
"""
HELD_UP = ("meet", "begin_at")
HOOKS = {"runs": RESULTS, **{where: f"WHERE = {where!r}\n{DELAYED}" for where in HELD_UP}}


def commands(folder: Path) -> Commands:
    """Return all operations, and one in which a rank is held up, for a folder."""
    one = (*FEW, "--operations", "allreduce", "--bytes", "1024")
    asked: dict[str, tuple[str, ...]] = {
        "runs": (*TINY, "--bytes", "8", "--seed", "3"),
        "sizes": (*TINY, "--operations", "allreduce,barrier", "--bytes", "8,1024"),
        **dict.fromkeys(HELD_UP, one),
    }
    return {
        name: ("run", "collectives", *words, "--out", folder / name)
        for name, words in asked.items()
    }


def test_every_collective_gives_what_it_should(launched: Launched) -> None:
    first, second = json.loads((launched[0] / "results.json").read_text())
    # Rank r sends r in every place.
    ramp, total = [0.0] * 3, [1.0] * 3

    def shifted(by: float) -> list[float]:
        return [each + by for each in ramp]

    both = [ramp, shifted(1)]
    assert first["allreduce"] == second["allreduce"] == [[1, 2000], [total]]
    assert first["reduce"] == [[1, 2000], [total]]
    assert second["reduce"] == second["gather"] == [[0, 2000], []]
    assert first["bcast"] == [[0, 2000], []]
    assert second["bcast"] == [[1, 2000], [shifted(7)]]
    assert first["gather"] == first["allgather"] == second["allgather"] == [[2, 2000], both]
    # From rank r to rank t: 2 r + t.
    assert first["alltoall"] == [[2, 2000], [ramp, shifted(2)]]
    assert second["alltoall"] == [[2, 2000], [shifted(1), shifted(3)]]
    # The block of rank t: the sum over r of r + t.
    assert first["reduce_scatter"] == [[1, 2000], [total]]
    assert second["reduce_scatter"] == [[1, 2000], [[each + 2 for each in total]]]
    assert first["barrier"][1] == []


def test_a_run_file_for_each_collective_and_size(launched: Launched) -> None:
    folder, done = launched[0] / "runs", launched[1]["runs"]
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(str(file) for file in folder.iterdir())
    sized = [operation.name for operation in OPERATIONS if operation.sized]
    expected = {f"collectives-{name}-8B-p2-0.h5" for name in sized}
    assert {file.name for file in folder.iterdir()} == {*expected, "collectives-barrier-p2-0.h5"}
    written = {Path(file).name for file in launched[1]["sizes"].stdout.split()}
    both = {"collectives-allreduce-8B-p2-0.h5", "collectives-allreduce-1024B-p2-0.h5"}
    assert written == {*both, "collectives-barrier-p2-0.h5"}
    runs = [hindmost.open(line) for line in done.stdout.split()]
    assert [run.header.spec["order"] for run in runs] == list(range(1, len(runs) + 1))
    assert {run.header.spec["seed"] for run in runs} == {3}
    for run in runs:
        run.verify()
        spec = run.header.spec
        assert run.header.workload == "collectives"
        named = f"{spec['operation']}-{spec['bytes']}B" if spec["bytes"] else "barrier"
        assert run.header.solver == named
        assert run.durations.shape == (CALLS, 2)
        np.testing.assert_allclose(run.phase("wait"), run.durations, rtol=1e-6)
        assert_books_close(run)


def test_one_rank_is_warned(
    ranks: Ranks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--operations", "bcast,barrier", "--bytes", "8", "--out", tmp_path / "runs")
    done = ranks(1, "run", "collectives", *TINY, *words)
    assert done.returncode == 0, done.stderr
    assert "warning: 1 rank: " in done.stderr
    assert main(["show", str(tmp_path / "runs/collectives-bcast-8B-p1-0.h5")]) == 0
    shown = capsys.readouterr().out
    assert "bcast-8B on collectives, 1 rank" in shown
    assert f"{CALLS} regular, {CALLS - 1} alignments" in shown
    assert "PETSc" not in shown


def one_held_up(launched: Launched, where: str) -> Run:
    folder, done = launched[0] / where, launched[1][where]
    assert done.returncode == 0, done.stderr
    [file] = folder.iterdir()
    run = hindmost.open(file)
    assert run.durations.shape == (HELD_UP_CALLS, 2)
    assert run.header.spec["late"] == 0
    assert_books_close(run)
    # Both sleeps are in the run, and outside its bodies: between two of them or before the first,
    # where a crowded machine lets calls be done again.
    assert (run.solve_time - run.durations.sum(axis=0) > 2 * HELD_UP_S).all()
    assert run.durations.max() < HELD_UP_S
    return run


def test_a_rank_that_comes_late_from_one_call_does_not_lengthen_the_next(
    launched: Launched,
) -> None:
    run = one_held_up(launched, "meet")
    # Each rank begins within LATE_NS after the instant; clocks of one node agree.
    starts = run.variable("start")
    # On a crowded machine a rank may lose its core between that look at the clock and the call.
    apart = np.abs(starts[:, 0] - starts[:, 1])
    assert np.median(apart) <= LATE_NS * 1e-9 + 2 * run.variable("clock_uncertainty").max()
    assert apart.max() < HELD_UP_S / 10


def test_a_call_that_a_rank_begins_late_is_done_again(launched: Launched) -> None:
    run = one_held_up(launched, "begin_at")
    assert run.header.spec["left_out"] >= 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--bytes", "many"), "--bytes many: sizes are whole numbers"),
        (("--", "-log_view"), "Collectives do not use PETSc options"),
    ],
)
def test_what_cannot_be_run_is_known_before_mpi(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "collectives", "--out", "nowhere", *words]) == 2
    assert said in capsys.readouterr().err
