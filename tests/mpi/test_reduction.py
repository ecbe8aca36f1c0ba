"""``hindmost run --keep`` and k-means on real ranks, held against one process."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks

import hindmost
from hindmost.analysis.adaptive.run import read_adaptive
from hindmost.cli import main
from hindmost.errors import DataError
from hindmost.harness.adaptive.experience import experience_of
from hindmost.harness.runfile.all_ranks import least_phase, most_of, total_of
from hindmost.harness.runfile.cycles import COUNTS
from hindmost.harness.runfile.reader import Run
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


SMALL = ("--deck", "timing-a", "--base", "24x16", "--steps", "3", "--cycles", "230")


@pytest.fixture(scope="module")
def both(module_ranks: Ranks, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """Return the same cycles on four ranks, with all records and with those of half the ranks."""
    folder = tmp_path_factory.mktemp("adaptive")
    found = []
    for name, more in (("all", ()), ("some", ("--keep", "50%"))):
        words = ("run", "adaptive", *SMALL, "--blocks", *more, "--out", folder / name)
        done = module_ranks(4, *words)
        assert done.returncode == 0, done.stderr
        assert ("full records of 2 of 4 ranks are kept" in done.stderr) == (name == "some")
        [file] = (folder / name).glob("*.h5")
        run = hindmost.open(file)
        run.verify()
        found.append(run)
    return found[0], found[1]


COUNTED = [name for name in COUNTS if name != "switches"]
"""What is the same whenever the same cycles are run."""
EDGES = ("edge_epoch", "edge_source", "edge_target", "edge_bytes", "edge_messages")


def test_kept_ranks_of_an_adaptive_run_count_as_in_a_whole_one(
    both: tuple[Run, Run],
) -> None:
    whole, some = both
    kept = some.kept_ranks
    assert (some.columns, some.header.ranks, some.bodies) == (2, 4, 230)
    assert kept[0] == 0  # which predicts
    assert whole.variable("epoch")[-1] > 0  # the mesh has changed
    account = some.header.spec["reduction"]
    assert account["reasons"]["always"] == [0]
    for name in COUNTED:
        assert some.variable(name).shape == (230, 2)
        np.testing.assert_array_equal(some.variable(name), whole.variable(name)[:, kept])
    for name in ("epoch", "block_place", "block_load", "block_owner", "block_epoch"):
        np.testing.assert_array_equal(some.variable(name), whole.variable(name))
    rows = [
        sorted(zip(*(run.edges.variables()[name].tolist() for name in EDGES), strict=True))
        for run in both
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) > 6
    assert some.predictors == whole.predictors
    assert np.isfinite(some.variable("predicted")[1:]).all()


def test_what_all_ranks_counted_is_kept_as_sums_and_extremes(both: tuple[Run, Run]) -> None:
    whole, some = both
    kept = some.kept_ranks
    edges = np.concatenate([[0], np.cumsum(some.variable("interval_bodies"))])
    assert (edges.size, edges[-1]) == (201, 230)
    names = some.texts("count")
    assert names == list(COUNTS)
    profile = some.variable("profile_count")
    assert profile.shape == (200, 4, len(COUNTS))
    for name in COUNTED:
        counts, at = whole.variable(name), names.index(name)
        np.testing.assert_array_equal(total_of(some, name), counts.sum(axis=1))
        np.testing.assert_array_equal(most_of(some, name), counts.max(axis=1))
        np.testing.assert_array_equal(total_of(whole, name), counts.sum(axis=1))
        np.testing.assert_array_equal(most_of(whole, name), counts.max(axis=1))
        np.testing.assert_array_equal(profile[:, :, at], np.add.reduceat(counts, edges[:-1]))
    # times are of this run: the profiles of kept ranks are the sums of their records
    phases = some.variable("phase_duration").astype(np.float64)
    np.testing.assert_array_equal(
        some.variable("profile_phase")[:, kept],
        np.add.reduceat(phases, edges[:-1]).astype(np.float32),
    )
    np.testing.assert_array_equal(
        some.variable("profile_count")[:, kept, names.index("switches")],
        np.add.reduceat(some.variable("switches"), edges[:-1]),
    )
    least = some.variable("phase_least")
    assert (least <= phases.min(axis=1)).all()
    assert (least > 0).any()
    np.testing.assert_allclose(least_phase(some, "hydro"), least[:, some.phases.index("hydro")])


def test_verbs_take_a_reduced_adaptive_run_or_refuse_it(
    both: tuple[Run, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, some = both
    said = []
    for run in both:
        assert main(["show", str(run.path)]) == 0
        said.append(capsys.readouterr().out)
    assert "4 ranks (full records of 2; times of bodies below are of these)" in said[1]
    lines = [
        [line for line in text.splitlines() if line.startswith(("  cells", "  adaption"))]
        for text in said
    ]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 2
    assert main(["check", str(some.path)]) in (0, 1)
    assert main(["ranks", str(some.path)]) == 0
    assert "Full records of 2 of 4 ranks were kept" in capsys.readouterr().out
    assert main(["report", str(some.path), "--out", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").stat().st_size > 10_000
    read, every = read_adaptive(some), read_adaptive(whole)
    assert [replace(work, iterations=0.0) for work in read.works] == [
        replace(work, iterations=0.0) for work in every.works
    ]
    with pytest.raises(DataError, match="full records of 2 of 4 ranks"):
        experience_of(some)
    with pytest.raises(DataError, match="full records of 2 of 4 ranks"):
        main(["efficiency", str(some.path)])


def test_one_rank_that_is_kept_is_the_one_that_predicts(ranks: Ranks, tmp_path: Path) -> None:
    words = ("run", "adaptive", *SMALL[:-1], "3", "--out", tmp_path / "runs", "--keep")
    done = ranks(3, *words, "1%")
    assert done.returncode == 0, done.stderr
    [file] = (tmp_path / "runs").glob("*.h5")
    run = hindmost.open(file)
    run.verify()
    assert run.kept_ranks.tolist() == [0]
    done = ranks(1, *words, "2")
    assert done.returncode == 2
    assert "a share above 0 and up to 1" in done.stderr
