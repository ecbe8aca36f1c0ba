"""``hindmost study drive``: do the runs of an allocation; its script calls this verb."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.jobs.drive.driver import drive
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.launchers import LAUNCHERS

EXAMPLES = """\
examples:
  hindmost study drive gmres-noise/ p2        # what the last line of gmres-noise/scripts/p2.sh does

Do the allocation's remaining runs, one after another. Signal USR1: start no further run. TERM: stop
the current run as well. Exit status: 0 all runs are done, 75 runs remain, 1 all remaining runs
failed for good.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Do the runs of an allocation; the scripts of a study call this verb."
    parser.add_argument("folder", type=Path, help="the folder of the study")
    parser.add_argument("allocation", help="name of the allocation in the plan")


def perform(arguments: argparse.Namespace) -> int:
    """Do the runs."""
    study = StudyFolder.open(arguments.folder)
    return drive(study, arguments.allocation, LAUNCHERS[study.plan.machine.launcher])
