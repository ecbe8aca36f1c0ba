"""Slurm: sbatch queues, squeue and sacct report, scancel cancels.

squeue forgets a job some minutes after its end (``MinJobAge``); sacct never does, but only where
the site has accounting. A job that neither knows is UNKNOWN.
"""

from __future__ import annotations

import math
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from hindmost.errors import MissingError
from hindmost.harness.batch_job import Answer, call
from hindmost.jobs.schedulers.scheduler import (
    OUTPUT,
    Job,
    JobState,
    Script,
    batches,
    directives,
    environment_of_jobs,
    fill_template,
    not_submitted,
    states_by_word,
)
from hindmost.statuses import WORK_IS_LEFT
from hindmost.text import clock

_SQUEUE_FIELDS = ("JobID", "State", "Reason", "exit_code", "NodeList")
_SACCT_FIELDS = ("JobIDRaw", "State", "Reason", "ExitCode", "NodeList", "Eligible")


class Slurm:
    """Jobs of Slurm, 20.11 and later."""

    name = "slurm"

    def render(self, script: Script) -> str:
        """Return the script: byte for byte the same text for the same allocation.

        Raises
        ------
        UsageError
            A value has a line break, or a name is not valid for a variable.
        """
        machine, allocation = script.machine, script.allocation
        # Slurm reads quotes in directives as a shell does, and a percent sign as a placeholder.
        place = str(script.folder / OUTPUT / allocation.id).replace("%", "%%") + "-%j.out"
        warning_s = max(1, math.ceil(allocation.stop_before_s))

        def option(name: str, value: str) -> str:
            return f"--{name}={shlex.quote(value)}" if value else ""

        head = directives(
            script,
            "#SBATCH",
            option("job-name", f"{script.study}-{allocation.id}"),
            option("output", place),
            option("partition", machine.partition),
            option("account", machine.account),
            option("qos", machine.qos),
            option("constraint", machine.constraint),
            f"--nodes={allocation.nodes}",
            # At most the cores, or no node would fit: srun --overcommit starts the other ranks.
            f"--ntasks-per-node={min(allocation.ranks_per_node, machine.cores_per_node)}",
            "--exclusive" if machine.exclusive else "",
            f"--time={clock(allocation.walltime_s, hour_digits=2)}",
            f"--signal=B:USR1@{warning_s}",
            "--no-requeue",
        )
        return fill_template("slurm.sh", script, directives=head)

    def submit(self, path: Path) -> str:
        """Submit a script and return the id of its job.

        Raises
        ------
        UsageError
            Slurm refused it.
        MissingError
            sbatch does not exist or got no answer; the job may still be queued.
        """
        text = path.read_text(errors="replace") if path.is_file() else ""
        environment = environment_of_jobs(text)
        answer = call("sbatch", "--parsable", "--", str(path), environment=environment)
        id = answer.out.strip().split(";")[0]
        if answer.status or not id.isdigit():
            raise not_submitted("sbatch", path, answer)
        return id

    def query(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return the states of jobs; UNKNOWN for a job that Slurm does not know.

        Raises
        ------
        MissingError
            Slurm does not answer, so the states are unknown.
        """
        found: dict[str, Job] = {}
        for batch in batches(ids):
            found |= _squeue(batch)
        for batch in batches([id for id in ids if id not in found]):
            found |= _sacct(batch)
        return {id: found[id] for id in ids}

    def cancel(self, ids: Sequence[str]) -> None:
        """Cancel jobs; ended and unknown ones are ignored.

        Raises
        ------
        MissingError
            Slurm does not answer, or refuses to cancel the jobs.
        """
        for batch in batches(ids):
            # The exit status is useless: it is 0 for ids that never existed.
            answer = call("scancel", *batch)
            denied = [line for line in answer.err.splitlines() if _matters(line)]
            if denied:
                raise MissingError(
                    f"scancel: {denied[0].strip()}. Try again, or ask the administrators of Slurm."
                )


def _matters(complaint: str) -> bool:
    """Tell whether a message of scancel is an error, not just that there is nothing to cancel."""
    harmless = ("Invalid job id", "already completing or completed", "Job/step already")
    return bool(complaint.strip()) and not any(each in complaint for each in harmless)


def _squeue(ids: list[str]) -> dict[str, Job]:
    """Ask for jobs in Slurm's memory, including ended ones."""
    fields = ",".join(f"{name}:|" for name in _SQUEUE_FIELDS)
    answer = call("squeue", "--noheader", "--states=all", f"--jobs={','.join(ids)}", "-O", fields)
    if answer.status and "Invalid job id" not in answer.err:  # a single unknown id
        raise MissingError(f"squeue: {answer.complaint}. Slurm does not answer; ask again later.")
    found = {}
    for line in answer.out.splitlines():
        row = [value.strip() for value in line.split("|")]
        if len(row) > len(_SQUEUE_FIELDS) and row[0] in ids:
            # As from wait(): the signal in the low bits, the status above.
            ended = int(row[3]) if row[3].isdecimal() else 0
            status, signal = ended >> 8 & 255, ended & 127
            found[row[0]] = job(row[0], row[1], row[2], status, signal, row[4])
    return found


def _sacct(ids: list[str]) -> dict[str, Job]:
    """Ask for jobs in the site's accounting; the reason of unknown jobs tells why."""
    words = ("--parsable2", "--noheader", "--allocations", f"--format={','.join(_SACCT_FIELDS)}")
    if shutil.which("sacct") is None:
        answer = Answer(status=1, out="", err="not installed")
    else:
        answer = call("sacct", *words, f"--jobs={','.join(ids)}")
    nothing = answer.complaint if answer.status else "no such job"
    found = {id: _unknown(id, f"unknown to Slurm (sacct: {nothing})") for id in ids}
    for line in answer.out.splitlines():
        row = line.split("|")
        if len(row) != len(_SACCT_FIELDS) or row[0] not in ids:
            continue
        status, _, signal = row[3].partition(":")
        reason, nodes = row[2], row[4].replace("None assigned", "")
        if row[1] == "CANCELLED" and row[5] == "Unknown":
            # Nobody cancelled it, and it never might begin: accounting keeps who cancelled, and of
            # the reason "Dependency", or "None" if what it depended on had failed before.
            reason = "DependencyNeverSatisfied"
        told = job(row[0], row[1], reason, int(status or 0), int(signal or 0), nodes)
        if told.state in (JobState.PENDING, JobState.STUCK, JobState.RUNNING):
            # Not in squeue: its end did not reach the accounting.
            told = _unknown(row[0], f"sacct reports {row[1]}, but the job is unknown to Slurm")
        found[told.id] = told
    return found


def _unknown(id: str, reason: str) -> Job:
    return Job(id=id, state=JobState.UNKNOWN, reason=reason)


SLURM = Slurm()
"""The scheduler ``slurm``."""


STATES = states_by_word(
    {
        # of REVOKED another cluster of the federation runs it
        JobState.PENDING: "PENDING CONFIGURING REQUEUED REQUEUE_FED POWER_UP_NODE REVOKED",
        JobState.STUCK: "REQUEUE_HOLD RESV_DEL_HOLD SPECIAL_EXIT",
        JobState.RUNNING: "RUNNING COMPLETING EXPEDITING RESIZING SIGNALING STAGE_OUT STOPPED "
        "SUSPENDED UPDATE_DB",
        JobState.COMPLETED: "COMPLETED",
        JobState.FAILED: "FAILED",
        JobState.TIME_LIMIT: "TIMEOUT DEADLINE",
        JobState.MEMORY: "OUT_OF_MEMORY",
        JobState.NODE_FAILED: "NODE_FAIL BOOT_FAIL LAUNCH_FAILED RECONFIG_FAIL",
        JobState.PREEMPTED: "PREEMPTED",
        JobState.CANCELLED: "CANCELLED",
    }
)
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
