"""``hindmost study collect``: gather the run files of a study in one folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.jobs.collection import TABLE, collect
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcomes import Completion
from hindmost.output import write_json, write_lines
from hindmost.printable import shell_word
from hindmost.statuses import WORK_IS_LEFT
from hindmost.text import counted

EXAMPLES = f"""\
examples:
  hindmost study collect gmres-noise/ && hindmost report gmres-noise/collected
  hindmost study collect gmres-noise/ --out runs

Files are hard links to those of the study where the file system allows it, else copies. {TABLE}
lists the run of each file, and where it ran. Collect again to add runs that finished since.
Exit status: 0 all runs are done, 75 runs remain, 1 all remaining runs failed for good.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Gather the run files of a study in one folder that every verb reads."
    parser.add_argument("folder", type=Path, help="the folder of the study")
    parser.add_argument("--out", type=Path, help="target folder (FOLDER/collected)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Collect the files and print how many."""
    study = StudyFolder.open(arguments.folder)
    with study.changing():
        out = arguments.out or arguments.folder / "collected"
        files, missing = collect(study, out)
    completions = study.completions(study.records(tuple(missing))).values()
    left = sum(completion is Completion.LEFT for completion in completions)
    if arguments.json:
        write_json(1, folder=out, files=files, missing=missing)
    else:
        runs = counted(len({file.planned.id for file in files}), "run")
        write_lines(f"{counted(len(files), 'file')} of {runs} in {out}")
        if missing:
            write_lines(f"missing: {counted(len(missing), 'run')}")
        if split := len({file.planned.block for file in files if file.split}):
            count = counted(split, "block")
            write_lines(f"split over several jobs: {count}; see 'split' in {TABLE}")
        if left:
            here = shell_word(arguments.folder)
            write_lines(f"next: hindmost study submit {here}, to submit the remaining runs")
        else:
            line = study.plan.collect or "hindmost report {runs} --out {runs}/report.html"
            write_lines(f"next: {line.replace('{runs}', shell_word(out))}")
    if not missing:
        return 0
    return WORK_IS_LEFT if left else 1
