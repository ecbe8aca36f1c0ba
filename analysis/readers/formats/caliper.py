"""Caliper's ``.cali`` files, one per run.

A kernel is a region path, and a metric is an attribute that Caliper stores as a value, as
``avg#inclusive#sum#time.duration``. Records of one path that belong to one rank are added; ranks
become one by their mean, their maximum or their sum. The parameters are numbers among the globals
that a run notes about itself. Without a choice it is the number of ranks; runs at one point are
repetitions, and a remark says which other whole numbers differ between them.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from hindmost.analysis.readers.format import (
    OVER_RANKS,
    ExperimentFormat,
    ExperimentRequest,
    RankColumns,
    RankFormat,
)
from hindmost.analysis.readers.gather_experiment import ROOT, ExperimentGathering
from hindmost.analysis.readers.text_files import read_text, split_lines
from hindmost.errors import DataError, UsageError
from hindmost.extras import imported
from hindmost.parsing import plain_number

RANKS = ("mpi.world.size", "jobsize")
"""Globals with the number of ranks: Caliper's and Adiak's."""
NO_SIZES = ("launchdate", "uid", "spot.format.version", "cali.channel")
"""Globals that are whole numbers but no property of the run."""

_COMMA = re.compile(r"(?<!\\),")
"""Between the fields of a record; commas in a text have a backslash."""

_Values = dict[tuple[str, str], tuple[float, str]]


def _float(text: Any) -> float | None:
    try:
        value = plain_number(str(text))
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _refuse_circles(path: Path, lines: list[str]) -> None:
    """Raise for a node that is its own parent, after which caliper-reader would not end."""
    for line in lines:
        if not line.startswith("__rec=node"):
            continue
        fields = dict(each.partition("=")[::2] for each in _COMMA.split(line))
        if "parent" in fields and _float(fields["parent"]) == _float(fields.get("id")):
            raise DataError(
                f"{path} is damaged: the node '{line[:60]}' is its own parent. Copy it again, or "
                "leave it out."
            )


def _by_rank(
    path: Path,
) -> tuple[dict[tuple[str, str], dict[str, float]], dict[str, str], dict[str, Any]]:
    """Return values by path and metric and then by rank, the metrics' units, and the globals."""
    lines = [line for line in split_lines(read_text(path)) if line.strip()]
    _refuse_circles(path, lines)
    reader = imported(
        "caliperreader", what="Caliper files", extra="caliper", package="caliper-reader"
    ).CaliperReader()
    try:
        reader.read(iter(lines))
        return _collected(reader)
    except Exception as error:  # of a damaged file, whatever caliper-reader meets
        raise DataError(
            f"{path} is not a Caliper file that can be read ({type(error).__name__}: {error}). "
            "Copy it again, or leave it out."
        ) from error


def _collected(
    reader: Any,
) -> tuple[dict[tuple[str, str], dict[str, float]], dict[str, str], dict[str, Any]]:
    """Return the result of `_by_rank` for a file that was read."""
    metrics = {
        name: str(reader.attribute(name).get("attribute.unit") or "")
        for name in reader.attributes()
        if reader.attribute(name).is_value()
        and not reader.attribute(name).is_global()
        and name not in ("mpi.rank", "cali.event.begin", "cali.event.end")
    }
    of_ranks: dict[tuple[str, str], dict[str, float]] = {}
    for record in reader.records:
        path_of = record.get("path", ROOT)
        kernel = "->".join(path_of) if isinstance(path_of, list) else str(path_of)
        for name in metrics.keys() & record.keys():
            value = float(record[name])
            by_rank = of_ranks.setdefault((kernel, name), {})
            rank = str(record.get("mpi.rank", ""))
            by_rank[rank] = by_rank.get(rank, 0.0) + value
    return of_ranks, metrics, reader.globals


