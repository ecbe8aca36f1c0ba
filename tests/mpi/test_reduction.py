"""``hindmost run --keep`` and k-means on real ranks, held against one process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks

import hindmost
from hindmost.models.ranks.keeping import BodiesOfRanks, keep
from hindmost.models.ranks.kmeans import cluster
from hindmost.models.synthetic.populations import draw_population

pytestmark = pytest.mark.mpi

CLUSTER = """
import json, sys
import numpy as np
from mpi4py import MPI
from hindmost.harness.reduction.together import Communicating
from hindmost.models.ranks.keeping import BodiesOfRanks, keep
from hindmost.models.ranks.kmeans import cluster
from hindmost.models.synthetic.populations import draw_population

world = MPI.COMM_WORLD
mine = np.array_split(np.arange(128), world.size)[world.rank]
made = draw_population("hot spot", 128, 3, iterations=40, node_ranks=16)
together = Communicating(world)
points = np.random.default_rng(0).random((128, 5))
found = cluster(points[mine], 4, ids=mine, together=together)
bodies = BodiesOfRanks(
    parts={"compute": made.compute_s[:, mine], "send": made.send_s[:, mine]},
    counts={"messages": ("count", made.messages[mine])},
    ids=mine,
    node_of=mine // 16,
    nodes=8,
)
chosen, _ = keep(bodies, 0.1, together=together)
result = [found.labels.tolist(), chosen.reasons.tolist()]
parts = world.gather(result)
if world.rank == 0:
    whole = [sum(each, []) for each in zip(*parts)]
    print(json.dumps([*whole, found.centroids.tolist(), found.inertia, together.calls]))
"""


@pytest.mark.parametrize("count", [1, 3])
def test_ranks_find_together_what_one_process_finds(ranks: Ranks, count: int) -> None:
    done = ranks(count, script=CLUSTER)
    assert done.returncode == 0, done.stderr
    labels, reasons, centroids, inertia, calls = json.loads(done.stdout)
    points = np.random.default_rng(0).random((128, 5))
    serial = cluster(points, 4)
    assert labels == serial.labels.tolist()
    np.testing.assert_array_equal(centroids, serial.centroids)
    assert inertia == serial.inertia
    made = draw_population("hot spot", 128, 3, iterations=40, node_ranks=16)
    bodies = BodiesOfRanks(
        parts={"compute": made.compute_s, "send": made.send_s},
        counts={"messages": ("count", made.messages)},
        ids=np.arange(128),
        node_of=np.arange(128) // 16,
        nodes=8,
    )
    chosen, _ = keep(bodies, 0.1)
    assert reasons == chosen.reasons.tolist()
    assert calls > 10


def test_a_run_keeps_its_share(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(
        4, "run", "laplacian-1d", "--unknowns", "4000", "--solver", "gmres", "--iterations", "40",
        "--keep", "50%", "--out", tmp_path / "runs",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "full records of 2 of 4 ranks are kept" in done.stderr
    [file] = (tmp_path / "runs").glob("*.h5")
    run = hindmost.open(file)
    run.verify()
    assert (run.columns, run.header.ranks) == (2, 4)
    account = run.header.spec["reduction"]
    reasons = sorted(rank for ranks_ in account["reasons"].values() for rank in ranks_)
    assert reasons == run.kept_ranks.tolist()
    profile, bodies = run.variable("profile_phase"), run.variable("interval_bodies")
    assert profile.shape == (40, 4, 4)
    assert bodies.sum() == 40
    # the profiles of the kept ranks are the sums of their full records
    full = run.variable("phase_duration").sum(axis=0, dtype=np.float64)
    np.testing.assert_allclose(profile[:, run.kept_ranks].sum(axis=0), full, rtol=1e-4, atol=1e-9)
    assert run.variable("every_last").sum() == 40
    assert run.variable("every_solve_time").shape == (4,)
    assert len(run.edges.source) == 6
    done = ranks(1, "run", "diagonal", "--solver", "cg", "--keep", "0", "--out", tmp_path / "no")
    assert done.returncode == 2
    assert "a share above 0 and up to 1" in done.stderr
