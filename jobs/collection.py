"""The run files of a study gathered in one flat folder, for all other verbs."""

from __future__ import annotations

import filecmp
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hindmost.errors import UsageError
from hindmost.files import NO_LINKS, copy_atomically, make_folder
from hindmost.jobs.core.durable import write_durably
from hindmost.jobs.core.plan import PlannedRun
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcomes import RunOutcome
from hindmost.printable import shell_word
from hindmost.records import to_document
from hindmost.text import counted

TABLE = "collected.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """A collected file.

    Attributes
    ----------
    file : str
        Its name in the flat folder.
    source : str
        Relative to the folder of the study.
    planned : PlannedRun
    outcome : RunOutcome
    split : bool
        Runs that it is compared with ran in another job or on other nodes.
    """

    file: str
    source: str
    planned: PlannedRun
    outcome: RunOutcome
    split: bool

    JSON = (
        "file source run=planned.id configuration=planned.configuration block=planned.block "
        "ranks=planned.ranks attempt=outcome.attempt allocation=outcome.allocation "
        "job=outcome.job nodes=outcome.nodes split"
    )


def collect(study: StudyFolder, folder: Path) -> tuple[list[Collected], list[str]]:
    """Gather the files of all finished runs in one folder, as links where possible.

    Collecting again adds runs that finished since, and changes nothing else. Returns the files, and
    the runs that are not done.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.

    Raises
    ------
    UsageError
        No run is done yet, the runs that are wrote no file, the folder cannot be made, or another
        file has the name of one of the study's.
    """
    records = study.records()
    done = {run: record.done for run, record in records.items()}
    ended = [outcome for outcome in done.values() if outcome is not None]
    if not ended:
        raise UsageError(
            f"No run of {study.path} is done yet; "
            f"'hindmost study status {shell_word(study.path)}' shows its progress."
        )
    if not any(outcome.files for outcome in ended):
        raise UsageError(
            f"The {counted(len(ended), 'finished run')} of {study.path} wrote no file, so there is "
            "nothing to collect. Give {out} to the command in [run], and write there."
        )
    split = split_blocks((run.block, run.ranks, done[run.id]) for run in study.plan.runs)
    make_folder(folder, "--out")
    files: list[Collected] = []
    for run in study.plan.runs:
        outcome = done[run.id]
        if outcome is None:
            continue
        for name in outcome.files:
            source = study.run(run.id) / name
            target = folder / flat_name(name, run.id)
            bring(source, target)
            files.append(
                Collected(
                    file=target.name,
                    source=str(source.relative_to(study.path)),
                    planned=run,
                    outcome=outcome,
                    split=(run.block, run.ranks) in split,
                )
            )
    missing = [run for run, outcome in done.items() if outcome is None]
    write_durably(folder / TABLE, table_of(study, files, missing))
    return files, missing


def split_blocks(runs: Iterable[tuple[int, int, RunOutcome | None]]) -> set[tuple[int, int]]:
    """Return the blocks whose runs on equally many ranks were in several jobs or on other nodes."""
    places: defaultdict[tuple[int, int], set[tuple[str, tuple[str, ...]]]] = defaultdict(set)
    for block, ranks, outcome in runs:
        if outcome is not None:
            places[block, ranks].add((outcome.job, outcome.nodes))
    return {place for place, found in places.items() if len(found) > 1}


def flat_name(name: str, run: str) -> str:
    """Return the name of a run's file among those of all runs.

    Examples
    --------
    >>> flat_name("diagonal-cg-p2-0.h5", "cg-p2-b0")
    'diagonal-cg-p2-0-cg-p2-b0.h5'
    """
    path = Path(name)
    return f"{path.stem}-{run}{path.suffix}"


def bring(source: Path, target: Path) -> None:
    """Link a file, or copy it where links are impossible; an equal file is left as it is."""
    if target.exists():
        if target.samefile(source) or filecmp.cmp(source, target, shallow=False):
            return
        raise UsageError(f"{target} exists and differs; name another folder with --out.")
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        copy_atomically(source, target)
        shutil.copystat(source, target)


def table_of(study: StudyFolder, files: list[Collected], missing: list[str]) -> str:
    """Return the table of what was collected, as JSON."""
    answer = {
        "version": 1,
        "study": study.plan.study,
        "study_sha256": study.plan.study_sha256,
        "machine": study.plan.machine.name,
        "folder": os.fspath(study.path),
        "files": to_document(files),
        "missing": missing,
    }
    return json.dumps(answer, indent=1, allow_nan=False) + "\n"
