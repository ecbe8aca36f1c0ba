"""Checkpoints of the kernel: HDF5 with a checksum, whole or not at all.

A checkpoint is written beside the one before it and takes its name when it is safe on the disk: a
full disk or a crash leaves the one before as it was.
"""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError, DataError, HindmostError, UsageError
from hindmost.files import create, reason, sync_folder
from hindmost.harness.adaptive.decks import MOST_LEVELS
from hindmost.harness.adaptive.mesh.order import Cells
from hindmost.harness.rank_failures import on_root
from hindmost.harness.runfile.attributes import MOST_COUNT, Json, read_object
from hindmost.harness.runfile.checksum import append_checksum, verify_checksum
from hindmost.harness.runfile.disk import Disk
from hindmost.harness.runfile.hdf5 import VerifiedFile, integers_attribute, scalar_attributes
from hindmost.harness.runfile.writer import Attempts
from hindmost.parsing import parse_toml, shown

SCHEMA = "hindmost-checkpoint"
VERSION = 1
FIELDS: dict[str, Any] = {"i": np.int32, "j": np.int32, "level": np.int8, "state": np.float64}
"""What is kept of a cell, in the order of the mesh."""
COLUMNS = 4
SCALARS = {"cycle": int, "time": float, "deck": str, "choices": str}
"""Attributes of one value."""
MOST_BASE = 1 << 20
"""Columns or rows of the base mesh, so that cells of the finest level have numbers of 32 bits."""


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

    cycle: int
    time: float
    deck: str
    choices: dict[str, Any]
    base: tuple[int, int]
    cells: tuple[int, ...]


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
        taken = path.exists()
    except OSError as error:
        raise UsageError(
            f"--checkpoint {path}: cannot write checkpoints there ({error.strerror}); choose a "
            "file in a writable folder."
        ) from error
    if not taken:
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
    owned = cells.level.size
    mine: dict[str, NDArray[Any]] = {
        "i": cells.i,
        "j": cells.j,
        "level": cells.level,
        "state": state[:owned],
    }
    target = CheckpointFile(path, setting)
    attempts = Attempts()
    if communicator.rank == 0:
        attempts.do(target.begin)
    for name in FIELDS:
        first = 0
        for rank, count in enumerate(setting.cells):
            rows = one_ranks(mine[name], rank, count, communicator)
            if rows is not None:
                attempts.do(partial(target.write, name, first, rows))
            first += count
    return on_root(communicator, lambda: target.finish(attempts))


class CheckpointFile:
    """The file on rank 0, under its preliminary name until it is whole.

    `hindmost.files.replacing` cannot serve: HDF5 writes the file, in steps that all ranks take part
    in and that rank 0 may not leave early.
    """

    def __init__(self, path: Path, setting: CheckpointSetting) -> None:
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._setting = setting

    def begin(self) -> None:
        """Create the file and write everything but the cells."""
        self._part.parent.mkdir(parents=True, exist_ok=True)
        os.close(create(self._part))
        self._disk = Disk(self._part)
        self._file = h5py.File(self._disk, "w")
        for name, kind in FIELDS.items():
            self._file.create_dataset(name, shape_of(name, self._setting), kind)
        attributes = self._file.attrs
        attributes["schema"] = SCHEMA
        attributes["schema_version"] = VERSION
        for name, value in asdict(self._setting).items():
            attributes[name] = json.dumps(value) if isinstance(value, dict) else value

    def write(self, name: str, first: int, rows: NDArray[Any]) -> None:
        """Write rows of a field."""
        self._file[name][first : first + len(rows)] = rows
        self._disk.check()

    def finish(self, attempts: Attempts) -> int:
        """Give the file its name if all went well, else leave nothing; return its bytes."""
        try:
            if hasattr(self, "_file"):
                self._file.close()
                self._disk.close()
                attempts.do(self._disk.check)
            attempts.raise_first()
            append_checksum(self._part)
            self._part.replace(self._path)
            sync_folder(self._path.parent)
        except OSError as error:
            with suppress(OSError):
                self._part.unlink(missing_ok=True)
            kept = "The earlier one is kept" if self._path.exists() else "There was no earlier one"
            raise DataError(
                f"The checkpoint {self._path} cannot be written: {error.strerror}. {kept}; free "
                "some space, or choose another file with --checkpoint."
            ) from error
        return self._path.stat().st_size


