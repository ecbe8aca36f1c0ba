"""The folder of a study on disk.

::

    study.toml                       the study as it was submitted, to the byte
    plan.json                        its runs and allocations
    scripts/ALLOCATION.sh            what is submitted; may be edited
    scripts.json                     the scripts as they were written, and for which folder
    jobs.jsonl                       which job did which allocation, a line each
    again.jsonl                      attempts that 'resume --again' forgave
    runs/RUN/outcome-ATTEMPT.json    how an attempt ended; written last
    runs/RUN/*.h5, output.txt        its run files, and what the last attempt said
    allocations/ALLOCATION/          driver.log, and running.json while a run is going
    .lock                            held while a verb changes the folder
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from hindmost.errors import DataError, UsageError
from hindmost.jobs.durable import append_durably, is_locked, locked, write_durably
from hindmost.jobs.outcomes import RunRecord, read_records
from hindmost.jobs.plan import files as plan_files
from hindmost.jobs.plan.plan import Allocation, Plan, PlannedRun

WRITTEN = frozenset(
    {"study.toml", "plan.json", "scripts.json", "scripts", "output", "runs", "allocations"}
)
"""What a submission writes before its first job."""
DRIVES = b"hindmost drive "
"""In the last line of every script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A job that was submitted.

    Attributes
    ----------
    allocation, job, scheduler : str
    when : str
        ISO 8601, UTC.
    """

    allocation: str
    job: str
    scheduler: str
    when: str


class StudyFolder:
    """The folder of a study that was submitted.

    Parameters
    ----------
    path : Path
        Made absolute.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.study_file = self.path / "study.toml"
        self.plan_file = self.path / "plan.json"
        self.jobs_file = self.path / "jobs.jsonl"
        self.again_file = self.path / "again.jsonl"
        self.scripts = self.path / "scripts"
        self.scripts_file = self.path / "scripts.json"
        self.runs = self.path / "runs"

    @classmethod
    def create(cls, path: Path, plan: Plan, study: bytes) -> StudyFolder:
        """Make the folder of a study; its plan is written last.

        What a submission left of which no job came is written anew.

        Raises
        ------
        UsageError
            There is a study that was submitted, an edited script, or something else, in it.
        """
        folder = cls(path)
        if folder.plan_file.exists() and folder.was_begun():
            raise UsageError(
                f"{path} holds a study that was submitted; 'hindmost resume {path}' goes on with "
                "it, and --folder takes another place."
            )
        names = sorted(each.name for each in path.iterdir()) if path.is_dir() else []
        strange = [name for name in names if name not in WRITTEN and not name.startswith(".")]
        if strange:
            raise UsageError(f"{path} holds other files ({strange[0]}); --folder takes another.")
        folder.remove_scripts()
        for inside in (folder.path, folder.scripts, folder.runs):
            inside.mkdir(parents=True, exist_ok=True)
        for allocation in plan.allocations:
            folder.allocation(allocation.id).mkdir(parents=True, exist_ok=True)
        write_durably(folder.study_file, study)
        plan_files.write(plan, folder.plan_file)
        return folder

    @classmethod
    def open(cls, path: Path) -> StudyFolder:
        """Open the folder of a study, or raise a UsageError."""
        folder = cls(path)
        if not folder.plan_file.is_file():
            raise UsageError(
                f"{path} is not the folder of a study: it has no plan.json. "
                "'hindmost submit STUDY.toml' makes one."
            )
        return folder

    def was_begun(self) -> bool:
        """Tell whether a script was submitted, or started by hand."""
        at_work = any((self.path / "allocations").glob("*/*"))  # logs and locks of drivers
        return bool(self.jobs()) or at_work or (self.runs.is_dir() and any(self.runs.iterdir()))

    def remove_scripts(self) -> None:
        """Remove the plan and its scripts; refuses where one is not as it was written."""
        sums = self.written().get("sha256")
        scripts = sorted(self.scripts.glob("*.sh"))
        for script in scripts:
            text = script.read_bytes()
            # Without sums it was cut off before the scripts were whole.
            ours = DRIVES in text if sums is None else sums.get(script.stem) == sum_of(text)
            if not ours:
                raise UsageError(
                    f"{script} was edited, or is not of hindmost: 'hindmost resume {self.path}' "
                    "submits it as it is; remove it, and the study is submitted anew."
                )
        self.plan_file.unlink(missing_ok=True)
        for each in (*scripts, self.scripts_file):
            each.unlink(missing_ok=True)
        for left in (self.path / "allocations").glob("*/"):
            left.rmdir()

    def written(self) -> dict[str, Any]:
        """Return what was written down of the scripts; nothing where there is none."""
        try:
            found = json.loads(self.scripts_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def plan(self) -> Plan:
        """What is to be done."""
        return plan_files.read(self.plan_file)

    @cached_property
    def planned(self) -> dict[str, PlannedRun]:
        """The runs by their ids."""
        return {run.id: run for run in self.plan.runs}

    def allocation(self, name: str) -> Path:
        """Return the folder of an allocation."""
        return self.path / "allocations" / name

    def find_allocation(self, name: str) -> Allocation:
        """Return an allocation of the plan, or raise a UsageError."""
        for allocation in self.plan.allocations:
            if allocation.id == name:
                return allocation
        names = ", ".join(allocation.id for allocation in self.plan.allocations[:8])
        raise UsageError(f"{self.path} has no allocation '{name}'; it has: {names}.")

    def script(self, allocation: str) -> Path:
        """Return the path of an allocation's script."""
        return self.scripts / f"{allocation}.sh"

    def run(self, name: str) -> Path:
        """Return the folder of a run."""
        return self.runs / name

    def records(self, ids: tuple[str, ...] | None = None) -> dict[str, RunRecord]:
        """Read what the folders of runs hold: of all, if none are named."""
        return read_records(self.runs, tuple(self.planned) if ids is None else ids)

    @contextmanager
    def changing(self) -> Iterator[bool]:
        """Hold the folder, so that no other verb changes it; see `locked`."""
        who = (
            f"Another 'hindmost submit', 'resume' or 'cancel' is at work on {self.path}; "
            "wait for it."
        )
        with locked(self.path / ".lock", who) as held:
            yield held

    def driver_lock(self, allocation: str) -> Path:
        """Return the file that the driver of an allocation locks."""
        return self.allocation(allocation) / ".lock"

    def has_driver(self, allocation: str) -> bool:
        """Tell whether a driver is at work on an allocation, as far as locks reach."""
        lock = self.driver_lock(allocation)
        return lock.exists() and is_locked(lock)

    def add_job(self, allocation: str, job: str, scheduler: str) -> Submitted:
        """Write down which job does an allocation."""
        added = Submitted(allocation=allocation, job=job, scheduler=scheduler, when=now())
        append_durably(self.jobs_file, json.dumps(asdict(added)))
        return added

    def jobs(self) -> tuple[Submitted, ...]:
        """Return the jobs that were submitted, in their order."""
        return tuple(Submitted(**line) for line in read_lines(self.jobs_file))

    def forgive(self, run: str, attempt: int) -> None:
        """Write down that attempts up to one are not held against a run."""
        append_durably(self.again_file, json.dumps({"run": run, "attempt": attempt, "when": now()}))

    def forgiven(self) -> dict[str, int]:
        """Return the attempts up to which runs are forgiven."""
        return {line["run"]: line["attempt"] for line in read_lines(self.again_file)}


def sum_of(text: bytes) -> str:
    """Return the SHA-256 of a text."""
    return sha256(text).hexdigest()


def now() -> str:
    """Return the time: ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines; a line that was cut off is none.

    Raises
    ------
    DataError
        A line is no JSON object and is not cut off either.
    """
    if not path.exists():
        return []
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            each = json.loads(line)
        except ValueError:
            if line.startswith("{") and not line.endswith("}"):
                continue
            raise DataError(f"{path}, line {number}: no JSON: {line[:40]!r}.") from None
        if not isinstance(each, dict):
            raise DataError(f"{path}, line {number}: no JSON object: {line[:40]!r}.")
        found.append(each)
    return found
