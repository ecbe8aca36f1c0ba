"""PBS Professional and OpenPBS: qsub queues, qstat reports, qdel cancels.

Tests check the scripts against the documented grammar of qsub, and the calls against what an
OpenPBS 23.06 answered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hindmost.errors import MissingError, UsageError
from hindmost.harness.batch_job import Answer, call
from hindmost.jobs.core.values import fill
from hindmost.jobs.schedulers.scheduler import (
    OUTPUT,
    Job,
    JobState,
    Script,
    directives,
    environment_of_jobs,
    fill_template,
    not_submitted,
    states_by_word,
)
from hindmost.statuses import WORK_IS_LEFT
from hindmost.text import clock, parse_duration

_ID = re.compile(r"\d+(\[\d*\])?(\.[\w.-]+)?")
_GONE = ("Unknown Job Id", "Job has finished")
"""What qstat says of a job that it does not know, or not any more."""


class Pbs:
    """Jobs of PBS Professional and OpenPBS, 18 and later."""

    name = "pbs"

    def render(self, script: Script) -> str:
        """Return the script: byte for byte the same text for the same allocation.

        Raises
        ------
        UsageError
            A directive cannot contain a value.
        """
        machine, allocation = script.machine, script.allocation
        numbers = {
            "nodes": allocation.nodes,
            "ranks_per_node": allocation.ranks_per_node,
            "ppn": allocation.ranks_per_node,
            "cores_per_node": machine.cores_per_node,
        }
        cores = machine.cores_per_node
        if not machine.exclusive:
            cores = min(cores, allocation.ranks_per_node)
        select = machine.select or f"{{nodes}}:ncpus={cores}:mpiprocs={{ranks_per_node}}"
        place = machine.place or ("scatter:excl" if machine.exclusive else "scatter")
        of = f"of machine '{machine.name}'"

        def requested(key: str, text: str) -> str:
            where = f"{key} {of}"
            return _word(fill(text, numbers), where)

        output = (
            f"{script.folder / OUTPUT}/"  # a folder: PBS adds a file name with the job's number
        )
        head = directives(
            script,
            "#PBS",
            f"-N {re.sub(r'[^A-Za-z0-9+_.-]', '-', f'{script.study}-{allocation.id}')}",
            "-S /bin/bash",
            f"-o {_word(output, 'The folder of the study')}",
            "-j oe",
            f"-q {_word(machine.partition, f'partition {of}')}" if machine.partition else "",
            f"-A {_word(machine.account, f'account {of}')}" if machine.account else "",
            f"-l select={requested('select', select)}",
            f"-l place={requested('place', place)}",
            f"-l walltime={clock(allocation.walltime_s, hour_digits=2)}",
            "-r n",
        )
        return fill_template("pbs.sh", script, directives=head)

    def submit(self, path: Path) -> str:
        """Submit a script and return the id of its job.

        Raises
        ------
        UsageError
            PBS refused it.
        MissingError
            qsub does not exist or got no answer; the job may still be queued.
        """
        answer = call("qsub", str(path), environment=environment_of_jobs())
        words = answer.out.split()
        if answer.status or not words or not _ID.fullmatch(words[-1]):
            raise not_submitted("qsub", path, answer)
        return words[-1]

    def query(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return the states of jobs; UNKNOWN for a job of which PBS says that it does not know it.

        Each job has a call of its own: asked for several in JSON, OpenPBS 23.06 answers for the
        first one only, with exit status 0.

        Raises
        ------
        MissingError
            PBS does not answer, so the states are unknown.
        """
        return {id: _query(id) for id in dict.fromkeys(ids)}

    def cancel(self, ids: Sequence[str]) -> None:
        """Cancel jobs; ended and unknown ones are ignored.

        Each job has a call of its own: a list with ids that it does not know ends the server of
        OpenPBS 23.06.

        Raises
        ------
        MissingError
            PBS does not answer, or refuses to cancel the jobs.
        """
        for id in dict.fromkeys(ids):
            answer = call("qdel", id)
            harmless = (*_GONE, "Request invalid for state of job")
            if answer.status and not any(words in answer.err for words in harmless):
                raise MissingError(
                    f"{answer.complaint}. Try again, or ask the administrators of PBS, who may "
                    "use 'qdel -x' and 'qdel -W force'."
                )


def _query(id: str) -> Job:
    """Ask for one job, ended or not."""
    answer = call("qstat", "-x", "-f", "-F", "json", id)
    if "history" in answer.err.lower():  # the site keeps no ended jobs and refuses -x
        answer = call("qstat", "-f", "-F", "json", id)
    facts = _facts(answer, id)
    if facts is None:
        reason = "unknown to PBS: never queued, or no longer in its history"
        return Job(id=id, state=JobState.UNKNOWN, reason=reason)
    return job(id, facts)


