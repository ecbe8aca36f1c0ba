"""``hindmost.record``: a loop of one's own, on one and two ranks, with and without MPI."""

import json
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Ranks, starter
from tests.mpi.test_recording import assert_books_close

import hindmost
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.runs.sampled import RunSamples
from hindmost.analysis.runs.summary import summarise_run
from hindmost.analysis.watch.program import last_rank
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.time_left import read_time_use
from hindmost.models.ranks.attribution import attribute

ITERATIONS = 20
WORK_S, HALO_S = 5e-3, 1e-3

LOOP = f'''
import mmap, os, sys, time
import hindmost
if "listen" in sys.argv:
    hindmost.listen()
from mpi4py import MPI
comm = MPI.COMM_WORLD
total = bytearray(8)
file = os.open("waits", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, {2 * ITERATIONS})
waits = mmap.mmap(file, {2 * ITERATIONS})

def work(step):
    """Rank 1 goes on working when rank 0 waits for it, however slow either is."""
    time.sleep({WORK_S})
    if comm.rank == 0:
        waits[step] = 1
    else:
        while not waits[step]:
            time.sleep(1e-4)
        time.sleep({2 * WORK_S})

with hindmost.record("mine.h5", comm, name="mine") as recorder:
    for step in range({ITERATIONS}):
        with recorder.iteration():
            with recorder.phase("halo"):
                time.sleep({HALO_S})
            work(step)
            comm.Allreduce(MPI.IN_PLACE, [total, MPI.DOUBLE])
'''
OWN_PHASES = f"""
with hindmost.record("phases.h5", comm) as recorder:
    for step in range({ITERATIONS}):
        with recorder.iteration():
            with recorder.phase("hydro"):
                work({ITERATIONS} + step)
                comm.Allreduce(MPI.IN_PLACE, [total, MPI.DOUBLE])
            if comm.rank == 1 and step == 3:
                with recorder.phase("output"):
                    time.sleep({HALO_S})
"""
APART = f"""
with hindmost.record("apart.h5", comm, apart=True) as recorder:
    for step in range({ITERATIONS}):
        if comm.rank == 1:
            time.sleep({WORK_S})
        comm.Barrier()
        with recorder.iteration():
            with recorder.phase("halo"):
                time.sleep({HALO_S})
        if step == 3:
            comm.Allreduce(MPI.IN_PLACE, [total, MPI.DOUBLE])
"""
SAMPLED = """
def light(times):
    for number in range(times):
        number * number

def heavy(times):
    for number in range(times):
        number * number * number

for name in ("sampled.h5", "sampled-again.h5"):
    with hindmost.record(name, comm, sample=2000) as recorder:
        for _ in range(20):
            with recorder.iteration():
                light(20000)
                heavy(20000 * (1 + 4 * comm.rank))
                comm.Allreduce(MPI.IN_PLACE, [total, MPI.DOUBLE])
"""


