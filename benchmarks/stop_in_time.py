"""Jobs of a real scheduler that are told to stop before their limit, and whether they end in time.

    python -m benchmarks.stop_in_time slurm|pbs [--jobs 30] [--together 2] [--lammps lmp]

Each job has a limit of one or two minutes and two ranks, which iterate until they are told: by a
signal, a file, or the collective call. In every second job another process takes a core for a third
of the time. Jobs of one program share a folder, so that later ones know what its end takes.
*Left*: what was left of the limit when the program had ended. It should be at most what was kept
free for its end and a checkpoint, and two iterations, by their bound.

Slurm is started by this benchmark; OpenPBS has to be around it, as for `make test-pbs`.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from tests.jobs.slurm.cluster import Cluster
from tests.programs.attaching import ATTACH, compiled

import hindmost
from hindmost.harness.runfile.time_left import TimeUse, time_use_of
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.jobs.schedulers.scheduler import JobState, Scheduler
from hindmost.text import seconds

BIN = Path(sys.executable).parent
LIVE = (JobState.PENDING, JobState.RUNNING)
HOG = "import time\nend = time.time() + {seconds}\nwhile time.time() < end: pass"
DIRECTIVES = {  # Slurm reads those of PBS as well
    "slurm": """\
#SBATCH --nodes=1
#SBATCH --ntasks=2
#SBATCH --time={minutes}
#SBATCH --output={folder}/%j.out
""",
    "pbs": """\
#PBS -l select=1:ncpus=1:mpiprocs=2
#PBS -l walltime=00:0{minutes}:00
#PBS -j oe
#PBS -o {folder}/
""",
}
PYTHON = """
import os, time
import numpy as np
from mpi4py import MPI
import hindmost
comm, step, ways = MPI.COMM_WORLD, 0, "{way}"
state = np.ones(400_000)
while True:
    step += 1
    for _ in range(5):
        state = np.sqrt(state + comm.allreduce(1.0))
        time.sleep(0.02)
    if step % 25 == 0 and comm.rank == 0:
        with open("state.npy", "wb") as file:
            np.save(file, state)
            os.fsync(file.fileno())
    told = hindmost.should_stop() if ways == "call" else os.path.exists("STOP")
    if comm.allreduce(int(told)):
        break
if comm.rank == 0:
    np.save("state.npy", state)
"""
TIME_STEPPER = """
import os, sys
import petsc4py; petsc4py.init(sys.argv)
from petsc4py import PETSc
n = 20_000
matrix = PETSc.Mat().createAIJ([n, n], nnz=3); matrix.setUp()
for i in range(*matrix.getOwnershipRange()):
    for column, value in ((i - 1, 1.0), (i, -2.0), (i + 1, 1.0)):
        if 0 <= column < n:
            matrix[i, column] = value
matrix.assemble()
operator = matrix.copy()  # the solver shifts the other one
stepper = PETSc.TS().create(); stepper.setType("beuler")
stepper.setProblemType(PETSc.TS.ProblemType.LINEAR)
u = matrix.createVecRight(); u.setRandom()
stepper.setRHSFunction(lambda ts, t, x, f: operator.mult(x, f), u.duplicate())
stepper.setRHSJacobian(lambda ts, t, x, J, P: operator.copy(P), matrix, matrix)
stepper.setTimeStep(0.3); stepper.setMaxSteps(1_000_000_000); stepper.setMaxTime(1e12)
stepper.setExactFinalTime(PETSc.TS.ExactFinalTime.STEPOVER)
def look(ts, step, t, x):
    if os.path.exists("STOP"):
        ts.setMaxSteps(step)
stepper.setMonitor(look); stepper.setFromOptions(); stepper.solve(u)
"""
LAMMPS = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
variable stop equal is_file(STOP)
fix 2 all halt 5 v_stop > 0 error continue
restart 500 state.a state.b
thermo 1000
run 100000000
write_restart state.end
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A program, and how it is told."""

    name: str
    way: str
    command: str
    options: str


@dataclass(slots=True, kw_only=True)
class StartedJob:
    """A job that was submitted."""

    kind: Kind
    id: str
    folder: Path
    minutes: int
    disturbed: bool
    before: frozenset[Path]


def kinds(folder: Path, lammps: str) -> list[Kind]:
    """Compile and write the programs."""
    ways = {"signal": "--signal USR1", "file": "--stop-file STOP", "call": "--stop-before job"}
    stops = compiled(folder, "stops", "-g", "-O2", f"-I{ATTACH}")
    found = [
        Kind(
            name=f"C, steps of {ms} ms",
            way=way,
            command=f"{stops} {ms} {number}",
            options=ways[way],
        )
        for ms in (20, 700)
        for way, number in (("signal", 1), ("file", 2), ("call", 4))
    ]
    python = shlex.quote(sys.executable)
    for way in ("file", "call"):
        script = folder / f"steps_{way}.py"
        script.write_text(PYTHON.format(way=way))
        found.append(Kind(name="Python", way=way, command=f"{python} {script}", options=ways[way]))
    script = folder / "stepper.py"
    script.write_text(TIME_STEPPER)
    solver = "-ksp_type cg -pc_type jacobi -snes_type ksponly"
    command = f"{python} {script} {solver}"
    found.append(Kind(name="PETSc TS", way="file", command=command, options=ways["file"]))
    if shutil.which(lammps):
        script = folder / "in.melt"
        script.write_text(LAMMPS)
        command = f"{lammps} -in {script}"
        found.append(Kind(name="LAMMPS", way="file", command=command, options=ways["file"]))
    return found


