"""``hindmost submit``: submit a study to a machine."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from hindmost.errors import HindmostError
from hindmost.files import make_folder
from hindmost.jobs.core.plan import Plan
from hindmost.jobs.folder import StudyFolder, Submitted
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.jobs.schedulers.scheduler import Scheduler, Script
from hindmost.jobs.submission import submit
from hindmost.output import warn, write_json, write_lines, write_text
from hindmost.printable import shell_word
from hindmost.text import counted

EXAMPLES = """\
examples:
  hindmost submit study.toml                      # creates the study's folder NAME/
  hindmost submit study.toml --machine site-a --folder /scratch/me/noise
  hindmost submit study.toml --dry-run            # prints a script and submits nothing
  hindmost submit gmres-noise --set repeats=3

'hindmost plan' takes the same arguments and shows the runs and their cost. Without a scheduler,
this machine does the runs one after another, even after you log out.
Exit status: 0 submitted, 2 or 3 the study is not valid, 4 the scheduler is not available.
"""
JSON_VERSION = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from hindmost.jobs.verbs.plan import add_study_arguments

    parser.description = "Create the folder of a study, write its scripts and submit them."
    parser.epilog = EXAMPLES
    parser.add_argument(
        "study", metavar="STUDY", help="a study file, or the name of a study shipped with hindmost"
    )
    add_study_arguments(parser)
    parser.add_argument("--folder", type=Path, help="folder of the study (its name)")
    parser.add_argument("--dry-run", action="store_true", help="print a script and stop")
    parser.add_argument("--json", action="store_true", help="print JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Plan, write and submit."""
    from hindmost.jobs.study.read import find_study
    from hindmost.jobs.verbs.plan import planned, warnings

    study, plan, estimate = planned(arguments)
    source = find_study(arguments.study).source
    for line in warnings(plan, estimate):
        warn(line)
    scheduler = SCHEDULERS[plan.machine.scheduler]
    path = arguments.folder or Path(study.name)
    if arguments.dry_run:
        show(plan, scheduler, path, as_json=arguments.json)
        return 0
    scripts_of(plan, scheduler, path.resolve())  # reports errors before anything is written
    make_folder(path, "--folder")
    done: list[Submitted] = []
    with StudyFolder(path).changing():
        folder = StudyFolder.create(path, plan, source)
        try:
            for each in submit(folder, scheduler, [each.id for each in plan.allocations]):
                done.append(each)
        except HindmostError:
            count = f"{len(done)} of {counted(len(plan.allocations), 'script')}"
            others = f"; 'hindmost resume {shell_word(path)}' submits the rest" if done else ""
            warn(f"submitted {count}{others}")
            raise
    if arguments.json:
        answer = {"folder": str(folder.path), "submitted": [asdict(each) for each in done]}
        write_json({"version": JSON_VERSION, "study": plan.study, **answer}, indent=1)
    else:
        jobs = ", ".join(f"{each.allocation} as job {each.job}" for each in done[:4])
        more = f" and {len(done) - 4} more" if done[4:] else ""
        write_lines(f"submitted {counted(len(plan.runs), 'run')}: {jobs}{more}")
        write_lines(f"next: hindmost status {shell_word(path)}")
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
        write_json({"version": JSON_VERSION, "study": plan.study, **answer}, indent=1)
        return
    first, *others = scripts
    write_lines(f"# {path / 'scripts' / first}.sh")
    write_text(scripts[first])
    if others:
        write_lines(f"# and {counted(len(others), 'more script')}; --json prints all")