@pytest.fixture(scope="module")
def listened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two loops of two ranks, of which hindmost sees the waiting."""
    folder = tmp_path_factory.mktemp("listened")
    done = starter(folder)(2, "listen", script=LOOP + SAMPLED + OWN_PHASES + APART)
    assert done.returncode == 0, done.stderr
    assert "hindmost" not in done.stderr
    return folder


@pytest.mark.mpi
def test_waiting_is_seen_if_hindmost_came_first(listened: Path) -> None:
    run = hindmost.open(listened / "mine.h5")
    assert run.durations.shape == (ITERATIONS, 2)
    assert (run.header.workload, run.header.solver) == ("mine", "loop")
    assert run.header.spec["mpi_seen"] is True
    assert_books_close(run)
    halo, wait, local = (np.median(run.phase(name), axis=0) for name in ("halo", "wait", "local"))
    assert (halo >= HALO_S).all()
    assert local[0] >= WORK_S
    # Rank 1 works three times as long, and rank 0 waits for it.
    assert wait[0] > 0.5 * WORK_S
    assert local[0] < local[1]
    assert wait[1] < wait[0]


@pytest.mark.mpi
def test_an_honest_word_if_mpi_came_first(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, script=LOOP)
    assert done.returncode == 0, done.stderr
    said = "hindmost does not see waiting in MPI: mpi4py.MPI was imported before"
    assert done.stderr.count(said) == 1
    run = hindmost.open(tmp_path / "mine.h5")
    assert run.header.spec["mpi_seen"] is False
    assert run.phase("wait").max() == 0
    assert_books_close(run)


@pytest.mark.mpi
def test_phases_of_ones_own(listened: Path) -> None:
    run = hindmost.open(listened / "phases.h5")
    assert run.phases == (*PHASES, "hydro", "output")
    assert_books_close(run)
    run.verify()
    hydro, wait = (np.median(run.phase(name), axis=0) for name in ("hydro", "wait"))
    # Waiting inside a phase of one's own is waiting, and its work is work.
    assert wait[0] > 0.5 * WORK_S
    assert hydro[1] > hydro[0] >= WORK_S
    assert np.allclose(run.work + run.phase("wait"), run.durations, atol=1e-6)
    output = run.phase("output")
    assert output[3, 1] >= HALO_S
    assert np.count_nonzero(output) == 1


@pytest.mark.mpi
def test_what_lies_between_iterations_can_be_part_of_none(listened: Path) -> None:
    run = hindmost.open(listened / "apart.h5")
    assert run.durations.shape == (ITERATIONS, 2)
    assert_books_close(run)
    halo, rest = run.phase("halo"), run.durations - run.phase("halo")
    assert (halo >= HALO_S).all()
    assert run.phase("wait").max() == 0
    between = run.solve_time - run.durations.sum(axis=0)
    assert between[1] > (ITERATIONS - 1) * WORK_S  # rank 0 may come late to a barrier
    assert (between > 0).all()
    assert np.median(rest) < WORK_S
    assert summarise_run(run).between == "pauses"


@pytest.mark.mpi
@pytest.mark.parametrize("file", ["sampled.h5", "sampled-again.h5"])
def test_samples_of_a_loop_name_its_functions(listened: Path, file: str) -> None:
    samples = RunSamples.of(hindmost.open(listened / file))
    assert samples is not None
    found = attribute(samples.in_stretch(1, range(len(samples.context_s[0]))))
    assert samples.places[found.place].function == "heavy"
    assert found.sure
    assert RunSamples.of(hindmost.open(listened / "phases.h5")) is None


@pytest.mark.mpi
def test_a_program_that_records_itself_can_be_attached(ranks: Ranks, tmp_path: Path) -> None:
    """What looks for its loop leaves it to the program."""
    (tmp_path / "own.py").write_text(LOOP)
    done = ranks(2, "attach", "--out", "runs", "--sample", "--", sys.executable, "own.py", "listen")
    assert done.returncode == 0, done.stderr
    assert hindmost.open(tmp_path / "mine.h5").durations.shape == (ITERATIONS, 2)


def test_samples_need_mpi(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="attach --sample"):
        hindmost.record(tmp_path / "alone.h5", sample=True).__enter__()
    with pytest.raises(UsageError, match="sample=0: give 1 to"):
        hindmost.record(tmp_path / "alone.h5", sample=0)


def test_without_mpi(tmp_path: Path) -> None:
    with hindmost.record(tmp_path / "alone.h5") as recorder:
        for _ in range(5):
            with recorder.iteration(), recorder.phase("halo"):
                time.sleep(1e-3)
            time.sleep(5e-4)  # between iterations: still part of the run
    run = hindmost.open(tmp_path / "alone.h5")
    assert run.durations.shape == (5, 1)
    assert (run.phase("halo") >= 1e-3).all()
    assert_books_close(run)
    assert hindmost.open(tmp_path / "alone.h5").summary["balance_s"] < 1e-6


def test_it_needs_neither_mpi4py_nor_petsc(tmp_path: Path) -> None:
    program = (
        "import sys, hindmost\n"
        "for name in ('mpi4py', 'petsc4py'): sys.modules[name] = None\n"
        "with hindmost.record('alone.h5') as recorder:\n"
        "    with recorder.iteration(): pass\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    assert hindmost.open(tmp_path / "alone.h5").bodies == 1


def test_misuse_is_refused(tmp_path: Path) -> None:
    taken = tmp_path / "taken.h5"
    taken.touch()
    with (
        pytest.raises(UsageError, match="hindmost never overwrites a run"),
        hindmost.record(taken) as recorder,
        recorder.iteration(),
    ):
        pass
    assert taken.stat().st_size == 0
    with pytest.raises(UsageError, match=r"must end in \.h5"):
        hindmost.record(tmp_path / "run.nc")
    with pytest.raises(UsageError, match="No iteration"), hindmost.record(tmp_path / "none.h5"):
        pass
    with (
        pytest.raises(UsageError, match="cannot be called 'local'"),
        hindmost.record(tmp_path / "phase.h5") as recorder,
        recorder.iteration(),
        recorder.phase("local"),
    ):
        pass
    with (
        pytest.raises(UsageError, match="outside an iteration"),
        hindmost.record(tmp_path / "phase.h5") as recorder,
        recorder.phase("halo"),
    ):
        pass


@pytest.mark.parametrize("name", ["", "a\0b", "two\nlines", "\ud800", 7], ids=ascii)
def test_names_that_no_file_can_keep_are_refused_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        hindmost.record(tmp_path / "run.h5", name=name)
    with hindmost.record(tmp_path / "run.h5", name="é" * 1000) as recorder, recorder.iteration():
        with pytest.raises(UsageError, match="phase"), recorder.phase(name):
            pass
        with recorder.phase("x" * 1000):
            pass
    assert hindmost.open(tmp_path / "run.h5").header.workload == "é" * 1000


def test_a_loop_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        hindmost.record(tmp_path / "failed.h5") as recorder,
        recorder.iteration(),
    ):
        _ = 1 / 0
    assert not list(tmp_path.iterdir())


TOGETHER = """
import json, os
import hindmost
import hindmost.errors
hindmost.listen()
from mpi4py import MPI
from hindmost.harness.runfile import part_file, writer
comm = MPI.COMM_WORLD
real = writer.make_variables, part_file.write_attributes

