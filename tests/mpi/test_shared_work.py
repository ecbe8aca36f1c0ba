"""Ranks that share the work of a command of the analysis."""

from pathlib import Path

import pytest
from tests.analysis.history.planted import noise, stepped, write_nights
from tests.analysis.scaling.experiments import TRUTH, write_text
from tests.conftest import Ranks, made_header, run_values
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched

from hindmost.cli import main
from hindmost.harness.runfile.writer import write_whole

NIGHTS = 30
CASES = {
    "ice_np4": {"Total Time:": stepped(0)[:NIGHTS]},
    "fire_np4": {"Total Time:": noise(1, NIGHTS), "Solve:": noise(2, NIGHTS)},
}
WHERE = """
import os
from hindmost.harness.launch import assigned_rank
from hindmost.harness.shared_work import perform_shared

def place(number):
    return number, os.getpid()

def perform(executor):
    found = list(executor.map(place, range(3)))
    assert [number for number, _ in found] == [0, 1, 2]
    assert os.getpid() not in {process for _, process in found}
    print("elsewhere", flush=True)
    return 0

if __name__ == "__main__":
    perform_shared(perform, assigned_rank())
"""


@pytest.mark.mpi
def test_parts_are_done_on_other_ranks(ranks: Ranks) -> None:
    done = ranks(2, script=WHERE)
    assert done.stdout.split() == ["elsewhere"], done.stderr


def words_of(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return commands that share their work, on files of a folder."""
    run = str(folder / "laplacian-1d-gmres-p3-0.h5")
    replay = ("whatif", run, "--speed", "rank 1: x0.5", "--noise", "exponential:mean=1ms")
    asked = (("scale", str(folder / "e.txt")), ("history", str(folder / "nights")), replay)
    return {words[0]: (*words, "--json") for words in asked}


def commands(folder: Path) -> Commands:
    """Write the files, and return commands that share their work."""
    write_text(folder / "e.txt", TRUTH, noise=0.02, repetitions=3, seed=3)
    write_nights(folder / "nights", CASES, range(NIGHTS))
    write_whole(folder, made_header(), run_values(iterations=40, ranks=3, restart=10, seed=1))
    return words_of(folder)


@pytest.mark.mpi
@pytest.mark.parametrize("verb", ["scale", "history", "whatif"])
def test_two_ranks_give_the_answer_of_one_to_the_bit(
    verb: str, launched: Launched, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, done = launched
    main(list(words_of(folder)[verb]))
    assert done[verb].stdout == capsys.readouterr().out


@pytest.mark.mpi
def test_what_is_wrong_is_said_once(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, "scale", str(tmp_path / "missing.txt"))
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("missing.txt") == 1
