"""``hindmost run adaptive`` on real ranks: what it records, when it stops, how it fails."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from shutil import copy2

import numpy as np
import pytest
from tests.conftest import Ranks

import hindmost
from hindmost.cli import main
from hindmost.harness.adaptive.checkpoint import read_setting
from hindmost.harness.adaptive.decks.timing import TIMING_B
from hindmost.harness.runfile.reader import Run

pytestmark = pytest.mark.mpi

SMALL = ("--base", "24x16", "--steps", "4")
CALM = ("--deck", "timing-a", "--base", "24x16", "--steps", "60", "--cycles", "150")
LIVELY = replace(
    TIMING_B, name="lively", heats=1, columns=12, rows=16, spacing=1 / 24, steps=3, divide=0.3,
    combine=0.1, buffer=0, growth=16.0,
)  # fmt: skip
"""A small deck whose mesh changes in every cycle."""


def only_run(folder: Path) -> Run:
    [file] = folder.glob("*.h5")
    run = hindmost.open(file)
    run.verify()
    return run


@pytest.fixture(scope="module")
def recorded(module_ranks: Ranks, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs")
    deck = folder / "lively.toml"
    deck.write_text(LIVELY.to_toml())
    done = module_ranks(
        2, "run", "adaptive", "--deck", deck, "--cycles", "12", "--blocks", "--out", folder
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(folder / "adaptive-lively-p2-0.h5")]
    assert "mean error of the predictions: online-all" in done.stderr
    return only_run(folder)


def test_every_cycle_is_recorded_on_every_rank(recorded: Run) -> None:
    assert recorded.bodies == 12
    parts = recorded.durations.sum(axis=0) + recorded.lead_in + recorded.lead_out
    np.testing.assert_allclose(parts, recorded.solve_time, atol=1e-6)
    for phase in ("hydro", "halo", "heat", "wait", "adaption", "balance"):
        assert (recorded.phase(phase) > 0).all()
    for name in ("cells", "faces", "ghosts", "messages", "bytes", "heat_iterations"):
        assert (recorded.variable(name) > 0).all()
    cpu, wall = recorded.variable("phase_cpu"), recorded.variable("phase_duration")
    assert 0 < cpu.sum() < 1.1 * wall.sum()
    iterations = recorded.variable("heat_iterations")
    assert (iterations[:, 0] == iterations[:, 1]).all()


def test_cells_are_those_that_divided_and_combined(recorded: Run) -> None:
    cells, divided, combined = (
        recorded.variable(name).sum(axis=1) for name in ("cells", "divided", "combined")
    )
    assert divided.sum() > 0
    np.testing.assert_array_equal(np.diff(cells), (3 * divided - 3 * combined)[:-1])


def test_edges_and_blocks_follow_the_mesh(recorded: Run) -> None:
    epoch, edges = recorded.variable("epoch"), recorded.edges
    assert edges.epoch is not None
    assert epoch[0] == 0
    assert set(edges.epoch) == set(epoch)
    ghosts = recorded.variable("ghosts")
    place, load, owner, of = (
        recorded.variable(f"block_{name}") for name in ("place", "load", "owner", "epoch")
    )
    cells = recorded.variable("cells")
    for cycle, mesh in enumerate(epoch):
        sent = {
            (int(s), int(t)): int(b)
            for s, t, b, e in zip(edges.source, edges.target, edges.bytes, edges.epoch, strict=True)
            if e == mesh
        }
        assert sent == {(1, 0): 32 * ghosts[cycle, 0], (0, 1): 32 * ghosts[cycle, 1]}
        assert sorted(place[of == mesh]) == list(range(24 * 16))
        for rank in (0, 1):
            assert load[(of == mesh) & (owner == rank)].sum() == cells[cycle, rank]


def test_blocks_say_who_needs_cells_of_whom(recorded: Run) -> None:
    of, source, target, size = (
        recorded.variable(f"block_edge_{name}") for name in ("epoch", "source", "target", "bytes")
    )
    assert set(of) == set(recorded.variable("epoch"))
    # Blocks of neighbouring base cells need each other's cells, once each.
    (x, y), (ahead, above) = (np.divmod(place, 24)[::-1] for place in (source, target))
    np.testing.assert_array_equal(np.abs(x - ahead) + np.abs(y - above), 1)
    pairs = set(zip(of.tolist(), source.tolist(), target.tolist(), strict=True))
    assert len(pairs) == of.size
    assert {(mesh, there, here) for mesh, here, there in pairs} == pairs
    assert len(pairs) == len(set(of)) * 2 * (23 * 16 + 24 * 15)
    # What ranks exchange is what their blocks need, but for cells that two blocks of a rank need.
    edges = recorded.edges
    blocks = {
        (int(mesh), int(place)): int(rank)
        for mesh, place, rank in zip(
            recorded.variable("block_epoch"),
            recorded.variable("block_place"),
            recorded.variable("block_owner"),
            strict=True,
        )
    }
    needed: dict[tuple[int, int, int], int] = {}
    for mesh, here, there, each in zip(of, source, target, size, strict=True):
        ranks = blocks[int(mesh), int(here)], blocks[int(mesh), int(there)]
        if ranks[0] != ranks[1]:
            key = (int(mesh), *ranks)
            needed[key] = needed.get(key, 0) + int(each)
    assert edges.epoch is not None
    for s, t, b, e in zip(edges.source, edges.target, edges.bytes, edges.epoch, strict=True):
        assert b <= needed[int(e), int(s), int(t)] <= 2 * b


def test_another_balance_is_computed_from_the_blocks(
    recorded: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", str(recorded.path), "--balance", "greedy,none", "--json"]) == 0
    greedy, none = json.loads(capsys.readouterr().out)["runs"]
    assert greedy["replayed_s"] == pytest.approx(recorded.solve_time_s, rel=1e-9)
    assert 1.0 <= greedy["imbalance"] <= greedy["recorded_imbalance"] <= none["imbalance"]
    assert greedy["bytes_factor"] > 1.0  # blocks that are not beside each other
    assert none["moved_cells"] == 0


def test_predictions_stand_before_their_cycles(recorded: Run) -> None:
    place = recorded.predictors.index("online-all")
    predicted = recorded.variable("predicted")
    assert np.isnan(predicted[0]).all()
    assert np.isfinite(predicted[1:]).all()
    seconds = recorded.durations[:, 0] - recorded.phase("checkpoint")[:, 0]
    cells = recorded.variable("cells").max(axis=1)
    for cycle in range(1, 12):
        time_per_cell = seconds[:cycle].sum() / cells[:cycle].sum()
        expected = time_per_cell * cells[cycle]
        assert predicted[cycle, place] == pytest.approx(expected, rel=1e-6)
        last = seconds[cycle - 1] / cells[cycle - 1] * cells[cycle]
        assert predicted[cycle, recorded.predictors.index("online-1")] == pytest.approx(last)


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--deck", "nothing"), "Unknown deck 'nothing'; choose timing-a"),
        (("--deck", "timing-a", "--base", "1x1"), "2 ranks for a base mesh of 1 x 1 cells"),
        (("--deck", "timing-a", "--checkpoint", "/proc/x/c.h5"), "cannot write checkpoints there"),
    ],
)
def test_what_cannot_be_run_is_said_once(
    ranks: Ranks, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = ranks(2, "run", "adaptive", *words, "--cycles", "3", "--out", tmp_path / "runs")
    assert done.returncode == 2, done.stderr
    assert done.stderr.count(said) == 1
    assert "Traceback" not in done.stderr


WATCHED = """
import sys, time
from pathlib import Path
from hindmost.harness.adaptive.interference import InterferingJobs
from hindmost.__main__ import main
real = InterferingJobs.before
def before(self, cycle):
    real(self, cycle)
    time.sleep(0.05)
    [process] = self._processes
    words = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    sys.stderr.write(f"cycle {cycle} {words[0]} {words[36]}\\n")
