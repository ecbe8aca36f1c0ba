"""``hindmost history ack``: acknowledge changes, and list acknowledgements."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path

from hindmost.analysis.history.acknowledgements import (
    ANY,
    FILE_NAME,
    NEAREST,
    Acknowledgement,
    add_acknowledgement,
    fits,
    read_acknowledgements,
    suggested,
)
from hindmost.analysis.history.change_groups import NightChange, change_sentence
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.readers.read import read_history
from hindmost.analysis.show.table import MAX_LISTED
from hindmost.errors import DataError, UsageError
from hindmost.output import write_lines
from hindmost.records import from_document
from hindmost.text import counted

KEYS = ("machine", "case", "timer")


def known_changes(
    files: Iterable[str], named: Iterable[Path] | None
) -> tuple[Acknowledgement, ...]:
    """Read the named acknowledgements, or those next to the data."""
    if named is None:
        named = [place for place in dict.fromkeys(map(notes_beside, files)) if place.exists()]
    return tuple(note for path in named for note in read_acknowledgements(path))


def notes_beside(file: str) -> Path:
    """Return the file of acknowledgements that belongs to a file or folder of results."""
    path = Path(file)
    return (path if path.is_dir() else path.parent) / FILE_NAME


def acknowledge(arguments: argparse.Namespace) -> int:
    """Acknowledge a change, or list the acknowledgements."""
    if len(arguments.file) != 2:
        raise UsageError("'hindmost history ack' needs one folder or file of results.")
    if len(arguments.ack or ()) > 1:
        raise UsageError("'hindmost history ack' writes one file: give --ack once.")
    data = Path(arguments.file[1])
    path = arguments.ack[0] if arguments.ack else notes_beside(arguments.file[1])
    if arguments.list:
        if arguments.date or arguments.reason:
            raise UsageError("--list shows all acknowledgements: omit --date and --reason.")
        return list_notes(path, judged_data(arguments, data, path))
    if not arguments.date or not arguments.reason:
        raise UsageError("'hindmost history ack' needs --date and --reason.")
    entry = {"date": arguments.date, "reason": arguments.reason}
    entry |= {name: getattr(arguments, name) or ANY for name in KEYS}
    try:
        note = from_document(Acknowledgement, entry)
    except DataError as error:
        raise UsageError(f"The acknowledgement: {error}") from error
    study = judged_data(arguments, data, path)
    covered = covered_by(study, note)
    if not covered:
        raise UsageError(why_nothing(study, note))
    everything = add_acknowledgement(path, note)
    write_lines(f"{path}: {counted(len(everything), 'acknowledgement')}")
    write_covered(covered, "acknowledged: ")
    return 0


def judged_data(arguments: argparse.Namespace, data: Path, path: Path) -> HistoryStudy:
    """Judge the data, with the state if one is given, and a file of acknowledgements."""
    state = None
    if arguments.state:
        from hindmost.analysis.history.state_file import read_state

        state = read_state(arguments.state)
    return judge_history(
        read_history(data, format=arguments.format),
        state=state,
        acknowledged=read_acknowledgements(path) if path.exists() else (),
    )


def covered_by(study: HistoryStudy, note: Acknowledgement) -> list[str]:
    """Return in words the changes and drifts, ended or not, that an acknowledgement matches."""
    concerned = [each for each in study.judged if note.concerns(each.series.name)]
    matched = [(each, each.meant(note)) for each in concerned]
    return [
        change_sentence(NightChange.of(study, each, finding))
        for each, finding in matched
        if finding is not None
    ]


def why_nothing(study: HistoryStudy, note: Acknowledgement) -> str:
    """Return why no change matches an acknowledgement, with the nearest names or changes."""
    left = list(study.judged)
    for key in KEYS:
        pattern = getattr(note, key)
        names = sorted({getattr(each.series.name, key) for each in left})
        left = [each for each in left if fits(pattern, getattr(each.series.name, key))]
        if not left:
            return (
                f"No {key} matches {pattern!r}; nothing was acknowledged. "
                f"{suggested(pattern, names)}"
            )
    noted = date.fromisoformat(note.date).toordinal()
    found = []  # distance in days, and the change
    for each in left:
        days = [date.fromisoformat(label[:10]).toordinal() for label in each.labels]
        found += [
            (
                min(abs(days[place] - noted) for place in (one.index, one.last)),
                NightChange.of(study, each, one),
            )
            for one in each.detection.findings
        ]
    where = f"{counted(len(left), 'matching series')}"
    if not found:
        return f"No change was found in the {where}; nothing was acknowledged."
    found.sort(key=lambda row: row[0])
    near = "; ".join(change_sentence(one) for _, one in found[:NEAREST])
    return (
        f"No change in the {where} may lie on {note.date}; nothing was acknowledged. The nearest "
        f"are: {near}."
    )


def list_notes(path: Path, study: HistoryStudy) -> int:
    """Print every acknowledgement, and what it matches now."""
    notes = read_acknowledgements(path) if path.exists() else ()
    write_lines(f"{path}: {counted(len(notes), 'acknowledgement')}")
    for note in notes:
        names = [f"--{key} {getattr(note, key)!r}" for key in KEYS if getattr(note, key) != ANY]
        write_lines(f"{' '.join([f'--date {note.date}', *names])}: {note.reason}")
        none = "No detected change matches this acknowledgement."
        write_covered(covered_by(study, note) or [none])
    return 0


def write_covered(covered: Sequence[str], before: str = "") -> None:
    """Print what an acknowledgement matches."""
    write_lines(*(f"  {before}{each}" for each in covered[:MAX_LISTED]))
    if len(covered) > MAX_LISTED:
        write_lines(f"  and {len(covered) - MAX_LISTED} more")
