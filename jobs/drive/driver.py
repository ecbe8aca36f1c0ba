"""The driver of an allocation: do its runs one after another until all are done or it ends."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress

from hindmost.errors import UsageError
from hindmost.files import append_line, read_bytes, reason
from hindmost.jobs.core.durable import DISK_FULL, locked
from hindmost.jobs.core.plan import Allocation, PlannedRun
from hindmost.jobs.drive import current_run
from hindmost.jobs.drive.attempt import DiskFullError, DriverContext, attempt
from hindmost.jobs.drive.nodes import job_here, nodes_here
from hindmost.jobs.drive.signals import Deadline, Signals, deadline_here
from hindmost.jobs.folder import StudyFolder, now, sum_of
from hindmost.jobs.launchers.launcher import Launcher
from hindmost.jobs.outcomes import Cause, Completion, RunRecord, completion_of
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.statuses import WORK_IS_LEFT

FAILED_FOR_GOOD = 1
PATIENCE_S = 2.0
"""Wait for the lock: 'hindmost study status' holds it for a moment."""
GRACE_S = 10.0
"""Between TERM and KILL; enough for a rank to write its file."""


class Log:
    """The log of an allocation's driver; lines that cannot be written are dropped."""

    def __init__(self, study: StudyFolder, allocation: str) -> None:
        self.path = study.allocation(allocation) / "driver.log"

    def __call__(self, text: str) -> None:
        """Add a line."""
        with suppress(OSError):
            append_line(self.path, f"{now()} {text}")


def drive(
    study: StudyFolder,
    name: str,
    launcher: Launcher,
    *,
    deadline: Deadline | None = None,
    grace_s: float = GRACE_S,
) -> int:
    """Do the remaining runs of an allocation.

    Parameters
    ----------
    deadline : Deadline, optional
        Determined if not given.

    Returns
    -------
    int
        Exit status: 0 all done, 1 all remaining runs failed for good, 75 runs remain.

    Raises
    ------
    UsageError
        Another driver is running for this allocation, or its walltime is too short for any run.
    """
    allocation = study.find_allocation(name)
    study.allocation(name).mkdir(parents=True, exist_ok=True)
    who = f"Another driver is running for allocation {name} of {study.path}; see its driver.log."
    log = Log(study, name)
    scheduler = study.plan.machine.scheduler
    job = job_here(scheduler)
    with locked(study.driver_lock(name), who, patience_s=PATIENCE_S) as held, Signals() as signals:
        if not held:
            log("the file system has no locks: a second driver cannot be kept out")
        script = study.script(name)
        here = DriverContext(
            study=study,
            allocation=name,
            job=job,
            nodes=nodes_here(scheduler),
            script_sha256=sum_of(read_bytes(script)) if script.is_file() else "",
            launcher=launcher,
            deadline=deadline
            or deadline_here(
                allocation.walltime_s,
                allocation.stop_before_s,
                ask=lambda: SCHEDULERS[scheduler].left_s(job),
            ),
            signals=signals,
            grace_s=grace_s,
        )
        log(f"job {here.job} on {', '.join(here.nodes)}: {here.deadline.left_s:.0f} s left")
        try:
            why = do_runs(allocation, here, log)
        except DiskFullError as error:
            why = str(error)
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            why = f"no room on the disk: {reason(error)}"
        status = status_of(allocation, study)
        log(f"ends with {status}: {why}")
    return status


def do_runs(allocation: Allocation, here: DriverContext, log: Callable[[str], None]) -> str:
    """Do runs until none remains or none may start; return why."""
    study = here.study
    if current_run.settle(study, allocation.id, Cause.STOPPED, "The driver was killed."):
        log("an earlier driver was killed during a run; the run is repeated")
    forgiven = study.forgiven()
    records = study.records(allocation.runs)
    waiting = deque(
        study.planned[each]
        for each in allocation.runs
        if is_left(study, records[each], forgiven.get(each, 0))
    )
    refuse_too_short(allocation, waiting, here)
    begun = False
    while waiting:
        if here.signals.no_more:
            return "a signal asked to start no more runs"
        run = waiting.popleft()
        # A plan may leave no time for the start of a job. The first run, which would be first in
        # every later job too, only has to end before the allocation.
        needed_s = run.limit_s if begun else run.limit_s + here.grace_s
        if not here.deadline.fits(needed_s, whole=not begun):
            return f"run {run.id} may not end in time"
        begun = True
        record = records[run.id]
        log(f"run {run.id}, attempt {record.attempts + 1}")
        outcome = attempt(run, record.attempts + 1, here)
        log(f"run {run.id}: {outcome.cause}, status {outcome.status}, {outcome.seconds:.1f} s")
        records[run.id] = RunRecord(outcomes=(*record.outcomes, outcome), files=record.files)
        if outcome.cause is Cause.NODE_FAILED:
            return "a node failed"
        # The next job repeats a stopped run; this one repeats a crashed run after all others.
        again = is_left(study, records[run.id], forgiven.get(run.id, 0))
        if outcome.cause is Cause.CRASHED and again:
            waiting.append(run)
    return "no run remains to start"


def is_left(study: StudyFolder, record: RunRecord, forgiven: int) -> bool:
    """Tell whether a run remains to be done or repeated."""
    retries = study.plan.max_retries
    return completion_of(record, max_retries=retries, forgiven=forgiven) is Completion.LEFT


def refuse_too_short(
    allocation: Allocation, waiting: deque[PlannedRun], here: DriverContext
) -> None:
    """Refuse an allocation that could never start its next run."""
    if waiting and waiting[0].limit_s + allocation.stop_before_s > allocation.walltime_s:
        raise UsageError(
            f"Allocation {allocation.id} has {allocation.walltime_s:g} s: too short for a run of "
            f"up to {waiting[0].limit_s:g} s that ends {allocation.stop_before_s:g} s before it. "
            "Set limits.job of the study above the sum of limits.run and limits.stop_before."
        )


def status_of(allocation: Allocation, study: StudyFolder) -> int:
    """Return the exit status, from the files of an allocation's runs."""
    forgiven = study.forgiven()
    count = Counter(
        completion_of(record, max_retries=study.plan.max_retries, forgiven=forgiven.get(run, 0))
        for run, record in study.records(allocation.runs).items()
    )
    if count[Completion.LEFT]:
        return WORK_IS_LEFT
    return FAILED_FOR_GOOD if count[Completion.GIVEN_UP] else 0
