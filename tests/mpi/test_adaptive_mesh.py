"""The mesh on ranks: the same cells, faces in the same order, ghosts with their owners' values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks

pytestmark = pytest.mark.mpi

PROGRAM = """
import hashlib, json, sys
import numpy as np
from mpi4py import MPI
sys.path.insert(0, HERE)
from tests.harness.adaptive.mesh.brute import flags_of_places, squares
from hindmost.harness.adaptive.mesh.cells import Cells
from hindmost.harness.adaptive.mesh.mesh import Mesh

world = MPI.COMM_WORLD
BASE, LEVELS, CYCLES = (9, 7), 3, 12

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
    sums = np.zeros(field.shape[0])
    for faces in (patch.x_faces, patch.y_faces):
        flux = field[faces.lower, 0] * 0.7 - field[faces.upper, 0] * 0.3
        flux /= 1 + faces.level.astype(float)
        # One after the other, as they are written.
        cells = np.stack([faces.lower, faces.upper], axis=1)
        np.add.at(sums, cells.ravel(), np.stack([-flux, flux], axis=1).ravel())
    return sums[: patch.owned]

def gathered(array):
    return np.concatenate(world.allgather(array))

def consistent_edges(mesh, columns):
    edges = mesh.edges(columns)
    came = {(int(s), world.rank): int(b) for s, b in zip(edges.source, edges.bytes)}
    sent = mesh.exchange.bytes_sent(columns)
    everything = {k: v for part in world.allgather(came) for k, v in part.items()}
    mine = [v for (source, _), v in everything.items() if source == world.rank]
    return sum(mine) == sent and len(mine) == mesh.exchange.messages

answer = {}
for order in ("curve", "slab"):
    for exchange in ("persistent", "nonblocking"):
        if order == "slab" and exchange == "nonblocking":
            continue
        mesh = Mesh(world, BASE, LEVELS, order=order, exchange=exchange, most_cells=1500)
        state = mesh.connect(value(mesh.patch, slice(mesh.patch.owned), np.arange(2)[:, None]).T)
        told = {"ghosts": True, "edges": True, "border": True, "cells": [], "digest": [],
                "did": [], "moved": 0, "imbalance": []}
        for cycle in range(CYCLES):
            flags = flags_of_places(mesh.patch, BASE, cycle)
            total = world.allreduce(mesh.patch.owned)
            state, did = mesh.adapt(flags, np.ascontiguousarray(state))
            state, balanced = mesh.balance(state)
            state = mesh.connect(state)
            patch = mesh.patch
            told["ghosts"] &= same_ghosts(mesh)
            told["edges"] &= consistent_edges(mesh, 4)
            first = squares(patch)[0]
            told["border"] &= not any(part & ((1 << first[2]) - 1) for part in first[:2])
            digest = hashlib.sha256()
            own = mesh.cells()
            for array in (own.i, own.j, own.level, state[: patch.owned], face_sums(mesh)):
                digest.update(gathered(array).tobytes())
            told["digest"].append(digest.hexdigest())
            told["cells"].append(world.allreduce(patch.owned))
            told["did"].append([world.allreduce(did.divided), world.allreduce(did.combined),
                                did.held])
            told["moved"] += world.allreduce(balanced.moved)
            counts = world.allgather(patch.owned)
            told["imbalance"].append([balanced.imbalance_after,
                                      max(counts) * len(counts) / sum(counts)])
        answer[order + " " + exchange] = told
        loads = mesh.blocks()
        told["blocks"] = [sum(world.allgather(loads.block.size)),
                          sum(world.allgather(int(loads.load.sum())))]

        # Given back from pieces that are cut anywhere, as a checkpoint's reader would.
        whole = [gathered(array) for array in (own.i, own.j, own.level, state[: patch.owned])]
        cuts = np.linspace(0, whole[0].size, world.size + 1).astype(int)
        cuts[1:-1] += 3
        piece = [array[cuts[world.rank] : cuts[world.rank + 1]] for array in whole]
        again, state = Mesh.from_cells(
            world, BASE, LEVELS, Cells(i=piece[0], j=piece[1], level=piece[2]), piece[3],
            order=order, exchange=exchange,
        )
        own = again.cells()
        new = (own.i, own.j, own.level, state[: again.patch.owned])
        told["again"] = all(np.array_equal(gathered(a), b) for a, b in zip(new, whole))
        told["again"] &= same_ghosts(again)
        told["again sums"] = hashlib.sha256(gathered(face_sums(again)).tobytes()).hexdigest()
        told["sums"] = hashlib.sha256(gathered(face_sums(mesh)).tobytes()).hexdigest()

# One base cell outgrows a rank's share: others must still have a base cell each.
mesh = Mesh(world, (2, 2), 4)
state = mesh.connect(np.ones((mesh.patch.owned, 1)))
for cycle in range(4):
    patch = mesh.patch
    flags = np.zeros(patch.owned, np.int8)
    flags[(patch.i[: patch.owned] == 0) & (patch.j[: patch.owned] == 0)] = 1
    flags[patch.level[: patch.owned] > 0] = 1
    state, _ = mesh.adapt(flags, state)
    state, balanced = mesh.balance(state)
    state = mesh.connect(state)
    answer["lopsided"] = [world.allreduce(patch.owned >= 1, MPI.LAND), same_ghosts(mesh)]
if world.rank == 0:
    print(json.dumps(answer))
"""


def answer_of(ranks: Ranks, count: int) -> dict:
    here = Path(__file__).parents[2]
    done = ranks(count, script=PROGRAM.replace("HERE", repr(str(here))))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_mesh_does_not_depend_on_the_ranks(ranks: Ranks) -> None:
    alone = answer_of(ranks, 1)
    curve, other, slab = (alone[way] for way in ("curve persistent", "curve nonblocking",
                                                 "slab persistent"))  # fmt: skip
    assert curve["digest"] == other["digest"]
    assert curve["did"] == slab["did"]
    assert any(held for _, _, held in curve["did"])
    assert max(curve["cells"]) > 1000
    for count in (2, 3, 4):
        shared = answer_of(ranks, count)
        assert shared["lopsided"] == [True, True]
        for way, told in alone.items():
            if way == "lopsided":
                continue
            found = shared[way]
            # Cells, states and order-dependent sums over faces, to the bit, after every cycle.
            assert found["digest"] == told["digest"], (count, way)
            assert (found["cells"], found["did"]) == (told["cells"], told["did"])
            assert found["moved"] > 100
            said, counted = np.array(found["imbalance"]).T
            np.testing.assert_allclose(said, counted, rtol=1e-12)
            # Splits are at base cells, of 64 at most, each within half of one of an even split.
            mean = np.array(found["cells"]) / count
            assert (counted <= 1.02 + 65 / mean).all()
            assert all(found[name] for name in ("ghosts", "edges", "border", "again")), way
            assert found["again sums"] == found["sums"] == told["sums"]
            assert found["blocks"] == [9 * 7, found["cells"][-1]]


def test_more_ranks_than_base_cells(ranks: Ranks) -> None:
    script = (
        "from mpi4py import MPI\n"
        "from hindmost.errors import UsageError\n"
        "from hindmost.harness.adaptive.mesh.mesh import Mesh\n"
        "try:\n"
        "    Mesh(MPI.COMM_WORLD, (1, 1), 3)\n"
        "except UsageError as error:\n"
        "    print(error)\n"
    )
    done = ranks(2, script=script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("2 ranks for a base mesh of 1 x 1") == 2
