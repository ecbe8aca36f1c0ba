"""A format with ranks and seconds: ``pairs of NAME``, then two numbers a line."""

from __future__ import annotations

from pathlib import Path

from hindmost.analysis.readers.experiment import ExperimentGathering
from hindmost.analysis.readers.format import ExperimentFormat, ExperimentRequest
from hindmost.analysis.readers.text_files import read_text

HEAD = "pairs of "


def recognises(path: Path, head: bytes) -> bool:
    """Tell whether the first line is that of the format."""
    return head.startswith(HEAD.encode())


def read(paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering) -> None:
    """Add every pair as a measurement."""
    for path in paths:
        first, *lines = read_text(path).splitlines()
        into.declare(["p"], str(path))
        for number, line in enumerate(lines, 2):
            ranks, seconds = map(float, line.split())
            where = f"{path}, line {number}"
            into.add((first.removeprefix(HEAD), "time"), (ranks,), [seconds], where, unit="s")


PAIRS = ExperimentFormat(
    name="pairs", looks_like="'pairs of NAME' on the first line", recognises=recognises, read=read
)
