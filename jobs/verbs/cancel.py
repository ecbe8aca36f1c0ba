"""``hindmost study cancel``: end the jobs of a study."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.jobs.submission import cancel
from hindmost.output import write_json, write_lines
from hindmost.printable import shell_word
from hindmost.text import counted

EXAMPLES = """\
examples:
  hindmost study cancel gmres-noise/

Finished runs are kept; 'hindmost study submit' submits the remaining ones.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Cancel the jobs of a study that have not ended."
    parser.add_argument("folder", type=Path, help="the folder of the study")
    parser.add_argument("--json", action="store_true", help="print JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Cancel the jobs and print which."""
    study = StudyFolder.open(arguments.folder)
    with study.changing():
        jobs, left = cancel(study, SCHEDULERS[study.plan.machine.scheduler])
    if arguments.json:
        write_json(1, cancelled=jobs, left=[job.id for job in left])
        return 1 if left else 0
    if left:
        write_lines(f"{counted(len(left), 'job')} still queued or running:")
        write_lines(*(f"  {job.id}  {job.reason}" for job in left))
        write_lines(f"next: hindmost study cancel {shell_word(arguments.folder)} again")
    if jobs:
        first = ", ".join(jobs[:8]) + (" ..." if jobs[8:] else "")
        write_lines(f"cancelled {counted(len(jobs), 'job')}: {first}")
    if jobs and not left:
        write_lines(
            f"next: hindmost study submit {shell_word(arguments.folder)} submits the remaining runs"
        )
    elif not left:
        write_lines("this study has no queued or running job")
    return 1 if left else 0
