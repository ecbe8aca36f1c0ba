"""CUBE profiles of Score-P and Scalasca: a folder with a folder for each run.

``runs/PREFIX.p4.n10.r1/profile.cubex``: the parameters are in the names of the inner folders, see
`folder_names`; those that are the same in all are left out, as in Extra-P. Repetitions are folders
of the same parameters. A kernel is a call path, and its value is that of the call path alone, or
with its callees if ``inclusive`` is requested. The values of all locations (ranks and threads)
are combined by their mean, as Extra-P does for weak scaling, or by their maximum or sum; Extra-P
uses the sum for strong scaling. Call paths that are missing at some points stay separate series;
Extra-P adds them to their callers.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.format import (
    OVER_RANKS,
    ExperimentFormat,
    ExperimentRequest,
    RankColumns,
    RankFormat,
)
from hindmost.analysis.readers.gather_experiment import ExperimentGathering
from hindmost.analysis.readers.path_names import parameters_in
from hindmost.errors import DataError, HindmostError, UsageError
from hindmost.extras import imported
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


def _values(
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


def read_ranks(path: Path) -> RankColumns:
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
        ranks, rank_of = np.unique(_ranks_of_locations(profile), return_inverse=True)
        for kernel, metric, unit, values in _values(profile):
            column = f"{kernel} {metric}"
            columns[column] = columns.get(column, 0.0) + np.bincount(rank_of, values)
            units[column] = unit
    return RankColumns(ranks=ranks.astype(np.int64), values=columns, units=units)


def _ranks_of_locations(profile: Any) -> list[int]:
    """Return the rank of every location, in the order of their values."""
    groups = profile._anchor_result.system_tree_nodes[0].all_location_groups()
    found = {location.id: int(group.rank) for group in groups for location in group.all_locations()}
    return [found[each] for each in sorted(found)]


def _read(paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering) -> None:
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
                for kernel, metric, unit, values in _values(
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


def _recognises(path: Path, head: bytes) -> bool:
    if _FIRST_MEMBER.match(head):
        return True
    return head[257:262] == b"ustar" and path.suffix == ".cubex"


CUBE = ExperimentFormat(
    name="cube",
    looks_like="folders like PREFIX.p4.n10.r1 with profile.cubex inside (Score-P, Scalasca)",
    recognises=_recognises,
    read=_read,
)

CUBE_RANKS = RankFormat(
    name=CUBE.name,
    looks_like="profile.cubex (Score-P, Scalasca)",
    recognises=_recognises,
    read=read_ranks,
)
