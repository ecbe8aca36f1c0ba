"""What calls of sbatch and qsub need: the environment of a new job, errors, ids in batches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hindmost.errors import HindmostError, MissingError, UsageError
from hindmost.harness.batch_job import Answer, inherited


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


def batches(ids: Sequence[str]) -> list[list[str]]:
    """Split ids into lists that fit on a command line."""
    each = list(dict.fromkeys(ids))
    return [each[first : first + 200] for first in range(0, len(each), 200)]
