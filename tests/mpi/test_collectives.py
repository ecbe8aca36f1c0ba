"""``hindmost run collectives`` on real ranks: results, files, calls that begin together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.mpi.commands import Done, run_several
from tests.mpi.test_recording import assert_books_close

import hindmost
from hindmost.cli import main
from hindmost.harness.collectives.alignment import LATE_NS
from hindmost.harness.collectives.operations import OPERATIONS
from hindmost.harness.runfile.reader import Run

pytestmark = pytest.mark.mpi

CALLS = 12
TINY = ("--calls", str(CALLS), "--warmup", "2")

RESULTS = """
import json
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
    print(json.dumps(everybody))
"""


def test_every_collective_gives_what_it_should(ranks: Ranks) -> None:
    done = ranks(2, script=RESULTS)
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)
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


@pytest.fixture(scope="module")
def performed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Done]]:
    """Return a folder and what became of commands in it, on two ranks in one launch."""
    folder = tmp_path_factory.mktemp("performed")
    commands: dict[str, tuple[str | Path, ...]] = {
        "runs": (*TINY, "--bytes", "8,1024", "--seed", "3", "--out", folder / "runs"),
    }
    asked: dict[str, tuple[str | Path, ...]] = {
        name: ("run", "collectives", *words) for name, words in commands.items()
    }
    return folder, run_several(folder, 2, asked)


def test_a_run_file_for_each_collective_and_size(performed: tuple[Path, dict[str, Done]]) -> None:
    folder, done = performed[0] / "runs", performed[1]["runs"]
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(str(file) for file in folder.iterdir())
    sized = [each.name for each in OPERATIONS if each.sized]
    expected = {f"collectives-{name}-{size}B-p2-0.h5" for name in sized for size in (8, 1024)}
    assert {file.name for file in folder.iterdir()} == {*expected, "collectives-barrier-p2-0.h5"}
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


HELD_UP_S = 0.3
DELAYED = f"""
import sys, time
from hindmost.harness.collectives import experiment
from hindmost.harness.collectives.alignment import Alignment
from hindmost.__main__ import main
experiment.TRIES = 1000  # a crowded machine holds ranks up as well
where, words = sys.argv[1], sys.argv[2:]
count = [0]
def delayed(real, at):
    def instead(self, *arguments):
        count[0] += 1
        if count[0] in at and self._communicator.rank == 1:
            time.sleep({HELD_UP_S})
        return real(self, *arguments)
    return instead
# Warming up is the first 3 meetings, and the first 2 calls.
at = (7, 11)
setattr(Alignment, where, delayed(getattr(Alignment, where), at))
sys.argv = ["hindmost", *words]
sys.exit(main())
"""


def one_held_up(ranks: Ranks, folder: Path, where: str) -> Run:
    words = ("--operations", "allreduce", "--bytes", "1024", "--out", folder)
    done = ranks(2, where, "run", "collectives", *TINY, *words, script=DELAYED)
    assert done.returncode == 0, done.stderr
    [file] = folder.iterdir()
    run = hindmost.open(file)
    assert run.durations.shape == (CALLS, 2)
    assert run.header.spec["late"] == 0
    assert_books_close(run)
    # Both sleeps are in the run, and outside its bodies: between two of them or before the first,
    # where a crowded machine lets calls be done again.
    assert (run.solve_time - run.durations.sum(axis=0) > 2 * HELD_UP_S).all()
    assert run.durations.max() < HELD_UP_S
    return run


def test_a_rank_that_comes_late_from_one_call_does_not_lengthen_the_next(
    ranks: Ranks, tmp_path: Path
) -> None:
    run = one_held_up(ranks, tmp_path / "runs", "meet")
    # Each rank begins within LATE_NS after the instant; clocks of one node agree.
    starts = run.variable("start")
    # On a crowded machine a rank may lose its core between that look at the clock and the call.
    apart = np.abs(starts[:, 0] - starts[:, 1])
    assert np.median(apart) <= LATE_NS * 1e-9 + 2 * run.variable("clock_uncertainty").max()
    assert apart.max() < HELD_UP_S / 10


def test_a_call_that_a_rank_begins_late_is_done_again(ranks: Ranks, tmp_path: Path) -> None:
    run = one_held_up(ranks, tmp_path / "runs", "begin_at")
    assert run.header.spec["left_out"] >= 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--operations", "allredux"), "did you mean allreduce? choose allreduce, "),
        (("--bytes", "8,12"), "--bytes 12: a size must be a positive multiple of 8"),
        (("--bytes", "many"), "--bytes many: sizes are whole numbers"),
        (("--", "-log_view"), "Collectives do not use PETSc options"),
    ],
)
def test_what_cannot_be_run_is_known_before_mpi(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "collectives", "--out", "nowhere", *words]) == 2
    assert said in capsys.readouterr().err
