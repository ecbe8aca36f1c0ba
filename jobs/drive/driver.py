"""What happens inside an allocation: its runs, one after another, until it ends or they do."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hindmost.errors import UsageError
from hindmost.jobs.drive import running
from hindmost.jobs.drive.attempt import DiskFullError, Surroundings, attempt
from hindmost.jobs.drive.deadline import Deadline, deadline_here
from hindmost.jobs.drive.nodes import job_here, nodes_here
from hindmost.jobs.drive.signals import Signals
from hindmost.jobs.durable import DISK_FULL, locked
from hindmost.jobs.folder import StudyFolder, now
from hindmost.jobs.launchers.launcher import Launcher
from hindmost.jobs.outcome import Cause
from hindmost.jobs.outcomes import RunRecord, Standing, standing
from hindmost.jobs.plan.plan import Allocation, PlannedRun
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.statuses import WORK_IS_LEFT

FAILED_FOR_GOOD = 1
PATIENCE_S = 2.0
"""With the lock: whoever asks for the status of a study holds it for a moment."""
GRACE_S = 10.0
"""Between TERM and KILL: a rank writes its file within."""


class Log:
    """The log of an allocation's driver; what cannot be written is not missed."""

    def __init__(self, study: StudyFolder, allocation: str) -> None:
        self.path = study.allocation(allocation) / "driver.log"

    def __call__(self, text: str) -> None:
        """Add a line."""
        with suppress(OSError), self.path.open("a", encoding="utf-8") as file:
            file.write(f"{now()} {text}\n")


def drive(
    study: StudyFolder,
    name: str,
    launcher: Launcher,
    *,
    deadline: Deadline | None = None,
    grace_s: float = GRACE_S,
) -> int:
    """Do the runs of an allocation that are left.

    Parameters
    ----------
    deadline : Deadline, optional
        Found out if not given.

    Returns
    -------
    int
        Exit status: 0 all are done, 1 the others failed for good, 75 work is left.

    Raises
    ------
    UsageError
        Another driver does this allocation, or its wall time is too short for any run.
    """
    allocation = study.find_allocation(name)
    study.allocation(name).mkdir(parents=True, exist_ok=True)
    who = f"Another driver is at work on allocation {name} of {study.path}; its log is there."
    log = Log(study, name)
    scheduler = study.plan.machine.scheduler
    job = job_here(scheduler)
    with locked(study.driver_lock(name), who, patience_s=PATIENCE_S) as held, Signals() as signals:
        if not held:
            log("the file system has no locks: nothing keeps a second driver away")
        here = Surroundings(
            study=study,
            allocation=name,
            job=job,
            nodes=nodes_here(scheduler),
            script_sha256=sha256_of(study.script(name)),
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
        log(f"job {here.job} on {', '.join(here.nodes)}: {here.deadline.left_s:.0f} s to its end")
        try:
            why = do_runs(allocation, here, log)
        except DiskFullError as error:
            why = str(error)
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            why = f"no room on the disk: {error}"
        status = status_of(allocation, study)
        log(f"ends with {status}: {why}")
    return status


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file; empty if it is not there."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def do_runs(allocation: Allocation, here: Surroundings, log: Callable[[str], None]) -> str:
    """Do runs until none is left or none may be begun; returns why it ended."""
    study = here.study
    if running.settle(study, allocation.id, Cause.STOPPED, "The driver was killed.") is not None:
        log("an earlier driver was killed in a run, which is done again")
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
            return "a signal asked to begin no more runs"
        run = waiting.popleft()
        # A plan may leave no time for the start of a job: the first run, which would be the first
        # of every later job too, only has to end before the allocation does.
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
        # A stopped run is left to the next job; a crashed one is tried again after all others.
        again = is_left(study, records[run.id], forgiven.get(run.id, 0))
        if outcome.cause is Cause.CRASHED and again:
            waiting.append(run)
    return "no run is left to begin"


def is_left(study: StudyFolder, record: RunRecord, forgiven: int) -> bool:
    """Tell whether a run is to be done, or done again."""
    retries = study.plan.max_retries
    return standing(record, max_retries=retries, forgiven=forgiven) is Standing.LEFT


def refuse_too_short(
    allocation: Allocation, waiting: deque[PlannedRun], here: Surroundings
) -> None:
    """Refuse an allocation that could never begin its next run."""
    if waiting and waiting[0].limit_s + allocation.stop_before_s > allocation.walltime_s:
        raise UsageError(
            f"Allocation {allocation.id} has {allocation.walltime_s:g} s, too short for a run that "
            f"may take {waiting[0].limit_s:g} s to end {allocation.stop_before_s:g} s before its "
            "end. Set the study's limits: job above run and stop_before together."
        )


def status_of(allocation: Allocation, study: StudyFolder) -> int:
    """Return the exit status: what the files say of an allocation's runs."""
    forgiven = study.forgiven()
    count = Counter(
        standing(record, max_retries=study.plan.max_retries, forgiven=forgiven.get(run, 0))
        for run, record in study.records(allocation.runs).items()
    )
    if count[Standing.LEFT]:
        return WORK_IS_LEFT
    return FAILED_FOR_GOOD if count[Standing.GIVEN_UP] else 0
