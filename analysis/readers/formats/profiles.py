"""CUBE profiles of Score-P and Scalasca: a folder with a folder for each run.

``runs/PREFIX.p4.n10.r1/profile.cubex``: the parameters are in the names of the inner folders, see
`folder_names`; those that are the same in all are left out, as in Extra-P. Repetitions are folders
of the same parameters. A kernel is a call path, and its value is that of the call path alone, or
with its callees if ``inclusive`` is requested. The values of all locations (ranks and threads)
are combined by their mean, as Extra-P does for weak scaling, or by their maximum or sum; Extra-P
uses the sum for strong scaling. Call paths that are missing at some points stay separate series;
Extra-P adds them to their callers.

Caliper's ``.cali`` files, one per run.

A kernel is a region path, and a metric is an attribute that Caliper stores as a value, as
``avg#inclusive#sum#time.duration``. Records of one path that belong to one rank are added; ranks
become one by their mean, their maximum or their sum. The parameters are numbers among the globals
that a run notes about itself. Without a choice it is the number of ranks; runs at one point are
repetitions, and a remark says which other whole numbers differ between them.

TAU's text profiles: ``profile.RANK.CONTEXT.THREAD``, one per thread.

The first line says how many functions follow and which metric was measured; a function's line has
its name in quotes, calls, subroutines, exclusive and inclusive value. Times are in microseconds.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.experiment import ROOT, ExperimentGathering
from hindmost.analysis.readers.format import (
    OVER_RANKS,
    ExperimentFormat,
    ExperimentRequest,
    RankColumns,
    RankFormat,
)
from hindmost.analysis.readers.provenance import parameters_in
from hindmost.analysis.readers.text_files import read_text, split_lines
from hindmost.errors import DataError, HindmostError, UsageError
from hindmost.extras import imported
from hindmost.parsing import as_number
from hindmost.text import choose, first_of

_FIRST_MEMBER = re.compile(rb"(?:\./)?(?:anchor\.xml|\d+\.(?:index|data))\0")


def _call_paths(roots: list[Any]) -> Iterator[tuple[Any, str]]:
    """Yield every call path's node and its name."""
    waiting = [(root, root.region.name) for root in reversed(roots)]
    while waiting:
        node, name = waiting.pop()
        yield node, name
        waiting += [
            (child, f"{name}->{child.region.name}") for child in reversed(node.get_children())
        ]


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a profile; raise a DataError for whatever pycubexr meets in a damaged file."""
    parser = imported("pycubexr", what="CUBE profiles", extra="cube").CubexParser
    profile = None
    try:
        profile = parser(str(path))
        with profile:
            yield profile
    except HindmostError:
        raise
    except Exception as error:
        raise DataError(
            f"{path} is not a CUBE profile that can be read ({type(error).__name__}: {error}). "
            "Copy it again, or leave its folder out."
        ) from error
    finally:
        # Of a damaged file pycubexr lets the archive stand open.
        archive = getattr(profile, "_cubex_file", None)
        if archive is not None:
            archive.close()


def _cube_values(
    profile: Any, chosen: Sequence[str] = (), *, inclusive: bool = False
) -> Iterator[tuple[str, str, str, NDArray[np.float64]]]:
    """Yield kernel, metric, unit and values of every call path in metrics with data, or the chosen.

    Values have the shape (location,).

    Without callees, call paths that have no values themselves are left out.
    """
    paths = list(_call_paths(profile.get_root_cnodes()))
    for metric in _with_data(profile):
        if chosen and metric.name not in chosen:
            continue
        values = profile.get_metric_values(metric, cache=False)
        for node, name in paths:
            if inclusive or node.id in values.cnode_indices:
                each = values.cnode_values(
                    node, convert_to_exclusive=not inclusive, convert_to_inclusive=inclusive
                )
                found = np.asarray(each.astype(float), np.float64)
                yield name, metric.name, metric.units or "", found


def _with_data(profile: Any) -> list[Any]:
    """Return the metrics that a profile has data of."""
    members = set(profile._tar_file_members())
    return [metric for metric in profile.all_metrics() if f"{metric.id}.index" in members]


def read_cube_ranks(path: Path) -> RankColumns:
    """Return the exclusive value of every call path on every rank: times, bytes and visits.

    The threads of a rank are added.

    Raises
    ------
    DataError
        A damaged file.
    """
    columns: dict[str, NDArray[np.float64]] = {}
    units: dict[str, str] = {}
    with _opened(path) as profile:
        groups = profile._anchor_result.system_tree_nodes[0].all_location_groups()
        rank_in = {each.id: int(group.rank) for group in groups for each in group.all_locations()}
        # Values come in the order of their locations.
        in_order = [rank_in[location] for location in sorted(rank_in)]
        ranks, rank_of = np.unique(in_order, return_inverse=True)
        for kernel, metric, unit, values in _cube_values(profile):
            column = f"{kernel} {metric}"
            columns[column] = columns.get(column, 0.0) + np.bincount(rank_of, values)
            units[column] = unit
    return RankColumns(ranks=ranks.astype(np.int64), values=columns, units=units)


def _read_cube(
    paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering
) -> None:
    points = {path: parameters_in(path.resolve().parent.name) for path in paths}
    for path, point in points.items():
        if not point:
            raise DataError(
                f"{path}: its folder '{path.resolve().parent.name}' names no parameters; call it "
                "PREFIX.p4.n10.r1, for example."
            )
    first = next(iter(points))
    for path, point in points.items():
        if point.keys() != points[first].keys():
            raise DataError(
                f"{path}: the parameters are {', '.join(point)}, but {', '.join(points[first])} "
                f"in {first}. All folders must name the same."
            )
    varying = [
        name for name in points[first] if len({point[name] for point in points.values()}) > 1
    ]
    names = [*varying, *(name for name in request.parameters if name in points[first])]
    names = list(dict.fromkeys(names)) or list(points[first])[:1]
    into.declare(names, str(first))
    into.inclusive = request.inclusive
    over_ranks = OVER_RANKS[request.over_ranks]
    for path, point in points.items():
        at = tuple(point[name] for name in names)
        found: dict[tuple[str, str], tuple[float, str]] = {}
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with _opened(path) as profile:
                metrics = [metric.name for metric in profile.all_metrics()]
                for name in request.metrics:
                    if name not in metrics:
                        raise UsageError(f"No metric '{name}' in the profiles; {choose(metrics)}.")
                known = {metric.name for metric in _with_data(profile)}
                for kernel, metric, unit, values in _cube_values(
                    profile, request.metrics, inclusive=request.inclusive
                ):
                    # The same name may stand for several nodes, as for calls from two lines.
                    before = found.get((kernel, metric), (0.0, ""))[0]
                    found[kernel, metric] = (before + over_ranks(values), unit)
        for one in said:
            into.remarks.add("warnings of pycubexr", f"{path}: {one.message}")
        if empty := [name for name in request.metrics or metrics if name not in known]:
            into.remarks.add(
                "profiles with metrics that have no data",
                f"{path} has no data for {first_of(empty)}; left out.",
            )
        for key, (value, unit) in found.items():
            into.add(key, at, [value], str(path), unit)


def _recognises_cube(path: Path, head: bytes) -> bool:
    if _FIRST_MEMBER.match(head):
        return True
    return head[257:262] == b"ustar" and path.suffix == ".cubex"


CUBE = ExperimentFormat(
    name="cube",
    looks_like="folders like PREFIX.p4.n10.r1 with profile.cubex inside (Score-P, Scalasca)",
    recognises=_recognises_cube,
    read=_read_cube,
)

CUBE_RANKS = RankFormat(
    name=CUBE.name,
    looks_like="profile.cubex (Score-P, Scalasca)",
    recognises=_recognises_cube,
    read=read_cube_ranks,
)


RANK_GLOBALS = ("mpi.world.size", "jobsize")
"""Globals with the number of ranks: Caliper's and Adiak's."""
NO_SIZES = ("launchdate", "uid", "spot.format.version", "cali.channel")
"""Globals that are whole numbers but no property of the run."""

_COMMA = re.compile(r"(?<!\\),")
"""Between the fields of a record; commas in a text have a backslash."""

_Values = dict[tuple[str, str], tuple[float, str]]


def _float(text: Any) -> float | None:
    value = as_number(str(text))
    return value if value is not None and math.isfinite(value) else None


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


def read_caliper_ranks(path: Path) -> RankColumns:
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
    for name in RANK_GLOBALS:
        if different.get(name, 0) > 1 or (len(notes) == 1 and name in different):
            return [name]
    raise DataError(
        "The Caliper files have the same number of ranks; name another parameter. "
        f"Numbers in all files: {choices}."
    )


def _read_caliper(
    paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering
) -> None:
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


def _recognises_caliper(path: Path, head: bytes) -> bool:
    return head.lstrip().startswith(b"__rec=")


CALIPER = ExperimentFormat(
    name="caliper",
    looks_like="lines that begin with __rec= (Caliper)",
    recognises=_recognises_caliper,
    read=_read_caliper,
)

CALIPER_RANKS = RankFormat(
    name=CALIPER.name,
    looks_like=CALIPER.looks_like,
    recognises=_recognises_caliper,
    read=read_caliper_ranks,
)


NAME = re.compile(r"^profile\.(\d+)\.\d+\.\d+$")
HEAD = re.compile(r"^(\d{1,9})\s+templated_functions(?:_MULTI_(\S+))?")
FUNCTION = re.compile(r'^"(.*)"\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s')

LAST_RANK = 1 << 31


def tau_files(path: Path) -> list[Path]:
    """Return the profiles of a folder, or of the folder of one that is named; may be none."""
    if path.is_file():
        return [path] if NAME.match(path.name) else []
    return [each for each in path.glob("profile.*.*.*") if NAME.match(each.name)]


def read_tau(path: Path) -> RankColumns:
    """Return the exclusive value of every function, on every rank with a profile in the folder.

    Raises
    ------
    DataError
        A file is not from TAU, or files contain different metrics.
    """
    found: dict[int, dict[str, float]] = {}
    units: set[str] = set()
    for file in tau_files(path if path.is_dir() else path.parent):
        unit, values = read_profile(file)
        units.add(unit)
        into = found.setdefault(rank_of(file), {})
        for name, value in values.items():
            into[name] = into.get(name, 0.0) + value
    if len(units) > 1:
        raise DataError(
            f"{path}: the profiles measure {', '.join(sorted(units))}; keep those of one metric."
        )
    ranks = sorted(found)
    names = list(dict.fromkeys(name for rank in ranks for name in found[rank]))
    return RankColumns(
        ranks=np.array(ranks, np.int64),
        values={name: np.array([found[rank].get(name, 0.0) for rank in ranks]) for name in names},
        units=dict.fromkeys(names, *units),
    )


def rank_of(file: Path) -> int:
    """Return the rank that the name of a profile has."""
    found = NAME.match(file.name)
    if found is None or len(found[1]) > len(str(LAST_RANK)) or int(found[1]) >= LAST_RANK:
        raise DataError(f"{file}: ranks are numbered from 0 to {LAST_RANK - 1} at most.")
    return int(found[1])


def read_profile(file: Path) -> tuple[str, dict[str, float]]:
    """Return the unit of one file, and the exclusive value of every function."""
    lines = read_text(file).splitlines()
    head = HEAD.match(lines[0]) if lines else None
    if head is None:
        raise DataError(
            f"{file} is not a profile of TAU: its first line should be like "
            "'5 templated_functions_MULTI_TIME'."
        )
    values: dict[str, float] = {}
    for number, line in enumerate(lines[2 : 2 + int(head[1])], 3):
        function = FUNCTION.match(line)
        try:
            value = float(function[4]) if function else float("nan")
        except ValueError:
            value = float("nan")
        if function is None or not np.isfinite(value):
            raise DataError(f"{file}, line {number}: not a function's line of TAU.")
        if " => " not in function[1]:  # call paths repeat the times of functions
            values[function[1].strip()] = values.get(function[1].strip(), 0.0) + value
    if len(lines) < 2 + int(head[1]):
        raise DataError(f"{file} ends before its {head[1]} functions do; copy it again.")
    return ("us" if head[2] is None or "TIME" in head[2] else head[2]), values


TAU = RankFormat(
    name="tau",
    looks_like="a folder with profile.RANK.0.THREAD (TAU)",
    recognises=lambda path, head: NAME.match(path.name) is not None,
    read=read_tau,
)

FORMATS = (TAU, CALIPER_RANKS, CUBE_RANKS, CUBE, CALIPER)
