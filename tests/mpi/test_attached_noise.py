"""Noise that is injected into attached programs."""

from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.planned_noise import planned_ns
from tests.programs.attaching import (
    ATTACH,
    Program,
    close_books,
    compiled,
    record_all,
    shared_petsc,
)

import hindmost
from hindmost.errors import UsageError
from hindmost.harness.attach.settings import injection_lines
from hindmost.harness.recorder.injection import read_law
from hindmost.harness.runfile.reader import Run

pytestmark = pytest.mark.mpi
LAW = "exponential:mean=20us,ranks=1"


def check_noise(run: Run, law: str) -> None:
    assert run.header.spec["injected"] == law
    assert run.header.spec["seed"] == 3
    assert run.phases[-1] == "injected"
    injected = run.variable("injected")
    np.testing.assert_allclose(run.phase("injected"), injected, rtol=1e-6)
    assert not injected[:, 0].any()
    run.verify()
    close_books(run)


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("loop"), "loop", f"-I{ATTACH}")


@pytest.fixture(scope="module")
def recorded(loop: Path) -> dict[str, list[Run]]:
    """Return the runs of a loop, with marks and without, and of solves."""
    petsc = shared_petsc()
    solves = compiled(loop.parent, "solves", petsc, f"-Wl,-rpath,{petsc.parent}")
    noise = ("--inject", LAW, "--seed", "3")
    at = ("--iterate-at", "MPI_Allreduce:2")
    return record_all(loop.parent, {
        "header": Program(command=(loop, "header"), words=noise, ranks=2),
        "none": Program(command=(loop, "none"), words=(*noise, *at), ranks=2),
        "of solves": Program(command=(solves,), words=(*noise, "--only", "ice"), ranks=2),
    })  # fmt: skip


@pytest.mark.parametrize("marks", ["header", "none"])
def test_a_loop_has_a_detour_in_every_iteration(marks: str, recorded: dict[str, list[Run]]) -> None:
    (run,) = recorded[marks]
    check_noise(run, LAW)
    planned_s = 1e-9 * planned_ns(read_law(LAW).of_rank(1, seed=3, repeat=0), run.bodies)
    assert (run.variable("injected")[:, 1] >= planned_s - 2e-9).all()
    assert not run.variable("injected_outside").any()


def test_solves_do_not_repeat_their_detours(recorded: dict[str, list[Run]]) -> None:
    (run,) = recorded["of solves"]
    check_noise(run, LAW)
    taken_s = run.variable("injected")[:, 1]
    planned_s = 1e-9 * planned_ns(read_law(LAW).of_rank(1, seed=3, repeat=0), run.bodies)
    assert len(np.unique(run.variable("solve"))) == 2
    assert (taken_s >= planned_s - 2e-9).all()  # the points of the second solve count on


def test_a_trace_and_a_law_by_time_come_by_the_clock(
    loop: Path, ranks: Ranks, tmp_path: Path
) -> None:
    length_ns = 1000
    rows = [f"{2000 * k} {length_ns}" for k in range(2000)]  # however short an iteration is
    (tmp_path / "noise.txt").write_text("\n".join(rows))
    for law in (f"trace:{tmp_path / 'noise.txt'}", "fixed:length=1us,rate=500000/s"):
        out = law.partition(":")[0]
        words = ("--out", out, "--inject", f"{law},ranks=1", "--seed", "3", "--", loop, "header")
        done = ranks(2, "attach", *words)
        assert done.returncode == 0, done.stderr
        (path,) = (tmp_path / out).glob("*")
        run = hindmost.open(path)
        assert str(run.header.spec["injected"]).startswith(out)
        injected_ns = 1e9 * run.variable("injected")
        assert not injected_ns[:, 0].any()
        taken_ns = injected_ns[injected_ns > 0.0]
        assert taken_ns.size
        assert taken_ns.min() >= length_ns - 2
        close_books(run)


def test_what_attach_cannot_inject_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "noise.txt").write_text("0 10\n1000 10\n")
    with pytest.raises(UsageError, match=r"Leave out at=calls\."):
        injection_lines("exponential:mean=1us,at=calls", 0, "")
    with pytest.raises(UsageError, match="start attach with mpiexec or srun"):
        injection_lines(f"trace:{tmp_path / 'noise.txt'}", 0, "")
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setenv("PMI_RANK", "1")
    with pytest.raises(UsageError, match="there is no rank 2; the run has ranks 0 to 1"):
        injection_lines("exponential:mean=1us,ranks=2", 0, "")