def one_ranks(mine: NDArray[Any], rank: int, count: int, communicator: Any) -> NDArray[Any] | None:
    """Return the rows of a rank on rank 0, None elsewhere."""
    if communicator.rank == rank:
        rows = np.ascontiguousarray(mine)
        if rank == 0:
            return rows
        communicator.Send(rows, dest=0)
    elif communicator.rank == 0:
        rows = np.empty((count, *mine.shape[1:]), mine.dtype)
        communicator.Recv(rows, source=rank)
        return rows
    return None


def shape_of(name: str, setting: CheckpointSetting) -> tuple[int, ...]:
    """Return the shape of a field."""
    total = sum(setting.cells)
    return (total, COLUMNS) if name == "state" else (total,)


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
            attributes = scalar_attributes(file, ("schema", "schema_version", *SCALARS))
            version = attributes.get("schema_version")
            if attributes.get("schema") != SCHEMA or type(version) is not int or version > VERSION:
                raise DataError(
                    f"{path} is not a checkpoint that this hindmost can read: its schema is "
                    f"{shown(attributes.get('schema'))}, version {shown(version)}; checkpoints "
                    f"are '{SCHEMA}' up to version {VERSION}."
                )
            verified.check_objects(file)
            for name, kind in SCALARS.items():
                if type(attributes[name]) is not kind:
                    raise ValueError(f"the attribute '{name}' is {shown(attributes[name])}")
            columns, rows = integers_attribute(file, "base")
            setting = CheckpointSetting(
                cycle=int(attributes["cycle"]),
                time=float(attributes["time"]),
                deck=str(attributes["deck"]),
                choices=read_object("choices", attributes["choices"], Json),
                base=(columns, rows),
                cells=integers_attribute(file, "cells"),
            )
            possible = (
                0 <= setting.cycle <= MOST_COUNT
                and 0.0 <= setting.time < math.inf
                and 1 <= min(setting.base) <= max(setting.base) <= MOST_BASE
                and setting.cells
                and min(setting.cells) >= 0
            )
            if not possible:
                raise ValueError(
                    f"it is of cycle {setting.cycle}, time {setting.time}, base cells "
                    f"{setting.base}, with {setting.cells[:8]} cells on the ranks"
                )
            for name, kind in FIELDS.items():
                if file[name].shape != shape_of(name, setting) or file[name].dtype != kind:
                    raise ValueError(f"'{name}' is {file[name].dtype} {file[name].shape}")
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
    check_cells(path, setting, cells, state)
    return cells, state


def check_cells(
    path: Path, setting: CheckpointSetting, cells: Cells, state: NDArray[np.float64]
) -> None:
    """Raise a DamagedFileError if cells are outside of the mesh, or a state is not a number."""
    level = cells.level.astype(np.int64)
    if level.size and not 0 <= level.min() <= level.max() <= MOST_LEVELS:
        raise DamagedFileError(
            f"{path}: 'level' ranges from {level.min()} to {level.max()}; it must range from 0 to "
            f"{MOST_LEVELS}."
        )
    for name, numbers, size in (("i", cells.i, setting.base[0]), ("j", cells.j, setting.base[1])):
        if (numbers < 0).any() or (numbers >= size << level).any():
            raise DamagedFileError(f"{path}: '{name}' has cells outside the mesh.")
    if not np.isfinite(state).all():
        raise DamagedFileError(f"{path}: a value of 'state' is not a number.")