def _facts(answer: Answer, id: str) -> dict[str, Any] | None:
    """Return what qstat answered on a job, None if it knows none; else a MissingError.

    The server may use a longer id than qsub returned. OpenPBS 23.06 prints a document without
    jobs beside its complaint.
    """
    if any(words in answer.err for words in _GONE):
        return None
    if answer.status:
        raise MissingError(f"qstat: {answer.complaint}. PBS does not answer; ask again later.")
    try:
        # Some versions do not escape control characters.
        jobs = dict(json.loads(answer.out, strict=False).get("Jobs", {}))
    except (ValueError, AttributeError, TypeError):
        raise MissingError(
            f"The answer of qstat on {id} cannot be read: {answer.complaint[:200]}. It must "
            "support '-F json' (PBS 18 and later); try again later."
        ) from None
    number = id.split(".")[0]
    for name, facts in jobs.items():
        if name.split(".")[0] == number:
            return dict(facts)
    raise MissingError(
        f"The answer of qstat on {id} does not name that job, so its state is unknown; "
        "ask again later."
    )


def _word(value: str, what: str) -> str:
    """Return a value as one word of a directive, which qsub splits at white space.

    Its quotes differ from a shell's: one kind around a whole word, without escapes.
    """
    if not value.isprintable() or not value.isascii() or "'" in value or '"' in value:
        raise UsageError(
            f"{what} is {value!r}; a PBS directive allows only printable ASCII without quotes. "
            "Choose another name."
        )
    return f"'{value}'" if re.search(r"[\s#;&$`<>|*?()\\]", value) else value


PBS = Pbs()
"""The scheduler ``pbs``."""


STATES = states_by_word(
    {
        # W waits for its start time; T moves to another server; another server runs what is moved
        # (M), so it must not be submitted again
        JobState.PENDING: "Q W T M",
        JobState.STUCK: "H",
        JobState.RUNNING: "B R E S U",
        JobState.COMPLETED: "X F",
    }
)
"""PBS's states; the exit status refines that of an ended job."""

OWN_STATUS = states_by_word(
    {
        # -3 before files were staged, -4, -5 and -6 MoM started anew, -20 mother superior lost,
        # -30 nodes did not join
        JobState.NODE_FAILED: "-3 -4 -5 -6 -20 -30 -32",
        # -11 to be run again, -12 checkpointed and killed, -18 a hook put it back
        JobState.PREEMPTED: "-11 -12 -18",
        JobState.CANCELLED: "-19",  # a hook deleted it
        JobState.MEMORY: "-26 -27 -31",
        JobState.TIME_LIMIT: "-28 -29",  # -28 of the processors
    }
)
"""Negative exit statuses of PBS itself; those not listed are failures."""

KILLED = re.compile(r"job killed: (?:(p?v?mem)|walltime|p?cput) .*exceeded limit")
"""MoM's comment on a job that exceeded its request, of memory or of time."""


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
    # 91: qdel ended it, or it never ran; 92: it ended by itself; 93: a failure
    deleted = str(told.get("substate")) == str(91)
    try:
        status = int(str(told.get("Exit_status")))
    except ValueError:
        # OpenPBS 23.06 says nothing, but leaves the dependency that failed.
        if "depend" in comment.lower() or (told.get("depend") and not deleted):
            return JobState.DEPENDENCY
        return JobState.CANCELLED if deleted else JobState.UNKNOWN
    if status < 0:
        return OWN_STATUS.get(str(status), JobState.FAILED)
    killed = KILLED.search(comment)
    if killed is not None:
        return JobState.MEMORY if killed[1] else JobState.TIME_LIMIT
    # The end of the walltime and qdel both come as TERM, then KILL.
    if "exceeded resource walltime" in comment.lower() or (status and _time_is_up(told)):
        return JobState.TIME_LIMIT
    if status in (256 + 15, 256 + 9) or deleted:  # by TERM or KILL
        return JobState.CANCELLED
    if status == WORK_IS_LEFT:
        return JobState.LEFT
    return JobState.COMPLETED if status == 0 else JobState.FAILED


def _time_is_up(told: dict[str, Any]) -> bool:
    """Tell whether a job used all the time that it asked for."""
    try:
        used, asked = (
            parse_duration(told[what]["walltime"]) for what in ("resources_used", "Resource_List")
        )
    except (KeyError, TypeError, ValueError):  # PBS does not tell
        return False
    return used >= asked


def _nodes(hosts: str) -> str:
    """Return the nodes of ``n0/0*2+n1/0*2``, each once."""
    names = [re.split(r"[/:]", each)[0].strip("( )") for each in hosts.split("+")]
    return ",".join(dict.fromkeys(filter(None, names)))
