"""The progress of a study, from the files in its folder and the states of its jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from hindmost.errors import MissingError
from hindmost.jobs.core.plan import Allocation
from hindmost.jobs.drive.current_run import read_current_run
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcomes import Cause, Completion, RunRecord
from hindmost.jobs.schedulers.scheduler import Job, JobState, Scheduler
from hindmost.statuses import WORK_IS_LEFT

LIVE = frozenset({JobState.PENDING, JobState.STUCK, JobState.RUNNING})
"""States of jobs that have not ended."""


class RunState(StrEnum):
    """The state of a run, as ``hindmost study status`` shows it."""

    DONE = "done"
    RUNNING = "running"
    WAITING = "waiting"
    """The job of its allocation is queued or running."""
    LEFT = "left"
    """No job is going to do it."""
    FAILED = "failed for good"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationState:
    """The progress of an allocation.

    Attributes
    ----------
    allocation : Allocation
    runs : dict of str to RunState
        By the ids of its runs.
    job : Job or None
        The last one, None before the first; UNKNOWN where the scheduler could not be asked.
    driven : bool
        A driver is running, as far as locks tell.
    """

    allocation: Allocation
    runs: dict[str, RunState]
    job: Job | None
    driven: bool

    @property
    def live(self) -> bool:
        """Whether a driver or a job does it, or is going to."""
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
    """The progress of a study.

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
    """Return the progress of a study; a scheduler that does not answer is a remark."""
    records = study.records() if records is None else records
    completions = study.completions(records)
    last = {each.allocation: each for each in study.jobs()}
    asked = [
        last[allocation.id].job
        for allocation in study.plan.allocations
        if allocation.id in last
        and any(completions[run] is Completion.LEFT for run in allocation.runs)
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
        allocations.append(allocation_state(study, allocation, completions, job))
    failures = tuple(
        failure_of(run, records[run])
        for run, found in completions.items()
        if found is Completion.GIVEN_UP
    )
    return StudyState(allocations=tuple(allocations), failures=failures, remark=remark)


def allocation_state(
    study: StudyFolder,
    allocation: Allocation,
    completions: Mapping[str, Completion],
    job: Job | None,
) -> AllocationState:
    """Return the progress of an allocation."""
    left = any(completions[run] is Completion.LEFT for run in allocation.runs)
    driven = left and study.has_driver(allocation.id)
    live = driven or (job is not None and job.state in LIVE)
    going = read_current_run(study, allocation.id) if left and live else None
    words = {
        Completion.DONE: RunState.DONE,
        Completion.GIVEN_UP: RunState.FAILED,
        Completion.LEFT: RunState.WAITING if live else RunState.LEFT,
    }
    runs = {run: words[completions[run]] for run in allocation.runs}
    if going is not None and runs.get(going.run) is RunState.WAITING:
        runs[going.run] = RunState.RUNNING
    return AllocationState(allocation=allocation, runs=runs, job=job, driven=driven)


def failure_of(run: str, record: RunRecord) -> Failure:
    """Describe how a run failed for good."""
    last = record.outcomes[-1]
    return Failure(
        run=run,
        cause=last.cause,
        status=last.status,
        attempt=last.attempt,
        message=last.message,
    )