InterferingJobs.before = before
sys.argv = ["hindmost", *WORDS]
sys.exit(main())
"""


def test_a_neighbour_works_when_the_schedule_says(ranks: Ranks, tmp_path: Path) -> None:
    words = ["run", "adaptive", "--deck", "timing-a", *SMALL, "--cycles", "12"]
    words += ["--interfere", "2-3,7-8@0", "--out", str(tmp_path)]
    done = ranks(1, script=f"WORDS = {words!r}\n" + WATCHED)
    assert done.returncode == 0, done.stderr
    seen = [line.split() for line in done.stderr.splitlines() if line.startswith("cycle ")]
    asleep = [int(cycle) for _, cycle, state, _ in seen if state == "T"]
    assert asleep == [0, 1, 4, 5, 6, 9, 10, 11]
    assert {core for *_, core in seen} == {"0"}
    assert only_run(tmp_path).header.spec["interfere"] == {"spans": [[2, 3], [7, 8]], "cores": [0]}


COUNTED = """
import sys, json
from hindmost.harness.adaptive import run as room
from hindmost.models.compiled import signatures
from hindmost.__main__ import main
real = room.Runner.run
def run(self):
    before = signatures()
    ended = real(self)
    if signatures() != before:
        late = set(signatures().items()) - set(before.items())
        sys.stderr.write(f"compiled in the run: {late}\\n")
    return ended
