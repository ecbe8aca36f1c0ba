"""PBS Professional and OpenPBS: qsub queues, qstat reports, qdel cancels.

Tests check the scripts against the documented grammar of qsub, and the calls against commands that
answer as documented, or as an OpenPBS 23.06 did.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hindmost.errors import MissingError, UsageError
from hindmost.harness.launch import process_age_s
from hindmost.jobs.core.placeholders import fill_numbers
from hindmost.jobs.schedulers.calls import ASK_LIMIT_S, Answer, call, environment_of_jobs
from hindmost.jobs.schedulers.pbs_state import job
from hindmost.jobs.schedulers.scheduler import REFUSED, Job, JobState, Script
from hindmost.jobs.schedulers.script import OUTPUT, directives, fill_template, line
from hindmost.text import clock, parse_duration

LONGEST_NAME = 230

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
            PBS has no option for a value, or a directive cannot contain it.
        """
        machine, allocation = script.machine, script.allocation
        for what, instead in (("qos", "-q or -l in directives"), ("constraint", "select")):
            if getattr(machine, what):
                raise UsageError(
                    f"Machine '{machine.name}' has {what} = '{getattr(machine, what)}', which PBS "
                    f"does not know; use {instead}."
                )
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
            return _word(fill_numbers(text, numbers), where)

        output = (
            f"{script.folder / OUTPUT}/"  # a folder: PBS adds a file name with the job's number
        )
        head = directives(
            script,
            "#PBS",
            f"-N {_job_name(f'{script.study}-{allocation.id}')}",
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
            qsub does not exist or did not answer; the job may still be queued.
        """
        place = line(str(path), "The path of a script")
        answer = call("qsub", place, environment=environment_of_jobs())
        words = answer.out.split()
        if answer.status or not words or not _ID.fullmatch(words[-1]):
            raise UsageError(f"qsub refused {path}: {answer.complaint}. {REFUSED}")
        return words[-1]

    def look(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return the states of jobs; UNKNOWN for a job of which PBS says that it does not know it.

        Each job has a call of its own: asked for several in JSON, OpenPBS 23.06 answers for the
        first one only, with exit status 0.

        Raises
        ------
        MissingError
            PBS does not answer, so the states are unknown.
        """
        return {id: _look(id) for id in dict.fromkeys(ids)}

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
            denied = [
                each
                for each in answer.err.splitlines()
                if each.strip() and not any(words in each for words in harmless)
            ]
            if answer.status and denied:
                raise MissingError(
                    f"{denied[0].strip()}. Try again, or ask the administrators of PBS, who may "
                    "use 'qdel -x' and 'qdel -W force'."
                )

    def left_s(self, id: str) -> float | None:
        """Return the seconds until the end of a running job; None if PBS does not tell."""
        if not _ID.fullmatch(id):  # the driver was started by hand
            return None
        try:
            answer = call("qstat", "-f", "-F", "json", id, limit_s=ASK_LIMIT_S)
            told = _facts(answer, id) or {}
            limit_s = parse_duration(told["Resource_List"]["walltime"])
            used = told.get("resources_used", {}).get("walltime", "00:00:00")
            # PBS updates the used time rarely; this process is as old as the script.
            return limit_s - max(parse_duration(used), process_age_s())
        except (MissingError, KeyError, TypeError, AttributeError, ValueError):
            return None


def _look(id: str) -> Job:
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


def _job_name(name: str) -> str:
    """Return a valid job name: letters, digits and ``+-_.``, beginning with a letter or digit."""
    allowed = re.sub(r"[^A-Za-z0-9+\-_.]", "-", name)
    return (allowed if allowed[0].isalnum() else f"h{allowed}")[:LONGEST_NAME]


def _word(value: str, what: str) -> str:
    """Return a value as one word of a directive, which qsub splits at white space.

    Its quotes differ from a shell's: one kind around a whole word, without escapes.
    """
    if not line(value, what).isprintable() or not value.isascii() or "'" in value or '"' in value:
        raise UsageError(
            f"{what} is {value!r}; a PBS directive allows only printable ASCII without quotes. "
            "Choose another name."
        )
    return f"'{value}'" if re.search(r"[\s#;&$`<>|*?()\\]", value) else value


PBS = Pbs()
"""The scheduler ``pbs``."""
