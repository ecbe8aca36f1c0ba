"""Run files as the objects of other libraries: xarray, pandas and Hatchet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import MissingError
from hindmost.extras import imported
from hindmost.harness.runfile.contexts import CallContexts


def dataset_of(path: Path) -> Any:
    """Return all variables of a run file, read into memory: xarray.Dataset."""
    imported("h5netcdf", what="Datasets", extra="notebook")
    xarray = imported("xarray", what="Datasets", extra="notebook")
    return xarray.load_dataset(path, engine="h5netcdf")


def frame_of(columns: Mapping[str, NDArray[Any]], **levels: Iterable[int]) -> Any:
    """Return columns, with a row for each combination of the levels: pandas.DataFrame."""
    pandas = imported("pandas", what="Frames", extra="notebook")
    index = pandas.MultiIndex.from_product(levels.values(), names=list(levels))
    return pandas.DataFrame(columns, index=index)


def call_tree_of(
    contexts: CallContexts,
    ranks: int,
    blocks: Iterable[tuple[NDArray[Any], ...]],
) -> list[dict[str, Any]]:
    """Return the calls of MPI of a run as a tree, in the literal form of Hatchet.

    A node is a place in the source. Its own time is the work before the calls that are made there
    and the time in them, of all iterations: ``time``, with that of the nodes below ``time (inc)``,
    and ``MPI`` and ``MPI (inc)``, the means of the ranks in seconds; ``longest rank`` is that with
    most time.

    Parameters
    ----------
    contexts : CallContexts
        Where the calls were made.
    ranks : int
    blocks : iterable of tuples of three arrays, of shape (iteration, rank, event)
        Of some iterations each: the context of each call, the work before it and its duration, in
        seconds.
    """
    spent = np.zeros((2, contexts.count * ranks))  # work before the calls, and time in them
    for here, *times in blocks:
        at = (here.astype(np.int64) * ranks + np.arange(ranks)[:, None]).ravel()
        for part, seconds in enumerate(times):
            weights = np.nan_to_num(seconds.ravel().astype(np.float64))
            spent[part] += np.bincount(at, weights, spent.shape[1])
    roots: dict[str, Any] = {}
    for context, (work_s, mpi_s) in enumerate(
        zip(*spent.reshape(2, contexts.count, ranks), strict=True)
    ):
        names = [contexts.places[frame] for frame in contexts.chain(context)]
        level = roots
        for name in names or ["(unknown)"]:
            node = level.setdefault(
                name, {"below": {}, "own": np.zeros((2, ranks)), "whole": np.zeros((2, ranks))}
            )
            node["whole"] += work_s + mpi_s, mpi_s
            level = node["below"]
        node["own"] += work_s + mpi_s, mpi_s
    return [literal(name, node) for name, node in roots.items() if node["whole"].any()]


def literal(name: str, node: dict[str, Any]) -> dict[str, Any]:
    """Return a node of a call tree with those below it."""
    (time_s, mpi_s), (whole_s, whole_mpi_s) = node["own"], node["whole"]
    return {
        "frame": {"name": name, "type": "function"},
        "metrics": {
            "time": float(time_s.mean()),
            "time (inc)": float(whole_s.mean()),
            "MPI": float(mpi_s.mean()),
            "MPI (inc)": float(whole_mpi_s.mean()),
            "longest rank": int(whole_s.argmax()),
        },
        "children": [literal(*each) for each in node["below"].items()],
    }


def graph_frame_of(tree: list[dict[str, Any]]) -> Any:
    """Return a call tree as a hatchet.GraphFrame."""
    try:
        hatchet = import_module("hatchet")
    except ImportError as error:
        raise MissingError(
            "Call trees as objects need hatchet, which is not installed: pip install llnl-hatchet; "
            "call_tree() is the same as JSON."
        ) from error
    return hatchet.GraphFrame.from_literal(tree)
