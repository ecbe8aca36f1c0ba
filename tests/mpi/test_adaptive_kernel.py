"""The kernel on ranks: the same to the bit on 1, 2 and 3, conserving, and going on as it was."""

import json
from typing import Any

import numpy as np
import pytest
from tests.conftest import Ranks

pytestmark = pytest.mark.mpi

PROGRAM = """
import hashlib, json, math, time
from dataclasses import replace
from pathlib import Path
import numpy as np
from mpi4py import MPI
from hindmost.harness.adaptive.kernel import start_kernel, resume_kernel
from hindmost.harness.adaptive.checkpoint import CheckpointSetting, read_setting, write_checkpoint
from hindmost.harness.adaptive.decks import Deck
from hindmost.harness.adaptive.phases import PhaseClock

world = MPI.COMM_WORLD
BASE = (24, 16)
FLOW = Deck(
    name="small", summary="", columns=24, rows=16, spacing=0.04,
    levels=2, steps=3, buffer=0, growth=16.0, divide=0.3, combine=0.1,
)
WARM = replace(FLOW, heat=True, conductivity=0.02, buffer=1)

def gathered(kernel):
    owned = kernel.mesh.patch.owned
    levels = np.concatenate(ranks.allgather(kernel.mesh.cells.level))
    state = np.concatenate(ranks.allgather(kernel.state[:owned].copy()))
    return levels, state

def digest(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()

def totals(kernel):
    levels, state = gathered(kernel)
    area = kernel.deck.spacing ** 2 / 4.0 ** levels
    return [math.fsum(area * state[:, column]) for column in (0, 3)]

def made(deck, **choices):
    return start_kernel(deck, BASE, ranks, PhaseClock(), **choices)

def told(kernel, cycles):
    before, levels, counts = totals(kernel), [], []
    for _ in range(cycles):
        counts.append(kernel.cycle())
        levels.append(digest(gathered(kernel)[0]))
    after = totals(kernel)
    final = gathered(kernel)
    summed = {name: ranks.allreduce(sum(row[name] for row in counts)) for name in counts[0]}
    return {
        "levels": levels,
        "state": digest(final[1]),
        "drift": [abs(a - b) / abs(b) for a, b in zip(after, before)],
        "column": final[1][:, 3].tolist(),
        "counts": summed,
        "now": kernel.mesh.patch.owned,
    }
"""

SAVED_AT, CYCLES = 6, 12
GOING_ON_AS_IT_WAS = {"FLOW": 3, "WARM": 2}
"""Deck that two ranks save, and how many ranks go on with it: as many where the sums of heat depend
on the ranks, others where nothing does."""

CHECKPOINTS = """
def ended(kernel):
    levels, state = gathered(kernel)
    return [kernel.time, digest(levels), digest(state)]

def saved(which):
    kernel = made(globals()[which])
    for cycle in range(CYCLES):
        if cycle == SAVED_AT:
            setting = CheckpointSetting(
                cycle=cycle, time=kernel.time, deck="", choices={}, base=BASE,
                cells=tuple(ranks.allgather(kernel.mesh.patch.owned)),
            )
            path = Path(f"{which}.h5")
            write_checkpoint(path, setting, kernel.mesh.cells, kernel.state, ranks)
        kernel.cycle()
    return ended(kernel)

def gone_on(which):
    path = Path(f"{which}.h5")
    setting = read_setting(path)
    kernel = resume_kernel(path, setting, globals()[which], ranks, PhaseClock())
    for cycle in range(setting.cycle, CYCLES):
        kernel.cycle()
    return ended(kernel)
"""

ON_RANKS = """
def found():
    told_of = {
        "flow": told(made(FLOW), 20),
        "rarely moved": told(made(FLOW, threshold=1.3), 20),
        "warm": told(made(WARM), 8),
    }
    if ranks.size == 2:
        told_of["saved"] = {which: saved(which) for which in GOING_ON}
    mine = [which for which, count in GOING_ON.items() if count == ranks.size]
    return {**told_of, "gone on": {which: gone_on(which) for which in mine}}

everything = {}
for count in (2, 1, 3):
    ranks = world.Split(world.rank < count, world.rank)
    if world.rank < count:
        everything[count] = found()
    waiting = world.Ibarrier()
    while not waiting.Test():
        time.sleep(0.005)
if world.rank == 0:
    print(json.dumps(everything))
"""


@pytest.fixture(scope="module")
def on_ranks(module_ranks: Ranks) -> dict[int, dict[str, Any]]:
    """Return what the kernel did on 1, 2 and 3 ranks; two save, and two and three go on."""
    numbers = f"CYCLES, SAVED_AT, GOING_ON = {CYCLES}, {SAVED_AT}, {GOING_ON_AS_IT_WAS}\n"
    done = module_ranks(3, script="".join((PROGRAM, numbers, CHECKPOINTS, ON_RANKS)))
    assert done.returncode == 0, done.stderr
    return {int(count): told for count, told in json.loads(done.stdout).items()}


@pytest.mark.parametrize("count", [2, 3])
def test_ranks_change_nothing_to_the_bit(on_ranks: dict[int, dict[str, Any]], count: int) -> None:
    alone, many = on_ranks[1]["flow"], on_ranks[count]["flow"]
    assert len(set(alone["levels"])) > 5  # the mesh did adapt
    assert many["levels"] == alone["levels"]
    assert many["state"] == alone["state"]
    assert many["counts"]["divided"] == alone["counts"]["divided"] > 0
    assert many["counts"]["combined"] == alone["counts"]["combined"] > 0
    assert many["counts"]["cells"] == alone["counts"]["cells"]
    assert many["counts"]["ghosts"] > alone["counts"]["ghosts"] == 0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_threshold_changes_nothing_that_is_computed(
    on_ranks: dict[int, dict[str, Any]], count: int
) -> None:
    often, rarely = on_ranks[count]["flow"], on_ranks[count]["rarely moved"]
    for name in ("divided", "combined", "cells"):
        assert rarely["counts"][name] == often["counts"][name]
    assert rarely["state"] == often["state"]


@pytest.mark.parametrize("count", [2, 3])
def test_heat_has_the_same_mesh_and_nearly_the_same_fields(
    on_ranks: dict[int, dict[str, Any]], count: int
) -> None:
    alone, many = on_ranks[1]["warm"], on_ranks[count]["warm"]
    assert alone["counts"]["heat_iterations"] > 0
    assert many["levels"] == alone["levels"]
    np.testing.assert_allclose(many["column"], alone["column"], rtol=1e-10)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_mass_and_energy_stay(on_ranks: dict[int, dict[str, Any]], count: int) -> None:
    drifts = [what["drift"] for what in on_ranks[count].values() if "drift" in what]
    assert len(drifts) >= 3
    assert max(map(max, drifts)) <= 1e-14


@pytest.mark.parametrize(("which", "others"), GOING_ON_AS_IT_WAS.items())
def test_a_checkpoint_goes_on_as_it_was(
    on_ranks: dict[int, dict[str, Any]], which: str, others: int
) -> None:
    assert on_ranks[others]["gone on"][which] == on_ranks[2]["saved"][which]
