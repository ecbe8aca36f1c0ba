"""PBS Professional and OpenPBS: qsub queues, qstat tells, qdel cancels.

No PBS server has run what is here: the scripts are held against the documented grammar of qsub, and
the calls against commands that answer as the documentation says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hindmost.durations import parse_duration
from hindmost.errors import MissingError, UsageError
from hindmost.harness.runfile.provenance import process_age_s
from hindmost.jobs.placeholders import fill
from hindmost.jobs.schedulers.calls import ASK_LIMIT_S, Answer, batches, call, environment_of_jobs
from hindmost.jobs.schedulers.pbs_state import job
from hindmost.jobs.schedulers.scheduler import REFUSED, Job, JobState, Script
from hindmost.jobs.schedulers.script import OUTPUT, clock, directives, fill_template, line

LONGEST_NAME = 230

_ID = re.compile(r"\d+(\[\d*\])?(\.[\w.-]+)?")


class Pbs:
    """Jobs of PBS Professional and OpenPBS, 18 and later."""

    name = "pbs"

    def render(self, script: Script) -> str:
        """Return the script: the same text for the same allocation, to the byte.

        Raises
        ------
        UsageError
            The machine asks for what PBS has no word for, or a value cannot stand in a directive.
        """
        machine, allocation = script.machine, script.allocation
        for what, instead in (("qos", "-q or -l in directives"), ("constraint", "select")):
            if getattr(machine, what):
                raise UsageError(
                    f"Machine '{machine.name}' has {what} = '{getattr(machine, what)}', which PBS "
                    f"has no word for; say it with {instead}."
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
        output = f"{script.folder / OUTPUT}/"  # a folder: PBS makes a name with the job's number
        head = directives(
            script,
            "#PBS",
            f"-N {_job_name(f'{script.study}-{allocation.id}')}",
            "-S /bin/bash",
            f"-o {_word(output, 'The folder of the study')}",
            "-j oe",
            f"-q {_word(machine.partition, f'partition {of}')}" if machine.partition else "",
            f"-A {_word(machine.account, f'account {of}')}" if machine.account else "",
            f"-l select={_word(fill(select, numbers, where=f'select {of}'), f'select {of}')}",
            f"-l place={_word(fill(place, numbers, where=f'place {of}'), f'place {of}')}",
            f"-l walltime={clock(allocation.walltime_s)}",
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
            qsub is not there or did not answer; the job may be queued all the same.
        """
        place = line(str(path), "The path of a script")
        answer = call("qsub", place, environment=environment_of_jobs())
        words = answer.out.split()
        if answer.status or not words or not _ID.fullmatch(words[-1]):
            raise UsageError(f"qsub refused {path}: {answer.complaint}. {REFUSED}")
        return words[-1]

    def look(self, ids: Sequence[str]) -> dict[str, Job]:
        """Say what became of jobs; one that PBS does not know is UNKNOWN.

        Raises
        ------
        MissingError
            PBS does not answer: nothing is known of any job.
        """
        found: dict[str, Job] = {}
        for batch in batches(ids):
            answer = call("qstat", "-x", "-f", "-F", "json", *batch)
            if "history" in answer.err.lower() and not answer.out.strip():
                # The site keeps no ended jobs; then -x is refused.
                answer = call("qstat", "-f", "-F", "json", *batch)
            told = _jobs(answer, batch)
            for id in batch:
                if (what := _of(told, id)) is not None:
                    found[id] = job(id, what)
        reason = "PBS does not know it: never queued, or no longer in its history"
        return {
            id: found.get(id) or Job(id=id, state=JobState.UNKNOWN, reason=reason) for id in ids
        }

    def cancel(self, ids: Sequence[str]) -> None:
        """Cancel jobs; those that ended, and those that PBS does not know, are left as they are.

        Raises
        ------
        MissingError
            PBS does not answer, or does not let the jobs be cancelled.
        """
        for batch in batches(ids):
            answer = call("qdel", *batch)
            harmless = ("Unknown Job Id", "Job has finished", "Request invalid for state of job")
            denied = [
                each
                for each in answer.err.splitlines()
                if each.strip() and not any(words in each for words in harmless)
            ]
            if answer.status and denied:
                raise MissingError(
                    f"{denied[0].strip()}. Try again, or ask who runs PBS here ('qdel -x' and "
                    "'qdel -W force' are theirs)."
                )

    def left_s(self, id: str) -> float | None:
        """Return the seconds until the end of a running job; None where PBS does not say."""
        if not _ID.fullmatch(id):  # the driver was started by hand
            return None
        try:
            answer = call("qstat", "-f", "-F", "json", id, limit_s=ASK_LIMIT_S)
            told = _of(_jobs(answer, [id]), id) or {}
            limit_s = parse_duration(told["Resource_List"]["walltime"])
            used = told.get("resources_used", {}).get("walltime", "00:00:00")
            # What was used is looked at now and then only; this process is the script's.
            return limit_s - max(parse_duration(used), process_age_s())
        except (MissingError, KeyError, TypeError, AttributeError, ValueError):
            return None


def _jobs(answer: Answer, asked: list[str]) -> dict[str, dict[str, Any]]:
    """Return what qstat said of jobs, or raise a MissingError where it is no answer."""
    strangers = answer.err.count("Unknown Job Id")
    if not answer.out.strip() and strangers:
        return {}
    try:
        # Values with control characters are not escaped by every version.
        return dict(json.loads(answer.out, strict=False).get("Jobs", {}))
    except (ValueError, AttributeError, TypeError):
        raise MissingError(
            f"qstat said nothing that can be read of {', '.join(asked)[:80]}: "
            f"{answer.complaint[:200]}. It must know '-F json' (PBS 18 and later); ask again later."
        ) from None


def _of(jobs: dict[str, dict[str, Any]], id: str) -> dict[str, Any] | None:
    """Return a job by its id; the server's name may be longer than the one that qsub gave."""
    if id in jobs:
        return jobs[id]
    number = id.split(".")[0]
    return next((told for name, told in jobs.items() if name.split(".")[0] == number), None)


def _job_name(name: str) -> str:
    """Return a name that qsub takes: letters, digits and ``+-_.``, a letter or digit first."""
    allowed = re.sub(r"[^A-Za-z0-9+\-_.]", "-", name)
    return (allowed if allowed[0].isalnum() else f"h{allowed}")[:LONGEST_NAME]


def _word(value: str, what: str) -> str:
    """Return a value as one word of a directive, which qsub cuts apart at white space.

    Its quotes are not a shell's: one sort at each end of a word, with no escape.
    """
    if not line(value, what).isprintable() or not value.isascii() or "'" in value or '"' in value:
        raise UsageError(
            f"{what} is {value!r}; in a directive of PBS it may have printable ASCII without "
            "quotes only: choose another name."
        )
    return f"'{value}'" if re.search(r"[\s#;&$`<>|*?()\\]", value) else value


PBS = Pbs()
"""PBS as studies name it."""
