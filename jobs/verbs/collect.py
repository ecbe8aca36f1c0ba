"""``hindmost collect``: the run files of a study in one folder."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from hindmost.errors import UsageError
from hindmost.jobs.collection import TABLE, Collection, collect
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcomes import Standing
from hindmost.jobs.state import standings_of
from hindmost.jobs.words import counted
from hindmost.statuses import WORK_IS_LEFT

EXAMPLES = f"""\
examples:
  hindmost collect gmres-noise/ && hindmost fit gmres-noise/collected
  hindmost collect gmres-noise/ --out runs
  hindmost collect gmres-noise/ --finish     # and do the study's line of post-processing

The files are links to those of the study where links are possible, else copies. {TABLE} says
which run each belongs to, and where it was done. Collecting again adds what was done meanwhile.
Exit status: 0 all runs are there, 75 work is left, 1 all others failed for good.
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Puts the run files of a study into one folder that every verb takes."
    parser.epilog = EXAMPLES
    parser.add_argument("folder", type=Path, help="the folder of the study")
    parser.add_argument("--out", type=Path, help="where to (FOLDER/collected)")
    parser.add_argument(
        "--finish", action="store_true", help="do the line of [collect] if all runs are there"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Collect and tell."""
    study = StudyFolder.open(arguments.folder)
    with study.changing():
        found = collect(study, arguments.out or arguments.folder / "collected")
    standings = standings_of(study, study.records(found.missing)).values()
    left = sum(each is Standing.LEFT for each in standings)
    if arguments.json:
        files = [asdict(each) for each in found.files]
        answer = {"folder": str(found.folder), "files": files, "missing": found.missing}
        print(json.dumps({"version": JSON_VERSION, **answer}, indent=1))
    else:
        tell(study, found, left, arguments.folder)
    if not found.missing:
        return finish(study, found) if arguments.finish else 0
    return WORK_IS_LEFT if left else 1


def tell(study: StudyFolder, found: Collection, left: int, folder: Path) -> None:
    """Print what was collected.

    Parameters
    ----------
    left : int
        Runs that are to be done, or done again.
    folder : Path
        Of the study, as it was given.
    """
    runs = counted(len({each.run for each in found.files}), "run")
    print(f"{counted(len(found.files), 'file')} of {runs} in {found.folder}")
    if found.missing:
        is_ = "is" if len(found.missing) == 1 else "are"
        print(f"{counted(len(found.missing), 'run')} {is_} not done")
    split = len({(each.allocation, each.block) for each in found.files if each.split})
    if split:
        was, its = ("was", "its") if split == 1 else ("were", "their")
        print(
            f"{counted(split, 'block')} {was} done by more than one job; 'split' in {TABLE} marks "
            f"{its} files"
        )
    if left:
        print(f"next: hindmost resume {folder}, for what is left")
    else:
        print(f"next: {line_of(study, found) or f'hindmost fit {found.folder}'}")


def line_of(study: StudyFolder, found: Collection) -> str:
    """Return the study's line of post-processing for a shell; empty if it has none."""
    return study.plan.collect.replace("{runs}", shlex.quote(str(found.folder)))


def finish(study: StudyFolder, found: Collection) -> int:
    """Do the study's line of post-processing with the hindmost of this process."""
    line = line_of(study, found)
    if not line:
        raise UsageError(f"The study {study.plan.study} has no line in [collect] to be done.")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    done = subprocess.run(["sh", "-c", line], check=False, env={**os.environ, "PATH": path})
    return 0 if done.returncode == 0 else 1
