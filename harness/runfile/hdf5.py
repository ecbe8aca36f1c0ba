"""The only access to HDF5 files for reading: a file may not refer to anything outside itself.

HDF5 files can refer to others: links to objects of other files, datasets whose values are in other
files (external storage, virtual datasets), and filters that load a plugin. No checksum covers
those, and a foreign file could expose data of its reader's machine. Therefore `Sealed` accepts only
what hindmost writes: plain datasets in the root group, each with one name, without filters, and
with the number of bytes that their shape requires. This also bounds the cost of reading: all
datasets together are no larger than the file.

Damaged bytes can still crash libhdf5. A file is therefore read only after its checksum was
verified, or in a child process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import h5py
import numpy as np

from hindmost.errors import DamagedFileError
from hindmost.files import open_regular

TEXT_REFERENCE = np.dtype([("length", "<u4"), ("heap", "<u8"), ("index", "<u4")])
"""The reference to a text of variable length in a file, for addresses of 8 bytes."""
LAYOUTS = {
    h5py.h5d.COMPACT: "compact",
    h5py.h5d.CONTIGUOUS: "contiguous",
    h5py.h5d.CHUNKED: "chunked",
}
LINKS = {h5py.h5l.TYPE_SOFT: "a soft link", h5py.h5l.TYPE_EXTERNAL: "a link into another file"}
MOST_OBJECTS = 1000
MOST_DIMENSIONS = 8
MOST_OPEN = 64
"""Files that stay open at once within `kept_open`."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """An HDF5 file that was checked; it can be opened as long as it is unchanged.

    Attributes
    ----------
    path : Path
    identity : tuple of int
        Device, inode, size and time of the last change.
    """

    path: Path
    identity: tuple[int, ...]

    @classmethod
    def of(cls, path: Path) -> Sealed:
        """Return the file in its current state; raises an OSError if it is not regular."""
        with open_regular(path) as file:
            return cls(path, identity_of(file.fileno()))

    @property
    def size(self) -> int:
        """Length of the file in bytes."""
        return self.identity[2]

    @contextmanager
    def reading(self) -> Iterator[h5py.File]:
        """Open the file for reading.

        Raises
        ------
        DamagedFileError
            The file has changed.
        OSError
            It cannot be opened.
        """
        open_files = OPEN_FILES.get()
        if open_files is not None:
            file = open_files.opened(self)
            self.check_unchanged()
            yield file
            return
        with h5py.File(self.path, "r") as file:
            self.check_unchanged()
            yield file

    def check_unchanged(self) -> None:
        """Raise a DamagedFileError if the file has changed since it was verified."""
        if identity_of(self.path) != self.identity:
            raise DamagedFileError(
                f"{self.path} has changed since it was verified; run the command again."
            )

    def check_objects(self, file: h5py.File) -> None:
        """Raise a DamagedFileError if the file contains objects that hindmost does not write."""
        if file.userblock_size:
            raise DamagedFileError(f"{self.path} has a user block; hindmost's files have none.")
        total = 0
        for name in names_in(file):
            reason = refusal(file, name, self.size)
            if reason:
                raise DamagedFileError(f"{self.path}: '{name}' {reason}")
            raw = name.encode("utf-8", "surrogateescape")
            total += h5py.h5d.open(file.id, raw).get_storage_size()
        if total > self.size:
            raise DamagedFileError(
                f"{self.path}: its datasets claim {total:,} bytes, the file has {self.size:,}."
            )


class OpenFiles:
    """Files that stay open from one reading to the next; of many, those that were read last."""

    def __init__(self) -> None:
        self._files: dict[Sealed, h5py.File] = {}
        self._lock = Lock()

    def opened(self, sealed: Sealed) -> h5py.File:
        """Return a file, opened unless it is open."""
        with self._lock:
            file = self._files.pop(sealed, None)
            if file is None:
                if len(self._files) >= MOST_OPEN:
                    self._files.pop(next(iter(self._files))).close()
                file = h5py.File(sealed.path, "r")
            self._files[sealed] = file  # the last of all
        return file

    def close(self) -> None:
        """Close all files."""
        with ExitStack() as stack:
            for file in self._files.values():
                stack.callback(file.close)
            self._files.clear()


OPEN_FILES: ContextVar[OpenFiles | None] = ContextVar("open_files", default=None)


@contextmanager
def kept_open() -> Iterator[None]:
    """Keep files open between readings: a report reads each of its files some 200 times.

    Whether a file has changed is still checked at every reading.
    """
    if OPEN_FILES.get() is not None:
        yield
        return
    open_files = OpenFiles()
    token = OPEN_FILES.set(open_files)
    try:
        yield
    finally:
        OPEN_FILES.reset(token)
        open_files.close()


def identity_of(file: Path | int) -> tuple[int, ...]:
    """Return values that identify a file in its current state."""
    found = os.stat(file)  # noqa: PTH116 - also of open files
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def names_in(file: h5py.File) -> list[str]:
    """Return the names in the root group, without opening the objects.

    Raises
    ------
    DamagedFileError
        There are more than in any file of hindmost.
    """
    if len(file.id) > MOST_OBJECTS:
        raise DamagedFileError(
            f"{file.filename} contains {len(file.id):,} objects; hindmost's files have fewer."
        )
    return list(file)


def refusal(file: h5py.File, name: str, file_size: int) -> str:
    """Say why an object of the root group is refused; empty if it may be read.

    Nothing outside the file is accessed.

    Parameters
    ----------
    file_size : int
        Length of the file in bytes.
    """
    raw = name.encode("utf-8", "surrogateescape")
    kind = file.id.links.get_info(raw).type
    if kind != h5py.h5l.TYPE_HARD:
        return (
            f"is {LINKS.get(kind, 'a link of an unknown kind')}; hindmost's files contain no links."
        )
    about = h5py.h5o.get_info(file.id, raw)
    if about.type != h5py.h5o.TYPE_DATASET:
        return "is a group or a type; hindmost's files contain only datasets."
    if about.rc != 1:
        return f"has {about.rc} names; in hindmost's files every dataset has one."
    return refusal_of_dataset(h5py.h5d.open(file.id, raw), file, file_size)


def refusal_of_dataset(dataset: Any, file: h5py.File, file_size: int) -> str:
    """Say why a dataset is refused; see `refusal`.

    Parameters
    ----------
    dataset : h5py.h5d.DatasetID
    """
    plan = dataset.get_create_plist()
    if plan.get_layout() not in LAYOUTS:
        return "is a virtual dataset, made of parts of other files."
    if plan.get_layout() != h5py.h5d.CHUNKED and plan.get_external_count():
        return "has its values in another file (external storage)."
    if plan.get_nfilters():
        return "is filtered or compressed; hindmost's files are not."
    kind = dataset.get_type()
    if kind.committed():
        return "has a committed type; hindmost's files have none."
    text = isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str()
    if not text and not isinstance(
        kind, h5py.h5t.TypeIntegerID | h5py.h5t.TypeFloatID | h5py.h5t.TypeStringID
    ):
        return "contains neither numbers nor texts."
    space = dataset.get_space()
    if space.get_simple_extent_type() == h5py.h5s.NULL:
        return "has no values."
    if space.get_simple_extent_ndims() > MOST_DIMENSIONS:
        return f"has more than {MOST_DIMENSIONS} dimensions."
    elements = 1
    for size in space.shape:
        elements *= size
    needed = elements * kind.get_size()
    held = dataset.get_storage_size()
    if not needed <= held <= file_size:
        return (
            f"should have {needed:,} bytes for its shape {space.shape}; the file of {file_size:,} "
            f"bytes contains {held:,} of them."
        )
    return refusal_of_texts(dataset, elements, file, file_size) if text and elements else ""


def refusal_of_texts(dataset: Any, elements: int, file: h5py.File, file_size: int) -> str:
    """Say why texts of variable length are refused: many may refer to one long text."""
    sizes = file.id.get_create_plist().get_sizes()
    start = dataset.get_offset()
    if sizes != (8, 8) or start is None:
        return "contains texts in a layout that hindmost does not write."
    with open_regular(file.filename) as raw:
        raw.seek(start)
        held = raw.read(elements * TEXT_REFERENCE.itemsize)
    if len(held) < elements * TEXT_REFERENCE.itemsize:
        return "is cut off."
    total = int(np.frombuffer(held, TEXT_REFERENCE)["length"].sum(dtype=np.uint64))
    if total > file_size:
        return f"contains texts of {total:,} bytes in all, more than the file's {file_size:,}."
    return ""


def scalar_attributes(file: h5py.File, names: tuple[str, ...]) -> dict[str, str | int | float]:
    """Read the existing ones of some attributes of the root group: a text or number each.

    Raises
    ------
    ValueError
        An attribute is not a text or number; the message names it.
    """
    found: dict[str, str | int | float] = {}
    attributes = file.attrs
    for name in names:
        if name not in attributes:
            continue
        attribute = attributes.get_id(name)
        kind, space = attribute.get_type(), attribute.get_space()
        if space.get_simple_extent_type() != h5py.h5s.SCALAR:
            raise ValueError(f"the attribute '{name}' is not a single value")
        if not isinstance(
            kind, h5py.h5t.TypeIntegerID | h5py.h5t.TypeFloatID | h5py.h5t.TypeStringID
        ):
            raise ValueError(f"the attribute '{name}' is neither a number nor a text")
        try:
            value = attributes[name]
        except UnicodeDecodeError:
            raise ValueError(f"the attribute '{name}' is not UTF-8") from None
        if isinstance(value, bytes):
            value = value.decode("utf-8")
        found[name] = value if isinstance(value, str) else value.item()
    return found


def integers_attribute(file: h5py.File, name: str) -> tuple[int, ...]:
    """Read an attribute that is a list of integers.

    Raises
    ------
    KeyError
        It does not exist.
    ValueError
        It is not a list of integers.
    """
    attribute = file.attrs.get_id(name)
    integers = isinstance(attribute.get_type(), h5py.h5t.TypeIntegerID)
    if not integers or attribute.get_space().get_simple_extent_ndims() != 1:
        raise ValueError(f"the attribute '{name}' is not a list of integers")
    return tuple(int(each) for each in file.attrs[name])
