"""Lee: the figures and tables of scalable performance analysis."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.synthetic.populations import draw_population
from tests.conftest import LOCAL, PREDICTORS, cycle_values, made_header, run_values
from tests.papers.conftest import Ran, Told, Values, drawn, holds

import hindmost
from hindmost.harness.adaptive.phases import NAMES
from hindmost.harness.attach.rank_work import MAX_WINDOWS
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.rank_windows import FILE, RankWindows
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.ranks.kmeans import cluster
from hindmost.models.ranks.selection import BodiesOfRanks, keep

SLOW = 17
NODE_RANKS = 8


def write_blocking(folder: Path, work: Values, *, wait: float = 3e-6) -> Path:
    """Write a run whose ranks do this work, shape (iteration, rank), and then meet.

    Parameters
    ----------
    wait : float, seconds
        What the reduction takes once the last rank has come.
    """
    bodies, ranks = work.shape
    duration = np.repeat(work.max(axis=1, keepdims=True) + wait, ranks, axis=1)
    phases = np.zeros((bodies, ranks, len(PHASES)))
    phases[:, :, LOCAL], phases[:, :, PHASES.index("wait")] = work, duration - work
    values = run_values(iterations=bodies, ranks=ranks, restart=bodies, seed=0) | {
        "duration": duration,
        "phase_duration": phases,
        "start": 10e-6 + np.cumsum(duration, axis=0) - duration,
        "solve_time": 20e-6 + duration.sum(axis=0),
        "event_work": work[:, :, None].astype(np.float32),
        "event_duration": (duration - work)[:, :, None].astype(np.float32),
        "host": [f"node{rank // NODE_RANKS}" for rank in range(ranks)],
        **{name: np.empty(0, np.int64) for name in ("edge_source", "edge_target", "edge_bytes")},
    }
    made = replace(made_header(), ranks=ranks, iterations=bodies, restart=0, solver="cg")
    folder.mkdir(exist_ok=True)
    return write_whole(folder, made, values)


def planted_work(bodies: int = 100) -> Values:
    """Return the work of 24 ranks: 16 of 50 us, 7 of 65 us, and one of 90 us."""
    level = np.repeat([50e-6, 50e-6, 65e-6], NODE_RANKS)
    level[SLOW] = 90e-6
    work: Values = level * np.random.default_rng(5).uniform(1.0, 1.02, (bodies, level.size))
    return work


@pytest.mark.mpi
@holds("Lee histograms")
def test_histograms_count_every_activity_of_all_ranks(ran: Ran, tmp_path: Path) -> None:
    work = planted_work()
    own = drawn(tmp_path / "own", write_blocking(tmp_path, work), "--figure=own-work")["all ranks"]
    assert own[:, 2].sum() == pytest.approx(100.0)
    assert own[own[:, 0] > 80.0, 2].sum() == pytest.approx(100.0 / 24)
    [file] = (ran[0] / "ice").glob("*-gmres-*.h5")
    figure = drawn(tmp_path / "f", file, "--figure=activities")
    assert {"MatMult", "PCApply"} <= set(figure)
    run = hindmost.open(file)
    np.testing.assert_allclose(
        run.variable("activity_duration").sum(axis=2), run.phase("local"), rtol=1e-4, atol=1e-8
    )


@holds("Lee time profiles")
def test_profiles_add_up_to_the_work_and_slope_down_where_ranks_end_early(
    tmp_path: Path, told: Told
) -> None:
    # Ranks end one after another: from 90 to 10 % at work within 0.8 of the spread.
    work = np.tile(np.linspace(50e-6, 90e-6, 24), (100, 1))
    file = write_blocking(tmp_path, work, wait=10e-6)
    wanted_s = work.sum()
    for figure in ("profile", "activity-profile"):
        found = drawn(tmp_path / figure, file, f"--figure={figure}")
        rows = found["at work" if figure == "profile" else "local"]
        spent_s = (1e-3 * (rows[:, 1] - rows[:, 0]) * 0.24 * (rows[:, 2] - rows[:, 3])).sum()
        assert spent_s == pytest.approx(wanted_s, rel=1e-3)
    [told_] = told("show", "--ranks", file)["files"]
    slope = told_["profile"]["downward_per_s"]
    assert slope == pytest.approx(-1.0 / 40e-6, rel=0.05)
    body = drawn(tmp_path / "body", file, "--figure=body-profile")["at work"][:, 2]
    assert body[:90] == pytest.approx(100.0, abs=0.1)
    assert body.mean() == pytest.approx(100.0 * work.mean() / 100e-6, rel=1e-3)
    assert body[-1] == pytest.approx(0.0, abs=0.1)


@holds("Lee extrema tool", "Lee k-means")
def test_the_slow_rank_and_the_groups_that_were_planted_are_found(
    tmp_path: Path, told: Told
) -> None:
    work = planted_work()
    file = write_blocking(tmp_path, work)
    [found] = told("show", "--ranks", file)["files"]
    extrema = {each["criterion"]: each for each in found["extrema"]}
    for criterion in ("most often last", "costs the others most", "least waiting"):
        assert extrema[criterion]["standing_out"] == [SLOW]
    assert found["hindmost"]["last"][SLOW] == len(work)
    groups = sorted(each["size"] for each in found["clusters"])
    assert groups == [1, 7, 16]
    exemplars = {each["size"]: each["exemplar"] for each in found["clusters"]}
    mean = work.mean(axis=0)
    for size, ranks in ((16, np.arange(16)), (7, np.setdiff1d(np.arange(16, 24), SLOW))):
        nearest = ranks[np.abs(mean[ranks] - mean[ranks].mean()).argmin()]
        assert exemplars[size] == nearest
    share = drawn(tmp_path / "h", file, "--figure=hindmost")["iterations in which it is last"][:, 2]
    assert share.tolist() == [100.0 * (rank == SLOW) for rank in range(24)]
    outliers = drawn(tmp_path / "o", file, "--figure=outliers")["local"]
    assert outliers[:, 3].max() == pytest.approx(1e3 * work[:, SLOW].sum(), rel=1e-3)
    line = drawn(tmp_path / "t", file, "--figure=timeline", f"--rank={SLOW}")["local"][:, 2]
    np.testing.assert_allclose(line, 1e6 * work[:, SLOW], rtol=1e-5)


def bodies_of(kind: str, ranks: int) -> tuple[BodiesOfRanks, Values]:
    """Return what a recorder sees of a synthetic population, and how long each rank is idle."""
    made = draw_population(kind, ranks, 2000)
    return BodiesOfRanks(
        parts={"compute": made.compute_s, "send": made.send_s},
        not_work={"halo": made.halo_s, "wait": made.wait_s},
        transfer=made.slow_transfer_s,
        counts={"messages": ("count", made.messages), "bytes": ("bytes", made.bytes)},
        ids=np.arange(ranks),
        node_of=np.arange(ranks) // 32,
        nodes=ranks // 32,
    ), made.idle_s


@holds("Lee k-means results")
def test_least_idle_ranks_are_kept_as_often_as_in_the_thesis() -> None:
    # 1024 processors, 5 % and 10 % kept: 20, 20, 10 % and 40, 40, 20 % of the 5, 10, 20 least idle
    thesis = {0.05: (0.2, 0.2, 0.1), 0.1: (0.4, 0.4, 0.2)}
    for share, wanted in thesis.items():
        found = []
        for kind in ("slow node", "slow core", "daemon"):
            bodies, idle_s = bodies_of(kind, 1024)
            chosen, _ = keep(bodies, share)
            assert chosen.kept.sum() == round(share * 1024)
            order = np.argsort(idle_s)
            found.append([chosen.kept[order[:top]].mean() for top in (5, 10, 20)])
        assert (np.mean(found, axis=0) >= wanted).all()


@pytest.mark.mpi
@holds("Lee k-means overhead")
def test_a_choice_on_the_ranks_keeps_its_share_and_is_paid_in_few_reductions(ran: Ran) -> None:
    folder, done = ran
    [file] = (folder / "kept").glob("*.h5")
    run = hindmost.open(file)
    assert (run.columns, run.header.ranks, run.bodies) == (1, 2, 60)
    assert "full records kept of 1 of 2 ranks" in done["kept"].stderr
    points = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 8, axis=0)
    found = cluster(points, 3)
    assert found.inertia == pytest.approx(0.0)
    assert np.bincount(found.labels).tolist() == [8, 8, 8]


@pytest.mark.mpi
@holds("Lee streaming", "Lee streaming overheads")
def test_what_is_shown_of_a_run_is_small_and_goes_with_it(ran: Ran, tmp_path: Path) -> None:
    (file,) = (ran[0] / "live").iterdir()  # nothing is left of what was noted
    run = hindmost.open(file)
    spent_s = np.stack([run.phase(name) for name in PHASES], axis=2)
    ends = np.arange(100, run.bodies + 1, 100)
    blocks = np.add.reduceat(spent_s, ends - 100, axis=0)
    windows = RankWindows.of(0, np.diff(ends, prepend=0), blocks)
    # Every iteration of both ranks is in one window of the utilisation profile.
    np.testing.assert_allclose(windows.totals.sum(), run.durations.sum())
    assert windows.ends[-1] == run.bodies
    many = np.random.default_rng(1).uniform(size=(MAX_WINDOWS, 20_000, len(PHASES)))
    RankWindows.of(0, np.ones(MAX_WINDOWS, np.int64), many).write(tmp_path)
    assert (tmp_path / FILE).stat().st_size < 1 << 20


@holds("Lee latency trends")
def test_a_solve_grows_with_the_latency_of_its_reductions(tmp_path: Path, told: Told) -> None:
    work = planted_work(200)
    file = write_blocking(tmp_path, work)
    recorded_s = 20e-6 + work.max(axis=1).sum() + 200 * 3e-6
    found = told("whatif", file, "--latency", "1,2,4,8")["runs"]
    for factor, each in zip((1, 2, 4, 8), found, strict=True):
        wanted = recorded_s + 200 * (factor - 1) * 3e-6
        assert each["predicted_s"] == pytest.approx(wanted, rel=1e-3)
    figure = drawn(tmp_path / "f", file, "--figure=latency")
    [band] = [rows for name, rows in figure.items() if "interval" in name]
    assert (np.diff(band[:, 2]) >= 0.0).all()


@holds("Lee load balancing")
def test_another_map_of_blocks_takes_the_time_of_an_even_share(tmp_path: Path, told: Told) -> None:
    # Blocks of 8, 4, 4, 2, 2 and 2 cells, the first three on rank 0: 16 and 6 cells, 11 at best.
    cycles, loads, owners = 20, np.array([8, 4, 4, 2, 2, 2]), np.array([0, 0, 0, 1, 1, 1])
    values = cycle_values(run_values(iterations=cycles, ranks=2, restart=cycles, seed=0), ranks=2)
    cells = np.tile(np.bincount(owners, loads, 2).astype(np.int64), (cycles, 1))
    phases = np.zeros((cycles, 2, len(NAMES)))
    phases[:, :, NAMES.index("hydro")] = 1e-3 * cells
    phases[:, :, NAMES.index("wait")] = 1e-3 * (cells.max() - cells)
    duration = phases.sum(axis=2)
    row = np.arange(loads.size - 1)
    values |= {
        "duration": duration,
        "start": np.cumsum(duration, axis=0) - duration,
        "phase_duration": phases,
        "phase_cpu": phases,
        "position": np.arange(cycles),
        "lead_in": np.zeros(2),
        "lead_out": np.zeros(2),
        "solve_time": duration.sum(axis=0),
        "cells": cells,
        "epoch": np.zeros(cycles, np.int64),
        "moved": np.zeros((cycles, 2), np.int64),
        "predicted": np.zeros((cycles, len(PREDICTORS))),
        "block_place": np.arange(loads.size),
        "block_load": loads.astype(float),
        "block_owner": owners,
        "block_epoch": np.zeros(loads.size, np.int64),
        "block_edge_source": np.concatenate([row, row + 1]),
        "block_edge_target": np.concatenate([row + 1, row]),
        "block_edge_bytes": np.full(2 * row.size, 64),
        "block_edge_epoch": np.zeros(2 * row.size, np.int64),
    }
    made = replace(
        made_header(), workload="adaptive", solver="timing-a", ranks=2, iterations=cycles,
        restart=0, spec={},
    )  # fmt: skip
    file = write_whole(tmp_path, made, values, NAMES, PREDICTORS)
    greedy, none = told("whatif", file, "--balance", "greedy,none")["runs"]
    assert none["predicted_s"] == pytest.approx(cycles * 16e-3)
    assert greedy["predicted_s"] == pytest.approx(cycles * 12e-3, rel=0.05)
    assert (none["recorded_imbalance"], greedy["imbalance"]) == (
        pytest.approx(16 / 11), pytest.approx(12 / 11)
    )  # fmt: skip
