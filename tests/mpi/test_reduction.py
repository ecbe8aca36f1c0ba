"""``hindmost run --keep`` and k-means on real ranks, held against one process."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.synthetic.populations import draw_population
from tests.conftest import starter
from tests.mpi.commands import Commands
from tests.mpi.conftest import Launched
from tests.mpi.test_run_adaptive import LIVELY

import hindmost
from hindmost.analysis.fits.study import FitOptions, fit_run
from hindmost.analysis.ranks.study import report_run
from hindmost.analysis.ranks.tables import summary_lines
from hindmost.analysis.runs.cycles import read_adaptive
from hindmost.analysis.runs.efficiency.of_run import efficiencies_of
from hindmost.cli import main
from hindmost.harness.runfile.all_ranks import most_of, total_of
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.cycles import COUNTS
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.kmeans import cluster
from hindmost.models.ranks.selection import BodiesOfRanks, keep

pytestmark = pytest.mark.mpi
REPOSITORY = Path(__file__).parents[2]
"""For scripts: what they draw stands beside the benchmarks."""

CLUSTER = """
import json, sys, time
import numpy as np
from mpi4py import MPI
from hindmost.harness.reduction.decide import RankReductions
from hindmost.models.ranks.selection import BodiesOfRanks, keep
from hindmost.models.ranks.kmeans import cluster

sys.path.insert(0, REPOSITORY)
from benchmarks.synthetic.populations import draw_population

world = MPI.COMM_WORLD

def clustered(ranks):
    mine = np.array_split(np.arange(128), ranks.size)[ranks.rank]
    made = draw_population("slow link", 128, 3, iterations=40, node_ranks=16)
    reductions = RankReductions(ranks)
    points = np.random.default_rng(0).random((128, 5))
    found = cluster(points[mine], 4, reductions=reductions)
    bodies = BodiesOfRanks(
        parts={"compute": made.compute_s[:, mine], "send": made.send_s[:, mine]},
        not_work={"halo": made.halo_s[:, mine], "wait": made.wait_s[:, mine]},
        transfer=made.slow_transfer_s[:, mine],
        counts={"messages": ("count", made.messages[mine])},
        ids=mine,
        node_of=mine // 16,
        nodes=8,
    )
    chosen, _ = keep(bodies, 0.1, reductions=reductions)
    parts = ranks.gather([found.labels.tolist(), chosen.reasons.tolist()])
    if ranks.rank == 0:
        whole = [sum(each, []) for each in zip(*parts)]
        return [*whole, found.centroids.tolist(), found.inertia, reductions.calls]

told = {}
for count in (1, 3):
    some = world.Split(world.rank < count, world.rank)
    if world.rank < count:
        told[count] = clustered(some)
    waiting = world.Ibarrier()
    while not waiting.Test():
        time.sleep(0.005)
