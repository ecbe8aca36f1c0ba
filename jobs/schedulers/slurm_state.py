"""Job states of Slurm, from state and reason, since the exit status is not enough.

A job on a failed node ends with exit status 0, and so does a job whose dependency can never be
satisfied. A job that no partition can hold is accepted and stays pending.
"""

from __future__ import annotations

import re

from hindmost.jobs.schedulers.scheduler import Job, JobState
from hindmost.statuses import WORK_IS_LEFT

STATES = {
    "PENDING": JobState.PENDING,
    "CONFIGURING": JobState.PENDING,
    "REQUEUED": JobState.PENDING,
    "REQUEUE_FED": JobState.PENDING,
    "REQUEUE_HOLD": JobState.STUCK,
    "RESV_DEL_HOLD": JobState.STUCK,
    "SPECIAL_EXIT": JobState.STUCK,
    "POWER_UP_NODE": JobState.PENDING,
    "REVOKED": JobState.PENDING,  # another cluster of the federation runs it
    "RUNNING": JobState.RUNNING,
    "COMPLETING": JobState.RUNNING,
    "EXPEDITING": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STAGE_OUT": JobState.RUNNING,
    "STOPPED": JobState.RUNNING,
    "SUSPENDED": JobState.RUNNING,
    "UPDATE_DB": JobState.RUNNING,
    "COMPLETED": JobState.COMPLETED,
    "FAILED": JobState.FAILED,
    "TIMEOUT": JobState.TIME_LIMIT,
    "DEADLINE": JobState.TIME_LIMIT,
    "OUT_OF_MEMORY": JobState.MEMORY,
    "NODE_FAIL": JobState.NODE_FAILED,
    "BOOT_FAIL": JobState.NODE_FAILED,
    "LAUNCH_FAILED": JobState.NODE_FAILED,
    "RECONFIG_FAIL": JobState.NODE_FAILED,
    "PREEMPTED": JobState.PREEMPTED,
    "CANCELLED": JobState.CANCELLED,
}
"""Slurm's states up to version 24.11; all others are UNKNOWN."""

STUCK_REASONS = re.compile(
    r"""PartitionConfig | PartitionTimeLimit | PartitionNodeLimit | PartitionInactive
      | AccountNotAllowed | InvalidAccount | InvalidQOS | QOSNotAllowed | QOSTimeLimit
      | BadConstraints | MaxMemPerLimit | DeadLine | Reservation(Deleted|Invalid)
      | JobHeldUser | JobHeldAdmin | JobHoldMaxRequeue | JobLaunchFailure
      | (Assoc|QOS)\w*Per(Job|Node)\w* | QOSMin\w*
      | (Assoc|QOS)Grp(?!\w*RunMinutes)\w*Minutes\w*
      | launch_failed_requeued_held | job_requeued_in_held_state""",
    re.VERBOSE,
)
"""Reasons of pending jobs that never go away."""


def job(id: str, state: str, reason: str, status: int, signal: int, nodes: str) -> Job:
    """Return the state of a job.

    Parameters
    ----------
    id : str
        Slurm's.
    state : str
        In Slurm's words, also ``CANCELLED by 1000`` of sacct.
    reason : str
        In Slurm's words; ``None`` for no reason.
    status, signal : int
        How the script ended.
    nodes : str
    """
    word = (state.split() or [""])[0].rstrip("+")
    meant = STATES.get(word, JobState.UNKNOWN)
    because = reason.replace(" ", "_")
    if because == "DependencyNeverSatisfied":
        meant = JobState.DEPENDENCY
    elif meant is JobState.PENDING and STUCK_REASONS.fullmatch(because):
        meant = JobState.STUCK
    elif meant is JobState.FAILED and status == WORK_IS_LEFT and not signal:
        meant = JobState.LEFT
    elif meant is JobState.COMPLETED and (status or signal):
        meant = JobState.FAILED
    said = reason if reason not in ("", "None", "(null)") else ""
    told = [word or "no state", said, f"exit {status}:{signal}" if meant in _ENDED else ""]
    return Job(id=id, state=meant, reason=", ".join(filter(None, told)), nodes=nodes)


_ENDED = frozenset(JobState) - {JobState.PENDING, JobState.STUCK, JobState.RUNNING}
