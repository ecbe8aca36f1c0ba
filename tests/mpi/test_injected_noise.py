"""Noise that is injected into solves: what is stored of it, and where it is said."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched
from tests.mpi.test_recording import assert_books_close, runs_of
from tests.planned_noise import planned_ns

from hindmost.cli import main
from hindmost.harness.recorder.injection import read_law
from hindmost.harness.runfile.reader import Run

pytestmark = pytest.mark.mpi

SOLVERS = ("gmres", "pgmres", "cg", "pipecg", "bcgs", "tfqmr")
K = 150
WORDS = (
    "laplacian-1d", "--unknowns", "300", "--iterations", str(K), "--warmup", "0", "--activities",
    *(word for name in SOLVERS for word in ("--solver", name)),
)  # fmt: skip
LAW = "exponential:mean=20us,probability=0.5,ranks=1"


AT_CALLS = "fixed:length=10us,probability=1,ranks=1,at=calls"
COMMANDS = {
    "disturbed": (*WORDS, "--seed", "5", "--inject", LAW),
    "clean": (*WORDS[: WORDS.index("--solver")], "--solver", "cg"),
    "refused": (*WORDS, "--inject", "exponential:mean=1us,ranks=2"),
    "at calls": (
        "laplacian-1d", "--unknowns", "300", "--iterations", "40", "--warmup", "0",
        "--solver", "cg", "--solver", "pgmres", "--inject", AT_CALLS,
    ),
}  # fmt: skip


def commands(folder: Path) -> Commands:
    """Return solves with and without noise, for a folder."""
    return {
        name: ("run", *words, "--out", folder / name.replace(" ", "-"))
        for name, words in COMMANDS.items()
    }


@pytest.fixture(scope="module")
def disturbed(launched: Launched) -> dict[str, Run]:
    """Return runs of all solvers with noise on the second of two ranks."""
    return runs_of(launched[1]["disturbed"])


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_iteration_has_its_detour(disturbed: dict[str, Run], solver: str) -> None:
    run = disturbed[solver]
    law = read_law(LAW)
    planned_s = 1e-9 * planned_ns(law.of_rank(1, seed=5, repeat=0), K)
    injected_s = run.variable("injected")
    assert injected_s.shape == run.durations.shape
    assert run.header.spec["injected"] == LAW
    assert not injected_s[:, 0].any()
    taken_s = injected_s[:, 1][injected_s[:, 1] > 0.0]
    due_s = planned_s[planned_s > 0.0]
    outside_s = run.variable("injected_outside")
    assert outside_s[0] == 0.0
    # A detour is as long as planned, or longer by what a busy machine adds.
    assert taken_s.sum() + outside_s[1] >= due_s.sum() - K * 2e-9
    if solver == "pgmres":  # the point of a cycle's last iteration comes in the restart
        assert due_s.size - 4 <= taken_s.size <= due_s.size
    else:
        assert outside_s[1] == 0.0
        assert taken_s.size == due_s.size
        assert (taken_s >= due_s - 2e-9).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_books_close_with_noise(disturbed: dict[str, Run], solver: str) -> None:
    run = disturbed[solver]
    assert_books_close(run)
    run.verify()
    assert run.phases[-1] == "injected"
    np.testing.assert_allclose(run.phase("injected"), run.variable("injected"), rtol=1e-6)
    activities = run.variable("activity_duration").sum(axis=2, dtype=np.float64)
    np.testing.assert_allclose(activities, run.phase("local"), atol=1e-8, rtol=1e-5)


def test_nobody_can_miss_it(disturbed: dict[str, Run], capsys: pytest.CaptureFixture[str]) -> None:
    file = str(disturbed["cg"].path)
    for verb in (("show",), ("check",), ("fit",), ("show", "--efficiency"), ("show", "--ranks")):
        main([*verb, file])
        said = " ".join(capsys.readouterr().out.split())
        assert "noise was injected" in said, verb
        assert LAW in said, verb
    main(["show", file, "--json"])
    assert json.loads(capsys.readouterr().out)["runs"][0]["injected"] == LAW


def test_runs_with_and_without_noise_are_no_repeats(
    disturbed: dict[str, Run],
    launched: Launched,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (clean,) = runs_of(launched[1]["clean"]).values()
    assert not clean.has("injected")
    assert "injected" not in clean.phases
    main(["fit", "--json", str(clean.path), str(disturbed["cg"].path)])
    groups = json.loads(capsys.readouterr().out)["runs"]
    assert len(groups) == 2
    main(["fit", str(clean.path), str(disturbed["cg"].path)])
    said = capsys.readouterr().out
    assert f"injected noise {LAW}" in said
    assert "(without injected noise" in said


def test_a_rank_that_does_not_exist_is_refused(launched: Launched) -> None:
    folder, refused = launched[0], launched[1]["refused"]
    assert refused.returncode == 2
    assert "there is no rank 2; the run has ranks 0 to 1" in refused.stderr
    assert not list((folder / "refused").glob("*.h5"))


def test_noise_at_calls_comes_at_every_call(launched: Launched) -> None:
    for run in runs_of(launched[1]["at calls"]).values():
        assert run.header.spec["injected"] == AT_CALLS
        assert_books_close(run)
        injected_s = run.variable("injected")
        assert not injected_s[:, 0].any()
        # Every iteration exchanges halos and reduces: some calls each.
        assert (np.median(injected_s[:, 1]) >= 3 * (10e-6 - 2e-9)).all()
