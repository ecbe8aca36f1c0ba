"""Studies by hand: plans of quick commands, a scheduler and a launcher that only pretend."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.plan import Allocation, Plan, PlannedRun
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.schedulers.scheduler import Job, JobState, Script

STUDY = b'schema = 1\n[study]\nname = "pretended"  # to the byte\n'


class NoLauncher:
    """Starts a command as it is."""

    name = "none"

    def prefix(
        self, machine: MachineProfile, *, ranks: int, ranks_per_node: int, nodes: int
    ) -> tuple[str, ...]:
        return ()


class PretendedScheduler:
    """Remembers what was submitted; the tests say what becomes of it."""

    name = "local"

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.cancelled: list[str] = []
        self.submitted: list[Path] = []

    def render(self, script: Script) -> str:
        return f"#!/bin/sh\nexec hindmost study drive {script.folder} {script.allocation.id}\n"

    def submit(self, path: Path) -> str:
        name = f"job-{len(self.jobs) + 1}"
        self.submitted.append(path)
        self.set(name, JobState.PENDING)
        return name

    def set(self, name: str, state: JobState, reason: str = "as the test says") -> None:
        self.jobs[name] = Job(id=name, state=state, reason=reason)

    def query(self, ids: Sequence[str]) -> dict[str, Job]:
        unknown = JobState.UNKNOWN
        return {
            each: self.jobs.get(each, Job(id=each, state=unknown, reason="never heard of"))
            for each in ids
        }

    def cancel(self, ids: Sequence[str]) -> None:
        self.cancelled += ids
        for each in ids:
            self.set(each, JobState.CANCELLED)


def plan_of(
    commands: Sequence[Sequence[str]],
    *,
    allocations: int = 1,
    limit_s: float = 30.0,
    walltime_s: float = 86400.0,
    max_retries: int = 2,
    ranks: int = 3,
    scratch: str = "",
    stop_before_s: float = 0.0,
) -> Plan:
    """Return a plan of commands, dealt to allocations in turn; three runs make a block."""
    names = [f"a{n % allocations}" for n in range(len(commands))]
    runs = tuple(
        PlannedRun(
            id=f"run-{n}",
            configuration={"number": n},
            block=n // 3,
            ranks=ranks,
            ranks_per_node=ranks,
            nodes=1,
            command=tuple(command),
            limit_s=limit_s,
            allocation=name,
        )
        for n, (command, name) in enumerate(zip(commands, names, strict=True))
    )
    return Plan(
        study="pretended",
        study_sha256=hashlib.sha256(STUDY).hexdigest(),
        machine=MachineProfile(name="here", scheduler="local", launcher="mpiexec", scratch=scratch),
        seed=1,
        max_retries=max_retries,
        runs=runs,
        allocations=tuple(
            Allocation(
                id=name,
                runs=tuple(run.id for run in runs if run.allocation == name),
                nodes=1,
                ranks_per_node=ranks,
                walltime_s=walltime_s,
                stop_before_s=stop_before_s,
            )
            for name in sorted(set(names))
        ),
    )


def writes(number: int, *, seconds: float = 0.0, then: str = "") -> tuple[str, ...]:
    """Return a command that writes a file that holds its number, after so many seconds."""
    return ("sh", "-c", f'sleep {seconds}; echo {number} > "$0"/r{number}.txt; {then}', "{out}")


def fingerprint(study: StudyFolder) -> dict[str, tuple[bytes, int]]:
    """Return contents and time of every file of the runs that are done."""
    found = {}
    for run, record in study.records().items():
        if record.done is not None:
            for name in (*record.done.files, f"outcome-{record.done.attempt}.json"):
                path = study.run(run) / name
                found[f"{run}/{name}"] = (path.read_bytes(), path.stat().st_mtime_ns)
    return found


Make = Callable[..., StudyFolder]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return what makes the folder of a study of commands."""

    def study(
        commands: Sequence[Sequence[str]], *, name: str = "study", **more: object
    ) -> StudyFolder:
        return StudyFolder.create(tmp_path / name, plan_of(commands, **more), STUDY)  # type: ignore[arg-type]

    return study


DRIVER = """
import sys
from pathlib import Path
from hindmost.jobs.drive.driver import drive
from hindmost.jobs.folder import StudyFolder
from tests.jobs.conftest import NoLauncher
sys.exit(drive(StudyFolder.open(Path(sys.argv[1])), sys.argv[2], NoLauncher(), grace_s=0.5))
"""


@pytest.fixture
def start_driver() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Return what starts a driver in a process of its own; none outlives the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(study: StudyFolder, allocation: str = "a0") -> subprocess.Popen[bytes]:
        root = Path(__file__).parents[2]
        path = os.pathsep.join([str(root / "src"), str(root)])
        process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, study.path, allocation],
            env={**os.environ, "PYTHONPATH": path},
            cwd=root,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
