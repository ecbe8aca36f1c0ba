"""Raw files of attached programs become run files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.harness.attach.raw_files import (
    OPTIONS,
    US,
    Raw,
    Stream,
    balance,
    cg,
    gmres,
    two_ranks,
    write_all,
)

import hindmost
from hindmost.cli import main
from hindmost.errors import DataError
from hindmost.harness.attach import section_group
from hindmost.harness.attach.convert import convert
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.part_file import RunName


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "app-0.raw"


def test_one_solve_is_one_run(folder: Path, tmp_path: Path) -> None:
    ranks = two_ranks()
    for rank in ranks:
        rank.json(OPTIONS, {"ksp_type": "gmres", "ksp_view": ""})
        stream = gmres(5 * US, 70, work=(8 + 8 * rank.rank) * US, step=20 * US)
        rank.section(stream, edges=((1 - rank.rank, 71, 71 * 800),), other_ns={"MPI_File_sync": 30})
    (path,) = convert(write_all(ranks, folder), tmp_path)
    assert path.name == "app-gmres-p2-0.h5"
    assert not folder.exists()
    run = hindmost.open(path)
    run.verify()
    header = run.header
    assert (header.solver, header.workload, header.ranks, header.iterations) == (
        "gmres",
        "app",
        2,
        70,
    )
    assert (header.restart, header.complete, header.mpi_library) == (30, True, "Open MPI v4.1.4")
    assert (run.bodies, run.restarts) == (70, 2)
    assert run.position.tolist() == [*range(30), *range(30), *range(10)]
    np.testing.assert_allclose(run.durations, 20e-6)
    np.testing.assert_allclose(run.phase("wait"), np.tile([11.5e-6, 3.5e-6], (70, 1)), rtol=1e-6)
    np.testing.assert_allclose(run.phase("halo"), 0.5e-6, rtol=1e-6)
    np.testing.assert_allclose(run.work, np.tile([8e-6, 16e-6], (70, 1)), rtol=1e-5)
    np.testing.assert_allclose(run.variable("residual_norm"), 10.0 ** -np.arange(1.0, 71))
    assert balance(run) < 1e-9
    assert run.starts[0].tolist() == pytest.approx([3e-6, 3e-6])
    assert run.variable("solve").tolist() == [0] * 70
    assert not run.has("snes_step")
    assert sorted(zip(run.edges.source, run.edges.target, strict=True)) == [(0, 1), (1, 0)]
    assert run.edges.bytes.tolist() == [811, 811]  # of an iteration
    assert run.hosts == ["node-0"] * 2
    np.testing.assert_allclose(run.variable("mpi_other"), 30e-9)
    np.testing.assert_allclose(run.variable("core_wait"), 5e-9)
    spec = header.spec
    assert (spec["unknowns"], spec["nonzeros"], spec["pc_type"]) == (400, 1200, "jacobi")
    assert spec["petsc_options"] == ["ksp_type", "gmres", "ksp_view"]
    assert header.environment["command"] == ["/home/me/app", "-n", "7"]
    ending = Ending.of(header)
    assert ending is not None
    assert (ending.reason, ending.rtol, ending.atol, ending.asked) == (
        "CONVERGED_RTOL",
        1e-5,
        0,
        10_000,
    )
    assert (ending.norm, ending.reached, ending.generic) == ("preconditioned", True, "")
    assert run.has("event_kind")


def many_solves(folder: Path, *, solves: int = 5, kind: str = "gmres") -> Path:
    """Write a program of some Newton steps with a solve each, of 10, 11, ... iterations."""
    ranks = two_ranks()
    for rank in ranks:
        at = 100 * US
        for solve in range(solves):
            stream = (
                gmres(at, 10 + solve, restart=8, work=9 * US, step=20 * US)
                if kind == "gmres"
                else cg(at, 10 + solve, work=9 * US, step=20 * US)
            )
            facts: dict[str, Any] = {
                "snes_step": solve,
                "restart": 8,
                "type": kind,
                "iterations": 10 + solve,
            }
            rank.section(stream, **facts)
            at = stream.at + (500 + 100 * rank.rank) * US  # the program's own time
    return write_all(ranks, folder)


def test_solves_of_one_kind_share_a_file(folder: Path, tmp_path: Path) -> None:
    (path,) = convert(many_solves(folder), tmp_path)
    run = hindmost.open(path)
    run.verify()
    lengths = [10, 11, 12, 13, 14]
    assert run.bodies == run.header.iterations == sum(lengths)
    assert run.variable("solve").tolist() == np.repeat(range(5), lengths).tolist()
    assert run.variable("snes_step").tolist() == np.repeat(range(5), lengths).tolist()
    assert not run.has("time_step")
    # a restart in each of the solves, and the four changes of solve
    assert run.restarts == 5 + 4
    assert np.count_nonzero(run.position == 0) == run.restarts + 1
    assert balance(run) < 1e-9
    # What the program does between two solves is in none of them, but in the time of day.
    alone_s = [4e-6 + length * 20e-6 + 2e-6 + US * 1e-9 for length in lengths]
    np.testing.assert_allclose(run.solve_time, sum(alone_s) - 5e-6 + 5e-6, atol=5e-6)
    first = np.flatnonzero(np.diff(run.variable("solve"))) + 1
    gaps = run.starts[first] - run.starts[first - 1]
    assert (gaps > 500e-6).all()
    changes = run.restart_durations[run.restart_durations[:, 0] > 2e-6]
    np.testing.assert_allclose(changes, 5e-6)  # lead-out and lead-in, not the 500 us
    attached = run.header.spec["attached"]
    assert (attached["solves"], attached["snes_steps"]) == (5, [0, 4])
    assert attached["reasons"] == {"CONVERGED_RTOL": 5}
    assert attached["pipelined"] == ["pgmres"]
    assert attached["finished"] is True
    assert attached["program_s"] == 1.0


def test_a_solve_without_iterations_is_between_the_others(folder: Path, tmp_path: Path) -> None:
    ranks = two_ranks()
    for rank in ranks:
        first = cg(0, 4, work=5 * US, step=9 * US)
        rank.section(first, type="cg", iterations=4)
        none = Stream(first.at).work(7 * US).monitor(0, 1e-9).work(US)
        rank.section(none, type="cg", iterations=0)
        rank.section(cg(none.at, 6, work=5 * US, step=9 * US), type="cg", iterations=6)
    (path,) = convert(write_all(ranks, folder), tmp_path)
    run = hindmost.open(path)
    assert run.variable("solve").tolist() == [0] * 4 + [2] * 6
    np.testing.assert_allclose(run.restart_durations, 10e-6)  # 1 + 8 + 1 us
    assert balance(run) < 1e-9
    attached = run.header.spec["attached"]
    assert (attached["solves"], attached["without_iterations"]) == (3, 1)


def test_unlike_solves_are_runs_of_their_own(folder: Path, tmp_path: Path) -> None:
    ranks = two_ranks()
    for rank in ranks:
        at = 0
        for kind in ({"prefix": "u_"}, {"prefix": "p_"}, {"prefix": "u_"}, {"rows": 50}):
            stream = gmres(at, 5, work=5 * US, step=9 * US)
            rank.section(stream, **kind)
            at = stream.at
    names = sorted(path.name for path in convert(write_all(ranks, folder), tmp_path))
    assert names == ["app-gmres-p2-0.h5", "app-p-gmres-p2-0.h5", "app-u-gmres-p2-0.h5"]
    run = hindmost.open(tmp_path / "app-u-gmres-p2-0.h5")
    assert sorted(set(run.variable("solve").tolist())) == [0, 2]


def test_addresses_in_prefixes_do_not_separate_ranks_and_solves(
    folder: Path, tmp_path: Path
) -> None:
    ranks = two_ranks()
    for number, each in enumerate(ranks):
        first = gmres(0, 5, work=5 * US, step=9 * US)
        again = gmres(first.at, 5, work=5 * US, step=9 * US)
        each.section(first, prefix=f"dolfinx_solve_{140230483910 + number}")
        each.section(again, prefix=f"dolfinx_solve_{140230487777 + number}")
    (path,) = convert(write_all(ranks, folder), tmp_path)
    assert path.name == "app-dolfinx_solve-gmres-p2-0.h5"
    assert hindmost.open(path).header.spec["attached"]["solves"] == 2


def test_a_solve_that_leaves_its_pattern_spoils_no_other(folder: Path, tmp_path: Path) -> None:
    ranks = two_ranks()
    for rank in ranks:
        known = gmres(0, 5, work=5 * US, step=9 * US)
        other = cg(known.at, 7, work=5 * US, step=9 * US)
        again = gmres(other.at, 6, work=5 * US, step=9 * US)
        rank.section(known).section(other, iterations=7).section(again)
    files = convert(write_all(ranks, folder), tmp_path)
    runs = [hindmost.open(path) for path in files]
    endings = [Ending.of(run.header) for run in runs]
    assert [run.bodies for run in runs] == [11, 7]
    assert [bool(ending and ending.generic) for ending in endings] == [False, True]
    assert [run.header.restart for run in runs] == [30, 0]
    assert runs[0].variable("solve").tolist() == [0] * 5 + [2] * 6


def test_an_unknown_solver_lasts_from_monitor_to_monitor(folder: Path, tmp_path: Path) -> None:
    (path,) = convert(many_solves(folder, kind="tfqmr"), tmp_path)
    run = hindmost.open(path)
    ending = Ending.of(run.header)
    assert ending is not None
    assert "no pattern" in ending.generic
    assert run.bodies == 60
    np.testing.assert_allclose(run.durations, 20e-6)
    assert balance(run) < 1e-9


def test_clocks_are_corrected(folder: Path, tmp_path: Path) -> None:
    shift = 3_000_000
    ranks = [Raw(rank, 2, offset_ns=shift * rank) for rank in range(2)]
    for each in ranks:
        each.section(gmres(10 * US - each.rank * shift, 8, work=5 * US, step=9 * US))
    (path,) = convert(write_all(ranks, folder), tmp_path)
    run = hindmost.open(path)
    np.testing.assert_allclose(run.starts[:, 0], run.starts[:, 1], atol=1e-9)
    np.testing.assert_allclose(run.variable("clock_offset"), [0, 3e-3])
    np.testing.assert_allclose(run.variable("clock_uncertainty"), [0, 1e-7])


def test_a_program_that_aborts_keeps_what_is_whole(folder: Path, tmp_path: Path) -> None:
    ranks = two_ranks()
    for rank in ranks:
        whole = cg(0, 9, work=5 * US, step=9 * US)
        cut = cg(whole.at, 6 - rank.rank, work=5 * US, step=9 * US)
        rank.section(whole, type="cg", iterations=9)
        rank.section(cut, type="cg", iterations=6 - rank.rank, complete=False, reason="")
        rank.end(finalized=False, aborted=13).write(folder)
    runs = [hindmost.open(path) for path in convert(folder, tmp_path)]
    assert [(run.bodies, run.header.complete) for run in runs] == [(9, True), (4, False)]
    assert "MPI_Abort 13" in runs[1].header.spec["failure"]
    assert all(balance(run) < 1e-9 for run in runs)
    assert runs[0].header.spec["attached"]["aborted"] == 13


def test_lost_records_cut_a_solve(folder: Path, tmp_path: Path) -> None:
    ranks = two_ranks()
    for rank in ranks:
        stream = gmres(0, 25, restart=10, work=5 * US, step=9 * US)
        whole = len(stream.records)
        if rank.rank == 1:
            stream.records = stream.records[: whole // 2]
        rank.section(stream, seen=whole, iterations=25, restart=10)
    (path,) = convert(write_all(ranks, folder), tmp_path)
    run = hindmost.open(path)
    assert run.bodies == 10  # the cycles that are whole on both
    assert not run.header.complete
    assert run.header.records_lost > 0
    assert (
        "iterations before that are kept, and all need --memory 1MB" in run.header.spec["failure"]
    )
    assert balance(run) < 1e-9


def test_solves_on_other_communicators(folder: Path, tmp_path: Path) -> None:
    ranks = [Raw(rank, 3) for rank in range(3)]
    for each in ranks:
        alone = cg(0, 5, work=5 * US, step=9 * US)
        each.section(
            alone, type="cg", iterations=5, comm_size=1, comm_rank=0, comm_leader=each.rank
        )
        if each.rank:
            pair = gmres(alone.at, 7, work=5 * US, step=9 * US)
            each.section(
                pair, ((2 - each.rank, 7, 70),), comm_size=2, comm_rank=2 - each.rank, comm_leader=2
            )
    files = convert(write_all(ranks, folder), tmp_path)
    names = sorted(path.name for path in files)
    assert names == [*(f"app-cg-p1-{n}.h5" for n in range(3)), "app-gmres-p2-0.h5"]
    pair_run = hindmost.open(tmp_path / "app-gmres-p2-0.h5")
    assert pair_run.header.spec["attached"]["ranks"] == [2, 1]
    assert pair_run.edges.target.tolist() == [0, 1] or pair_run.edges.source.tolist() == [0, 1]


def test_a_conversion_that_was_interrupted_goes_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = two_ranks()
    for rank in ranks:
        first = gmres(0, 5, work=5 * US, step=9 * US)
        rank.section(first).section(gmres(first.at, 5, work=5 * US, step=9 * US), prefix="b_")
    write_all(ranks, folder)
    write = vars(section_group)["write_kept"]

    def full(name: RunName, *given: object) -> object:
        if "-b-" in name.stem:
            raise DataError("the disk is full")
        return write(name, *given)

    with monkeypatch.context() as patch:
        patch.setattr(section_group, "write_kept", full)
        with pytest.raises(DataError, match="full"):
            convert(folder, tmp_path)
    assert [path.name for path in tmp_path.glob("*.h5")] == ["app-gmres-p2-0.h5"]
    assert len(convert(folder, tmp_path)) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "app-b-gmres-p2-0.h5", "app-gmres-p2-0.h5"
    ]  # fmt: skip


def test_a_program_that_recorded_nothing(folder: Path, tmp_path: Path) -> None:
    assert convert(write_all(two_ranks(), folder), tmp_path) == ()
    assert not folder.exists()


def test_what_is_not_hindmosts_stays(folder: Path, tmp_path: Path) -> None:
    write_all(two_ranks(), folder)
    (folder / "notes.txt").write_text("mine")
    said: list[str] = []
    convert(folder, tmp_path, report=said.append)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert "cannot be removed" in said[-1]


def test_origins_that_rank_0_wrote_are_kept(folder: Path, tmp_path: Path) -> None:
    origins = {"environment": {"machine": {"host": "n7", "cores": 4}}, "git": [1], "scheduler": {}}
    ranks = two_ranks(origins=origins)
    for rank in ranks:
        rank.section(gmres(0, 5, work=5 * US, step=9 * US))
    (path,) = convert(write_all(ranks, folder), tmp_path)
    header = hindmost.open(path).header
    assert header.environment["machine"] == {"host": "n7", "cores": 4}
    assert (header.environment["petsc"], header.git) == ("3.18.5", {})


@pytest.mark.parametrize("verb", ["show", "check", "show --efficiency", "report"])
def test_verbs_take_attached_runs(
    folder: Path, tmp_path: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    convert(many_solves(folder, solves=12), runs)
    out = ["--out", str(tmp_path / "page.html")] if verb == "report" else ["--json"]
    assert main([*verb.split(), str(runs), *out]) in (0, 1)
    if verb != "report":
        assert json.loads(capsys.readouterr().out)["version"] == 1
