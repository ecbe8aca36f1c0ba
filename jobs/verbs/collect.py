"""``hindmost study collect``: gather the run files of a study in one folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.jobs.collection import TABLE, Collection, collect
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcomes import Completion
from hindmost.output import write_json, write_lines
from hindmost.printable import shell_word
from hindmost.statuses import WORK_IS_LEFT
from hindmost.text import counted

EXAMPLES = f"""\
examples:
  hindmost study collect gmres-noise/ && hindmost fit gmres-noise/collected
  hindmost study collect gmres-noise/ --out runs

Files are hard links to those of the study where the file system allows it, else copies. {TABLE}
lists the run of each file, and where it ran. Collect again to add runs that finished since.
Exit status: 0 all runs are done, 75 runs remain, 1 all remaining runs failed for good.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Gather the run files of a study in one folder that every verb reads."
    parser.epilog = EXAMPLES
    parser.add_argument("folder", type=Path, help="the folder of the study")
    parser.add_argument("--out", type=Path, help="target folder (FOLDER/collected)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Collect the files and print how many."""
    study = StudyFolder.open(arguments.folder)
    with study.changing():
        found = collect(study, arguments.out or arguments.folder / "collected")
    completions = study.completions(study.records(found.missing)).values()
    left = sum(each is Completion.LEFT for each in completions)
    if arguments.json:
        write_json(1, folder=found.folder, files=found.files, missing=found.missing)
    else:
        tell(study, found, left, arguments.folder)
    if not found.missing:
        return 0
    return WORK_IS_LEFT if left else 1


def tell(study: StudyFolder, found: Collection, left: int, folder: Path) -> None:
    """Print what was collected.

    Parameters
    ----------
    left : int
        Runs that remain to be done.
    folder : Path
        Of the study, as it was given.
    """
    here = shell_word(folder)
    runs = counted(len({each.planned.id for each in found.files}), "run")
    write_lines(f"{counted(len(found.files), 'file')} of {runs} in {found.folder}")
    if found.missing:
        write_lines(f"missing: {counted(len(found.missing), 'run')}")
    if split := len({each.planned.block for each in found.files if each.split}):
        write_lines(f"split over several jobs: {counted(split, 'block')}; see 'split' in {TABLE}")
    if left:
        write_lines(f"next: hindmost study submit {here}, to submit the remaining runs")
    else:
        line = study.plan.collect or "hindmost fit {runs}"
        write_lines(f"next: {line.replace('{runs}', shell_word(found.folder))}")
