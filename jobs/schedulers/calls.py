"""Calls of a scheduler's commands: each with a time limit, none through a shell."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from hindmost.errors import MissingError

CALL_LIMIT_S = 60.0
"""A busy Slurm or PBS answers within seconds; one that does not is better asked later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command said.

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
        """What it said of an error, on one line; its exit status if it said nothing."""
        return " ".join((self.err or self.out).split()) or f"exit status {self.status}"


def call(*words: str, limit_s: float = CALL_LIMIT_S) -> Answer:
    """Run a command of a scheduler and return what it said.

    Parameters
    ----------
    words : str
        The command and its arguments.
    limit_s : float
        After which the command is ended.

    Raises
    ------
    MissingError
        The command is not there, or it did not answer in time.
    """
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            timeout=limit_s,
            check=False,
            env=_environment(),
        )
    except subprocess.TimeoutExpired:
        raise MissingError(
            f"{words[0]} did not answer within {limit_s:g} s, so what became of "
            f"'{' '.join(words)[:80]}' is not known; ask again later."
        ) from None
    except OSError as error:
        raise MissingError(
            f"{words[0]} cannot be started ({error.strerror}); this machine has not got the "
            "scheduler of the study: name another with --machine, or load its module."
        ) from None
    return Answer(status=done.returncode, out=done.stdout, err=done.stderr)


def _environment() -> dict[str, str]:
    """Return this process's environment without what would change an answer, or a new job."""
    own_taste = ("SQUEUE_", "SACCT_", "SCANCEL_", "SLURM_TIME_FORMAT", "SLURM_BITSTR_LEN")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own_taste)}
    kept.pop("HINDMOST_JOB_ID", None)
    if "SLURM_JOB_ID" in kept:
        # Inside a job: its numbers of nodes, tasks and memory are not those of the next one.
        site = {"SLURM_CONF", "SLURM_CLUSTERS"}
        kept = {name: kept[name] for name in kept if name in site or name[:6] != "SLURM_"}
    return {**kept, "LC_ALL": "C"}


def batches(ids: Sequence[str], size: int = 200) -> list[list[str]]:
    """Cut ids into lists that fit onto a command line."""
    each = list(dict.fromkeys(ids))
    return [each[first : first + size] for first in range(0, len(each), size)]
