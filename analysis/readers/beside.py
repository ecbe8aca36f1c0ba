"""What hindmost itself puts beside results: readers of a folder pass it over, without a word."""

from __future__ import annotations

from pathlib import Path

from hindmost.analysis.readers.head import head_of

COLLECTED, MARK = "collected.json", b'"study_sha256"'
"""The table of ``hindmost collect``: which run each file belongs to, and where it was done."""

PAGES, HTML = (".html", ".htm"), b"<!doctype html"
"""No page holds results, ours or another's."""

FIGURES = (".png", ".pdf", ".svg")
"""Beside a figure stands a CSV file of its name, with the numbers that were plotted."""


def is_ours(path: Path) -> bool:
    """Tell whether a file in a folder is no result, but what hindmost made of results.

    Raises
    ------
    DataError
        The file cannot be read.
    """
    if path.suffix == ".csv":
        return any(path.with_suffix(suffix).is_file() for suffix in FIGURES)
    if path.suffix in PAGES:
        return head_of(path).lstrip().lower().startswith(HTML)
    return path.name == COLLECTED and MARK in head_of(path)
