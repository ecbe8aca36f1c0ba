"""Calls of scheduler commands: each with a time limit, none through a shell."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hindmost.errors import HindmostError, MissingError, UsageError

CALL_LIMIT_S = 60.0
"""A busy Slurm or PBS answers within seconds; after that, asking later is better."""


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


def not_submitted(command: str, script: Path, answer: Answer) -> HindmostError:
    """Return the error of a script that a scheduler refused, or that did not reach it."""
    if _UNREACHED.search(answer.err):
        return MissingError(
            f"{command}: {answer.complaint}. The scheduler does not answer; look at its queue "
            "later, and submit the folder with 'hindmost study submit' unless its job is there."
        )
    return UsageError(
        f"{command} refused {script}: {answer.complaint}. Correct the script and submit the folder "
        "with 'hindmost study submit'; or, if no script of the study was submitted yet, correct "
        "its machine or its limits, remove the study's folder and submit the study again."
    )


_UNREACHED = re.compile(r"unable to contact|cannot connect|timed out", re.IGNORECASE)
"""What sbatch and qsub say if the scheduler is down or does not answer in time."""


def call(*words: str, environment: Mapping[str, str] | None = None) -> Answer:
    """Run a command of a scheduler and return its answer.

    Parameters
    ----------
    words : str
        The command and its arguments.
    environment : dict of str to str, optional
        Of the command: `environment_of_jobs` for one that starts a job, which inherits it; by
        default that of this process without variables that change an answer, in English.

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


def environment_of_jobs(script: str = "") -> dict[str, str]:
    """Return the environment that a new job inherits: the user's own, with its language.

    Variables of sbatch override the lines of a script. Those that choose where this user's jobs run
    are kept where the script does not; all others would change the plan.

    Parameters
    ----------
    script : str
        The text of the script.
    """
    said = set(re.findall(r"^#SBATCH\s+--([a-z-]+)", script, re.MULTILINE))
    said |= {_SHORT[word] for word in re.findall(r"^#SBATCH\s+-([ApqCM])", script, re.MULTILINE)}
    kept = {f"SBATCH_{name.upper()}" for name in _WHERE if name not in said}
    return {
        name: value
        for name, value in inherited().items()
        if not name.startswith("SBATCH_") or name in kept
    }


_WHERE = ("account", "partition", "qos", "constraint", "reservation", "clusters")
_SHORT = {"A": "account", "p": "partition", "q": "qos", "C": "constraint", "M": "clusters"}


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


def batches(ids: Sequence[str]) -> list[list[str]]:
    """Split ids into lists that fit on a command line."""
    each = list(dict.fromkeys(ids))
    return [each[first : first + 200] for first in range(0, len(each), 200)]
