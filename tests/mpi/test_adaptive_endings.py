"""``hindmost run adaptive`` on real ranks: when it stops, how it fails, and how it goes on."""

from __future__ import annotations

from pathlib import Path
from shutil import copy2

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.mpi.commands import Done, run_several
from tests.mpi.test_run_adaptive import SMALL, only_run

from hindmost.harness.adaptive.checkpoint import read_setting

pytestmark = pytest.mark.mpi

CALM = ("--deck", "timing-a", "--base", "24x16", "--steps", "60", "--cycles", "150")

LATE = """
import sys, time
from types import SimpleNamespace
from hindmost.harness.adaptive import run as room
from hindmost.harness.adaptive.kernel import Kernel
from hindmost.harness.launch import process_age_s
from hindmost.__main__ import main
late_s, cycle = [0.0], Kernel.cycle
room.time = SimpleNamespace(monotonic=lambda: time.monotonic() + late_s[0])
count = [0]
def counted(self):
    done = cycle(self)
    count[0] += 1
    if count[0] == AT:
        late_s[0] = LIMIT_S - 0.5 - process_age_s()
    return done
Kernel.cycle = counted
sys.argv = ["hindmost", *WORDS]
sys.exit(main())
"""
"""The clock by which the run decides jumps after a cycle: half a second is left of the limit."""
COMPILING = 6
"""Cycles of the small meshes that compile, before those of the run."""


def test_a_time_limit_stops_with_a_checkpoint_that_goes_on(ranks: Ranks, tmp_path: Path) -> None:
    state, limit_s = tmp_path / "state.h5", 10**6
    words = ["run", "adaptive", "--checkpoint", str(state), "--time-limit", f"{limit_s}s"]
    words += ["--deck", "timing-a", *SMALL, "--cycles", "1000000", "--out", str(tmp_path / "first")]
    head = f"LIMIT_S, AT, WORDS = {limit_s}, {COMPILING + 9}, {words!r}\n"
    done = ranks(2, script=head + LATE)
    assert done.returncode == 75, done.stderr
    assert "Stop: " in done.stderr
    run = only_run(tmp_path / "first")
    assert run.header.complete
    assert run.bodies == 9
    setting = read_setting(state)
    assert setting.cycle == run.bodies
    cycles = str(setting.cycle + 3)
    done = ranks(
        2, "run", "adaptive", "--restart", state, "--cycles", cycles, "--out", tmp_path / "second"
    )
    assert done.returncode == 0, done.stderr
    second = only_run(tmp_path / "second")
    assert second.bodies == 3
    assert second.header.spec["first_cycle"] == setting.cycle
    before, now = run.variable("cells").sum(axis=1)[-1], second.variable("cells").sum(axis=1)[0]
    changed = (run.variable("divided") - run.variable("combined")).sum(axis=1)[-1]
    assert now == before + 3 * changed


@pytest.fixture(scope="module")
def saved(module_ranks: Ranks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that writes checkpoints, and of its last one."""
    folder = tmp_path_factory.mktemp("saved")
    done = module_ranks(
        1, "run", "adaptive", *CALM, "--mtbf", "0.2s", "--checkpoint", folder / "state.h5",
        "--out", folder / "runs",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_checkpoints_come_by_the_time_between_failures(saved: Path) -> None:
    run = only_run(saved / "runs")
    written = run.header.spec["checkpoints"]
    assert written
    assert all(each["bytes"] > 0 and each["seconds"] > 0 for each in written)
    spent = run.phase("checkpoint")[:, 0]
    assert [int(each["cycle"]) for each in written] == np.flatnonzero(spent > 0).tolist()
    assert read_setting(saved / "state.h5").cycle == written[-1]["cycle"]


POISONED = """
import sys
from hindmost.harness.adaptive.kernel import Kernel
from hindmost.__main__ import main
real, count = Kernel.cycle, [0]
def cycle(self):
    count[0] += 1
    if count[0] == AT + 9 and self.mesh.communicator.rank == self.mesh.communicator.size - 1:
        self.state[3] = POISON
    return real(self)
Kernel.cycle = cycle
sys.argv = ["hindmost", *WORDS]
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("poison", "said"),
    [
        ("float('nan')", "holds nan, nan, nan, nan (density, momenta, energy)"),
        ("[1.0, 1e11, 0.0, 1e30]", "The time step fell from"),
    ],
)
def test_a_state_that_fails_leaves_the_cycles_before_it(
    ranks: Ranks, tmp_path: Path, poison: str, said: str
) -> None:
    words = ["run", "adaptive", "--deck", "timing-a", *SMALL, "--cycles", "20"]
    words += ["--out", str(tmp_path / "runs")]
    script = f"POISON, AT, WORDS = {poison}, 5, {words!r}\n" + POISONED
    done = ranks(2, script=script)
    assert done.returncode == 3, done.stderr
    assert said in done.stderr
    assert done.stderr.count("hindmost: At time") + done.stderr.count("hindmost: The time") == 1
    assert "Traceback" not in done.stderr
    run = only_run(tmp_path / "runs")
    assert not run.header.complete
    assert run.bodies > 2
    assert said[:20] in run.header.spec["failure"]


