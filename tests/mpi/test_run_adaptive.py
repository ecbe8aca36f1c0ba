"""``hindmost run adaptive`` on real ranks: what it records, and beside which jobs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched

import hindmost
from hindmost.analysis.runs.summary import summarise_run
from hindmost.cli import main
from hindmost.harness.adaptive.decks import TIMING_B
from hindmost.harness.runfile.cycles import ADAPTIVE, PULSE
from hindmost.harness.runfile.reader import Run

pytestmark = pytest.mark.mpi

SMALL = ("--base", "24x16", "--steps", "4")
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


def commands(folder: Path) -> Commands:
    """Return a run of the lively deck, for a folder."""
    (folder / "lively.toml").write_text(LIVELY.to_toml())
    words = ("--deck", "lively.toml", "--cycles", "12", "--blocks", "--out", folder)
    return {"lively": ("run", "adaptive", *words)}


@pytest.fixture(scope="module")
def recorded(launched: Launched) -> Run:
    folder, done = launched[0], launched[1]["lively"]
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
    assert recorded.variable(PULSE).shape == (12, 2)
    assert (recorded.variable(PULSE) > 0).all()
    assert 0 < recorded.header.spec["pulses_s"] < recorded.solve_time_s
    assert recorded.header.spec["pulse_s"] > 0


def test_it_is_known_where_in_the_kernel_calls_were_made(recorded: Run) -> None:
    table, made = recorded.contexts, recorded.variable("event_context")
    for rank in (0, 1):
        called = {
            table.places[frame].split(" ")[0]
            for context in np.unique(made[-1, rank][made[-1, rank] > 0]).tolist()
            for frame in table.chain(context).tolist()
        }
        assert called >= {"cycle", "fill", "reduce", "adapt", "balance"}


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


WATCHED = """
import os, signal, sys, time
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
    if cycle == 11:
        os.kill(os.getpid(), signal.SIGKILL)
InterferingJobs.before = before
sys.argv = ["hindmost", *WORDS]
sys.exit(main())
"""


def test_a_neighbour_works_when_the_schedule_says_until_the_run_is_killed(
    ranks: Ranks, tmp_path: Path
) -> None:
    words = ["run", "adaptive", "--deck", "timing-a", *SMALL, "--cycles", "12"]
    words += ["--interfere", "2-3,7-8@0", "--out", str(tmp_path)]
    done = ranks(1, script=f"WORDS = {words!r}\n" + WATCHED)
    assert done.returncode != 0, done.stderr
    seen = [line.split() for line in done.stderr.splitlines() if line.startswith("cycle ")]
    asleep = [int(cycle) for _, cycle, state, _ in seen if state == "T"]
    assert asleep == [0, 1, 4, 5, 6, 9, 10, 11]
    assert {core for *_, core in seen} == {"0"}
    # A kill leaves the cycles that were written by then, with all that was noted of them.
    (raw,) = tmp_path.glob("*.raw")
    assert main(["attach", "--convert", str(raw)]) == 0
    run = only_run(tmp_path)
    assert not run.header.complete
    assert 3 < run.bodies < 12
    assert (run.header.workload, run.header.solver) == (ADAPTIVE, "timing-a")
    assert run.header.spec["interfere"] == {"spans": [[2, 3], [7, 8]], "cores": [0]}
    assert (run.variable("cells") > 0).all()
    assert (run.phase("hydro") > 0).all()
    assert np.isfinite(run.variable("predicted")[1:]).all()
    assert summarise_run(run).adaptive is not None


COUNTED = """
import sys, json
from hindmost.harness.cycles import experiment as room
from hindmost.models.compiled import LOOPS
from hindmost.__main__ import main
def signatures():
    return {name: len(loop.signatures) for name, loop in LOOPS.items()}
real = room.AdaptiveReplays.record
def run(*words):
    before = signatures()
    ended = real(*words)
    if signatures() != before:
        late = set(signatures().items()) - set(before.items())
        sys.stderr.write(f"compiled in the run: {late}\\n")
    return ended
room.AdaptiveReplays.record = run
sys.argv = ["hindmost", *WORDS]
sys.exit(main())
"""


def test_nothing_is_compiled_in_the_run(ranks: Ranks, tmp_path: Path) -> None:
    words = ["run", "adaptive", "--deck", "timing-b", *SMALL, "--cycles", "8"]
    done = ranks(2, script=f"WORDS = {[*words, '--out', str(tmp_path)]!r}\n" + COUNTED)
    assert done.returncode == 0, done.stderr
    assert "compiled in the run" not in done.stderr