def refuse_kind(*_): raise RuntimeError("no such kind")
def refuse_attributes(*_): raise ValueError("embedded NULLs")

def together(case):
    given = {"solver": "cg", "x": (1 if comm.rank == 0 else True) if case == "differ" else 1}
    name = f"mine{comm.rank}" if case == "names" else "mine"
    writer.make_variables, part_file.write_attributes = real
    if case == "unwritable" and comm.rank == 0:
        writer.make_variables = refuse_kind
    if case == "unfinished" and comm.rank == 0:
        part_file.write_attributes = refuse_attributes
    with hindmost.record(f"{case}/mine.h5", comm, name=name, parameters=given) as recorder:
        for step in range(0 if case == "idle" and comm.rank == 1 else 3):
            try:
                with recorder.iteration(), recorder.phase("work"):
                    if case == "broken" and step == 1:
                        raise RuntimeError("mine")
                    if case == "apart" and step == 2 * comm.rank:  # 0 on rank 0, 2 on rank 1
                        raise RuntimeError("mine")
            except RuntimeError:
                pass

said = {}
for case in sorted(os.listdir()):
    if os.path.isdir(case):
        told = ""
        try:
            together(case)
        except hindmost.errors.HindmostError as error:
            told = f"{type(error).__name__} {error}"
        said[case] = comm.gather(told)
if comm.rank == 0:
    print(json.dumps(said))
"""
REFUSED = {
    "taken": "hindmost never overwrites a run",
    "idle": "No iteration was recorded",
    "differ": "UsageError parameters: x is 1 on rank 0 and True on rank 1",
    "names": "UsageError name is 'mine0' on rank 0 and 'mine1' on rank 1",
    "unwritable": "DataError The run file cannot be written: RuntimeError: no such kind",
    "unfinished": "DataError The run file cannot be written: ValueError: embedded NULLs",
}


@dataclass(frozen=True)
class Together:
    """The folder with a folder for each case, what each said on each rank, and stderr."""

    folder: Path
    said: dict[str, list[str]]
    stderr: str


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Together:
    folder = tmp_path_factory.mktemp("together")
    for case in (*REFUSED, "broken", "apart"):
        (folder / case).mkdir()
    (folder / "taken" / "mine.h5").write_text("something else")
    done = starter(folder)(2, script=TOGETHER)
    assert done.returncode == 0, done.stderr
    return Together(folder, json.loads(done.stdout), done.stderr)


@pytest.mark.mpi
@pytest.mark.parametrize("case", REFUSED)
def test_ranks_fail_together(together: Together, case: str) -> None:
    assert [REFUSED[case] in said for said in together.said[case]] == [True, True]
    left = [path.name for path in (together.folder / case).iterdir()]
    kept = {"taken": "mine.h5", "unwritable": "mine.raw", "unfinished": "mine.raw"}
    assert left == ([kept[case]] if case in kept else [])


@pytest.mark.mpi
def test_a_broken_body_is_left_out(together: Together) -> None:
    assert together.said["broken"] == ["", ""]
    run = hindmost.open(together.folder / "broken" / "mine.h5")
    assert run.bodies == 2
    assert_books_close(run)
    assert not run.header.complete
    assert together.stderr.count("iteration 1 raised RuntimeError on all ranks") == 1


@pytest.mark.mpi
def test_an_iteration_that_raised_on_one_rank_is_left_out_on_all(together: Together) -> None:
    assert together.said["apart"] == ["", ""]
    run = hindmost.open(together.folder / "apart" / "mine.h5")
    assert (run.bodies, run.header.iterations) == (1, 1)  # the second is the only one of both
    assert_books_close(run)
    run.verify()
    assert not run.header.complete
    said = "iteration 0 raised RuntimeError on rank 0; iteration 2 raised RuntimeError on rank 1"
    assert said in run.header.spec["failure"]
    assert together.stderr.count(said) == 1
    assert said in "\n".join(summarise_run(run).lines())


def test_the_time_of_an_iteration_that_raised_is_kept(tmp_path: Path) -> None:
    with hindmost.record(tmp_path / "run.h5") as recorder:
        for step in range(4):
            with suppress(ValueError), recorder.iteration(), recorder.phase("own"):
                time.sleep(1e-3)
                if step in (1, 3):
                    raise ValueError
    run = hindmost.open(tmp_path / "run.h5")
    assert run.bodies == 2
    assert run.durations[0, 0] >= 2e-3
    assert run.lead_out[0] >= 1e-3
    assert_books_close(run)


def test_unnamed_loops_are_told_apart_by_their_place(tmp_path: Path) -> None:
    for number in range(2):
        with hindmost.record(tmp_path / f"first-{number}.h5") as recorder, recorder.iteration():
            pass
    with hindmost.record(tmp_path / "second.h5") as recorder, recorder.iteration():
        pass
    groups = group_runs(find_runs([tmp_path]))
    assert [len(group.runs) for group in groups] == [2, 1]
    titles = [group.title for group in groups]
    assert all(title.startswith("loop on test_record.py:") for title in titles)
    assert len(set(titles)) == 2


KILLED = """
import json, os, signal, sys, time
import hindmost
if "listen" in sys.argv:
    hindmost.listen()
