"""``hindmost cancel``: end the jobs of a study."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.jobs.submission import cancel
from hindmost.jobs.words import counted

EXAMPLES = """\
examples:
  hindmost cancel gmres-noise/

What is done stays; 'hindmost resume' goes on with the rest.
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Cancels the jobs of a study that have not ended."
    parser.epilog = EXAMPLES
    parser.add_argument("folder", type=Path, help="the folder of the study")
    parser.add_argument("--json", action="store_true", help="print JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Cancel and tell."""
    study = StudyFolder.open(arguments.folder)
    with study.changing():
        jobs = cancel(study, SCHEDULERS[study.plan.machine.scheduler])
    if arguments.json:
        print(json.dumps({"version": JSON_VERSION, "cancelled": jobs}, indent=1))
    elif jobs:
        first = ", ".join(jobs[:8]) + (" ..." if jobs[8:] else "")
        print(f"cancelled {counted(len(jobs), 'job')}: {first}")
        print(f"next: hindmost resume {arguments.folder} goes on with what is left")
    else:
        print("no job of this study is queued or running")
    return 0
