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
    if not found.files:
        raise UsageError(
            f"No run of {arguments.folder} is done yet; hindmost status {arguments.folder} says "
            "how it stands."
        )
    if arguments.json:
        files = [asdict(each) for each in found.files]
        answer = {"folder": str(found.folder), "files": files, "missing": found.missing}
        print(json.dumps({"version": JSON_VERSION, **answer}, indent=1))
    else:
        tell(study, found)
    if not found.missing:
        return finish(study, found) if arguments.finish else 0
    standings = standings_of(study, study.records(found.missing))
    return WORK_IS_LEFT if Standing.LEFT in standings.values() else 1


def tell(study: StudyFolder, found: Collection) -> None:
    """Print what was collected."""
    runs = len({each.run for each in found.files})
    print(f"{len(found.files)} files of {runs} runs in {found.folder}")
    if found.missing:
        print(f"{len(found.missing)} runs are not done")
    split = {(each.allocation, each.block) for each in found.files if each.split}
    if split:
        print(
            f"{len(split)} blocks were done by more than one job; 'split' in {TABLE} marks their "
            "files"
        )
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
