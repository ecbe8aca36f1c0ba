"""The driver of an allocation: do its runs one after another until all are done or it ends."""

from __future__ import annotations

import os
import platform
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from hindmost.files import append_line, read_bytes, reason
from hindmost.harness.batch_job import JOB_VARIABLES, job_left_s
from hindmost.harness.launch import process_age_s
from hindmost.jobs.core.durable import DISK_FULL, locked
from hindmost.jobs.core.plan import Allocation
from hindmost.jobs.drive.attempt import DiskFullError, DriverContext, attempt, settle
from hindmost.jobs.drive.process import PATIENCE_S, Signals
from hindmost.jobs.folder import StudyFolder, now
from hindmost.jobs.launchers import Launcher
from hindmost.jobs.outcomes import Cause, Completion, RunRecord
from hindmost.statuses import A_FINDING, WORK_IS_LEFT


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
    end_s: float | None = None,
    grace_s: float = 10.0,
) -> int:
    """Do the remaining runs of an allocation.

    Parameters
    ----------
    end_s : float, optional
        When the allocation ends, see `DriverContext`; determined if not given.

    Returns
    -------
    int
        Exit status: 0 all done, 1 all remaining runs failed for good, 75 runs remain.

    Raises
    ------
    UsageError
        Another driver is running for this allocation.
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
            script_sha256=sha256(read_bytes(script)).hexdigest() if script.is_file() else "",
            launcher=launcher,
            end_s=end_s or end_here(allocation.walltime_s),
            signals=signals,
            grace_s=grace_s,
        )
        log(f"job {here.job} on {', '.join(here.nodes)}: {here.left_s:.0f} s left")
        try:
            why = do_runs(allocation, here, log)
        except DiskFullError as error:
            why = str(error)
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            why = f"no room on the disk: {reason(error)}"
        count = Counter(study.completions(study.records(allocation.runs)).values())
        status = A_FINDING if count[Completion.GIVEN_UP] else 0
        status = WORK_IS_LEFT if count[Completion.LEFT] else status
        log(f"ends with {status}: {why}")
    return status


def do_runs(allocation: Allocation, here: DriverContext, log: Callable[[str], None]) -> str:
    """Do runs until none remains or none may start; return why."""
    study = here.study
    if settle(study, allocation.runs):
        log("an earlier driver was killed during a run; the run is repeated")
    records = study.records(allocation.runs)
    waiting = deque(
        study.planned[run]
        for run, found in study.completions(records).items()
        if found is Completion.LEFT
    )
    begun = False
    while waiting:
        if here.signals.no_more:
            return "a signal asked to start no more runs"
        run = waiting.popleft()
        # A plan may leave no time for the start of a job. The first run, which would be first in
        # every later job too, only has to end before the allocation.
        reserve_s = allocation.stop_before_s if begun else here.grace_s
        if run.limit_s + reserve_s > here.left_s:
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
        after = study.completions({run.id: records[run.id]})[run.id]
        if outcome.cause is Cause.CRASHED and after is Completion.LEFT:
            waiting.append(run)
    return "no run remains to start"


def end_here(walltime_s: float, environment: Mapping[str, str] = os.environ) -> float:
    """Return the end of the allocation around this process, on its monotonic clock.

    The scheduler's answer counts, since a person may have edited the script; without one, the end
    is the plan's wall time after the start of the script. A scheduler's warning signal is less
    reliable: it comes tens of seconds early or late.

    Parameters
    ----------
    walltime_s : float
        From the plan.
    """
    left_s = job_left_s(environment)
    if left_s is None:
        left_s = walltime_s - process_age_s()
    return time.monotonic() + left_s


def job_here(scheduler: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the scheduler's id of this job; outside of jobs, one made of the process id."""
    return environment.get(JOB_VARIABLES.get(scheduler, ""), "") or f"process-{os.getpid()}"


def nodes_here(scheduler: str, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the names of the allocation's nodes; this host if the scheduler names none.

    Slurm's are one name, in its short form ``n[08-10,12]``.
    """
    if scheduler == "slurm" and (names := environment.get("SLURM_JOB_NODELIST")):
        return (names,)
    if scheduler == "pbs" and (file := environment.get("PBS_NODEFILE")):
        try:
            lines = Path(file).read_text().split()
        except OSError:
            lines = []
        if lines:
            return tuple(dict.fromkeys(lines))
    return (platform.node(),)
