"""The progress of a study, from the files in its folder and the states of its jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass
from enum import StrEnum

from hindmost.errors import MissingError
from hindmost.jobs.core.plan import Allocation
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcomes import Completion, RunOutcome, RunRecord
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
    allocation : str
    job, state, reason, nodes
        Of its last job: see `Job`; None before the first. The state is UNKNOWN where the scheduler
        could not be asked.
    live : bool
        Whether a driver or a job does it, or is going to.
    runs : dict of str to RunState
        By the ids of its runs.
    """

    allocation: str
    job: str | None
    state: JobState | None
    reason: str | None
    nodes: str | None
    live: bool
    runs: dict[str, RunState]

    @property
    def counts(self) -> Counter[RunState]:
        """Runs in each state."""
        return Counter(self.runs.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyState:
    """The progress of a study.

    Attributes
    ----------
    counts : dict of RunState to int
        Runs in each state.
    allocations : tuple of AllocationState
    failures : tuple of RunOutcome
        The last outcomes of the runs that failed for good.
    remark : str
        Why the scheduler could not be asked; may be empty.
    """

    counts: dict[RunState, int]
    allocations: tuple[AllocationState, ...]
    failures: tuple[RunOutcome, ...]
    remark: str = ""

    @property
    def exit_status(self) -> int:
        """0 if all runs are done, 75 if work is left, 1 if the others failed for good."""
        counts = self.counts
        if counts[RunState.LEFT] or counts[RunState.WAITING] or counts[RunState.RUNNING]:
            return WORK_IS_LEFT
        return 1 if counts[RunState.FAILED] else 0


def state_of(study: StudyFolder, scheduler: Scheduler) -> StudyState:
    """Return the progress of a study; a scheduler that does not answer is a remark."""
    records = study.records()
    try:
        return progress(study, records, query_jobs(study, records, scheduler))
    except MissingError as error:
        return progress(study, records, {}, str(error))


def query_jobs(
    study: StudyFolder,
    records: Mapping[str, RunRecord],
    scheduler: Scheduler,
    wanted: Container[Completion] = (Completion.LEFT,),
) -> dict[str, Job]:
    """Return the last jobs of allocations with such runs; raises a MissingError if unknown."""
    completions = study.completions(records)
    last = {job.allocation: job.job for job in study.jobs()}
    asked = [
        last[allocation.id]
        for allocation in study.plan.allocations
        if allocation.id in last and any(completions[run] in wanted for run in allocation.runs)
    ]
    return scheduler.query(asked) if asked else {}


def progress(
    study: StudyFolder,
    records: Mapping[str, RunRecord],
    jobs: Mapping[str, Job],
    remark: str = "",
) -> StudyState:
    """Return the progress of a study, given the folders of its runs and the states of its jobs."""
    completions = study.completions(records)
    last = {job.allocation: job.job for job in study.jobs()}
    allocations = []
    for allocation in study.plan.allocations:
        job = None
        if (id := last.get(allocation.id)) is not None:
            job = jobs.get(id, Job(id=id, state=JobState.UNKNOWN, reason="not asked"))
        allocations.append(allocation_state(study, allocation, completions, records, job))
    failures = tuple(
        records[run].outcomes[-1]
        for run, found in completions.items()
        if found is Completion.GIVEN_UP
    )
    total = sum((allocation.counts for allocation in allocations), Counter[RunState]())
    return StudyState(
        counts={each: total[each] for each in RunState},
        allocations=tuple(allocations),
        failures=failures,
        remark=remark,
    )


def allocation_state(
    study: StudyFolder,
    allocation: Allocation,
    completions: Mapping[str, Completion],
    records: Mapping[str, RunRecord],
    job: Job | None,
) -> AllocationState:
    """Return the progress of an allocation."""
    left = any(completions[run] is Completion.LEFT for run in allocation.runs)
    live = (left and study.has_driver(allocation.id)) or (job is not None and job.state in LIVE)
    words = {
        Completion.DONE: RunState.DONE,
        Completion.GIVEN_UP: RunState.FAILED,
        Completion.LEFT: RunState.WAITING if live else RunState.LEFT,
    }
    runs = {run: words[completions[run]] for run in allocation.runs}
    for run, state in runs.items():
        if state is RunState.WAITING and records[run].running:
            runs[run] = RunState.RUNNING
    return AllocationState(
        allocation=allocation.id,
        job=job.id if job else None,
        state=job.state if job else None,
        reason=job.reason if job else None,
        nodes=job.nodes if job else None,
        live=live,
        runs=runs,
    )