"""


@pytest.fixture(scope="module")
def on_four(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what 1 and 3 of 4 ranks found, and the files that all four wrote."""
    folder = tmp_path_factory.mktemp("four")
    done = starter(folder)(
        4, folder, script=CLUSTER.replace("REPOSITORY", repr(str(REPOSITORY))) + TWICE
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("count", [1, 3])
def test_ranks_find_together_what_one_process_finds(on_four: dict[str, Any], count: int) -> None:
    labels, reasons, centroids, inertia, calls = on_four[str(count)]
    points = np.random.default_rng(0).random((128, 5))
    serial = cluster(points, 4)
    assert labels == serial.labels.tolist()
    np.testing.assert_allclose(centroids, serial.centroids, rtol=1e-12)
    assert inertia == pytest.approx(serial.inertia, rel=1e-12)
    made = draw_population("slow link", 128, 3, iterations=40, node_ranks=16)
    bodies = BodiesOfRanks(
        parts={"compute": made.compute_s, "send": made.send_s},
        not_work={"halo": made.halo_s, "wait": made.wait_s},
        transfer=made.slow_transfer_s,
        counts={"messages": ("count", made.messages)},
        ids=np.arange(128),
        node_of=np.arange(128) // 16,
        nodes=8,
    )
    chosen, _ = keep(bodies, 0.1)
    assert reasons == chosen.reasons.tolist()
    assert calls > 10


def test_a_run_keeps_its_share(
    launched: Launched, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, done = launched[0], launched[1]["share"]
    assert done.returncode == 0, done.stderr
    assert "full records kept of 1 of 2 ranks" in done.stderr
    [file] = (folder / "share").glob("*.h5")
    run = hindmost.open(file)
    run.verify()
    assert (run.columns, run.header.ranks) == (1, 2)
    account = run.header.spec["reduction"]
    reasons = sorted(rank for ranks_ in account["reasons"].values() for rank in ranks_)
    assert reasons == run.kept_ranks.tolist()
    profile, bodies = run.variable("profile_phase"), run.variable("interval_bodies")
    assert profile.shape == (40, 2, len(PHASES))
    assert bodies.sum() == 40
    # the profiles of the kept ranks are the sums of their full records
    full = run.variable("phase_duration").sum(axis=0, dtype=np.float64)
    np.testing.assert_allclose(profile[:, run.kept_ranks].sum(axis=0), full, rtol=1e-4, atol=1e-9)
    assert 0 < run.variable("every_last").sum() <= 40  # nobody is last where two are equally late
    assert run.variable("every_solve_time").shape == (2,)
    assert len(run.edges.source) == 2
    none = ("diagonal", "--solver", "cg", "--keep", "0", "--out", str(tmp_path / "no"))
    assert main(["run", *none]) == 2
    assert "a share above 0 and up to 1" in capsys.readouterr().err


TWICE = """
from pathlib import Path
from hindmost.harness.reduction.kept import write_kept
from hindmost.harness.runfile.bodies import PHASES, RankBodies, RankEvents
from hindmost.harness.runfile.contents import Edges, Header, RankRun
from hindmost.harness.runfile.part_file import RunName
from hindmost.models.events import EventKind

rank, ranks, bodies = world.rank, world.size, 400
random = np.random.default_rng(7)
work = 1e-4 * (1.0 + 0.1 * random.random((bodies, ranks)))
transfer = 1e-5 * (1.0 + 0.1 * random.random((bodies, ranks)))
transfer[:, 2] += 1.4e-4  # a slow link
padded = np.pad(work, ((0, 0), (1, 1)))
halo = np.maximum(work, np.maximum(padded[:, :-2], padded[:, 2:])) - work + transfer
wait = (work + halo).max(axis=1, keepdims=True) + 5e-6 - work - halo
duration = work + halo + wait
start = 1e-5 + np.cumsum(duration, axis=0) - duration
phases = np.zeros((bodies, len(PHASES)))
for name, times in (("halo", halo + 1e-8), ("wait", wait), ("local", work - 1e-8)):
    phases[:, PHASES.index(name)] = times[:, rank]
kinds = np.array([EventKind.SEND, EventKind.RECEIVE, EventKind.REDUCE], np.uint8)
zero = np.zeros(bodies)
mine = RankBodies(
    start=start[:, rank], duration=duration[:, rank], phase_duration=phases.astype(np.float32),
    position=np.arange(bodies, dtype=np.int32), kind=np.zeros(bodies, np.uint8),
    restart_duration=np.empty(0), lead_in_s=1e-5, lead_out_s=0.0,
    solve_time_s=1e-5 + float(duration[:, rank].sum()),
    events=RankEvents(
        kind=np.tile(kinds, (bodies, 1)),
        work=np.stack([work[:, rank] - 1e-8, zero, zero], axis=1).astype(np.float32),
        duration=np.stack([zero + 1e-8, halo[:, rank], wait[:, rank]], axis=1).astype(np.float32),
    ),
)
near = np.array([each for each in (rank - 1, rank + 1) if 0 <= each < ranks], np.int32)
run = RankRun(
    bodies=mine, residual_norm=np.full(bodies, np.nan),
    incoming=Edges(source=near, target=np.full(near.size, rank, np.int32),
                   bytes=np.full(near.size, 8)),
    mpi_other_s=0.0, context_switches=0, core_wait_s=0.0, cpu=rank,
    cpuset=str(rank), host=f"node{rank // 2}",
    load_before=0.0, load_after=0.0, clock_offset_s=0.0, clock_uncertainty_s=1e-7,
)
header = Header(
    workload="laplacian-1d", solver="cg", ranks=ranks, iterations=bodies, restart=0,
    synchronisation="blocking", lag=0, complete=True, records_lost=0, origin="simulated",
    t0_utc="2026-01-02T03:04:05.000006+00:00", mpi_library="none", spec={}, environment={},
    petsc_options={}, scheduler={}, git={},
)
name = RunName.of(Path(sys.argv[1]), header)
files = [write_kept(name, header, [[run]], share, world)[0] for share in (1.0, 0.5)]
# the same by processes that have several ranks each, in blocks: two, and one alone
runs = world.allgather(run)
for count in (2, 1):
    some = world.Split(rank < count)
    if rank < count:
        mine = runs[rank * ranks // count:(rank + 1) * ranks // count]
        files.append(write_kept(name, header, [mine[:1], mine[1:]], 0.5, some)[0])
if rank == 0:
    print(json.dumps({**told, "files": [str(file) for file in files]}))
"""


def test_a_reduced_file_says_of_all_ranks_what_the_whole_one_says(
    on_four: dict[str, Any],
) -> None:
    whole, part, by_two, by_one = (hindmost.open(path) for path in on_four["files"])
    for other in (by_two, by_one):  # the processes that write share the ranks, or not
        with other.reading() as file, part.reading() as wanted:
            assert set(file) == set(wanted)
            for name in wanted:  # sums are added up in another order
                if wanted[name].dtype.kind in "fiu":
                    np.testing.assert_allclose(file[name][()], wanted[name][()], 1e-9, 1e-12)
    assert 2 in part.kept_ranks  # behind the slow link
    assert part.columns == 2
    reports = report_run(part), report_run(whole)
    late, wanted = reports[0].lateness, reports[1].lateness
    assert late is not None
    assert wanted is not None
    assert wanted.last.tolist() == [0, 0, 400, 0]
    assert wanted.transfer_charged_s[2] == pytest.approx(wanted.charged_s[2], rel=0.1)
    for name in ("last", "charged_s", "lost_s", "waited_s", "transfer_s", "transfer_charged_s",
                 "deviation_s", "longest_s", "longest_body", "drift", "node_last", "total_s",
                 "node_charged_s"):  # fmt: skip
        np.testing.assert_allclose(
            getattr(late, name), getattr(wanted, name), rtol=1e-3, atol=1e-7, err_msg=name
        )
    np.testing.assert_allclose(
        reports[0].metrics.values, reports[1].metrics.values, rtol=1e-5, atol=1e-12
    )
    of_all = [efficiencies_of(run).whole for run in (part, whole)]
    for name in ("run_time_s", "mean_local_s", "max_local_s"):
        assert getattr(of_all[0], name) == pytest.approx(getattr(of_all[1], name), rel=1e-5)
    histograms = [report.run.histogram for report in reports if report.run is not None]
    assert [histogram.total for histogram in histograms] == [1600, 1600]
    np.testing.assert_array_equal(part.variable("all_most"), whole.durations.max(axis=1))
    np.testing.assert_allclose(part.variable("all_mean"), whole.durations.mean(axis=1), rtol=1e-14)
    assert part.variable("all_bin_count").sum() == 1600
    fitted, complete = (fit_run(each, FitOptions(families=False)) for each in (part, whole))
    given = {model.name: model.prediction.seconds for model in complete.models}
    walked = {"max-plus", "max-plus-no-halo"}
    assert {model.name for model in fitted.models} == set(given) - walked
    for model in fitted.models:
        assert model.prediction.seconds == pytest.approx(given[model.name], rel=1e-5), model.name
    text = "\n".join(summary_lines(reports[0]))
    share = wanted.charged_s[2] / wanted.charged_s.sum()  # the second rank causes a little too
    assert share > 0.97
    share_text = f"causes {100 * share:.0f} % of the wait time"
    said = f"rank 2 on node1: last in 400 of 400 iterations; {share_text}"
    assert said in text
    assert "by slow transfers of halos that were sent in time" in text


CYCLES, INTERVALS = 25, 20
FEWER_INTERVALS = f"""
from unittest.mock import patch
from hindmost.harness.reduction import decide
patch.object(decide, "INTERVALS", {INTERVALS}).start()
"""
HOOKS = dict.fromkeys(("all", "some"), FEWER_INTERVALS)
SMALL = ("--deck", "lively.toml", "--cycles", str(CYCLES))


SHARE = (
    "laplacian-1d", "--unknowns", "4000", "--solver", "gmres", "--iterations", "40",
    "--warmup", "0", "--keep", "50%",
)  # fmt: skip


def commands(folder: Path) -> Commands:
    """Return runs of which some keep a share of the ranks, for a folder."""
    (folder / "lively.toml").write_text(LIVELY.to_toml())
    asked = {
        "share": SHARE,
        "all": ("adaptive", *SMALL, "--blocks"),
        "some": ("adaptive", *SMALL, "--blocks", "--keep", "50%"),
        "one": ("adaptive", *SMALL[:-1], "3", "--keep", "1%"),
    }
    return {name: ("run", *words, "--out", folder / name) for name, words in asked.items()}


@pytest.fixture(scope="module")
def both(launched: Launched) -> tuple[Run, Run]:
    """Return the same cycles on two ranks, with all records and with those of one of them."""
    found = []
    for name in ("all", "some"):
        done = launched[1][name]
        assert done.returncode == 0, done.stderr
        assert ("full records kept of 1 of 2 ranks" in done.stderr) == (name == "some")
        [file] = (launched[0] / name).glob("*.h5")
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
    assert (some.columns, some.header.ranks, some.bodies) == (1, 2, CYCLES)
    assert kept[0] == 0  # which predicts
    assert whole.variable("epoch")[-1] > 0  # the mesh has changed
    account = some.header.spec["reduction"]
    assert account["reasons"]["always"] == [0]
    for name in COUNTED:
        assert some.variable(name).shape == (CYCLES, 1)
        np.testing.assert_array_equal(some.variable(name), whole.variable(name)[:, kept])
    for name in ("epoch", "block_place", "block_load", "block_owner", "block_edge_bytes"):
        np.testing.assert_array_equal(some.variable(name), whole.variable(name))
    rows = [
        sorted(zip(*(run.edges.variables()[name].tolist() for name in EDGES), strict=True))
        for run in both
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) > 2
    assert some.predictors == whole.predictors
    assert np.isfinite(some.variable("predicted")[1:]).all()


def test_what_all_ranks_counted_is_kept_as_sums_and_extremes(both: tuple[Run, Run]) -> None:
    whole, some = both
    kept = some.kept_ranks
    edges = np.concatenate([[0], np.cumsum(some.variable("interval_bodies"))])
    assert (edges.size, edges[-1]) == (INTERVALS + 1, CYCLES)
    names = some.texts("count")
    assert names == list(COUNTS)
    profile = some.variable("profile_count")
    assert profile.shape == (INTERVALS, 2, len(COUNTS))
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


def test_verbs_take_a_reduced_adaptive_run_or_refuse_it(
    both: tuple[Run, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, some = both
    said = []
    for run in both:
        assert main(["show", str(run.path)]) == 0
        said.append(capsys.readouterr().out)
    assert "2 ranks (full records of 1; times and counts of iterations are of these)" in said[1]
    lines = [
        [line for line in text.splitlines() if line.startswith(("  cells", "  adaption"))]
        for text in said
    ]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 1
    assert main(["check", str(some.path)]) in (0, 1)
    assert main(["show", "--ranks", str(some.path)]) == 0
    assert "1 of 2 ranks kept full records" in capsys.readouterr().out
    assert main(["report", str(some.path), "--out", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").stat().st_size > 10_000
    read, every = read_adaptive(some), read_adaptive(whole)
    np.testing.assert_array_equal(read.total_cells, every.total_cells)
    np.testing.assert_array_equal(read.most_cells, every.most_cells)
    assert main(["show", "--efficiency", str(some.path)]) == 0
    assert "the events of only some" in " ".join(capsys.readouterr().out.split())


def test_one_rank_that_is_kept_is_the_one_that_predicts(
    launched: Launched, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, done = launched[0], launched[1]["one"]
    assert done.returncode == 0, done.stderr
    [file] = (folder / "one").glob("*.h5")
    run = hindmost.open(file)
    run.verify()
    assert run.kept_ranks.tolist() == [0]
    words = ["run", "adaptive", "--deck", "timing-a", "--cycles", "3", "--keep", "2"]
    assert main([*words, "--out", str(folder / "none")]) == 2
    assert "a share above 0 and up to 1" in capsys.readouterr().err