room.Runner.run = run
sys.argv = ["hindmost", *WORDS]
sys.exit(main())
"""


@pytest.mark.parametrize("deck", ["timing-b"])
def test_nothing_is_compiled_in_the_run_cold_or_warm(
    ranks: Ranks, tmp_path: Path, deck: str
) -> None:
    words = ["run", "adaptive", "--deck", deck, *SMALL, "--cycles", "8", "--out", str(tmp_path)]
    script = f"WORDS = {words!r}\n" + COUNTED
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "NUMBA_OPT": "0"}
    for start in ("cold", "warm"):
        done = ranks(2, script=script, environment=cache)
        assert done.returncode == 0, done.stderr
        assert "compiled in the run" not in done.stderr, start
        written = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.nbc")}
        assert written
        if start == "cold":
            first = written
    assert written == first  # the warm start compiled nothing


def test_json_of_the_spec_is_finite(recorded: Run) -> None:
    text = json.dumps(recorded.header.spec, allow_nan=False)
    assert math.isfinite(json.loads(text)["speed_s"])


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


def test_going_on_refuses_what_the_checkpoint_has_otherwise(
    ranks: Ranks, saved: Path, tmp_path: Path
) -> None:
    state, out = tmp_path / "state.h5", tmp_path / "runs"
    copy2(saved / "state.h5", state)
    again = ("run", "adaptive", "--restart", state, "--out", out)
    done = ranks(1, *again, "--cycles", "200000", "--scheme", "2", "--steps", "7")
    assert done.returncode == 2
    assert "leave out --scheme, --steps" in done.stderr
    done = ranks(1, *again, "--cycles", "2")
    assert done.returncode == 0, done.stderr
    assert "nothing is left" in done.stderr
    before = state.read_bytes()
    done = ranks(
        1, "run", "adaptive", "--deck", "sod", "--cycles", "2", "--checkpoint", state, "--out", out
    )
    assert done.returncode == 2
    assert "a checkpoint of timing-a exists" in done.stderr
    limited = ("--time-limit", "1s", "--checkpoint", state, "--out", tmp_path / "none")
    done = ranks(1, "run", "adaptive", *CALM, *limited)
    assert done.returncode == 75, done.stderr
    assert state.read_bytes() == before
    assert not list((tmp_path / "none").glob("*.h5"))
