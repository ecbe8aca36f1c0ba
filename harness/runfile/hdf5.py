"""The only access to HDF5 files for reading: a file may not refer to anything outside itself.

HDF5 files can refer to others: links to objects of other files, datasets whose values are in other
files (external storage, virtual datasets), and filters that load a plugin. No checksum covers
those. Therefore `VerifiedFile` accepts only what hindmost writes: plain datasets in the root group,
without filters, none larger than the file.

Damaged bytes can still crash libhdf5. A file is therefore read only after its checksum was
verified, or in a child process.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import h5py

from hindmost.errors import DamagedFileError
from hindmost.files import open_regular

LAYOUTS = (h5py.h5d.COMPACT, h5py.h5d.CONTIGUOUS, h5py.h5d.CHUNKED)
NUMBERS_AND_TEXTS = h5py.h5t.TypeIntegerID | h5py.h5t.TypeFloatID | h5py.h5t.TypeStringID


@dataclass(frozen=True, slots=True)
class VerifiedFile:
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
    def of(cls, path: Path) -> VerifiedFile:
        """Return the file in its current state; raises an OSError if it is not regular."""
        with open_regular(path) as file:
            return cls(path, identity_of(file.fileno()))

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
        size = self.path.stat().st_size
        for name in file:
            reason = refusal(file, name, size)
            if reason:
                raise DamagedFileError(f"{self.path}: '{name}' {reason}")


def identity_of(file: Path | int) -> tuple[int, ...]:
    """Return values that identify a file in its current state."""
    found = os.stat(file)  # noqa: PTH116 - also of open files
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def refusal(file: h5py.File, name: str, size: int) -> str:
    """Say why an object of the root group is refused; empty if it may be read.

    ``size`` is that of the file in bytes.

    Nothing outside the file is accessed, and reading takes no more memory than the file has bytes.
    """
    raw = name.encode("utf-8", "surrogateescape")
    if file.id.links.get_info(raw).type != h5py.h5l.TYPE_HARD:
        return "is a link; hindmost's files contain no links."
    if h5py.h5o.get_info(file.id, raw).type != h5py.h5o.TYPE_DATASET:
        return "is a group or a type; hindmost's files contain only datasets."
    dataset = h5py.h5d.open(file.id, raw)
    plan = dataset.get_create_plist()
    if plan.get_layout() not in LAYOUTS:
        return "is a virtual dataset, made of parts of other files."
    if plan.get_layout() != h5py.h5d.CHUNKED and plan.get_external_count():
        return "has its values in another file (external storage)."
    if plan.get_nfilters():
        return "is filtered or compressed; hindmost's files are not."
    kind, space = dataset.get_type(), dataset.get_space()
    if not isinstance(kind, NUMBERS_AND_TEXTS):
        return "contains neither numbers nor texts."
    needed = math.prod(space.shape or ()) * kind.get_size()
    if needed > size:
        return f"should have {needed:,} bytes for its shape {space.shape}; the file has {size:,}."
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
        if not isinstance(kind, NUMBERS_AND_TEXTS):
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
