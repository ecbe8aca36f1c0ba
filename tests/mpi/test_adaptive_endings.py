"""``hindmost run adaptive`` on real ranks: when it stops, how it fails, and how it goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.mpi.commands import Commands, run_several
from tests.mpi.conftest import Launched
from tests.mpi.test_run_adaptive import SMALL, only_run

from hindmost.harness.adaptive.checkpoint import read_setting

pytestmark = pytest.mark.mpi

CALM = ("--deck", "timing-a", "--base", "24x16", "--steps", "60", "--cycles", "150")

LATE = """
import time
from types import SimpleNamespace
from unittest.mock import patch
from hindmost.harness.cycles import experiment as room
from hindmost.harness.adaptive.kernel import Kernel
from hindmost.harness.launch import process_age_s
late_s, cycle = [0.0], Kernel.cycle
late = SimpleNamespace(monotonic=lambda: time.monotonic() + late_s[0])
patch.object(room, "time", late).start()
count = [0]
def counted(self):
    done = cycle(self)
    count[0] += 1
    if count[0] == AT:
        late_s[0] = LIMIT_S - 0.5 - process_age_s()
    return done
patch.object(Kernel, "cycle", counted).start()
"""
"""The clock by which the run decides jumps after a cycle: half a second is left of the limit."""
COMPILING = 6
"""Cycles of the small meshes that compile, before those of the run."""
LIMIT_S = 10**6

POISONED = """
from unittest.mock import patch
from hindmost.harness.adaptive.kernel import Kernel
real, count = Kernel.cycle, [0]
def cycle(self):
    count[0] += 1
    if count[0] == AT + 9 and self.mesh.communicator.rank == self.mesh.communicator.size - 1:
        self.state[3] = POISON
    return real(self)
patch.object(Kernel, "cycle", cycle).start()
"""
POISONS = {
    "not a number": ("float('nan')", "holds nan, nan, nan, nan (density, momenta, energy)"),
    "too fast": ("[1.0, 1e11, 0.0, 1e30]", "The time step fell from"),
}

SIGNALLED = """
import os, signal
from unittest.mock import patch
from hindmost.harness.adaptive.kernel import Kernel
real, count = Kernel.cycle, [0]
def cycle(self):
    count[0] += 1
    if count[0] == 25 and self.mesh.communicator.rank == 1:
        os.kill(os.getpid(), signal.ASKED)
    return real(self)
