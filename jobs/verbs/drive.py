"""``hindmost drive``: the runs of an allocation, as its script starts them."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.jobs.drive.driver import drive
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.launchers import LAUNCHERS

EXAMPLES = """\
examples:
  hindmost drive gmres-noise/ p2        # what the last line of gmres-noise/scripts/p2.sh does

Runs the allocation's runs that are not done, one after another. USR1: begin no more. TERM: stop the
running one as well. Exit status: 0 all are done, 1 the others failed for good, 75 work is left.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Does the runs of an allocation; the scripts of a study call it."
    parser.epilog = EXAMPLES
    parser.add_argument("folder", type=Path, help="the folder of the study")
    parser.add_argument("allocation", help="its name in the plan")


def perform(arguments: argparse.Namespace) -> int:
    """Do the runs."""
    study = StudyFolder.open(arguments.folder)
    return drive(study, arguments.allocation, LAUNCHERS[study.plan.machine.launcher])
