"""Checks of a run file before use: its schema, its names, and all that `schema` declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError, NotARunFileError, UnknownSchemaError
from hindmost.harness.runfile.attributes import MOST_NAME
from hindmost.harness.runfile.bodies import EARLIER_PHASES, PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.schema import NAMED, SCHEMA, TEXTS, VARIABLES, VERSION, Variable
from hindmost.parsing import shown

BLOCK_BYTES = 8 << 20
"""Size of rows that are read at once: what is computed of them stays in the processor's caches."""


def texts_of(path: Path, file: h5py.File, name: str) -> list[str]:
    """Read a variable of texts.

    Raises
    ------
    DamagedFileError
        It is not a list of texts.
    """
    if h5py.check_string_dtype(file[name].dtype) is None or file[name].ndim != 1:
        raise DamagedFileError(f"{path}: '{name}' is not a list of texts.")
    try:
        return [str(text) for text in file[name].asstr()[:]]
    except UnicodeDecodeError:
        raise DamagedFileError(f"{path}: '{name}' contains texts that are not UTF-8.") from None


def check_names(path: Path, file: h5py.File, phases: list[str], version: int) -> None:
    """Check that phases begin with those of every run, and that names are unique."""
    first = EARLIER_PHASES if version < 3 else PHASES
    if phases[: len(first)] != list(first):
        raise DamagedFileError(
            f"{path}: its phases are {shown(phases)}; they should begin with {', '.join(first)}."
        )
    for dimension in NAMED:
        names = texts_of(path, file, dimension) if dimension in file else []
        if len(set(names)) < len(names) or not all(0 < len(each) <= MOST_NAME for each in names):
            raise DamagedFileError(
                f"{path}: each '{dimension}' should come once and have 1 to {MOST_NAME} "
                f"characters; they are {', '.join(names)[:MOST_NAME]}."
            )


def check_schema(path: Path, attributes: Mapping[str, str | int | float]) -> int:
    """Return the file's version; refuse other schemas and newer versions."""
    if attributes.get("schema") != SCHEMA:
        raise NotARunFileError(
            f"{path} is HDF5 with hindmost's checksum, but its schema is not '{SCHEMA}'."
        )
    version = attributes.get("schema_version")
    if type(version) is not int or version < 1:
        raise DamagedFileError(
            f"{path}: the attribute 'schema_version' is {shown(version)}; it should be 1 to "
            f"{VERSION}."
        )
    if version > VERSION:
        raise UnknownSchemaError(
            f"{path} follows version {version} of the schema '{SCHEMA}'; this hindmost reads up to "
            f"{VERSION}. Install a newer hindmost to read it."
        )
    return version


def check_variables(path: Path, file: h5py.File, header: Header) -> dict[str, int]:
    """Check that every variable exists with its type and shape; return the sizes of dimensions.

    The values of those that are not `Variable.large` are checked as well, so that numbers of ranks,
    meshes and places can be used as indices.
    """
    held = {name: file[name] for name in file}  # each is looked up once
    groups = {each.group for each in VARIABLES if each.name in held} - {"alone"}
    there = [each for each in VARIABLES if each.name in held or each.group in groups]
    names = {name for variable in there for name in variable.dimensions}
    names |= {dimension for name, (dimension, _) in TEXTS.items() if name in held}
    texts = {"host"} | ({"every_host"} if "ranks" in groups else set())
    texts |= {
        name for name in TEXTS if name.startswith(("module", "code")) and "contexts" in groups
    }
    for name in names | texts | {variable.name for variable in there}:
        if name not in held:
            raise DamagedFileError(f"{path} lacks the variable '{name}'.")
    for name in names:
        if held[name].ndim != 1:
            raise DamagedFileError(f"{path}: the dimension '{name}' should be a list.")
    sizes = {name: int(held[name].shape[0]) for name in names}
    for name, (dimension, _) in TEXTS.items():
        if name in held and held[name].shape != (sizes.get(dimension),):
            raise DamagedFileError(f"{path}: '{name}' should have a text for every {dimension}.")
    for variable in there:
        dataset = held[variable.name]
        wanted = tuple(sizes[name] for name in variable.dimensions)
        if dataset.shape != wanted or dataset.dtype.newbyteorder("=") != np.dtype(variable.type):
            raise DamagedFileError(
                f"{path}: variable '{variable.name}' is {dataset.dtype} {dataset.shape}; "
                f"it should be {variable.type} {wanted}."
            )
    whole = "every_rank" if "kept_rank" in held else "rank"
    if sizes.get(whole) != header.ranks:
        raise DamagedFileError(
            f"{path}: {sizes.get(whole)} ranks; the header says {header.ranks} ranks."
        )
    if whole == "every_rank":
        kept = held["kept_rank"][:]
        if not kept.size or kept[0] < 0 or kept[-1] >= header.ranks or (np.diff(kept) <= 0).any():
            raise DamagedFileError(
                f"{path}: 'kept_rank' should ascend from 0 at least to {header.ranks - 1} at most."
            )
        if int(held["interval_bodies"][:].sum(dtype=np.int64)) != sizes["iteration"]:
            raise DamagedFileError(f"{path}: 'interval_bodies' should sum to the bodies.")
    small = [variable for variable in there if not variable.large]
    check_values_in(file, small, header.ranks, sizes["iteration"])
    return sizes


def check_values_in(
    file: h5py.File, variables: Iterable[Variable], ranks: int = 1, bodies: int = 1
) -> None:
    """Read the existing ones of these variables block by block, and check them.

    Raises
    ------
    DamagedFileError
        A value is out of range.
    """
    for variable in variables:
        if variable.name not in file:
            continue
        dataset = file[variable.name]
        size = dataset.size * dataset.dtype.itemsize
        rows = len(dataset) if size <= BLOCK_BYTES else max(1, len(dataset) * BLOCK_BYTES // size)
        for first in range(0, len(dataset), rows or 1):
            block = dataset[first : first + rows]
            check_values(file.filename, variable, block, ranks, bodies)


def check_values(
    path: Any, variable: Variable, values: NDArray[Any], ranks: int = 1, bodies: int = 1
) -> None:
    """Raise a DamagedFileError if a value of a variable is out of its range."""
    allowed = variable.allowed
    if allowed is None or not values.size:
        return
    least, most = values.min(), values.max()
    if not allowed.may_lack and np.isnan(least):
        raise DamagedFileError(f"{path}: a value of '{variable.name}' is not a number.")
    if allowed.may_lack:
        least, most = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)
    if least < allowed.least and -1 < allowed.least <= 0:
        raise DamagedFileError(f"{path}: a value of '{variable.name}' is negative: {least:g}.")
    largest = allowed.largest(ranks, bodies)
    if least < allowed.least or most > largest:
        raise DamagedFileError(
            f"{path}: '{variable.name}' ranges from {least:g} to {most:g}; it must lie between "
            f"{allowed.least:g} and {largest:.16g}."
        )
