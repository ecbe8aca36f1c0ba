"""Programs that end badly, or whose marks do not agree, under `hindmost attach`."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.programs.attaching import alone, close_books, compiled

import hindmost
from hindmost.cli import main
from hindmost.harness.runfile.reader import Run

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program with a loop that ends as its argument says."""
    return compiled(tmp_path_factory.mktemp("ends"), "ends")


def attach(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the verb without a launcher."""
    return alone("--out", "runs", *words, folder=folder)


def only_run(folder: Path) -> Run:
    (path,) = (folder / "runs").iterdir()
    return hindmost.open(path)


@pytest.mark.parametrize(("how", "rank"), [("segv", "0"), ("abort", "0"), ("exit", "1")])
def test_what_was_recorded_before_a_rank_ended_is_kept(
    how: str, rank: str, ends: Path, ranks: Ranks, tmp_path: Path
) -> None:
    done = ranks(2, "attach", "--out", "runs", "--", ends, how, "50", rank, "1000")
    assert done.returncode != 0
    # Under a launcher other ranks may still write, so nothing is converted. Whether that is said is
    # up to the launcher, which kills all of its children soon after.
    if list((tmp_path / "runs").glob("*.raw")):
        assert main(["attach", "--convert", str(tmp_path / "runs")]) == 0
    run = only_run(tmp_path)
    assert "the program ended inside this loop" in run.header.spec["failure"]
    # All 50, unless the machine is so busy that the launcher kills a rank before it has written.
    assert 5 < len(run.durations) <= 50
    close_books(run)


def test_a_loop_is_written_in_parts(ends: Path, tmp_path: Path) -> None:
    killed = attach("--", ends, "kill", "30000", folder=tmp_path)
    assert killed.returncode == -9
    assert "The program ended without MPI_Finalize." in killed.stderr
    run = only_run(tmp_path)
    assert 10_000 < len(run.durations) < 30_000  # 98304 records were requested
    assert "(rank 0 was killed, replaced by another program" in run.header.spec["failure"]
    assert "INCOMPLETE: the program ended inside this loop or after it" in killed.stderr
    close_books(run)
    run.path.unlink()
    whole = attach("--", ends, "well", "15000", folder=tmp_path)
    assert whole.returncode == 0, whole.stderr
    run = only_run(tmp_path)
    assert len(run.durations) == 29_999
    assert run.header.complete
    close_books(run)
    # What it took to write is in no iteration, but between the starts of two.
    between = np.diff(run.starts[:, 0]) - run.durations[:-1, 0]
    assert np.count_nonzero(between > 1e-6) >= 2
    assert run.durations.sum() + between.sum() == pytest.approx(
        run.starts[-1, 0] - run.starts[0, 0] + run.durations[-1, 0], abs=1e-6
    )


def test_calls_that_mpi_refuses_are_left_to_the_program(ends: Path, tmp_path: Path) -> None:
    """It has said that MPI returns its errors: what the recorder asks must not be one."""
    done = attach("--", ends, "wrong", "20", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)
    assert len(run.durations) == 39
    close_books(run)


def test_a_program_that_is_killed_at_once(ends: Path, tmp_path: Path) -> None:
    done = attach("--", ends, "kill", "1", folder=tmp_path)
    assert done.returncode == -9
    assert "Nothing was recorded of ends: rank 0 was killed" in done.stderr
    assert not list((tmp_path / "runs").iterdir())


def test_a_call_that_never_comes(ends: Path, ranks: Ranks, tmp_path: Path) -> None:
    words = ("attach", "--out", "runs", "--iterate-at", "MPI_Bcast:2", "--", ends, "unmarked", "9")
    done = ranks(2, *words)
    assert done.returncode == 0  # the program's own
    assert "--iterate-at MPI_Bcast:2: rank 0 made 0 calls of MPI_Bcast" in done.stderr
    assert "on each rank: MPI_Allreduce 18, MPI_Sendrecv 18. Record again" in done.stderr
    assert not list((tmp_path / "runs").iterdir())
    too_few = attach("--", ends, "unmarked", "1", folder=tmp_path)  # two iterations, in any time
    assert "no loop " in too_few.stderr
    assert "MPI_Allreduce 2, MPI_Sendrecv 2" in too_few.stderr


def test_calls_that_do_not_agree(
    ends: Path, ranks: Ranks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--iterate-at", "MPI_Sendrecv:3", "--keep", "50%", "--", ends, "uneven", "9")
    done = ranks(2, "attach", "--out", "runs", *words)
    assert done.returncode == 0, done.stderr
    reason = "the marks do not agree: rank 0 made 6 marks, rank 1 12; kept are the"
    assert "ends-loop-p2-0.h5: 5 iterations, each 3 calls of MPI_Sendrecv" in done.stderr
    assert "; full records of 1 of 2 ranks" in done.stderr
    assert f"is INCOMPLETE: {reason} first 5 iterations" in done.stderr
    assert main(["show", str(tmp_path / "runs")]) == 0
    shown = capsys.readouterr().out
    assert reason in shown.splitlines()[1]
    run = only_run(tmp_path)
    assert (run.columns, run.header.ranks) == (1, 2)
    assert run.solve_time == pytest.approx(run.durations.sum(axis=0))
    assert "5 iterations of its loop (each 3 calls of MPI_Sendrecv) take" in shown
    assert "No rank is named as a straggler: the marks do not agree" in shown


def test_marks_of_the_program_are_left_alone_beside_a_call(ends: Path, tmp_path: Path) -> None:
    done = attach("--iterate-at", "MPI_Allreduce", "--", ends, "well", "9", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "18 marks of iterations not kept: --iterate-at says where iterations" in done.stderr
    assert len(only_run(tmp_path).durations) == 17


@pytest.mark.parametrize("launched", ["attach", "mpiexec"])
def test_a_program_that_hangs_says_who_waits_for_whom(
    launched: str, ends: Path, ranks: Ranks, tmp_path: Path
) -> None:
    """Whichever of the launcher and hindmost starts the other."""
    words = ("--most-seconds", "2", "--iterate-at", "MPI_Allreduce")
    program = (ends, "sleep", "20", "1")
    if launched == "attach":
        done = ranks(2, "attach", "--out", "runs", *words, "--", *program)
    else:
        launcher = (Path(sys.prefix) / "bin" / "mpiexec", "-n", "2")
        done = attach(*words, "--", *launcher, *program, folder=tmp_path)
    assert done.returncode != 0
    if list((tmp_path / "runs").glob("*.raw")):  # the launcher killed the first rank meanwhile
        assert main(["attach", "--convert", str(tmp_path / "runs")]) == 0
    run = only_run(tmp_path)
    failure = run.header.spec["failure"]
    stood = {
        int(rank): (where, float(spent))
        for rank, where, spent in re.findall(r"rank (\d) was ([^;]*) for (\S+) s", failure)
    }
    assert stood[0][0] == "in MPI_Allreduce"
    assert stood[1][0] == "outside MPI, after MPI_Allreduce,"
    assert all(1.0 < spent < 2.1 for _, spent in stood.values())
    assert "s: rank 0 waited for rank 1; iterations before that are kept" in failure
