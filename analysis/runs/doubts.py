"""The findings of run files among other files, for verbs that read many formats."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from hindmost.analysis.runs.finding import Finding
from hindmost.errors import DataError

RUN_FILES = "*.h5"


def findings_in(paths: Iterable[Path]) -> list[Finding]:
    """Return the findings of run files, also of those in folders; a copy counts once.

    Other files and damaged ones are skipped: their reader reports them, and copies.
    """
    files = [
        file
        for path in paths
        for file in (sorted(path.rglob(RUN_FILES)) if path.is_dir() else [path])
        if file.match(RUN_FILES) and file.is_file()
    ]
    if not files:  # other formats do not wait for HDF5
        return []
    from hindmost.analysis.runs.check import findings_of
    from hindmost.analysis.runs.groups import group_runs
    from hindmost.analysis.runs.read import DistinctRuns
    from hindmost.harness.runfile.reader import open_run

    runs = DistinctRuns()
    for file in files:
        with suppress(DataError):
            runs.add(open_run(file))
    return findings_of(group_runs(runs), read_large=False)
