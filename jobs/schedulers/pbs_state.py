"""Job states of PBS, from state, exit status and the server's comment.

From the PBS Professional Reference Guide (job states, job exit codes) and OpenPBS's ``job.h``.
"""

from __future__ import annotations

import re
from typing import Any

from hindmost.jobs.schedulers.scheduler import Job, JobState
from hindmost.statuses import WORK_IS_LEFT

STATES = {
    "Q": JobState.PENDING,
    "W": JobState.PENDING,  # waits for its start time
    "T": JobState.PENDING,  # moving to another server
    "H": JobState.STUCK,
    "M": JobState.PENDING,  # moved: another server runs it, so it must not be submitted again
    "B": JobState.RUNNING,
    "R": JobState.RUNNING,
    "E": JobState.RUNNING,  # ends
    "S": JobState.RUNNING,
    "U": JobState.RUNNING,
    "X": JobState.COMPLETED,
    "F": JobState.COMPLETED,
}
"""PBS's states; the exit status refines that of an ended job."""

OWN_STATUS = {
    -3: JobState.NODE_FAILED,  # failed before its files were staged, to be tried again
    -4: JobState.NODE_FAILED,  # MoM started anew
    -5: JobState.NODE_FAILED,
    -6: JobState.NODE_FAILED,
    -11: JobState.PREEMPTED,  # to be run again
    -12: JobState.PREEMPTED,  # checkpointed and killed
    -18: JobState.PREEMPTED,  # a hook put it back
    -19: JobState.CANCELLED,  # a hook deleted it
    -20: JobState.NODE_FAILED,  # mother superior lost
    -26: JobState.MEMORY,
    -27: JobState.MEMORY,
    -28: JobState.TIME_LIMIT,  # of the processors
    -29: JobState.TIME_LIMIT,
    -30: JobState.NODE_FAILED,  # nodes did not join
    -31: JobState.MEMORY,
    -32: JobState.NODE_FAILED,
}
"""Negative exit statuses of PBS itself; those not listed are failures."""

KILLED = re.compile(r"job killed: (\w+) .*exceeded limit")
"""MoM's comment on a job that exceeded its request."""
OVERDRAWN = {
    "mem": JobState.MEMORY,
    "vmem": JobState.MEMORY,
    "pmem": JobState.MEMORY,
    "pvmem": JobState.MEMORY,
    "walltime": JobState.TIME_LIMIT,
    "cput": JobState.TIME_LIMIT,
    "pcput": JobState.TIME_LIMIT,
}

DELETED_SUBSTATE = 91
"""A job that qdel ended, or that never ran; 92 means it ended by itself, 93 a failure."""

_SIGNAL_BASE = 256
_TERM, _KILL = 15, 9


def job(id: str, told: dict[str, Any]) -> Job:
    """Return the state of a job.

    Parameters
    ----------
    id : str
        PBS's.
    told : dict
        The answer of ``qstat -x -f -F json``.
    """
    letter = str(told.get("job_state", ""))
    meant = STATES.get(letter, JobState.UNKNOWN)
    comment = " ".join(str(told.get("comment", "")).split())
    status = told.get("Exit_status")
    if meant is JobState.PENDING and "can never run" in comment.lower():
        meant = JobState.STUCK
    elif meant is JobState.STUCK and told.get("depend") and "s" in str(told.get("Hold_Types", "")):
        meant = JobState.PENDING  # the hold goes away with the job that it depends on
    elif meant is JobState.COMPLETED:
        meant = _end(told, comment)
    words = [f"state {letter}" if letter else "no state", comment]
    words += [f"exit {status}"] if status is not None else []
    return Job(
        id=id,
        state=meant,
        reason=", ".join(filter(None, words)),
        nodes=_nodes(str(told.get("exec_host", ""))),
    )


def _end(told: dict[str, Any], comment: str) -> JobState:
    """Tell ends apart; one without a status never began, and is no success."""
    deleted = str(told.get("substate")) == str(DELETED_SUBSTATE)
    try:
        status = int(str(told.get("Exit_status")))
    except ValueError:
        # OpenPBS 23.06 says nothing, but leaves the dependency that failed.
        if "depend" in comment.lower() or (told.get("depend") and not deleted):
            return JobState.DEPENDENCY
        return JobState.CANCELLED if deleted else JobState.UNKNOWN
    if status < 0:
        return OWN_STATUS.get(status, JobState.FAILED)
    killed = KILLED.search(comment)
    if killed is not None and killed[1] in OVERDRAWN:
        return OVERDRAWN[killed[1]]
    # The end of the walltime and qdel both come as TERM, then KILL.
    if "exceeded resource walltime" in comment.lower() or (status and _time_is_up(told)):
        return JobState.TIME_LIMIT
    if status in (_SIGNAL_BASE + _TERM, _SIGNAL_BASE + _KILL) or deleted:
        return JobState.CANCELLED
    if status == WORK_IS_LEFT:
        return JobState.LEFT
    return JobState.COMPLETED if status == 0 else JobState.FAILED


def _time_is_up(told: dict[str, Any]) -> bool:
    """Tell whether a job used all the time that it asked for."""
    used, asked = (
        _seconds(str(dict(told.get(what) or {}).get("walltime", "")))
        for what in ("resources_used", "Resource_List")
    )
    return used is not None and asked is not None and used >= asked


def _seconds(clock: str) -> int | None:
    """Read ``HH:MM:SS``; None where it is something else."""
    found = re.fullmatch(r"(\d+):(\d\d):(\d\d)", clock)
    return int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3]) if found else None


def _nodes(hosts: str) -> str:
    """Return the nodes of ``n0/0*2+n1/0*2``, each once."""
    names = [re.split(r"[/:]", each)[0].strip("( )") for each in hosts.split("+")]
    return ",".join(dict.fromkeys(filter(None, names)))
