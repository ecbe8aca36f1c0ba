"""The mesh on ranks: the same cells, faces in the same order, ghosts with their owners' values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks

pytestmark = pytest.mark.mpi

PROGRAM = """
import hashlib, json, sys, time
import numpy as np
from mpi4py import MPI
sys.path.insert(0, HERE)
from tests.harness.adaptive.mesh.brute import flags_of_places
from hindmost.harness.adaptive.mesh import adapt, connection, order
from hindmost.harness.adaptive.kernel import compile_everything
from hindmost.harness.adaptive.decks import TIMING_A
from hindmost.harness.adaptive.mesh.order import Cells
from hindmost.harness.adaptive.mesh.mesh import Mesh
from hindmost.models.compiled import compiled

BASE, LEVELS, CYCLES = (9, 7), 3, 8
ROOMS = (adapt, connection, order)
LOOPS = [loop for room in ROOMS for name, loop in vars(room).items() if name.endswith("_loop")]

def signatures():
    return [len(compiled(loop).signatures) for loop in LOOPS]

def value(patch, rows, column):
    # Of a cell's place alone, and different for every cell.
    return patch.i[rows] * 1e6 + patch.j[rows] * 10.0 + patch.level[rows] + 0.125 * column

def filled(mesh, columns):
    patch = mesh.patch
    field = np.full((patch.owned + patch.ghosts, columns), np.nan)
    for column in range(columns):
        field[: patch.owned, column] = value(patch, slice(patch.owned), column)
    mesh.exchange.fill(field)
    return field

def same_ghosts(mesh):
    patch = mesh.patch
    for columns in (1, 4, 1):
        field = filled(mesh, columns)
        for column in range(columns):
            expected = value(patch, slice(None), column)
            if not np.array_equal(field[:, column], expected):
                return False
    return True

def face_sums(mesh):
    # Sums over the faces of each cell whose digits depend on the order of the faces.
    patch = mesh.patch
    field = np.sin(filled(mesh, 1))
    sums, faces = np.zeros(field.shape[0]), patch.faces
    flux = field[faces.lower, 0] * 0.7 - field[faces.upper, 0] * 0.3
    flux /= 1 + faces.level.astype(float)
    # One after the other, as they are written.
    cells = np.stack([faces.lower, faces.upper], axis=1)
    np.add.at(sums, cells.ravel(), np.stack([-flux, flux], axis=1).ravel())
    return sums[: patch.owned]

def consistent_edges(ranks, mesh, columns):
    came = {(source, ranks.rank): size for source, size in mesh.senders(columns)}
    everything = {k: v for part in ranks.allgather(came) for k, v in part.items()}
    mine = [v for (source, _), v in everything.items() if source == ranks.rank]
    return sum(mine) == mesh.exchange.bytes_sent(columns) and len(mine) == mesh.exchange.messages

