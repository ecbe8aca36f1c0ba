"""The batch job around this process: its id, when it ends, and calls of its scheduler's commands.

Every call has a time limit, and none goes through a shell.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hindmost.errors import MissingError
from hindmost.harness.launch import process_age_s
from hindmost.text import parse_duration

JOB_VARIABLES = {"slurm": "SLURM_JOB_ID", "pbs": "PBS_JOBID", "local": "HINDMOST_JOB_ID"}
"""The variable in which a job of a scheduler finds its id."""
END_VARIABLE = "SLURM_JOB_END_TIME"
"""In it newer Slurms tell a job when it ends; later changes of the limit do not show."""
CALL_LIMIT_S = 60.0
"""A busy Slurm or PBS answers within seconds; after that, asking later is better."""


def job_left_s(environment: Mapping[str, str] = os.environ, *, anew: bool = False) -> float | None:
    """Return the seconds until the end of the job around this process; None if nobody tells.

    Parameters
    ----------
    anew : bool
        Whether to ask the scheduler even where the environment has the end: limits are changed.
    """
    end = environment.get(END_VARIABLE, "")
    if end.isdecimal() and not anew:
        return int(end) - time.time()
    for scheduler, ask in LEFT_S.items():
        if job := environment.get(JOB_VARIABLES[scheduler]):
            return ask(job)
    return None


def slurm_left_s(job: str) -> float | None:
    """Ask squeue for the seconds until the end of a running job; None if it does not tell."""
    try:
        left = call("squeue", "--noheader", f"--jobs={job}", "--format=%L").out.strip()
    except MissingError:
        return None
    # [[D-]HH:]MM:SS, or words such as UNLIMITED
    found = re.fullmatch(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d\d)", left)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def pbs_left_s(job: str) -> float | None:
    """Ask qstat for the seconds until the end of a running job; None if it does not tell."""
    try:
        answer = call("qstat", "-f", "-F", "json", job)
        (facts,) = json.loads(answer.out, strict=False)["Jobs"].values()
        limit_s = parse_duration(facts["Resource_List"]["walltime"])
        used = facts.get("resources_used", {}).get("walltime", "00:00:00")
        # PBS updates the used time rarely; the job is older than this process.
        used_s = max(parse_duration(used), process_age_s())
    except (MissingError, KeyError, TypeError, AttributeError, ValueError):
        return None
    try:
        began_s = time.mktime(time.strptime(facts["stime"], "%a %b %d %H:%M:%S %Y"))
    except (KeyError, TypeError, ValueError, OverflowError):
        return limit_s - used_s
    return limit_s - max(used_s, time.time() - began_s)


LEFT_S: dict[str, Callable[[str], float | None]] = {"slurm": slurm_left_s, "pbs": pbs_left_s}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of a command.

    Attributes
    ----------
    status : int
    out, err : str
    """

    status: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The error message on one line; the exit status if there is none."""
        return " ".join((self.err or self.out).split()) or f"exit status {self.status}"


def call(*words: str, environment: Mapping[str, str] | None = None) -> Answer:
    """Run a command of a scheduler and return its answer.

    Parameters
    ----------
    words : str
        The command and its arguments.
    environment : dict of str to str, optional
        Of the command, which a job that it starts inherits; by default that of this process without
        variables that change an answer, in English.

    Raises
    ------
    MissingError
        The command does not exist or did not answer in time.
    """
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            timeout=CALL_LIMIT_S,
            check=False,
            env={**inherited(), "LC_ALL": "C"} if environment is None else environment,
        )
    except subprocess.TimeoutExpired:
        raise MissingError(
            f"{words[0]} did not answer within {CALL_LIMIT_S:g} s, so the result of "
            f"'{' '.join(words)[:80]}' is unknown; ask again later."
        ) from None
    except OSError as error:
        raise MissingError(
            f"{words[0]} cannot be started ({error.strerror}): this machine lacks the scheduler "
            "of the study. Name another machine with --machine, or load the scheduler's module."
        ) from None
    return Answer(status=done.returncode, out=done.stdout, err=done.stderr)


def inherited() -> dict[str, str]:
    """Return this process's environment without variables that change answers or new jobs."""
    own_taste = ("SQUEUE_", "SACCT_", "SCANCEL_", "SLURM_TIME_FORMAT", "SLURM_BITSTR_LEN")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own_taste)}
    kept.pop("HINDMOST_JOB_ID", None)
    if "SLURM_JOB_ID" in kept:
        # Inside a job, these variables describe this job, not the new one.
        site = {"SLURM_CONF", "SLURM_CLUSTERS"}
        kept = {name: kept[name] for name in kept if name in site or name[:6] != "SLURM_"}
    return kept
