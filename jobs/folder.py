"""The folder of a study on disk.

::

    study.toml                       the study as it was submitted, to the byte
    plan.json                        its runs and allocations
    scripts/ALLOCATION.sh            what is submitted; may be edited
    jobs.jsonl                       which job did which allocation, one line each
    runs/RUN/outcome-ATTEMPT.json    that an attempt runs; in the end, how it ended
    runs/RUN/*.h5, output.txt        its run files, and the output of the last attempt
    allocations/ALLOCATION/          driver.log
    .lock                            locked while a verb changes the folder
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from hindmost.errors import DataError, UsageError
from hindmost.files import append_line, read_text, reason
from hindmost.jobs.core.durable import is_locked, locked, write_durably
from hindmost.jobs.core.plan import Allocation, Plan, PlannedRun, read_plan, write_plan
from hindmost.jobs.outcomes import (
    UNCOUNTED,
    Cause,
    Completion,
    RunRecord,
    completion_of,
    read_record,
    write_outcome,
)
from hindmost.parsing import parse_json
from hindmost.printable import shell_word
from hindmost.records import from_document, to_document


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A submitted job.

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
    """The folder of a submitted study.

    Parameters
    ----------
    path : Path
        Converted to an absolute path.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.study_file = self.path / "study.toml"
        self.plan_file = self.path / "plan.json"
        self.jobs_file = self.path / "jobs.jsonl"
        self.scripts = self.path / "scripts"
        self.runs = self.path / "runs"

    @classmethod
    def create(cls, path: Path, plan: Plan, study: bytes) -> StudyFolder:
        """Create the folder of a study; its plan is written last.

        Raises
        ------
        UsageError
            The folder contains a study or other files.
        """
        folder = cls(path)
        if folder.plan_file.exists():
            here = shell_word(path)
            raise UsageError(
                f"{path} contains a study already: 'hindmost study submit {here}' submits what "
                "remains of it. To plan it anew, remove that folder, or name another with --folder."
            )
        names = sorted(each.name for each in path.iterdir()) if path.is_dir() else []
        if strange := [name for name in names if not name.startswith(".")]:
            raise UsageError(
                f"{path} contains other files ({strange[0]}); name another folder with --folder."
            )
        for inside in (folder.path, folder.scripts, folder.runs):
            inside.mkdir(parents=True, exist_ok=True)
        for allocation in plan.allocations:
            folder.allocation(allocation.id).mkdir(parents=True, exist_ok=True)
        write_durably(folder.study_file, study)
        write_plan(plan, folder.plan_file)
        return folder

    @classmethod
    def open(cls, path: Path) -> StudyFolder:
        """Open the folder of a study, or raise a UsageError."""
        folder = cls(path)
        if not folder.plan_file.is_file():
            raise UsageError(
                f"{path} is not the folder of a study: it has no plan.json. "
                "'hindmost study submit STUDY.toml' makes one."
            )
        return folder

    @cached_property
    def plan(self) -> Plan:
        """The plan of the study."""
        return read_plan(self.plan_file)

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
        """Read the folders of some runs, or of all."""
        wanted = self.planned if ids is None else ids
        # Paths as strings: there may be 10,000 runs.
        return {run: read_record(f"{self.runs}/{run}") for run in wanted}

    def completions(self, records: Mapping[str, RunRecord]) -> dict[str, Completion]:
        """Return for every run whether it is done, left or given up."""
        retries = self.plan.max_retries
        return {run: completion_of(each, max_retries=retries) for run, each in records.items()}

    @contextmanager
    def changing(self) -> Iterator[bool]:
        """Lock the folder, so that no other verb changes it; see `locked`."""
        who = (
            f"Another 'hindmost study submit' or 'cancel' is running on {self.path}; "
            "wait until it ends."
        )
        with locked(self.path / ".lock", who) as held:
            yield held

    def driver_lock(self, allocation: str) -> Path:
        """Return the file that the driver of an allocation locks."""
        return self.allocation(allocation) / ".lock"

    def has_driver(self, allocation: str) -> bool:
        """Tell whether a driver is running for an allocation, as far as locks tell."""
        lock = self.driver_lock(allocation)
        return lock.exists() and is_locked(lock)

    def add_job(self, allocation: str, job: str, scheduler: str) -> Submitted:
        """Record which job does an allocation."""
        added = Submitted(allocation=allocation, job=job, scheduler=scheduler, when=now())
        append_line(self.jobs_file, json.dumps(to_document(added)))
        return added

    def jobs(self) -> tuple[Submitted, ...]:
        """Return the submitted jobs, in order."""
        return read_jobs(self.jobs_file)

    def forgive(self, record: RunRecord) -> None:
        """Have a run repeated that failed for good."""
        for outcome in record.outcomes:
            if outcome.cause not in UNCOUNTED | {Cause.DONE}:
                write_outcome(self.run(outcome.run), replace(outcome, cause=Cause.FORGIVEN))


def now() -> str:
    """Return the time: ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_jobs(path: Path) -> tuple[Submitted, ...]:
    """Return the jobs in a file of JSON lines; a truncated line is skipped."""
    if not path.exists():
        return ()
    found = []
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {reason(error)}.") from None
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if not line.startswith("{") or line.endswith("}"):
                found.append(from_document(Submitted, parse_json(line)))
        except ValueError as error:
            raise DataError(
                f"{path}, line {number}: {error} Restore the file, or remove that line."
            ) from None
    return tuple(found)
