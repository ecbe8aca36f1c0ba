"""Run files of hindmost, as experiments and as histories; only reading one waits for HDF5."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hindmost.analysis.readers.format import (
    ExperimentFormat,
    ExperimentRequest,
    HistoryEntry,
    HistoryFile,
    HistoryFormat,
)
from hindmost.analysis.readers.gather_experiment import ExperimentGathering
from hindmost.analysis.readers.remarks import Remarks

NAME = "runs"
LOOKS_LIKE = "run files (*.h5) that 'hindmost run' or hindmost.record wrote"


def _recognises(path: Path, head: bytes) -> bool:
    return head.startswith(b"\x89HDF\r\n\x1a\n")


def _read_experiment(
    paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering
) -> None:
    from hindmost.analysis.readers.formats.run_experiment import read_runs

    read_runs(paths, request, into)


def _read_history(source: HistoryFile, remarks: Remarks) -> Iterable[HistoryEntry]:
    from hindmost.analysis.readers.formats.run_history import read_run

    return read_run(source, remarks)


RUN_EXPERIMENT = ExperimentFormat(
    name=NAME, looks_like=LOOKS_LIKE, recognises=_recognises, read=_read_experiment
)
RUN_HISTORY = HistoryFormat(
    name=NAME, looks_like=LOOKS_LIKE, recognises=_recognises, read=_read_history
)
