"""Dimensions, variables and attributes of a run file as HDF5, valid as netCDF-4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np

from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.schema import (
    CHUNK_EVENTS,
    CHUNK_ITERATIONS,
    CHUNK_RANKS,
    FLAGS,
    SCHEMA,
    TEXTS,
    UNLIMITED,
    VARIABLES,
    VERSION,
    Variable,
)


def make_variables(
    file: h5py.File,
    sizes: dict[str, int],
    names: dict[str, tuple[str, ...]],
    absent: set[str],
) -> None:
    """Make the dimensions with their coordinates, and all variables, still empty.

    Parameters
    ----------
    sizes : dict of str to int
        Sizes of the dimensions with numeric coordinates.
    names : dict of str to tuple of str
        Coordinates of the others: phases, and predictors if there are any.
    absent : set of str
        Variables that this run lacks.
    """
    sizes = {**sizes, **{name: len(texts) for name, texts in names.items()}}
    scales: dict[str, h5py.Dataset] = {}
    for name, size in sizes.items():
        limit = None if name in UNLIMITED else size
        if name in names:
            scale = file.create_dataset(name, data=list(names[name]), dtype=h5py.string_dtype())
        else:
            scale = file.create_dataset(
                name,
                data=np.arange(size, dtype="i4"),
                maxshape=(limit,),
                chunks=True if limit is None else None,
            )
        scale.make_scale(name)
        scales[name] = scale
    for variable in VARIABLES:
        if variable.name not in absent:
            make_variable(file, variable, sizes, scales)
    for name, (dimension, long_name) in TEXTS.items():
        if name not in absent:
            text = file.create_dataset(name, (sizes[dimension],), dtype=h5py.string_dtype())
            text.attrs["long_name"] = long_name
            text.dims[0].attach_scale(scales[dimension])
    for name in FLAGS.keys() - absent:
        kinds = list(FLAGS[name])
        file[name].attrs["flag_values"] = np.array(kinds, "u1")
        file[name].attrs["flag_meanings"] = " ".join(kind.name.lower() for kind in kinds)


def make_variable(
    file: h5py.File, variable: Variable, sizes: dict[str, int], scales: dict[str, h5py.Dataset]
) -> None:
    """Make one variable, on dimensions whose coordinates are there."""
    shape = tuple(sizes[name] for name in variable.dimensions)
    chunk_of = {
        **sizes,
        **dict.fromkeys(UNLIMITED, CHUNK_ITERATIONS),
        "rank": min(sizes["rank"], CHUNK_RANKS),
    }
    if "event" in sizes:  # bodies may have very many
        chunk_of["event"] = max(1, min(sizes["event"], CHUNK_EVENTS))
    grows = any(name in UNLIMITED for name in variable.dimensions)
    dataset = file.create_dataset(
        variable.name,
        shape,
        variable.type,
        maxshape=tuple(None if name in UNLIMITED else sizes[name] for name in variable.dimensions),
        chunks=tuple(chunk_of[name] for name in variable.dimensions) if grows else None,
        fillvalue=np.nan if variable.type.startswith("f") else None,
    )
    attributes, dimensions = dataset.attrs, dataset.dims
    attributes["long_name"] = variable.long_name
    if variable.units:
        attributes["units"] = variable.units
    if variable.type.startswith("f"):
        attributes["_FillValue"] = np.array(np.nan, variable.type)
    for axis, name in enumerate(variable.dimensions):
        dimensions[axis].attach_scale(scales[name])


def write_attributes(file: h5py.File, header: Header) -> None:
    """Write the metadata of the run."""
    attributes = file.attrs
    attributes["Conventions"] = "CF-1.11"
    attributes["schema"] = SCHEMA
    attributes["schema_version"] = VERSION
    for name, value in header.to_attributes().items():
        attributes[name] = np.uint8(value) if name == "complete" else value
    file["start"].attrs["t0_utc"] = header.t0_utc


def fill(file: h5py.File, values: Mapping[str, Any]) -> None:
    """Write whole variables."""
    for name, value in values.items():
        file[name][...] = list(value) if name in TEXTS else value