def start(
    scheduler: Scheduler, kind: Kind, root: Path, *, minutes: int, disturbed: bool
) -> StartedJob:
    """Submit a job."""
    name = "-".join((*kind.name.replace(",", "").split(), kind.way))
    folder = root / name
    folder.mkdir(exist_ok=True)
    lines = [f"cd {shlex.quote(str(folder))}", "rm -f STOP"]
    if disturbed:
        hog = HOG.format(seconds=20 * minutes)
        lines.append(f"(sleep {20 * minutes}; exec {sys.executable} -c '{hog}') &")
    ranks = f"{BIN / 'mpiexec'} -n 2"
    attach = f"{BIN / 'hindmost'} attach --out runs"
    lines.append(f"{ranks} {attach} {kind.options} -- {kind.command}")
    script = folder / f"{time.time_ns()}.sh"
    head = DIRECTIVES[scheduler.name].format(minutes=minutes, folder=folder)
    script.write_text("\n".join(("#!/bin/bash", head, *lines, "")))
    before = frozenset((folder / "runs").glob("*.h5"))
    return StartedJob(
        kind=kind,
        id=scheduler.submit(script),
        folder=folder,
        minutes=minutes,
        disturbed=disturbed,
        before=before,
    )


def use_of(job: StartedJob) -> TimeUse | None:
    """Return what the new run file of a job says of its time."""
    for path in set((job.folder / "runs").glob("*.h5")) - job.before:
        use = time_use_of(hindmost.open(path).header.spec["attached"])
        if use is not None:
            return use
    return None


def row(scheduler: Scheduler, job: StartedJob) -> tuple[str, ...]:
    """Return the line of a job: how it ended, and what was left."""
    state = scheduler.query([job.id])[job.id].state
    use = use_of(job)
    head = (
        job.kind.name,
        job.kind.way,
        "yes" if job.disturbed else "no",
        f"{job.minutes} min",
        str(state),
    )
    if use is None or use.limit_s is None:
        return (*head, "-", "-", "-", "-", "-", "-")
    kept_s = use.end_s + use.checkpoint_s
    allowed_s = kept_s + 2.0 * (use.bound_s or 0.0)
    return (
        *head,
        use.loop or "none",
        f"{use.iterations}",
        seconds(use.left_s) if use.left_s >= 0.0 else f"OVER by {seconds(-use.left_s)}",
        seconds(kept_s),
        use.end_by,
        "yes" if 0.0 <= use.left_s <= allowed_s else "NO",
    )


HEAD = (
    *("program", "told by", "disturbed", "limit", "job", "loop", "iterations"),
    *("left", "kept free", "by", "as promised"),
)


def run(scheduler: Scheduler, root: Path, options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Yield the line of each job as it ends; no two of one kind run at once."""
    programs = kinds(root, options.lammps)
    waiting = deque(
        (kind, number) for number, kind in enumerate(islice(cycle(programs), options.jobs))
    )
    running: list[StartedJob] = []
    while waiting or running:
        while waiting and len(running) < options.together:
            kind, number = waiting.popleft()
            minutes = 2 if number % 3 == 2 else 1
            running.append(start(scheduler, kind, root, minutes=minutes, disturbed=number % 2 == 1))
        time.sleep(1.0)
        states = {job.id: scheduler.query([job.id])[job.id].state for job in running}
        for job in [job for job in running if states[job.id] not in LIVE]:
            running.remove(job)
            yield row(scheduler, job)


def main() -> None:
    """Run the jobs and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scheduler", choices=("slurm", "pbs"))
    parser.add_argument("--jobs", type=int, default=30)
    parser.add_argument("--together", type=int, default=2, help="jobs at a time")
    parser.add_argument("--lammps", default="lmp")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="hindmost-stop-in-time-"))
    print(f"in {root}", flush=True)
    cluster = Cluster() if options.scheduler == "slurm" else None
    if cluster is not None:
        os.environ["SLURM_CONF"] = str(cluster.folder / "slurm.conf")
    try:
        print(" | ".join(HEAD), flush=True)
        for cells in run(SCHEDULERS[options.scheduler], root, options):
            print(" | ".join(cells), flush=True)
    finally:
        if cluster is not None:
            cluster.stop()


if __name__ == "__main__":
    main()
