"""``hindmost study submit``: submit a study to a machine, later the runs of it that remain."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from hindmost.errors import HindmostError, UsageError
from hindmost.files import make_folder
from hindmost.jobs.core.plan import Plan
from hindmost.jobs.folder import StudyFolder, Submitted
from hindmost.jobs.schedulers import SCHEDULERS
from hindmost.jobs.schedulers.scheduler import Scheduler
from hindmost.jobs.submission import Resumption, resume, scripts_of, submit
from hindmost.output import warn, write_json, write_lines, write_text
from hindmost.printable import shell_word
from hindmost.text import counted

EXAMPLES = """\
examples:
  hindmost study submit study.toml                # creates the study's folder NAME/
  hindmost study submit study.toml --machine site-a --folder /scratch/me/noise
  hindmost study submit study.toml --dry-run      # prints a script and submits nothing
  hindmost study submit gmres-noise --set repeats=3
  hindmost study submit NAME/                     # submits what remains of it
  hindmost study submit NAME/ --again             # also repeats runs that failed for good

'hindmost study plan' takes the same arguments and shows the runs and their cost. Without a
scheduler, this machine does the runs one after another, even after you log out.

Given the folder of a study: submit the scripts of allocations that have remaining runs and no job.
A run that was stopped, that crashed, or whose node failed is repeated (max_retries in the study
limits how often). A run that ran out of memory, reached its limit or ended with its own error is
not. Finished files are kept.
Exit status: 0 submitted, or no runs remain; 1 all remaining runs failed for good; 2 or 3 the study
is not valid; 4 the scheduler is not available.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from hindmost.jobs.verbs.plan import add_study_arguments

    parser.description = "Create the folder of a study, write its scripts and submit them."
    parser.add_argument(
        "study",
        metavar="STUDY",
        help="a study file, the name of a study shipped with hindmost, or the folder of a study",
    )
    add_study_arguments(parser)
    parser.add_argument("--folder", type=Path, help="folder of the study (its name)")
    parser.add_argument("--dry-run", action="store_true", help="print a script and stop")
    parser.add_argument(
        "--again", action="store_true", help="of a folder: also repeat runs that failed for good"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def perform(arguments: argparse.Namespace) -> int:
    """Plan, write and submit; of a study's folder, submit what remains."""
    if (Path(arguments.study) / "plan.json").is_file():
        return submit_remaining(arguments)
    if arguments.again:
        raise UsageError(f"--again is for the folder of a study; {arguments.study} is none.")
    return submit_new(arguments)


def submit_remaining(arguments: argparse.Namespace) -> int:
    """Submit the remaining runs of a study, as planned."""
    given = ("machine", "replacements", "folder", "dry_run")
    if any(getattr(arguments, name) for name in given):
        raise UsageError(
            f"{arguments.study} is the folder of a study, whose plan is made: of the options only "
            "--again and --json apply. Name a study file and --folder to plan another one."
        )
    study = StudyFolder.open(Path(arguments.study))
    with study.changing():
        done = resume(study, SCHEDULERS[study.plan.machine.scheduler], again=arguments.again)
    if arguments.json:
        write_json(1, study=study.plan.study, folder=study.path, **asdict(done))
    else:
        print_remaining(done, Path(arguments.study))
    return 1 if done.failed and not done.submitted and not done.live else 0


def print_remaining(done: Resumption, folder: Path) -> None:
    """Print what was submitted of a study that had been submitted before."""
    here = shell_word(folder)
    if done.submitted:
        print_submitted(done.submitted, done.runs)
    if done.live:
        write_lines(f"already queued or running: {counted(len(done.live), 'allocation')}")
    if done.failed:
        write_lines(f"failed for good: {counted(done.failed, 'run')}; --again repeats them")
    if done.submitted or done.live:
        write_lines(f"next: hindmost study status {here}")
    else:
        write_lines("no runs remain", f"next: hindmost study collect {here}")


def print_submitted(done: Sequence[Submitted], runs: int) -> None:
    """Print which jobs do how many runs."""
    jobs = ", ".join(f"{each.allocation} as job {each.job}" for each in done[:4])
    more = f" and {len(done) - 4} more" if done[4:] else ""
    write_lines(f"submitted {counted(runs, 'run')}: {jobs}{more}")


def submit_new(arguments: argparse.Namespace) -> int:
    """Plan, write and submit."""
    from hindmost.jobs.study.read import find_study
    from hindmost.jobs.verbs.plan import planned, warnings

    study, plan = planned(arguments)
    source = find_study(arguments.study).source
    for line in warnings(plan):
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
            for each in submit(
                folder, scheduler, [allocation.id for allocation in plan.allocations]
            ):
                done.append(each)
        except HindmostError:
            count = f"{len(done)} of {counted(len(plan.allocations), 'script')}"
            others = (
                f"; 'hindmost study submit {shell_word(path)}' submits the rest" if done else ""
            )
            warn(f"submitted {count}{others}")
            raise
    if arguments.json:
        submitted = Resumption(submitted=tuple(done), live=(), runs=len(plan.runs), failed=0)
        write_json(1, study=plan.study, folder=folder.path, **asdict(submitted))
    else:
        print_submitted(done, len(plan.runs))
        write_lines(f"next: hindmost study status {shell_word(path)}")
    return 0


def show(plan: Plan, scheduler: Scheduler, path: Path, *, as_json: bool) -> None:
    """Print what would be submitted."""
    scripts = scripts_of(plan, scheduler, path.resolve())
    if as_json:
        write_json(1, study=plan.study, folder=path.resolve(), scripts=scripts)
        return
    first, *others = scripts
    write_lines(f"# {path / 'scripts' / first}.sh")
    write_text(scripts[first])
    if others:
        write_lines(f"# and {counted(len(others), 'more script')}; --json prints all")