from mpi4py import MPI
comm, total = MPI.COMM_WORLD, bytearray(8)
os.environ["TMPDIR"] = os.getcwd()

def watched():
    late = time.monotonic() > end + 90
    try:
        note = json.load(open("mine.raw/time-left.json"))
        return late or note["iterations"] > 3 and (note.get("place") or "listen" not in sys.argv)
    except OSError:
        return late

def step(recorder):
    with recorder.iteration(), recorder.phase("norm"):
        comm.Allreduce(MPI.IN_PLACE, [total, MPI.DOUBLE])
        time.sleep(2e-3 if comm.rank else 8e-3)

asked = {"name": "mine", "parameters": {"n": 3}, "keep": 0.5, "live": True}
with hindmost.record("mine.h5", comm, **asked) as recorder:
    end = time.monotonic() + 2.5
    done = bytearray(1)
    while not done[0]:
        step(recorder)
        done[0] = time.monotonic() > end and bool(watched())
        comm.Bcast(done, 0)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.mpi
@pytest.mark.parametrize("listens", [True, False])
def test_a_program_that_is_killed_keeps_its_records(
    ranks: Ranks, tmp_path: Path, listens: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ranks(2, *["listen"] * listens, script=KILLED).returncode != 0
    assert not list(tmp_path.glob("*.h5"))
    deadline = time.monotonic() + 60.0
    while list(tmp_path.glob("hindmost-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not list(tmp_path.glob("hindmost-*"))  # whoever looked on has ended as well
    assert main(["watch", str(tmp_path), "--once"]) == 1
    assert capsys.readouterr().out.startswith("mine is gone after ")
    use = read_time_use(tmp_path / "mine.raw")
    assert use is not None
    if listens:
        said = last_rank(use)
        assert "ank 0 (of 2)" in said
        assert "of its extra work lies between step in <module> (script.py:" in said
    convert = [sys.executable, "-m", "hindmost", "attach", "--convert", "mine.raw"]
    subprocess.run(convert, check=True, cwd=tmp_path)
    assert not (tmp_path / "mine.raw").exists()
    (path,) = tmp_path.glob("*.h5")
    run = hindmost.open(path)
    run.verify()
    assert_books_close(run)
    assert (run.columns, run.header.ranks) == (1, 2)
    assert run.variable("every_solve_time").shape == (2,)
    assert (run.header.workload, run.header.spec["parameters"]) == ("mine", {"n": 3})
    assert run.header.spec["mpi_seen"] is listens
    assert not run.header.complete
    assert "the program ended inside this loop" in run.header.spec["failure"]
    assert run.bodies > 10
    if listens:
        assert run.phases == (*PHASES, "norm")
        assert run.phase("wait").sum() > 0.0
        lines = [run.contexts.places[at] for at in range(len(run.contexts.places))]
        assert any("step (script.py" in line for line in lines)
