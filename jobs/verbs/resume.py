"""``hindmost resume``: submit the remaining runs of a study."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.jobs.submission import Resumption, resume
from hindmost.output import write_json, write_lines
from hindmost.printable import shell_word
from hindmost.text import counted

EXAMPLES = """\
examples:
  hindmost resume gmres-noise/
  hindmost resume gmres-noise/ --again      # also repeat runs that failed for good

Submit the scripts of allocations that have remaining runs and no job. A run that was stopped, that
crashed, or whose node failed is repeated (max_retries in the study limits how often). A run that
ran out of memory, reached its limit or ended with its own error is not. Finished files are kept.
Exit status: 0 submitted, or no runs remain; 1 all remaining runs failed for good.
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Submit the remaining runs of a study, and only those."
    parser.epilog = EXAMPLES
    parser.add_argument("folder", type=Path, help="the folder of the study")
    parser.add_argument(
        "--again", action="store_true", help="also repeat runs that failed for good"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Submit the remaining runs."""
    study = StudyFolder.open(arguments.folder)
    with study.changing():
        done = resume(study, SCHEDULERS[study.plan.machine.scheduler], again=arguments.again)
    if arguments.json:
        write_json({"version": JSON_VERSION, **asdict(done)}, indent=1)
    else:
        tell(done, arguments.folder)
    return 1 if done.failed and not done.submitted and not done.live else 0


def tell(done: Resumption, folder: Path) -> None:
    """Print what was done."""
    here = shell_word(folder)
    if done.submitted:
        jobs = ", ".join(f"{each.allocation} as job {each.job}" for each in done.submitted[:4])
        more = f" and {len(done.submitted) - 4} more" if done.submitted[4:] else ""
        write_lines(f"submitted {counted(done.runs, 'run')}: {jobs}{more}")
    if done.live:
        write_lines(f"already queued or running: {counted(len(done.live), 'allocation')}")
    if done.failed:
        write_lines(f"failed for good: {counted(done.failed, 'run')}; --again repeats them")
    if done.submitted or done.live:
        write_lines(f"next: hindmost status {here}")
    else:
        write_lines("no runs remain", f"next: hindmost collect {here}")
