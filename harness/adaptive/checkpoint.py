"""Checkpoints of the kernel: HDF5 with a checksum, whole or not at all.

A checkpoint is written beside the one before it and takes its name when it is safe on the disk: a
full disk or a crash leaves the one before as it was.
"""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError, DataError, HindmostError, UsageError
from hindmost.harness.adaptive.mesh.cells import Cells
from hindmost.harness.runfile.checksum import append_checksum, verify_checksum
from hindmost.harness.runfile.disk import Disk
from hindmost.harness.runfile.naming import sync_folder
from hindmost.harness.runfile.writer import Attempts
from hindmost.harness.together import on_root

SCHEMA = "hindmost-checkpoint"
VERSION = 1
FIELDS: dict[str, Any] = {"i": np.int32, "j": np.int32, "level": np.int8, "state": np.float64}
"""What is kept of a cell, in the order of the mesh."""
COLUMNS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a checkpoint says beside its cells.

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
        part.touch()
        part.unlink()
        taken = path.exists()
    except OSError as error:
        raise UsageError(
            f"--checkpoint {path}: checkpoints cannot be written there ({error.strerror}); choose "
            "a file in a folder that can be made and written to."
        ) from error
    if not taken:
        return
    try:
        found = tomllib.loads(read_setting(path).deck)["name"]
    except (HindmostError, tomllib.TOMLDecodeError, KeyError):
        found = "something else"
    if found != deck:
        raise UsageError(
            f"--checkpoint {path}: there is {found} already, and a checkpoint of '{deck}' would "
            "take its place; remove it or choose another file."
        )


def write_checkpoint(
    path: Path, setting: Setting, cells: Cells, state: NDArray[np.float64], communicator: Any
) -> int:
    """Write a checkpoint of all ranks in place of the one before; collective.

    Parameters
    ----------
    setting : Setting
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
    target = Target(path, setting)
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


class Target:
    """The file on rank 0, under its preliminary name until it is whole."""

    def __init__(self, path: Path, setting: Setting) -> None:
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._setting = setting

    def begin(self) -> None:
        """Make the file and what it says beside the cells."""
        self._part.parent.mkdir(parents=True, exist_ok=True)
        self._part.touch()
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
            kept = "The one before it is kept" if self._path.exists() else "None was before it"
            raise DataError(
                f"The checkpoint {self._path} cannot be written: {error.strerror}. {kept}; make "
                "room, or choose another place with --checkpoint."
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


def shape_of(name: str, setting: Setting) -> tuple[int, ...]:
    """Return the shape of a field."""
    total = sum(setting.cells)
    return (total, COLUMNS) if name == "state" else (total,)


def read_setting(path: Path) -> Setting:
    """Verify a checkpoint and return what it says, without its cells.

    Raises
    ------
    DataError
        The file is no checkpoint, was altered, or is of a newer hindmost.
    """
    verify_checksum(path)
    try:
        with h5py.File(path, "r") as file:
            attributes = dict(file.attrs)
            if attributes.get("schema") != SCHEMA or attributes["schema_version"] > VERSION:
                raise DataError(
                    f"{path} is no checkpoint that this hindmost reads: its schema is "
                    f"{attributes.get('schema')!r}, version {attributes.get('schema_version')}; "
                    f"checkpoints are '{SCHEMA}' up to version {VERSION}."
                )
            setting = Setting(
                cycle=int(attributes["cycle"]),
                time=float(attributes["time"]),
                deck=str(attributes["deck"]),
                choices=json.loads(attributes["choices"]),
                base=(int(attributes["base"][0]), int(attributes["base"][1])),
                cells=tuple(int(count) for count in attributes["cells"]),
            )
            for name, kind in FIELDS.items():
                if file[name].shape != shape_of(name, setting) or file[name].dtype != kind:
                    raise ValueError(f"'{name}' is {file[name].dtype} {file[name].shape}")
    except HindmostError:
        raise
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
        raise DamagedFileError(
            f"{path} has a right checksum but not the contents of a checkpoint: {error}."
        ) from error
    return setting


def read_part(path: Path, setting: Setting, communicator: Any) -> tuple[Cells, NDArray[np.float64]]:
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
        with h5py.File(path, "r") as file:
            cells = Cells(i=file["i"][rows], j=file["j"][rows], level=file["level"][rows])
            return cells, file["state"][rows]
    except OSError as error:
        raise DataError(
            f"{path} cannot be read on this node ({error}); every rank reads its own part, so put "
            "it where all nodes see it."
        ) from error
