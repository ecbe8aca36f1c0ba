"""How a study stands: what its folder holds, and what its scheduler says of the jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from hindmost.errors import MissingError
from hindmost.jobs.drive.running import noted
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcome import Cause
from hindmost.jobs.outcomes import RunRecord, Standing, standing
from hindmost.jobs.plan.plan import Allocation
from hindmost.jobs.schedulers.scheduler import Job, JobState, Scheduler
from hindmost.statuses import WORK_IS_LEFT

LIVE = frozenset({JobState.PENDING, JobState.STUCK, JobState.RUNNING})
"""States of jobs that have not ended."""


class RunState(StrEnum):
    """Where a run stands, in the words of ``hindmost status``."""

    DONE = "done"
    RUNNING = "running"
    WAITING = "waiting"
    """Its allocation's job is queued or going."""
    LEFT = "left"
    """No job would do it."""
    FAILED = "failed for good"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationState:
    """How an allocation stands.

    Attributes
    ----------
    allocation : Allocation
    runs : dict of str to RunState
        By the ids of its runs.
    job : Job or None
        The last one, None if none was submitted; UNKNOWN where its scheduler could not be asked.
    driven : bool
        A driver is at work on it, as far as locks reach.
    """

    allocation: Allocation
    runs: dict[str, RunState]
    job: Job | None
    driven: bool

    @property
    def live(self) -> bool:
        """Whether something does it, or is going to."""
        return self.driven or (self.job is not None and self.job.state in LIVE)

    @property
    def counts(self) -> Counter[RunState]:
        """Runs in each state."""
        return Counter(self.runs.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A run that failed for good.

    Attributes
    ----------
    run : str
    cause : Cause
    status : int
        Exit status; minus the signal's number where one ended it.
    attempt : int
        The last one.
    message : str
    """

    run: str
    cause: Cause
    status: int
    attempt: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyState:
    """How a study stands.

    Attributes
    ----------
    allocations : tuple of AllocationState
    failures : tuple of Failure
    remark : str
        Why the scheduler could not be asked; may be empty.
    """

    allocations: tuple[AllocationState, ...]
    failures: tuple[Failure, ...]
    remark: str = ""

    @property
    def counts(self) -> Counter[RunState]:
        """Runs in each state."""
        total: Counter[RunState] = Counter()
        for each in self.allocations:
            total += each.counts
        return total

    @property
    def exit_status(self) -> int:
        """0 if all runs are done, 75 if work is left, 1 if the others failed for good."""
        counts = self.counts
        if counts[RunState.LEFT] or counts[RunState.WAITING] or counts[RunState.RUNNING]:
            return WORK_IS_LEFT
        return 1 if counts[RunState.FAILED] else 0


def state_of(
    study: StudyFolder, scheduler: Scheduler, records: Mapping[str, RunRecord] | None = None
) -> StudyState:
    """Say how a study stands; a scheduler that cannot be asked is a remark."""
    records = study.records() if records is None else records
    standings = standings_of(study, records)
    last = {each.allocation: each for each in study.jobs()}
    asked = [
        last[allocation.id].job
        for allocation in study.plan.allocations
        if allocation.id in last and any(standings[run] is Standing.LEFT for run in allocation.runs)
    ]
    remark = ""
    try:
        jobs = scheduler.look(asked) if asked else {}
    except MissingError as error:
        jobs, remark = {}, str(error)
    allocations = []
    for allocation in study.plan.allocations:
        job = None
        if allocation.id in last:
            unknown = Job(id=last[allocation.id].job, state=JobState.UNKNOWN, reason="not asked")
            job = jobs.get(unknown.id, unknown)
        allocations.append(allocation_state(study, allocation, standings, job))
    failures = tuple(
        failure_of(run, records[run])
        for run, found in standings.items()
        if found is Standing.GIVEN_UP
    )
    return StudyState(allocations=tuple(allocations), failures=failures, remark=remark)


def standings_of(study: StudyFolder, records: Mapping[str, RunRecord]) -> dict[str, Standing]:
    """Say what is to be done about every run."""
    forgiven, retries = study.forgiven(), study.plan.max_retries
    return {
        run: standing(record, max_retries=retries, forgiven=forgiven.get(run, 0))
        for run, record in records.items()
    }


def allocation_state(
    study: StudyFolder, allocation: Allocation, standings: Mapping[str, Standing], job: Job | None
) -> AllocationState:
    """Say how an allocation stands."""
    left = any(standings[run] is Standing.LEFT for run in allocation.runs)
    driven = left and study.has_driver(allocation.id)
    live = driven or (job is not None and job.state in LIVE)
    going = noted(study, allocation.id) if left and live else None
    words = {
        Standing.DONE: RunState.DONE,
        Standing.GIVEN_UP: RunState.FAILED,
        Standing.LEFT: RunState.WAITING if live else RunState.LEFT,
    }
    runs = {run: words[standings[run]] for run in allocation.runs}
    if going is not None and runs.get(going.run) is RunState.WAITING:
        runs[going.run] = RunState.RUNNING
    return AllocationState(allocation=allocation, runs=runs, job=job, driven=driven)


def failure_of(run: str, record: RunRecord) -> Failure:
    """Say how a run failed for good."""
    last = record.outcomes[-1]
    return Failure(
        run=run,
        cause=last.cause,
        status=last.status,
        attempt=last.attempt,
        message=last.message,
    )
