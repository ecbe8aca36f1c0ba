"""Checkpoints of the kernel: HDF5 with a checksum, whole or not at all.

A checkpoint is written beside the one before it and takes its name when it is safe on the disk: a
full disk or a crash leaves the one before as it was.
"""

from __future__ import annotations

import io
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import h5py
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError, DataError, HindmostError, UsageError
from hindmost.files import create, reason, replacing
from hindmost.harness.adaptive.mesh.order import Cells
from hindmost.harness.rank_failures import on_root
from hindmost.harness.runfile.attributes import Json, read_object
from hindmost.harness.runfile.checksum import append_checksum, verify_checksum
from hindmost.harness.runfile.hdf5 import VerifiedFile, integers_attribute, scalar_attributes
from hindmost.parsing import parse_toml, shown
from hindmost.records import RecordError, check_version, from_document

SCHEMA = "hindmost-checkpoint"
VERSION = 1
FIELDS: dict[str, Any] = {"i": np.int32, "j": np.int32, "level": np.int8, "state": np.float64}
"""What is kept of a cell, in the order of the mesh."""
COLUMNS = 4
"""Numbers of a cell's state."""
SCALARS = ("cycle", "time", "deck")
"""Attributes of one value."""
Count = Annotated[int, Meta(ge=0)]
Side = Annotated[int, Meta(ge=1, le=1 << 20)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSetting:
    """The contents of a checkpoint besides its cells.

    Attributes
    ----------
    cycle : int
        Cycles that were done.
    time : float
        Time in the simulation.
    deck : str
        The deck as TOML.
    choices : dict
        How the kernel was to do it.
    base : (int, int)
        Columns and rows of the base mesh.
    cells : tuple of int
        Cells of each rank.
    """

    cycle: Count
    time: Annotated[float, Meta(ge=0)]
    deck: str
    choices: dict[str, Any]
    base: tuple[Side, Side]
    cells: Annotated[tuple[Count, ...], Meta(min_length=1)]


def prepare_checkpoint(path: Path, deck: str) -> None:
    """See that checkpoints can be written, before there is anything to lose; on one rank.

    Raises
    ------
    UsageError
        The place cannot be written, or holds something else than a checkpoint of this deck.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(create(part))
        part.unlink()
    except OSError as error:
        raise UsageError(
            f"--checkpoint {path}: cannot write checkpoints there ({error.strerror}); choose a "
            "file in a writable folder."
        ) from error
    if not path.exists():
        return
    try:
        found = parse_toml(read_setting(path).deck)["name"]
    except (HindmostError, ValueError, KeyError):
        found = "something else"
    if found != deck:
        raise UsageError(
            f"--checkpoint {path}: a checkpoint of {found} exists, and one of '{deck}' would "
            "replace it; remove it or choose another file."
        )


def write_checkpoint(
    path: Path,
    setting: CheckpointSetting,
    cells: Cells,
    state: NDArray[np.float64],
    communicator: Any,
) -> int:
    """Write a checkpoint of all ranks in place of the one before; collective.

    Parameters
    ----------
    setting : CheckpointSetting
        Its ``cells`` are those of this call.
    cells : Cells
        Of this rank.
    state : float64 array, shape (at least cell, 4)

    Returns
    -------
    int
        Bytes of the file, on every rank.

    Raises
    ------
    DataError
        It cannot be written; the checkpoint before it stays.
    """
    mine = {"i": cells.i, "j": cells.j, "level": cells.level, "state": state[: cells.level.size]}
    whole = {name: communicator.gather(np.ascontiguousarray(mine[name])) for name in FIELDS}
    return on_root(communicator, lambda: write_file(path, setting, whole))


def write_file(
    path: Path, setting: CheckpointSetting, fields: dict[str, list[NDArray[Any]]]
) -> int:
    """Write a checkpoint from the fields of all ranks; return its bytes."""
    memory = io.BytesIO()  # HDF5 does not recover from a full disk, so it does not see one
    with h5py.File(memory, "w") as file:
        for name, parts in fields.items():
            file[name] = np.concatenate(parts)
        file.attrs["schema"], file.attrs["schema_version"] = SCHEMA, VERSION
        for name, value in asdict(setting).items():
            file.attrs[name] = json.dumps(value) if isinstance(value, dict) else value
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, part) as target:
            target.write(memory.getbuffer())
            target.flush()
            append_checksum(part)
    except OSError as error:
        kept = "The earlier one is kept" if path.exists() else "There was no earlier one"
        raise DataError(
            f"The checkpoint {path} cannot be written: {error.strerror}. {kept}; free some space, "
            "or choose another file with --checkpoint."
        ) from error
    return path.stat().st_size


def read_setting(path: Path) -> CheckpointSetting:
    """Verify a checkpoint and return what it says, without its cells.

    Raises
    ------
    DataError
        The file is no checkpoint, was altered, or is of a newer hindmost.
    """
    verify_checksum(path)
    try:
        verified = VerifiedFile.of(path)
        with verified.reading() as file:
            attributes = scalar_attributes(file, ("schema", "schema_version", "choices", *SCALARS))
            if attributes.get("schema") != SCHEMA:
                raise DataError(
                    f"{path} is no checkpoint: its schema is {shown(attributes.get('schema'))}; "
                    f"checkpoints are '{SCHEMA}'."
                )
            check_version(attributes.get("schema_version"), VERSION, path)
            verified.check_objects(file)
            values = {
                **{name: attributes[name] for name in SCALARS},
                **{name: integers_attribute(file, name) for name in ("base", "cells")},
                "choices": read_object("choices", attributes["choices"], Json),
            }
            setting = from_document(CheckpointSetting, values, "checkpoint")
            rows = sum(setting.cells)
            for name, kind in FIELDS.items():
                shape = (rows, COLUMNS) if name == "state" else (rows,)
                if file[name].shape != shape or file[name].dtype != kind:
                    raise ValueError(f"'{name}' is {file[name].dtype} {file[name].shape}")
    except RecordError as error:
        raise DamagedFileError(f"{path} has a valid checksum, but {error}") from error
    except HindmostError:
        raise
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
        raise DamagedFileError(
            f"{path} has a valid checksum but not the contents of a checkpoint: {error}."
        ) from error
    return setting


def read_part(
    path: Path, setting: CheckpointSetting, communicator: Any
) -> tuple[Cells, NDArray[np.float64]]:
    """Read the cells of this rank: those that it had, or an even share on other numbers of ranks.

    Every rank reads for itself.

    Returns
    -------
    Cells
    float64 array, shape (cell, 4)
    """
    ranks, rank = communicator.size, communicator.rank
    if ranks == len(setting.cells):
        ends = np.cumsum(setting.cells)
    else:
        ends = sum(setting.cells) * np.arange(1, ranks + 1) // ranks
    rows = slice(int(ends[rank - 1]) if rank else 0, int(ends[rank]))
    try:
        with VerifiedFile.of(path).reading() as file:
            cells = Cells(i=file["i"][rows], j=file["j"][rows], level=file["level"][rows])
            state = file["state"][rows]
    except OSError as error:
        raise DataError(
            f"{path} cannot be read on this node ({reason(error)}); every rank reads its "
            "own part, so put it on a file system that all nodes share."
        ) from error
    if not np.isfinite(state).all():
        raise DamagedFileError(f"{path}: a value of 'state' is not a number.")
    return cells, state