def read_ranks(path: Path) -> RankColumns:
    """Return every exclusive time and count of the ranks in a file.

    A region's inclusive value is left out if the file has the exclusive one.

    Raises
    ------
    DataError
        A damaged file, or records that say no rank.
    """
    of_ranks, units, _ = _by_rank(path)
    of_ranks = {
        key: {rank: value for rank, value in by_rank.items() if rank.isdigit()}
        for key, by_rank in of_ranks.items()
        if not (
            "inclusive" in key[1] and (key[0], key[1].replace("inclusive", "exclusive")) in of_ranks
        )
    }
    ranks = sorted({int(rank) for by_rank in of_ranks.values() for rank in by_rank})
    if not ranks:
        raise DataError(
            f"{path} has no record with a rank (mpi.rank); it was aggregated over ranks. "
            "Write one record per rank."
        )
    columns = {f"{kernel} {metric}": (kernel, metric) for kernel, metric in sorted(of_ranks)}
    return RankColumns(
        ranks=np.array(ranks, np.int64),
        values={
            name: np.array([of_ranks[key].get(str(rank), 0.0) for rank in ranks])
            for name, key in columns.items()
        },
        units={name: units[metric] for name, (_, metric) in columns.items()},
    )


def _profile(path: Path, request: ExperimentRequest) -> tuple[_Values, dict[str, float]]:
    """Return values and units by path and metric, and the globals that are numbers."""
    of_ranks, metrics, noted_globals = _by_rank(path)
    over_ranks = OVER_RANKS[request.over_ranks]
    found = {
        key: (over_ranks(np.array(list(by_rank.values()))), metrics[key[1]])
        for key, by_rank in sorted(of_ranks.items())
    }
    noted = {name: _float(value) for name, value in noted_globals.items()}
    return found, {name: value for name, value in noted.items() if value is not None}


def _parameters(notes: dict[Path, dict[str, float]], request: ExperimentRequest) -> list[str]:
    """Choose the parameters, or list the choices in an error."""
    common = set.intersection(*(set(note) for note in notes.values()))
    different = {name: len({note[name] for note in notes.values()}) for name in sorted(common)}
    varying = [f"{name} ({count} values)" for name, count in different.items() if count > 1]
    choices = ", ".join(varying) or ", ".join(different) or "none"
    for name in request.parameters:
        if name not in common:
            raise UsageError(
                f"Not all files have a number '{name}' among their globals; all have: {choices}."
            )
    if request.parameters:
        return list(request.parameters)
    for name in RANKS:
        if different.get(name, 0) > 1 or (len(notes) == 1 and name in different):
            return [name]
    raise DataError(
        "The Caliper files have the same number of ranks; name another parameter. "
        f"Numbers in all files: {choices}."
    )


def _read(paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering) -> None:
    profiles: dict[Path, _Values] = {}
    notes: dict[Path, dict[str, float]] = {}
    for path in paths:
        profiles[path], notes[path] = _profile(path, request)
        if not profiles[path]:
            into.remarks.add("files without records", f"{path} has no record of a value; left out.")
    names = _parameters(notes, request)
    into.declare(names, str(paths[0]))
    _say_pooled(notes, names, into)
    for path, found in profiles.items():
        point = tuple(notes[path][name] for name in names)
        for key, (value, unit) in found.items():
            into.add(key, point, [value], str(path), unit)


def _say_pooled(
    notes: dict[Path, dict[str, float]], names: list[str], into: ExperimentGathering
) -> None:
    """Remark on whole numbers that differ between runs that count as repetitions."""
    first: dict[tuple[float, ...], Path] = {}
    for path, noted in notes.items():
        other = notes[first.setdefault(tuple(noted[name] for name in names), path)]
        apart = [
            name
            for name in sorted(noted.keys() & other.keys())
            if noted[name] != other[name]
            and noted[name].is_integer()
            and other[name].is_integer()
            and name not in NO_SIZES
        ]
        if apart:
            into.remarks.add(
                "runs that count as repetitions and differ",
                f"{path} counts as a repetition of {first[tuple(noted[n] for n in names)]}, but "
                f"differs in {', '.join(apart)}; name it as a parameter if it matters.",
            )


def _recognises(path: Path, head: bytes) -> bool:
    return head.lstrip().startswith(b"__rec=")


CALIPER = ExperimentFormat(
    name="caliper",
    looks_like="lines that begin with __rec= (Caliper)",
    recognises=_recognises,
    read=_read,
)

CALIPER_RANKS = RankFormat(
    name=CALIPER.name, looks_like=CALIPER.looks_like, recognises=_recognises, read=read_ranks
)
