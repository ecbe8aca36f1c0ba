"""``hindmost resume``: submit what is left of a study."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.jobs.submission import Resumption, resume
from hindmost.jobs.words import counted

EXAMPLES = """\
examples:
  hindmost resume gmres-noise/
  hindmost resume gmres-noise/ --again      # also runs that failed for good

Submits the scripts of allocations that have work left and no job. A run that was stopped, or whose
node failed, or that crashed, is done again (max_retries of the study says how often); one that ran
out of memory, into its limit or into an error of its own is not. Finished files are not touched.
Exit status: 0 submitted, or nothing is left; 1 nothing is left but runs that failed for good.
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Submits what is left of a study, and only that."
    parser.epilog = EXAMPLES
    parser.add_argument("folder", type=Path, help="the folder of the study")
    parser.add_argument("--again", action="store_true", help="also what failed for good")
    parser.add_argument("--json", action="store_true", help="print JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Submit what is left."""
    study = StudyFolder.open(arguments.folder)
    with study.changing():
        done = resume(study, SCHEDULERS[study.plan.machine.scheduler], again=arguments.again)
    if arguments.json:
        print(json.dumps({"version": JSON_VERSION, **asdict(done)}, indent=1))
    else:
        tell(done, arguments.folder)
    return 1 if done.failed and not done.submitted and not done.live else 0


def tell(done: Resumption, folder: Path) -> None:
    """Print what was done."""
    if done.submitted:
        jobs = ", ".join(f"{each.allocation} as job {each.job}" for each in done.submitted[:4])
        more = f" and {len(done.submitted) - 4} more" if done.submitted[4:] else ""
        print(f"submitted {counted(done.runs, 'run')}: {jobs}{more}")
    if done.live:
        has = "has" if len(done.live) == 1 else "have"
        print(f"{counted(len(done.live), 'allocation')} {has} a job already")
    if done.failed:
        print(f"failed for good: {done.failed}; --again does them again")
    if done.submitted or done.live:
        print(f"next: hindmost status {folder}")
    else:
        print(f"nothing is left to do\nnext: hindmost collect {folder}")
