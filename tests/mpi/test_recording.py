"""Solves under a real mpiexec, recorded and read back."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks
from tests.mpi.commands import Commands, Done, run_several
from tests.mpi.conftest import Launched

import hindmost
from hindmost.analysis.runs.cores import core_wait
from hindmost.analysis.runs.summary import summarise_run
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind

pytestmark = pytest.mark.mpi

FILL, REGULAR, DRAIN, REPLACEMENT = (
    BodyKind.FILL,
    BodyKind.REGULAR,
    BodyKind.DRAIN,
    BodyKind.REPLACEMENT,
)
RESTARTED = {
    # K = 110, restart 30: 4 cycles, as the paper counts 5334 iterates of PGMRES for K = 5000.
    "gmres": {REGULAR: 110},
    "pgmres": {FILL: 8, REGULAR: 106, DRAIN: 4},
}
ITERATIONS = {1: 220, 2: 110}
"""Of solves without restarts, by the number of ranks."""
REPLACED = {1: [100, 200], 2: [100]}
"""Iterations in which PETSc replaces the residual of PIPEBCGS."""


def unrestarted(count: int) -> dict[str, dict[BodyKind, int]]:
    """Return the bodies of each solver without restarts on a number of ranks."""
    k, replaced = ITERATIONS[count], len(REPLACED[count])
    return {
        "cg": {REGULAR: k},
        "pipecg": {FILL: 1, REGULAR: k - 1, DRAIN: 1},
        "bcgs": {REGULAR: k},
        "pipebcgs": {REGULAR: k - replaced, REPLACEMENT: replaced},
        "groppcg": {REGULAR: k},
        "cr": {REGULAR: k},
        "pipecr": {FILL: 1, REGULAR: k - 1, DRAIN: 1},
        "richardson": {REGULAR: k},
    }


PIPELINED = {"pgmres", "pipecg", "pipebcgs", "groppcg", "pipecr"}


def runs_of(done: Done | subprocess.CompletedProcess[str]) -> dict[str, Run]:
    """Return the runs that a command wrote, by solver."""
    assert done.returncode == 0, done.stderr
    runs = [hindmost.open(path) for path in done.stdout.split()]
    return {run.header.solver: run for run in runs}


def assert_books_close(run: Run) -> None:
    bodies = run.durations.sum(axis=0)
    parts = run.lead_in + bodies + run.restart_durations.sum(axis=0) + run.lead_out
    np.testing.assert_allclose(parts, run.solve_time, atol=1e-6, rtol=0)
    phases = run.variable("phase_duration").sum(axis=2, dtype=np.float64)
    np.testing.assert_allclose(phases, run.durations, atol=1e-6, rtol=0)
    assert (run.variable("phase_duration") >= -1e-9).all()
    ends = run.starts + run.durations
    inside = run.position[1:] > 0
    gaps = (run.starts[1:] - ends[:-1])[inside]
    if run.header.solver == "loop":  # the recorder may have written to its file meanwhile
        assert (gaps >= -1e-9).all()
    else:
        np.testing.assert_allclose(gaps, 0.0, atol=1e-9, rtol=0)


SEND, RECEIVE = EventKind.SEND, EventKind.RECEIVE
REDUCE, POST, COMPLETE = EventKind.REDUCE, EventKind.POST, EventKind.COMPLETE
HALO = [SEND, RECEIVE]
EVENTS = {
    # Of a regular body: its products exchange halos, its reductions follow the method's text.
    "gmres": [*HALO, REDUCE, REDUCE],
    "pgmres": [*HALO, COMPLETE, POST],
    "cg": [REDUCE, *HALO, REDUCE, REDUCE],
    "pipecg": [*HALO, COMPLETE, POST],
    "bcgs": [REDUCE, *HALO, REDUCE, *HALO, REDUCE, REDUCE],
    "pipebcgs": [POST, *HALO, COMPLETE, POST, *HALO, COMPLETE],
    "groppcg": [POST, COMPLETE, POST, *HALO, COMPLETE],
    "cr": [REDUCE, *HALO, REDUCE],
    "pipecr": [*HALO, COMPLETE, POST],
    "richardson": [REDUCE, *HALO],
}


def assert_events_fit(run: Run) -> None:
    """Hold the events of a run against its phases, and those of a regular body against theory."""
    kind, spent = run.variable("event_kind"), run.variable("event_duration")
    work = run.variable("event_work")
    assert (work >= 0).all()
    after = run.durations - work.sum(axis=2) - spent.sum(axis=2)
    assert (after > -1e-9).all()
    for phase, kinds in {"halo": HALO, "post": [POST], "wait": [REDUCE, COMPLETE]}.items():
        of_phase = np.where(np.isin(kind, kinds)[:, None, :], spent, 0.0).sum(axis=2)
        # Both are sums of numbers in single precision.
        np.testing.assert_allclose(of_phase, run.phase(phase), rtol=2.0**-21, atol=1e-9)
    left_out = {EventKind.NONE} if run.header.workload == "laplacian-1d" else {0, *HALO}
    wanted = [each for each in EVENTS[run.header.solver] if each not in left_out]
    found = [
        [each for each in row if each not in left_out] for row in kind[run.kind == REGULAR].tolist()
    ]
    agree = [row == wanted for row in found]
    assert np.mean(agree) > 0.98, (found[3], wanted)


OF_PAPER = (
    "--unknowns", "600", "--iterations", "110", "--solver", "gmres", "--solver", "pgmres",
    "--warmup", "0",
)  # fmt: skip


def long(count: int) -> tuple[str, ...]:
    """Return the words that solve without restarts on a number of ranks."""
    words = ("--unknowns", "5000", "--iterations", str(ITERATIONS[count]), "--warmup", "0")
    return (*words, *(word for solver in unrestarted(count) for word in ("--solver", solver)))


SHORT = (
    "laplacian-1d", "--unknowns", "200", "--iterations", "45", "--solver", "gmres",
    "--solver", "pgmres", "--warmup", "0",
)  # fmt: skip
SHUFFLED = (
    "diagonal", "--unknowns", "50", "--iterations", "40", "--solver", "gmres",
    "--solver", "pgmres", "--repeats", "3", "--seed", "3", "--warmup", "0",
)  # fmt: skip
OPTIONS = {
    "another restart length": ["-ksp_gmres_restart", "7"],
    "modified Gram-Schmidt": ["-ksp_gmres_modifiedgramschmidt"],
    "no preconditioner": ["-pc_type", "none"],
    "right preconditioning": ["-ksp_pc_side", "right"],
    "inner solvers": [
        *("-pc_type", "bjacobi", "-sub_ksp_type", "gmres"),
        *("-sub_pc_type", "none", "-sub_ksp_max_it", "3"),
    ],
    "no split reductions": ["-splitreduction_async", "0"],
}
ONCE_A_PROCESS = "no split reductions"
"""PETSc looks at this option when it first splits a reduction."""
WITH_OPTIONS, WITH_OPTIONS_K = ("gmres", "pgmres", "fgmres"), 40


def with_options(name: str, folder: Path) -> list[str | Path]:
    """Return the command that solves with PETSc options."""
    solvers = (word for solver in WITH_OPTIONS for word in ("--solver", solver))
    size = ("--unknowns", "4000", "--iterations", str(WITH_OPTIONS_K), "--warmup", "0")
    return ["run", "laplacian-1d", *size, *solvers, "--out", folder, "--", *OPTIONS[name]]


def commands(folder: Path) -> Commands:
    """Return the solves on two ranks, for a folder."""
    asked = {
        "long": ["run", "laplacian-1d", *long(2)],
        "paper": ["run", "laplacian-1d", *OF_PAPER],
        "shuffled": ["run", *SHUFFLED],
    }
    return {
        **{name: [*words, "--out", folder / name] for name, words in asked.items()},
        **{name: with_options(name, folder / name) for name in OPTIONS if name != ONCE_A_PROCESS},
    }


@pytest.fixture(scope="module")
def done_on(
    launched: Launched, tmp_path_factory: pytest.TempPathFactory
) -> dict[int, dict[str, Done]]:
    """Return what became of all commands here, by the number of ranks: one launch for each."""
    asked: dict[int, dict[str, tuple[str, ...]]] = {
        1: {"short": SHORT, "long": ("diagonal", *long(1))},
        4: {"short": SHORT},
    }
    found = {2: launched[1]}
    for count, commands in asked.items():
        folder = tmp_path_factory.mktemp(f"ranks-{count}")
        given: dict[str, list[str | Path]] = {
            name: ["run", *each, "--out", folder / name] for name, each in commands.items()
        }
        found[count] = run_several(folder, count, given)
    return found


@pytest.fixture(scope="module")
def paper(done_on: dict[int, dict[str, Done]]) -> dict[str, Run]:
    """Return the runs of both solvers of the paper."""
    return runs_of(done_on[2]["paper"])


def test_counts_of_the_paper(paper: dict[str, Run]) -> None:
    assert paper.keys() == RESTARTED.keys()
    for solver, run in paper.items():
        counted = np.bincount(run.kind, minlength=len(BodyKind))
        assert {kind: counted[kind] for kind in BodyKind if counted[kind]} == RESTARTED[solver]
        assert run.restarts == 3
        assert run.position.max() == (29 if solver == "gmres" else 31)
        assert_books_close(run)
        assert run.header.complete
        assert_events_fit(run)
        waits = {name: run.phase(name) for name in ("halo", "wait", "post")}
        # A wait for what has come already may take less than the clock tells, 10 ns.
        assert (waits["wait"][run.kind == BodyKind.REGULAR].sum(axis=0) > 0).all()
        assert (waits["post"].sum() > 0) == (solver == "pgmres")
        assert (waits["halo"][run.kind == BodyKind.REGULAR].sum(axis=0) > 0).all()
        norms = run.variable("residual_norm")
        np.testing.assert_array_equal(np.isnan(norms), run.kind == BodyKind.FILL)
        edges = sorted(zip(run.edges.source, run.edges.target, run.edges.bytes, strict=True))
        assert edges == [(0, 1, 8), (1, 0, 8)]


@pytest.mark.parametrize("count", [1, 2])
def test_counts_of_solvers_without_restarts(
    done_on: dict[int, dict[str, Done]], count: int
) -> None:
    runs = runs_of(done_on[count]["long"])
    expected = unrestarted(count)
    assert runs.keys() == expected.keys()
    for solver, run in runs.items():
        counted = np.bincount(run.kind, minlength=len(BodyKind))
        assert {kind: counted[kind] for kind in BodyKind if counted[kind]} == expected[solver]
        assert (run.restarts, run.header.restart) == (0, 0)
        assert_books_close(run)
        if count > 1:
            assert_events_fit(run)
            assert (run.phase("wait").sum(axis=0) > 0).all()  # one may be below the clock's step
            assert (run.phase("post").sum() > 0) == (solver in PIPELINED)
    replaced = np.flatnonzero(runs["pipebcgs"].kind == REPLACEMENT)
    assert replaced.tolist() == REPLACED[count]
    # Six more products make a body longer, whatever the machine does meanwhile.
    durations = np.median(runs["pipebcgs"].durations, axis=1)
    assert np.median(durations[replaced]) > np.median(durations)
    norms = runs["cg"].variable("residual_norm")
    assert np.isfinite(norms).all()


@pytest.mark.parametrize("count", [1, 4])
def test_one_rank_and_more_ranks_than_cores(
    done_on: dict[int, dict[str, Done]], count: int
) -> None:
    done = done_on[count]["short"]
    cores = len(os.sched_getaffinity(0))
    assert (f"{count} ranks share" in done.stderr) == (count > cores)
    runs = runs_of(done)
    assert runs["gmres"].durations.shape == (45, count)
    assert runs["pgmres"].durations.shape == (45 + 2 * 2, count)
    for run in runs.values():
        assert_books_close(run)
        assert run.edges.source.size == 2 * (count - 1)


GENERIC = {
    (
        "pgmres",
        "no split reductions",
    ): "pgmres: the records of the solve do not follow the known pattern",
}
"""Solves that are kept, but whose bodies last from monitor to monitor."""


@pytest.mark.parametrize("name", OPTIONS)
def test_petsc_options_are_segmented_right_or_kept_as_generic(
    ranks: Ranks, tmp_path: Path, done_on: dict[int, dict[str, Done]], name: str
) -> None:
    options, solvers = OPTIONS[name], WITH_OPTIONS
    done = (
        ranks(2, *with_options(name, tmp_path / "out"))
        if name == ONCE_A_PROCESS
        else done_on[2][name]
    )
    assert done.returncode == 0, done.stderr
    files = done.stdout.splitlines()[-3:]  # PETSc may have said something before
    runs = {run.header.solver: run for run in map(hindmost.open, files)}
    assert runs.keys() == set(solvers)
    unknown = [solver for solver in solvers if (solver, name) in GENERIC]
    assert done.stderr.count("do not follow the known pattern") == len(unknown)
    for solver, run in runs.items():
        ending = Ending.of(run.header)
        assert ending is not None
        assert ending.as_asked
        assert_books_close(run)
        assert np.count_nonzero(run.kind != BodyKind.FILL) == WITH_OPTIONS_K
        if solver in unknown:
            assert ending.generic.startswith(GENERIC[solver, name])
            assert (run.restarts, run.header.restart) == (0, 0)
            continue
        assert ending.generic == ""
        restart = 7 if "restart" in name else 30
        assert run.header.restart == restart
        assert run.restarts == -(-WITH_OPTIONS_K // restart) - 1
        for key in (word[1:] for word in options if word.startswith("-")):
            assert key in run.header.petsc_options


def test_order_is_shuffled_and_repeats_are_kept(done_on: dict[int, dict[str, Done]]) -> None:
    done = done_on[2]["shuffled"]
    assert done.returncode == 0, done.stderr
    runs = [hindmost.open(path) for path in done.stdout.split()]
    assert [run.header.spec["order"] for run in runs] == [1, 2, 3, 4, 5, 6]
    for block in range(3):
        pair = runs[2 * block : 2 * block + 2]
        assert {run.header.solver for run in pair} == {"gmres", "pgmres"}
        assert {run.header.spec["repeat"] for run in pair} == {block}
    assert [run.header.t0_utc for run in runs] == sorted(run.header.t0_utc for run in runs)
    for run in runs:  # ranks of a diagonal matrix exchange nothing
        assert_events_fit(run)
        assert run.edges.source.size == 0


def test_provenance_says_where_a_run_comes_from(paper: dict[str, Run]) -> None:
    run = paper["gmres"]
    facts = run.header.environment
    assert facts["petsc"].startswith("3.")
    assert facts["packages"]["hindmost"] == hindmost.__version__
    assert facts["machine"]["host"] == run.hosts[0]
    assert facts["ranks"] == 2
    assert run.header.mpi_library
    allowed = run.texts("cpuset")
    assert len(allowed) == 2
    for text, core in zip(allowed, run.variable("cpu"), strict=True):
        ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
        assert any(span[0] <= core <= span[-1] for span in ends)
    for name in ("load_before", "load_after"):
        assert (run.variable(name) >= 0).all()
    waited_s = run.variable("core_wait")  # this kernel tells
    # The kernel is asked just before and after the solve, where a rank may lose its core, too.
    assert ((waited_s >= 0.0) & (waited_s <= run.solve_time + 1.0)).all()
    taken = core_wait(run)
    assert taken is not None
    assert taken.most <= 1.0
    assert "  cores       " in "\n".join(summarise_run(run).lines())
    assert run.header.petsc_options["ksp_convergence_test"] == "skip"
    assert run.header.origin == "measured"
