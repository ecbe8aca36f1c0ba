"""Run files of hindmost as a format of histories; their reader, which brings HDF5, waits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hindmost.analysis.history.readers.measured import Found, HistoryFormat, Source
from hindmost.analysis.readers.remarks import Remarks


def _read(source: Source, remarks: Remarks) -> Iterable[Found]:
    # A night of another format does not wait for HDF5.
    from hindmost.analysis.history.readers.run_files import read_run

    return read_run(source, remarks)


def _recognises(path: Path, head: bytes) -> bool:
    return head.startswith(b"\x89HDF\r\n\x1a\n")


RUNS = HistoryFormat(
    name="runs",
    looks_like="run files (*.h5) that 'hindmost run' or hindmost.record wrote",
    recognises=_recognises,
    read=_read,
)
