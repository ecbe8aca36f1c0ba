"""Findings: what puts numbers of runs in doubt, and how it is shown below them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from hindmost.analysis.show.page import Caution, Part
from hindmost.text import by_number, counted

Severity = Literal["note", "error"]
WORTH_SAYING = 0.01
"""Share of a time from which on a cost or a doubt is told."""
SPOILS = 0.10
"""Share above which what is in doubt allows no conclusion."""
DISTURBED = ("crowded", "cores-taken", "outliers", "load", "slow-stretch")
"""Codes of findings that call for a repeat before conclusions."""
MAX_SHOWN = 2
"""Findings below a table; ``hindmost check`` lists all."""
ON_PURPOSE = ("injected-noise", "interference")
"""Codes of disturbances that were asked for: other findings follow from them."""


class Topic(StrEnum):
    """What a finding may put in doubt; tables name the topics that their numbers depend on."""

    TIMES = "times"
    PHASES = "phases"
    """How time divides into work, waiting and the rest; efficiencies."""
    ORDER = "order in time"
    """Which of two ranks came first."""
    MODELS = "models"
    COMPARISON = "comparisons"
    PREDICTIONS = "predictions"
    """Errors of the predictors of an adaptive run."""


OF_SHOW = tuple(Topic)
OF_MODELS = (Topic.TIMES, Topic.PHASES, Topic.MODELS)
OF_RANKS = (Topic.TIMES, Topic.PHASES, Topic.ORDER)
OF_CYCLES = (Topic.TIMES, Topic.PREDICTIONS)
OF_COMPARISON = (Topic.TIMES, Topic.COMPARISON)
"""Topics that the numbers of a table depend on."""
NUMBERS = (Topic.TIMES, Topic.PHASES, Topic.MODELS, Topic.COMPARISON)
"""In doubt if the data are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that puts numbers of a run in doubt.

    Attributes
    ----------
    file : str
        Empty where one run alone is looked at.
    code : str
        Short and stable, for programs.
    severity : str
        ``note``: conclusions are possible, with care. ``error``: draw none.
    text, advice : str
    doubts : tuple of Topic
        What it puts in doubt.
    """

    file: str = ""
    code: str
    severity: Severity
    text: str
    advice: str
    doubts: tuple[Topic, ...]


def about(findings: Iterable[Finding], topics: Collection[str]) -> list[Finding]:
    """Return the findings that put one of these topics in doubt.

    What was done on purpose comes first, then errors.
    """
    found = [finding for finding in findings if any(topic in topics for topic in finding.doubts)]
    return sorted(found, key=lambda each: (each.code not in ON_PURPOSE, each.severity != "error"))


def by_code(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Return the findings of each code and severity together, in the order of the first ones."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.code, finding.severity), []).append(finding)
    return list(alike.values())


def cautions(
    findings: Iterable[Finding],
    topics: Collection[Topic],
    said: Collection[str] = (),
    most: int = MAX_SHOWN,
) -> list[str]:
    """Return the findings below a table whose numbers depend on some topics.

    Findings of one code in several files are one line. What is in doubt is said once, in the last.
    Below errors, notes are only counted: they add no reason to doubt. What was done on purpose is
    never left out.

    Parameters
    ----------
    said : collection of str
        Codes of findings that the lines above contain.
    most : int
        Findings that are shown; the others are counted.
    """
    chosen = about(findings, topics)
    several = len({each.file for each in chosen}) > 1
    unsaid = [each for each in by_code(chosen) if each[0].code not in said]
    on_purpose = [each for each in unsaid if each[0].code in ON_PURPOSE]
    errors = [each for each in unsaid if each[0].severity == "error"]
    others = [error for error in errors or unsaid if error not in on_purpose]
    shown = [*on_purpose, *others[:most]]
    lines = [line(each, several=several) for each in shown]
    if chosen:
        doubted = [topic for topic in Topic if any(topic in each.doubts for each in chosen)]
        named = ", ".join(str(topic) for topic in doubted if topic in topics)
        more = len(unsaid) - len(shown)
        what = f"{counted(more, 'more finding')} and advice" if more else "advice"
        lines.append(f"In doubt: {named}. 'hindmost check' has {what}.")
    return lines


def of_file(findings: Iterable[Finding], file: Path | str) -> list[Finding]:
    """Return the findings of one file."""
    return [finding for finding in findings if finding.file == str(file)]


def line(alike: Sequence[Finding], *, several: bool) -> str:
    """Return one line for all findings of a code.

    Parameters
    ----------
    several : bool
        Whether lines around it are of other files.
    """
    first, files = alike[0], len({each.file for each in alike})
    same = len({each.text for each in alike}) == 1
    where = f"{Path(first.file).name}: " if same and several else ""
    others = f"; in {files} files" if files > 1 else ""
    return f"{first.severity}: {where}{text_of_all(alike)}{others} ({first.code})"


def text_of_all(alike: Sequence[Finding]) -> str:
    """Return one text for the findings of a code: the first, with its file if others differ."""
    first = alike[0]
    if len({each.text for each in alike}) == 1:
        return first.text
    return f"{first.text} ({Path(first.file).name}; other files differ)"


def caution_parts(findings: Iterable[Finding], topics: Collection[Topic]) -> list[Part]:
    """Return the parts below a table of a page whose numbers depend on some topics."""
    return [Caution(text) for text in cautions(findings, topics)]


def run_files_in(paths: Iterable[Path]) -> list[Path]:
    """Return what may be run files among files, and in folders."""
    return [
        file
        for path in paths
        for file in (sorted(path.rglob("*.h5"), key=by_number) if path.is_dir() else [path])
        if file.match("*.h5") and file.is_file()
    ]
