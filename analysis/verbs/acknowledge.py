"""``hindmost history ack``: acknowledge changes, and list acknowledgements."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from hindmost.analysis.history.acknowledgements import (
    FILE_NAME,
    Acknowledgement,
    add_acknowledgement,
    read_acknowledgements,
)
from hindmost.analysis.history.judged_series import JudgedSeries
from hindmost.analysis.history.name_patterns import ANY, NEAREST, fits, suggested
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.history.terms import more, named
from hindmost.analysis.readers.read import read_history
from hindmost.analysis.show.table import MOST_LISTED
from hindmost.errors import DataError, UsageError
from hindmost.models.changepoint import ChangePoint, Trend
from hindmost.output import write_lines
from hindmost.records import from_document
from hindmost.text import counted, signed_percent

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
    if path.suffix == ".toml":
        return path
    return (path if path.is_dir() else path.parent) / FILE_NAME


def acknowledge(arguments: argparse.Namespace) -> int:
    """Acknowledge a change, or list the acknowledgements."""
    if len(arguments.file) != 2:
        raise UsageError("'hindmost history ack' needs one folder or file of results.")
    if arguments.ack:
        raise UsageError(
            f"'hindmost history ack' uses {FILE_NAME} next to the data. To use another file, name "
            "it instead of the data, without --ack."
        )
    target = arguments.file[1]
    path = notes_beside(target)
    if not path.parent.is_dir():
        raise UsageError(
            f"{path.parent} does not exist: name the data, or the file of acknowledgements."
        )
    if arguments.list:
        if arguments.date or arguments.reason:
            raise UsageError("--list shows all acknowledgements: omit --date and --reason.")
        return list_notes(path, judged_data(arguments, path))
    if not arguments.date or not arguments.reason:
        raise UsageError("'hindmost history ack' needs --date and --reason.")
    note = wanted_note(arguments)
    study = judged_data(arguments, path)
    covered = None if study is None else covered_by(study, note)
    if study is not None and not covered:
        raise UsageError(why_nothing(study, note))
    everything = add_acknowledgement(path, note)
    write_lines(f"{path}: {counted(len(everything), 'acknowledgement')}")
    if covered is None:
        write_lines("'hindmost history ack DATA --list' shows which changes it matches.")
    for each in (covered or [])[:MOST_LISTED]:
        write_lines(f"  acknowledged: {each}")
    if covered and len(covered) > MOST_LISTED:
        write_lines(f" {more(len(covered) - MOST_LISTED)}")
    return 0


def wanted_note(arguments: argparse.Namespace) -> Acknowledgement:
    """Return the acknowledgement that the command line describes."""
    entry = {"date": arguments.date, "reason": arguments.reason}
    entry |= {name: getattr(arguments, name) or ANY for name in KEYS}
    try:
        return from_document(Acknowledgement, entry)
    except DataError as error:
        raise UsageError(f"The acknowledgement: {error}") from error


def judged_data(arguments: argparse.Namespace, path: Path) -> HistoryStudy | None:
    """Judge the data, with the state if one is given; None if only acknowledgements are named."""
    target = Path(arguments.file[1])
    if target == path:
        return None
    state = None
    if arguments.state:
        from hindmost.analysis.history.state_file import read_state

        state = read_state(arguments.state)
    return judge_history(
        read_history(target, format=arguments.format),
        state=state,
        acknowledged=read_acknowledgements(path) if path.exists() else (),
    )


def covered_by(study: HistoryStudy, note: Acknowledgement) -> list[str]:
    """Return in words the changes and drifts, ended or not, that an acknowledgement matches."""
    covered = []
    for each in study.judged:
        if not note.concerns(each.series.name):
            continue
        change = each.meant(note)
        if change is not None:
            covered.append(change_words(each, change))
            continue
        covered += [
            drift_words(each, trend)
            for trend in each.detection.trends
            if note.covers(each.labels[trend.start], each.labels[trend.stop - 1])
        ]
    return covered


def drift_words(judged: JudgedSeries, trend: Trend) -> str:
    """Return series, size and dates of a drift."""
    first, last = judged.labels[trend.start], judged.labels[trend.stop - 1]
    goes_on = trend.stop == judged.detection.observations
    when = f"since {first}" if goes_on else f"from {first} to {last}"
    return f"{named(judged.series.name)}: drift of {signed_percent(trend.effect)} {when}"


def change_words(judged: JudgedSeries, change: ChangePoint) -> str:
    """Return series, size and date of a change."""
    return (
        f"{named(judged.series.name)}: {signed_percent(change.effect)} on "
        f"{judged.labels[change.index]}"
    )


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
    found = []  # distance in days, and words
    for each in left:
        days = [date.fromisoformat(label[:10]).toordinal() for label in each.labels]
        found += [
            (abs(days[change.index] - noted), change_words(each, change))
            for change in each.detection.changes
        ]
        found += [
            (
                min(abs(days[end] - noted) for end in (trend.start, trend.stop - 1)),
                drift_words(each, trend),
            )
            for trend in each.detection.trends
        ]
    where = f"{counted(len(left), 'matching series')}"
    if not found:
        return f"No change was found in the {where}; nothing was acknowledged."
    found.sort(key=lambda row: row[0])
    near = "; ".join(words for _, words in found[:NEAREST])
    return (
        f"No change in the {where} may lie on {note.date}; nothing was acknowledged. The nearest "
        f"are: {near}."
    )


def list_notes(path: Path, study: HistoryStudy | None) -> int:
    """Print every acknowledgement, and what it matches now."""
    notes = read_acknowledgements(path) if path.exists() else ()
    write_lines(f"{path}: {counted(len(notes), 'acknowledgement')}")
    for note in notes:
        write_lines(f"{note_words(note)}: {note.reason}")
        if study is None:
            continue
        covered = covered_by(study, note)
        for line in covered[:MOST_LISTED] or ["No detected change matches this acknowledgement."]:
            write_lines(f"  {line}")
        if len(covered) > MOST_LISTED:
            write_lines(f" {more(len(covered) - MOST_LISTED)}")
    return 0


def note_words(note: Acknowledgement) -> str:
    """Return the date and the names of an acknowledgement, as options."""
    names = [f"--{key} {getattr(note, key)!r}" for key in KEYS if getattr(note, key) != ANY]
    return " ".join([f"--date {note.date}", *names])