def told_by(ranks, cycles):
    def gathered(array):
        return np.concatenate(ranks.allgather(array))

    def digest_of(*arrays):
        digest = hashlib.sha256()
        for array in arrays:
            digest.update(gathered(array).tobytes())
        return digest.hexdigest()

    mesh = Mesh(ranks, BASE, LEVELS, most_cells=600)
    state = mesh.connect(value(mesh.patch, slice(mesh.patch.owned), np.arange(2)[:, None]).T)
    told = {"ghosts": True, "edges": True, "border": True, "digest": [], "cells": [], "did": [],
            "moved": 0, "imbalance": []}
    for cycle in range(cycles):
        state, *did = mesh.adapt(flags_of_places(mesh.patch, BASE, cycle), state)
        state, moved = mesh.balance(state)
        state = mesh.connect(state)
        patch, own = mesh.patch, mesh.cells
        told["ghosts"] &= same_ghosts(mesh)
        told["edges"] &= consistent_edges(ranks, mesh, 4)
        first = (int(own.i[0]), int(own.j[0]), int(own.level[0]))
        told["border"] &= not any(part & ((1 << first[2]) - 1) for part in first[:2])
        told["digest"].append(
            digest_of(own.i, own.j, own.level, state[: patch.owned], face_sums(mesh))
        )
        counts = ranks.allgather(patch.owned)
        told["cells"].append(sum(counts))
        told["did"].append([ranks.allreduce(each) for each in did])
        told["moved"] += ranks.allreduce(moved)
        told["imbalance"].append(max(counts) * len(counts) / sum(counts))
    loads = mesh.blocks(columns=4, epoch=0)
    told["blocks"] = [sum(ranks.allgather(loads.place.size)),
                      sum(ranks.allgather(int(loads.load.sum())))]

    # Given back from pieces that are cut anywhere, as a checkpoint's reader would.
    whole = [gathered(array) for array in (own.i, own.j, own.level, state[: patch.owned])]
    cuts = np.linspace(0, whole[0].size, ranks.size + 1).astype(int)
    cuts[1:-1] += 3
    i, j, level, states = (array[cuts[ranks.rank] : cuts[ranks.rank + 1]] for array in whole)
    again, states = Mesh.from_cells(ranks, BASE, LEVELS, Cells(i=i, j=j, level=level), states)
    own, owned = again.cells, again.patch.owned
    told["again"] = digest_of(own.i, own.j, own.level, states[:owned], face_sums(again))
    told["ghosts"] &= same_ghosts(again)
    for name in ("ghosts", "edges", "border"):
        told[name] = ranks.allreduce(told[name], MPI.LAND)
    return told

def lopsided(ranks):
    # One base cell outgrows a rank's share: others must still have a base cell each.
    mesh = Mesh(ranks, (2, 2), 4)
    state = mesh.connect(np.ones((mesh.patch.owned, 1)))
    fine = True
    for cycle in range(4):
        patch = mesh.patch
        i, j, level = (array[: patch.owned] for array in (patch.i, patch.j, patch.level))
        corner = ((i == 0) & (j == 0)) | (level > 0)
        state, _, _ = mesh.adapt(corner.astype(np.int8), state)
        state, _ = mesh.balance(state)
        state = mesh.connect(state)
        fine &= ranks.allreduce(mesh.patch.owned >= 1 and same_ghosts(mesh), MPI.LAND)
    return bool(fine)

world = MPI.COMM_WORLD
compile_everything(TIMING_A, world)
before = signatures()
answer = {}
for count in range(1, world.size + 1):
    ranks = world.Split(world.rank < count, world.rank)
    if world.rank < count:
        answer[count] = told_by(ranks, CYCLES)
        answer[count]["lopsided"] = lopsided(ranks)
    waiting = world.Ibarrier()
    while not waiting.Test():
        time.sleep(0.005)
compiled_since = world.allreduce(signatures() != before, MPI.LOR)
if world.rank == 0:
    print(json.dumps({"told": answer, "compiled since": compiled_since, "loops": before}))
"""


def test_the_mesh_does_not_depend_on_the_ranks(ranks: Ranks) -> None:
    here = Path(__file__).parents[2]
    done = ranks(3, script=PROGRAM.replace("HERE", repr(str(here))))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    # Every loop was compiled, for one kind of numbers, before the first mesh on ranks.
    assert not answer["compiled since"]
    assert set(answer["loops"]) == {1}

    alone = answer["told"]["1"]
    assert 500 < max(alone["cells"]) <= 600
    for count in (2, 3):
        found = answer["told"][str(count)]
        assert found["moved"] > 50
        # Cells, states and order-dependent sums over faces, to the bit, after every cycle.
        assert found["digest"] == alone["digest"], count
        assert (found["cells"], found["did"]) == (alone["cells"], alone["did"])
        assert found["again"] == found["digest"][-1]
        assert all(found[name] for name in ("ghosts", "edges", "border", "lopsided")), count
        assert found["blocks"] == [9 * 7, found["cells"][-1]]
        # Splits are at base cells, of 64 at most, each within half of one of an even split.
        mean = np.array(found["cells"]) / count
        assert (np.array(found["imbalance"]) <= 1.02 + 65 / mean).all()
