"""``hindmost submit``: a study into the queue of a machine."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from hindmost.errors import HindmostError
from hindmost.jobs.folder import StudyFolder, Submitted
from hindmost.jobs.plan.plan import Plan
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.jobs.schedulers.scheduler import Scheduler, Script
from hindmost.jobs.submission import submit
from hindmost.jobs.words import counted

EXAMPLES = """\
examples:
  hindmost submit study.toml                      # makes the folder NAME/ of the study
  hindmost submit study.toml --machine site-a --folder /scratch/me/noise
  hindmost submit study.toml --dry-run            # prints a script; nothing is done
  hindmost submit gmres-noise --set repeats=3

'hindmost plan' takes the same study, --machine and --set, and says what it comes to. Without a
scheduler the runs are done on this machine, one after another, also after you have logged out.
Exit status: 0 submitted, 2 or 3 the study is not possible, 4 the scheduler is not here.
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from hindmost.jobs.verbs.plan import add_study_arguments

    parser.description = "Makes the folder of a study, writes its scripts and submits them."
    parser.epilog = EXAMPLES
    parser.add_argument("study", metavar="STUDY", help="a study file, or one that comes along")
    add_study_arguments(parser)
    parser.add_argument("--folder", type=Path, help="of the study (its name, here)")
    parser.add_argument("--dry-run", action="store_true", help="print a script and stop")
    parser.add_argument("--json", action="store_true", help="print JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Plan, write and submit."""
    from hindmost.jobs.study.read import find_study
    from hindmost.jobs.verbs.plan import planned, warnings

    study, plan, estimate = planned(arguments)
    source = find_study(arguments.study).source
    for line in warnings(plan, estimate):
        sys.stderr.write(f"hindmost: {line}\n")
    scheduler = SCHEDULERS[plan.machine.scheduler]
    path = arguments.folder or Path(study.name)
    if arguments.dry_run:
        show(plan, scheduler, path, as_json=arguments.json)
        return 0
    scripts_of(plan, scheduler, path.resolve())  # refuses before anything is there
    path.mkdir(parents=True, exist_ok=True)
    done: list[Submitted] = []
    with StudyFolder(path).changing():
        folder = StudyFolder.create(path, plan, source)
        try:
            for each in submit(folder, scheduler, [each.id for each in plan.allocations]):
                done.append(each)
        except HindmostError:
            count = f"{len(done)} of {counted(len(plan.allocations), 'script')}"
            others = f"; 'hindmost resume {path}' submits the others" if done else ""
            sys.stderr.write(f"hindmost: submitted {count}{others}\n")
            raise
    if arguments.json:
        answer = {"folder": str(folder.path), "submitted": [asdict(each) for each in done]}
        print(json.dumps({"version": JSON_VERSION, "study": plan.study, **answer}, indent=1))
    else:
        jobs = ", ".join(f"{each.allocation} as job {each.job}" for each in done[:4])
        more = f" and {len(done) - 4} more" if done[4:] else ""
        print(f"submitted {counted(len(plan.runs), 'run')}: {jobs}{more}")
        print(f"next: hindmost status {path}")
    return 0


def scripts_of(plan: Plan, scheduler: Scheduler, folder: Path) -> dict[str, str]:
    """Return the scripts of a plan by the names of their allocations."""
    return {
        allocation.id: scheduler.render(
            Script(allocation=allocation, machine=plan.machine, folder=folder, study=plan.study)
        )
        for allocation in plan.allocations
    }


def show(plan: Plan, scheduler: Scheduler, path: Path, *, as_json: bool) -> None:
    """Print what would be submitted."""
    scripts = scripts_of(plan, scheduler, path.resolve())
    if as_json:
        answer = {"folder": str(path.resolve()), "scripts": scripts}
        print(json.dumps({"version": JSON_VERSION, "study": plan.study, **answer}, indent=1))
        return
    first, *others = scripts
    print(f"# {path / 'scripts' / first}.sh", scripts[first], sep="\n", end="")
    if others:
        print(f"# and {len(others)} more of such scripts; --json has all")
