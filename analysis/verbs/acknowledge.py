"""``hindmost history ack``: a change noted as known."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from hindmost.analysis.history.acknowledgements import (
    ANY,
    FILE_NAME,
    Acknowledgement,
    add_acknowledgement,
    checked,
    read_acknowledgements,
)
from hindmost.analysis.history.readers.find import read_history
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.history.words import counted, more, named
from hindmost.errors import DataError, UsageError

MOST = 20


def known_changes(
    files: Iterable[str], named: Iterable[Path] | None
) -> tuple[Acknowledgement, ...]:
    """Read the notes that are named, or those beside the data."""
    if named is None:
        named = [place for place in dict.fromkeys(map(notes_beside, files)) if place.exists()]
    return tuple(note for path in named for note in read_acknowledgements(path))


def plain_date(words: str) -> str:
    """Write a date as the notes do; what is none is left for the check of the note."""
    try:
        return date.fromisoformat(words).isoformat()
    except ValueError:
        return words


def notes_beside(file: str) -> Path:
    """Return where the notes on a file or a folder of results are."""
    path = Path(file)
    if path.suffix == ".toml":
        return path
    return (path if path.is_dir() else path.parent) / FILE_NAME


def acknowledge(arguments: argparse.Namespace) -> int:
    """Note a change as known, and say what the note covers."""
    if len(arguments.file) != 2:
        raise UsageError("'hindmost history ack' takes one folder or file, and options.")
    if not arguments.date or not arguments.reason:
        raise UsageError("'hindmost history ack' needs --date and --reason: when, and why known.")
    if arguments.ack:
        raise UsageError(
            "'hindmost history ack' writes the notes beside the data: name the file of notes in "
            "place of the data to write another one, and leave --ack away."
        )
    entry = {"date": plain_date(arguments.date), "reason": arguments.reason}
    entry |= {name: getattr(arguments, name) or ANY for name in ("machine", "case", "timer")}
    try:
        note = checked(entry, "The note")
    except DataError as error:
        raise UsageError(str(error)) from error
    target = arguments.file[1]
    path = notes_beside(target)
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} does not exist: name the data, or the file of notes.")
    data = path.parent if Path(target) == path else Path(target)
    covered = None
    if Path(target) != path:
        study = judge_history(
            read_history(data, format=arguments.format),
            acknowledged=[note],
            method=arguments.method,
        )
        covered = [
            f"{named(each.series.name)}: {100.0 * change.effect:+.1f} % on "
            f"{each.labels[change.index]}"
            for each in study.judged
            for change in each.detection.changes
            if each.acknowledgement(change)
        ]
        if not covered:
            sys.stderr.write(
                "hindmost: no change that is found now is covered by the note; it is kept all the "
                "same. 'hindmost history' tells the changes and their dates.\n"
            )
    everything = add_acknowledgement(path, note)
    print(f"{path}: {counted(len(everything), 'note')}")
    for line in (covered or [])[:MOST]:
        print(f"  known: {line}")
    if covered and len(covered) > MOST:
        print(f" {more(len(covered) - MOST)}")
    return 0
