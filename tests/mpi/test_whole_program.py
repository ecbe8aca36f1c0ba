"""Programs without a loop that all ranks share: the whole program is recorded as one iteration."""

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.programs.attaching import close_books, compiled

import hindmost
from hindmost.analysis.runs.stretches import stretches_of
from hindmost.cli import main

pytestmark = pytest.mark.mpi
TASKS, MANY = 12, 40_000


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs."""
    return compiled(tmp_path_factory.mktemp("apart"), "apart", "-g")


@pytest.mark.parametrize(
    ("what", "messages"),
    [
        ("pool", [TASKS + 1, TASKS]),
        ("coupled", [TASKS, TASKS // 4]),
        ("one-sided", []),
        ("once", []),
    ],
)
def test_a_program_without_a_common_loop_tells_who_waited_for_whom(
    what: str,
    messages: list[int],
    apart: Path,
    ranks: Ranks,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = ranks(2, "attach", "--out", "runs", "--", apart, what)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "runs").glob("*.h5")
    run = hindmost.open(path)
    close_books(run)
    assert (len(run.durations), run.header.iteration_is) == (1, "the whole program")
    assert run.header.complete
    edges = run.edges
    assert edges.source.tolist() == [0, 1][: len(messages)]
    assert edges.messages is not None
    assert edges.messages.tolist() == messages
    assert main(["show", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Rank 1 is the straggler" in said or "Rank 1: it works" in said  # without a core
    assert "iterations: no loop " in said
    if what == "once":
        (most, *_) = stretches_of(run)
        assert str(most).startswith("between MPI_Init and main (apart.c:")
    else:
        first = said.partition(" UTC ")[2]
        assert first.startswith("Rank 0 spends ")
        assert "apart.c:" in first.partition(". ")[0]
        assert "of all ranks' time there is waiting for rank 1." in first


def test_a_program_beyond_its_budget_is_whole_by_sums(
    apart: Path, ranks: Ranks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = ranks(2, "attach", "--memory", "1MiB", "--out", "runs", "--", apart, "many")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "runs").glob("*.h5")
    run = hindmost.open(path)
    close_books(run)
    assert run.header.complete, run.header.spec.get("failure")
    assert (len(run.durations), run.summed) == (1, 1)
    assert run.edges.messages is not None
    assert run.edges.messages.tolist() == [MANY]
    assert run.phase("halo").min() > 0.0
    assert main(["show", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The program made more calls than its budget holds" in said
    calls, rank = run.variable("stretch_calls"), run.variable("stretch_rank")
    assert np.bincount(rank, calls).tolist() == [MANY, MANY]
    of_all = sum(stretch.work_s + stretch.wait_s for stretch in stretches_of(run))
    assert of_all == pytest.approx(run.durations[0], rel=1e-3)
    assert "of the time in MPI at " in said
    places = {str(stretch.ends[1].place.function) for stretch in stretches_of(run)}
    assert places == {"produce", "consume", "MPI_Finalize"}


def test_a_converted_folder_is_converted_again_without_an_error(
    ranks: Ranks, tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "app-loop-p2-0.h5").touch()
    again = ranks(2, "attach", "--convert", "runs")
    assert (again.returncode, again.stdout) == (0, "")
    (sentence,) = again.stderr.splitlines()
    assert sentence.endswith("there is nothing left to convert.")