patch.object(Kernel, "cycle", cycle).start()
"""
ASKED = {"SIGTERM": 75, "SIGINT": 130}

IMPOSSIBLE = {
    "a deck": (("--deck", "nothing"), "Unknown deck 'nothing'; choose timing-a"),
    "a mesh": (("--deck", "timing-a", "--base", "1x1"), "2 ranks for a base mesh of 1 x 1 cells"),
    "a checkpoint": (
        ("--deck", "timing-a", "--checkpoint", "/proc/x/c.h5"),
        "cannot write checkpoints there",
    ),
}
LONG = ("--deck", "timing-a", *SMALL, "--cycles", "300")


HOOKS = {
    "late": f"LIMIT_S, AT = {LIMIT_S}, {COMPILING + 9}\n{LATE}",
    **{name: SIGNALLED.replace("ASKED", name) for name in ASKED},
    **{name: f"POISON, AT = {poison}, 5\n{POISONED}" for name, (poison, _) in POISONS.items()},
}


def commands(folder: Path) -> Commands:
    """Return runs that end in several ways, for a folder."""
    asked: dict[str, tuple[str | Path, ...]] = {
        **{name: (*words, "--cycles", "3") for name, (words, _) in IMPOSSIBLE.items()},
        **{name: (*LONG, "--checkpoint", f"{name}.ckpt") for name in ("late", *ASKED)},
        "goes on": ("--restart", "late.ckpt", "--cycles", "12"),
        **dict.fromkeys(POISONS, ("--deck", "timing-a", *SMALL, "--cycles", "20")),
    }
    asked["late"] = (*asked["late"], "--time-limit", f"{LIMIT_S}s")
    return {
        name: ("run", "adaptive", *words, "--out", folder / name) for name, words in asked.items()
    }


def test_a_time_limit_stops_with_a_checkpoint_that_goes_on(
    launched: Launched,
) -> None:
    folder, done = launched
    assert done["late"].returncode == 75, done["late"].stderr
    assert "Stop: " in done["late"].stderr
    run = only_run(folder / "late")
    assert run.header.complete
    assert run.bodies == read_setting(folder / "late.ckpt").cycle == 9
    assert done["goes on"].returncode == 0, done["goes on"].stderr
    second = only_run(folder / "goes on")
    assert second.bodies == 3
    assert second.header.spec["first_cycle"] == 9
    before, now = run.variable("cells").sum(axis=1)[-1], second.variable("cells").sum(axis=1)[0]
    changed = (run.variable("divided") - run.variable("combined")).sum(axis=1)[-1]
    assert now == before + 3 * changed


@pytest.mark.parametrize("poison", POISONS)
def test_a_state_that_fails_leaves_the_cycles_before_it(launched: Launched, poison: str) -> None:
    folder, done, said = launched[0], launched[1][poison], POISONS[poison][1]
    assert done.returncode == 3, done.stderr
    assert said in done.stderr
    assert done.stderr.count("hindmost: At time") + done.stderr.count("hindmost: The time") == 1
    assert "Traceback" not in done.stderr
    run = only_run(folder / poison)
    assert not run.header.complete
    assert run.bodies > 2
    assert said[:20] in run.header.spec["failure"]


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_what_cannot_be_run_is_said_once(launched: Launched, what: str) -> None:
    done = launched[1][what]
    assert done.returncode == 2, done.stderr
    assert done.stderr.count(IMPOSSIBLE[what][1]) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("asked", ASKED)
def test_a_run_that_is_asked_to_end_keeps_what_it_has(launched: Launched, asked: str) -> None:
    folder, done = launched[0], launched[1][asked]
    assert done.returncode == ASKED[asked], done.stderr
    run = only_run(folder / asked)
    assert 1 <= run.bodies <= 25
    assert run.header.spec["stopped"] == f"asked to by {asked}."
    assert read_setting(folder / f"{asked}.ckpt").cycle == run.bodies
    epochs = set(run.variable("epoch").tolist())
    assert run.edges.epoch is not None
    assert set(run.edges.epoch.tolist()) == epochs


def test_checkpoints_come_and_what_differs_from_them_is_refused(tmp_path: Path) -> None:
    state, out = tmp_path / "state.h5", tmp_path / "runs"
    again = ("run", "adaptive", "--restart", state, "--out", out)
    begun = ("run", "adaptive", "--checkpoint", state)
    done = run_several(tmp_path, 1, {
        "saved": (*begun, *CALM, "--mtbf", "0.2s", "--out", tmp_path / "saved"),
        "otherwise": (*again, "--cycles", "200000", "--threshold", "2", "--steps", "7"),
        "nothing left": (*again, "--cycles", "2"),
        "another deck": (*begun, "--deck", "timing-c", "--cycles", "2", "--out", out),
        "no time": (*begun, *CALM, "--time-limit", "1s", "--out", tmp_path / "none"),
    })  # fmt: skip
    assert done["saved"].returncode == 0, done["saved"].stderr
    run = only_run(tmp_path / "saved")
    written = run.header.spec["checkpoints"]
    assert written
    assert all(each["bytes"] > 0 and each["seconds"] > 0 for each in written)
    spent = run.phase("checkpoint")[:, 0]
    assert [int(each["cycle"]) for each in written] == np.flatnonzero(spent > 0).tolist()
    assert done["otherwise"].returncode == 2
    assert "leave out --threshold, --steps" in done["otherwise"].stderr
    assert done["nothing left"].returncode == 0, done["nothing left"].stderr
    assert "nothing is left" in done["nothing left"].stderr
    assert done["another deck"].returncode == 2
    assert "a checkpoint of timing-a exists" in done["another deck"].stderr
    assert done["no time"].returncode == 75, done["no time"].stderr
    assert read_setting(state).cycle == written[-1]["cycle"]  # the commands after it left it alone
    assert not list((tmp_path / "none").glob("*.h5"))
