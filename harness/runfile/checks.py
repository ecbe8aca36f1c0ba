"""Checks of a run file before use: its schema, its variables, its names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from hindmost.errors import DamagedFileError, NotARunFileError, UnknownSchemaError
from hindmost.harness.runfile.attributes import MOST_NAME
from hindmost.harness.runfile.bodies import EARLIER_PHASES, PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reduced_variables import ALL_EVENTS, OF_ALL_BODIES
from hindmost.harness.runfile.schema import SCHEMA, TEXTS, VARIABLES, VERSION
from hindmost.parsing import shown

NAMED = ("phase", "predictor", "count", "activity")
"""Dimensions whose coordinates are names."""
TOGETHER = (
    ("event_kind", "event_work", "event_duration"),
    ("kept_rank", "every_solve_time", "every_last", "every_waited"),
    ("kept_rank", "profile_phase", "interval_bodies"),
    (
        *(f"every_{name}" for name in ("charged", "lost", "deviation", "longest", "longest_body")),
        "every_drift",
        "every_host",
        "interval_start",
        "interval_run_time",
        "work_bin_from",
        "work_bin_count",
    ),
    ("every_transfer", "every_transfer_charged"),
    ("load_before", "load_after"),
    ("injected", "injected_outside"),
    ("epoch", "edge_epoch"),
    ("block_place", "block_load", "block_owner", "block_epoch"),
    tuple(f"block_edge_{name}" for name in ("source", "target", "bytes", "epoch")),
    ("count_total", "count_most", "phase_least", "profile_count"),
    tuple(variable.name for variable in OF_ALL_BODIES),
    tuple(variable.name for variable in ALL_EVENTS),
)
"""Groups of optional variables that a file has together or not at all."""


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
    """Check that every variable exists with its type and shape; return the sizes of dimensions."""
    held = {name: file[name] for name in file}  # each is looked up once
    there = [each for each in VARIABLES if each.name in held or not each.optional]
    names = {name for variable in there for name in variable.dimensions}
    required = {variable.name for variable in VARIABLES if not variable.optional}
    for together in TOGETHER:
        if any(name in held for name in together):
            required.update(together)
    for name in names | required | {"host"}:
        if name not in held:
            raise DamagedFileError(f"{path} lacks the variable '{name}'.")
    for name in names:
        if held[name].ndim != 1:
            raise DamagedFileError(f"{path}: the dimension '{name}' should be a list.")
    sizes = {name: int(held[name].shape[0]) for name in names}
    for name, (dimension, _) in TEXTS.items():
        if name in held and held[name].shape != (sizes.get(dimension),):
            raise DamagedFileError(f"{path}: '{name}' should have a text for every rank.")
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
    return sizes
