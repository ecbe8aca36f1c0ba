"""Programs on several numbers of ranks: what is one program, and how it scales."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import PREDICTORS, cycle_values, run_values

import hindmost
from hindmost.analysis.readers.read import read_experiment, read_history
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.efficiency.scaling import (
    MORE_ITERATIONS,
    KernelEfficiencies,
    efficiencies_over_ranks,
    scaling_charts,
)
from hindmost.analysis.runs.figures.compare_runs import apart
from hindmost.analysis.runs.over_ranks import other_loops, series_over_ranks
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.whatif.targets import Scaling, scaling_of
from hindmost.cli import main
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.ranks.efficiencies import LOST_TO, WORK

Write = Callable[..., Run]
LOOP = {"mpi_seen": True, "pid": 7}


def lockstep_values(work_s: Sequence[float], network_s: float, iterations: int) -> dict[str, Any]:
    """Return a run whose ranks meet in every iteration, after so much work of each."""
    ranks = len(work_s)
    values = run_values(iterations=iterations, ranks=ranks, restart=iterations, seed=1)
    work = np.tile(np.asarray(work_s), (iterations, 1))
    duration = np.repeat(work.max(axis=1, keepdims=True) + network_s, ranks, axis=1)
    lead = np.full(ranks, 1e-9)
    phases = np.zeros((iterations, ranks, len(PHASES)))
    phases[:, :, PHASES.index("local")] = work
    phases[:, :, PHASES.index("wait")] = duration - work
    inside = (duration - work)[:, :, None].astype(np.float32)
    return {
        **values,
        "duration": duration,
        "start": lead + np.cumsum(duration, axis=0) - duration,
        "phase_duration": phases,
        "lead_in": lead,
        "lead_out": lead,
        "solve_time": 2 * lead + duration.sum(axis=0),
        "event_work": work[:, :, None].astype(np.float32),
        "event_duration": inside,
    }


@pytest.fixture
def write(tmp_path: Path, header: Header) -> Write:
    """Return what writes a run of an own program on some ranks, and opens it."""

    def made(
        ranks: int,
        words: str = "app",
        *,
        work_s: Sequence[float] = (),
        network_s: float = 1e-4,
        iterations: int = 40,
        variables: dict[str, str] | None = None,
        solver: str = "loop",
        options: dict[str, str] | None = None,
        **spec: Any,
    ) -> Run:
        values = lockstep_values(work_s or [1e-2 / ranks] * ranks, network_s, iterations)
        environment = {
            "petsc": "none",
            "command": words.split(),
            "variables": variables or {},
            "machine": {"host": "node-0", "cores": 64},
        }
        own = replace(
            header,
            workload="app",
            solver=solver,
            ranks=ranks,
            iterations=iterations,
            restart=0,
            spec={**LOOP, **spec},
            environment=environment,
            petsc_options=options or {},
        )
        return hindmost.open(write_whole(tmp_path, own, values))

    return made


RANKS = (1, 2, 4, 16)
ONE_PROGRAM: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "the same arguments": ("strong", lambda p: {"words": "app -n 100"}),
    "a process grid": ("strong", lambda p: {"words": f"app -n 100 -px {p} -py 1"}),
    "a process grid in one option": (
        "strong",
        lambda p: {
            "words": f"app -d {['1', '1', '2', '4'][RANKS.index(p)]} {1 + (p > 1)} {1 + (p == 16)}"
        },
    ),
    "a grid that is given on several ranks only": (
        "strong",
        lambda p: {"words": "app" if p == 1 else f"app -grid {p}x1"},
    ),
    "an option that is given on several ranks only": (
        "strong",
        lambda p: {"words": "app" if p == 1 else "app -parallel"},
    ),
    "the number of ranks as an argument": ("strong", lambda p: {"words": f"app 100 {p}"}),
    "a size that grows": ("weak", lambda p: {"words": f"app -n {1000 * p}"}),
    "a size that grows with a grid": ("weak", lambda p: {"words": f"app -n {1000 * p} -px {p}"}),
    "an edge that grows": ("weak", lambda p: {"words": f"app --edge={round(100 * p ** (1 / 3))}"}),
    "sides of which one grows": ("weak", lambda p: {"words": f"app -nx {50 * p} -ny 70"}),
    "an input of its own": ("weak", lambda p: {"words": f"app mesh-{8 * p}.in"}),
    "a part that shrinks": ("strong", lambda p: {"words": f"app -local {1600 // p}"}),
    "parameters of a script": ("weak", lambda p: {"parameters": {"cells": 100 * p, "eps": 0.1}}),
    "a variable that is set for one rank only": (
        "strong",
        lambda p: {"variables": {"OMP_NUM_THREADS": "1"} if p == 1 else {}},
    ),
    "threads": ("strong", lambda p: {"variables": {"OMP_NUM_THREADS": str(16 // p)}}),
    "iterations to a tolerance": ("strong", lambda p: {"iterations": 40 + p}),
    "types of PETSc": (
        "strong",
        lambda p: {
            "solver": "cg",
            "unknowns": 512,
            "mat_type": "seqaij" if p == 1 else "mpiaij",
            "pc_type": "ilu" if p == 1 else "bjacobi",
            "options": {"n": "8"},
            "petsc_options": ["n", "8"],
        },
    ),
    "unknowns per rank, not quite": (
        "weak",
        lambda p: {"solver": "cg", "unknowns": 500 * p + 3, "words": f"app -n {11 * p}"},
    ),
}


LOOKED_AT_BY_ALL = ("a process grid in one option", "a size that grows", "types of PETSc")
"""Those that efficiencies and scaling models are asked about as well, which read every file."""


@pytest.mark.parametrize("what", ONE_PROGRAM)
def test_what_follows_the_ranks_is_one_program(write: Write, tmp_path: Path, what: str) -> None:
    kind, on_ranks = ONE_PROGRAM[what]
    for ranks in RANKS:
        write(ranks, **on_ranks(ranks))
    runs = find_runs([tmp_path])
    assert [run.header.ranks for run in runs] == [*RANKS]  # 16 after 4
    (found,) = series_over_ranks(runs)
    assert (found.kind, [run.header.ranks for run in found.runs]) == (kind, [*RANKS])
    assert scaling_of(runs) is Scaling(kind)
    if what not in LOOKED_AT_BY_ALL:
        return
    assert {column.ranks for column in efficiencies_over_ranks(runs)[0].columns} == {*RANKS}
    # scale needs a fifth number of ranks for a model
    write(
        32, **on_ranks(32) if what != "a process grid in one option" else {"words": "app -d 4 2 4"}
    )
    (series,) = read_experiment(tmp_path).series
    assert series.points[:, 0].tolist() == [*map(float, RANKS), 32.0]
    if what == "types of PETSc":
        said = " ".join(found.assumed)
        assert "pc_type ilu on 1 rank, pc_type bjacobi on 2, 4 and 16 ranks" in said
        names = apart(group_runs(runs))
        assert names == ["1 rank", "2 ranks", "4 ranks", "16 ranks"]


SEVERAL_PROGRAMS: dict[str, list[tuple[int, dict[str, Any]]]] = {
    "words": [(1, {"words": "app -pc none"}), (2, {"words": "app -pc jacobi"})],
    "a word of two": [
        (ranks, {"words": f"app -pc {name}"}) for ranks in (1, 2) for name in ("none", "jacobi")
    ],
    "a number of two": [
        (ranks, {"words": f"app -degree {name}"}) for ranks in (1, 2, 4) for name in (1, 2)
    ],
    "layouts of as many ranks": [
        (2, {"words": "app -px 2 -py 1"}),
        (2, {"words": "app -px 1 -py 2"}),
    ],
    "solvers": [(1, {"solver": "cg"}), (2, {"solver": "gmres"})],
    "a preconditioner beside the default": [
        (ranks, {"solver": "cg", "unknowns": 512, "pc_type": name})
        for ranks in (1, 2, 4)
        for name in ("jacobi", "ilu" if ranks == 1 else "bjacobi")
    ],
}


@pytest.mark.parametrize("what", SEVERAL_PROGRAMS)
def test_what_does_not_follow_the_ranks_is_not_pooled(write: Write, what: str) -> None:
    runs = [write(ranks, **kind) for ranks, kind in SEVERAL_PROGRAMS[what]]
    found = series_over_ranks(runs)
    assert len(found) == 2
    for each in found:  # one configuration on each number of ranks
        assert len(each.runs) == len({run.header.ranks for run in each.runs})
    if what == "a preconditioner beside the default":
        kinds = [{run.header.spec["pc_type"] for run in each.runs} for each in found]
        assert kinds == [{"jacobi"}, {"ilu", "bjacobi"}]


def test_strong_and_weak_scaling_share_a_run(write: Write) -> None:
    sizes = [(1, 1000), (2, 1000), (4, 1000), (2, 2000), (4, 4000)]
    found = series_over_ranks([write(ranks, f"app -n {size}") for ranks, size in sizes])
    assert [(each.kind, len(each.runs)) for each in found] == [("strong", 3), ("weak", 3)]
    assert found[0].runs[0] is found[1].runs[0]


def test_arguments_that_grow_in_another_way_are_not_compared(write: Write) -> None:
    runs = [write(ranks, f"app -n {size}") for ranks, size in ((1, 10), (2, 70), (4, 75))]
    (kernel,) = efficiencies_over_ranks(runs)
    assert not kernel.is_scaling
    assert all(column.scaling is None for column in kernel.columns)
    assert "neither as in weak nor as in strong scaling" in " ".join(kernel.explain())


def kernel_of(runs: Sequence[Run]) -> KernelEfficiencies:
    (kernel,) = efficiencies_over_ranks(runs)
    return kernel


def test_where_strong_scaling_loses_is_what_was_put_in(write: Write) -> None:
    # Of 12 ms, 2 ms are repeated by every rank; on two, one has 2 ms more, and MPI takes 0.6 ms.
    runs = [
        write(1, work_s=[12e-3], network_s=0.0),
        write(2, work_s=[9e-3, 5e-3], network_s=0.6e-3),
    ]
    kernel = kernel_of(runs)
    column = kernel.columns[1]
    assert kernel.speed_up(column) == pytest.approx(1.25, rel=1e-4)
    assert kernel.efficiency(column) == pytest.approx(0.625, rel=1e-4)
    lost = {name: each / 40 for name, each in kernel.lost_s(column).items()}
    assert lost[WORK] == pytest.approx(1e-3, rel=1e-3)  # the mean of 7 ms, not 6 ms
    assert lost[LOST_TO["load_balance"]] == pytest.approx(2e-3, rel=1e-3)
    assert lost[LOST_TO["transfer"]] == pytest.approx(0.6e-3, rel=1e-3)
    assert sum(lost.values()) == pytest.approx(3.6e-3, rel=1e-3)  # 9.6 ms, ideally 6 ms
    text = " ".join(kernel.explain())
    assert "app on 2 ranks is 1.25 times as fast as on 1 rank (ideal: 2 times as fast)" in text
    assert "an efficiency of 62 %" in text
    assert "21 % load imbalance; 10 % more work (all ranks together work 1.17 times" in text


def test_more_iterations_are_a_cause_of_their_own(write: Write) -> None:
    runs = [
        write(1, work_s=[8e-3], network_s=0.0, iterations=40),
        write(2, work_s=[4e-3, 4e-3], network_s=0.0, iterations=50),
    ]
    kernel = kernel_of(runs)
    lost = kernel.lost_s(kernel.columns[1])
    assert lost[MORE_ITERATIONS] == pytest.approx(10 * 4e-3, rel=1e-4)
    assert kernel.efficiency(kernel.columns[1]) == pytest.approx(0.8, rel=1e-4)
    assert "20 % more iterations (50, not 40)" in " ".join(kernel.explain())


def test_weak_scaling_is_relative_to_the_same_time(write: Write) -> None:
    runs = [
        write(1, "app -n 10", work_s=[4e-3], network_s=0.0),
        write(2, "app -n 20", work_s=[4e-3, 4e-3], network_s=1e-3),
    ]
    kernel = kernel_of(runs)
    assert kernel.kind == "weak"
    column = kernel.columns[1]
    assert kernel.efficiency(column) == pytest.approx(0.8, rel=1e-4)
    assert column.overall == pytest.approx(0.8, rel=1e-4)
    assert "1.25 times the time of 1 rank for 2 times the work" in " ".join(kernel.explain())
    assert not kernel.repeats_work


def test_work_that_stays_may_be_weak_scaling_and_is_said(write: Write) -> None:
    runs = [write(p, work_s=[4e-3] * p, network_s=1e-3 * (p - 1)) for p in (1, 2)]
    kernel = kernel_of(runs)
    assert kernel.kind == "strong"
    assert "the arguments give the size per rank. Then this is weak scaling, with an efficiency of "
    assert "efficiency of 80 %" in " ".join(kernel.explain())


def test_more_ranks_than_cores_do_not_lead(
    write: Write, tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    for ranks in (1, 2, 4):
        run = write(ranks)
        machine = {"host": "node-0", "cores": 2}
        own = replace(run.header, environment={**run.header.environment, "machine": machine})
        run.path.unlink()
        write_whole(tmp_path, own, lockstep_values([1e-2 / ranks] * ranks, 1e-4, 40))
    kernel = kernel_of(find_runs([tmp_path]))
    assert kernel.largest.ranks == 2
    assert "4 ranks shared 2 cores (efficiency" in " ".join(kernel.explain())
    charts = [chart for chart, _ in scaling_charts([kernel])]
    for chart in charts:
        by_name = {(each.name, each.look): each for each in chart.series}
        assert by_name["measured", "line"].x.tolist() == [1.0, 2.0, 4.0]
        assert by_name["measured: more ranks than cores", "points"].x.tolist() == [4.0]
        assert chart.x_ticks == (1.0, 2.0, 4.0)
    ideal = {each.name: each for each in charts[0].series}["ideal"]
    assert ideal.y.tolist() == [1.0, 2.0, 4.0]
    assert main(["show", str(tmp_path)]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("app on 2 ranks is 1.")
    page = tmp_path / "r.html"
    assert main(["report", str(tmp_path), "--out", str(page)]) == 0
    html = page.read_text()
    assert '<h1 class="headline">app on 2' in html.replace("\xa0", " ")
    assert html.index("Speed-up over ranks</h") < html.index('class="bars"')


def test_no_cells_are_spoken_of_without_cells(write: Write) -> None:
    kernel = kernel_of([write(1), write(2)])
    assert kernel.title == "loop on app: 40 iterations (strong scaling)"


def test_other_loops_on_other_ranks_are_said(write: Write) -> None:
    def loop(name: str) -> dict[str, Any]:
        known = {"by_code": True, "few": False, "iterations": 40, "loops": [], "share": 1.0}
        return {"attached": {"loop": {**known, "name": name}, "seconds": 1.0}}

    runs = [write(1, **loop("solve (a.c:3)")), write(2, **loop("exchange (a.c:9)"))]
    assert not any(
        len({run.header.ranks for run in each.runs}) > 1 for each in series_over_ranks(runs)
    )
    (said,) = other_loops(runs)
    assert "solve (a.c:3) on 1 rank; exchange (a.c:9) on 2 ranks" in said
    assert other_loops([*runs, write(2, **loop("solve (a.c:3)"))]) == []


def test_names_sort_by_their_numbers(write: Write, tmp_path: Path) -> None:
    for count in (1, 2, 16, 4):
        write(count)
    cases = [series.name.case for series in read_history([tmp_path]).series]
    ranks = [int(re.findall(r"(\d+) rank", case)[0]) for case in cases]
    assert ranks == sorted(ranks)


def test_decks_that_differ_in_numbers_are_not_pooled(tmp_path: Path, header: Header) -> None:
    values = run_values(iterations=40, ranks=3, restart=40, seed=1)
    for source in (1.0, 3.5):
        deck = f'name = "mine"\n[heat]\nsource = {source}\n'
        own = replace(header, workload="adaptive", solver="mine", restart=0, spec={"deck": deck})
        write_whole(tmp_path, own, cycle_values(values, ranks=3), predictors=PREDICTORS)
    assert [len(each.runs) for each in series_over_ranks(find_runs([tmp_path]))] == [1, 1]


def test_a_run_that_was_cut_off_has_no_speed_up(write: Write, tmp_path: Path) -> None:
    runs = [write(1), write(2)]
    cut = replace(runs[1].header, complete=False, spec={**runs[1].header.spec, "failure": "killed"})
    runs[1].path.unlink()
    write_whole(tmp_path, cut, lockstep_values([5e-3] * 2, 1e-4, 40))
    kernel = kernel_of([hindmost.open(path) for path in sorted(tmp_path.glob("*.h5"))])
    assert len(kernel.columns) == 2
    assert not kernel.is_scaling