IMPOSSIBLE = {
    "a deck": (("--deck", "nothing"), "Unknown deck 'nothing'; choose timing-a"),
    "a mesh": (("--deck", "timing-a", "--base", "1x1"), "2 ranks for a base mesh of 1 x 1 cells"),
    "a checkpoint": (
        ("--deck", "timing-a", "--checkpoint", "/proc/x/c.h5"),
        "cannot write checkpoints there",
    ),
}


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """Return what two ranks said, in one launch, of what they cannot run."""
    folder = tmp_path_factory.mktemp("refused")
    more = ("--cycles", "3", "--out", folder / "runs")
    commands: dict[str, tuple[str | Path, ...]] = {
        name: ("run", "adaptive", *words, *more) for name, (words, _) in IMPOSSIBLE.items()
    }
    return run_several(folder, 2, commands)


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_what_cannot_be_run_is_said_once(refused: dict[str, Done], what: str) -> None:
    done = refused[what]
    assert done.returncode == 2, done.stderr
    assert done.stderr.count(IMPOSSIBLE[what][1]) == 1
    assert "Traceback" not in done.stderr


SIGNALLED = """
import os, signal, sys
from hindmost.harness.adaptive.kernel import Kernel
from hindmost.__main__ import main
real, count = Kernel.cycle, [0]
def cycle(self):
    count[0] += 1
    if count[0] == 25 and self.mesh.communicator.rank == 1:
        os.kill(os.getpid(), ASKED)
    return real(self)
Kernel.cycle = cycle
sys.argv = ["hindmost", *WORDS]
sys.exit(main())
"""


@pytest.mark.parametrize(("asked", "status"), [("SIGTERM", 75), ("SIGINT", 130)])
def test_a_run_that_is_asked_to_end_keeps_what_it_has(
    ranks: Ranks, tmp_path: Path, asked: str, status: int
) -> None:
    words = ["run", "adaptive", "--deck", "timing-a", *SMALL, "--cycles", "1000000"]
    words += ["--checkpoint", str(tmp_path / "state.h5"), "--out", str(tmp_path / "runs")]
    done = ranks(2, script=f"import signal\nASKED, WORDS = signal.{asked}, {words!r}\n" + SIGNALLED)
    assert done.returncode == status, done.stderr
    run = only_run(tmp_path / "runs")
    assert 1 <= run.bodies <= 25
    assert run.header.spec["stopped"] == f"asked to by {asked}."
    assert read_setting(tmp_path / "state.h5").cycle == run.bodies
    epochs = set(run.variable("epoch").tolist())
    assert run.edges.epoch is not None
    assert set(run.edges.epoch.tolist()) == epochs


def test_going_on_refuses_what_the_checkpoint_has_otherwise(saved: Path, tmp_path: Path) -> None:
    state, out = tmp_path / "state.h5", tmp_path / "runs"
    copy2(saved / "state.h5", state)
    before = state.read_bytes()
    again = ("run", "adaptive", "--restart", state, "--out", out)
    begun = ("run", "adaptive", "--checkpoint", state)
    done = run_several(tmp_path, 1, {
        "otherwise": (*again, "--cycles", "200000", "--threshold", "2", "--steps", "7"),
        "nothing left": (*again, "--cycles", "2"),
        "another deck": (*begun, "--deck", "timing-c", "--cycles", "2", "--out", out),
        "no time": (*begun, *CALM, "--time-limit", "1s", "--out", tmp_path / "none"),
    })  # fmt: skip
    assert done["otherwise"].returncode == 2
    assert "leave out --threshold, --steps" in done["otherwise"].stderr
    assert done["nothing left"].returncode == 0, done["nothing left"].stderr
    assert "nothing is left" in done["nothing left"].stderr
    assert done["another deck"].returncode == 2
    assert "a checkpoint of timing-a exists" in done["another deck"].stderr
    assert done["no time"].returncode == 75, done["no time"].stderr
    assert state.read_bytes() == before
    assert not list((tmp_path / "none").glob("*.h5"))
