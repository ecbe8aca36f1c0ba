"""Experiments as Extra-P 4 saves them (``.extra-p``): an archive with ``experiment.json``.

::

    {"Extra-P": "4.2.5", "parameters": ["p"],
     "measurements": {"main->compute": {"time": [
         {"coordinate": [4.0], "median": 6.0, "mean": 6.1, "minimum": 6.0, "maximum": 6.3,
          "std": 0.1, "repetitions": 3, "values": [0, 0]}]}}}

The repetitions themselves are there only if Extra-P was told to keep them: ``values`` is then the
number of a file ``values/0.vals`` and that of an array in it, whose place is in ``values/0.indx``.
The models in the file are left out.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from hindmost.analysis.readers.format import ExperimentFormat, ExperimentRequest
from hindmost.analysis.readers.formats.extrap_json import declared_entries
from hindmost.analysis.readers.gather_experiment import ExperimentGathering, Point
from hindmost.analysis.readers.json_values import (
    JsonObject,
    expect,
    load,
    member,
    to_number,
    to_numbers,
)
from hindmost.analysis.readers.text_files import head_of
from hindmost.errors import DataError
from hindmost.files import open_regular
from hindmost.parsing import check_depth

SUFFIX = ".extra-p"
DOCUMENT = "experiment.json"
PRODUCT = "Extra-P"
VERSION = "4"
ZIP = b"PK\x03\x04"
VERSION_3 = b"EXTRAP_EXPERIMENT"
"""In the binary files of Extra-P 3, after six bytes."""
MOST_UNPACKED = 1 << 28
"""Bytes of a member of an archive, unpacked."""
NPY: Any = npy_format
"""Its functions have no types."""
INDEX_HEAD = 24
"""Bytes of an index before the places of arrays: a mark, and how many there are."""
NOT_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
"""Texts in place of numbers that JSON has not."""
DAMAGED = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, OSError, EOFError),
    *(RuntimeError, NotImplementedError, ValueError, OverflowError, MemoryError),
)
"""What `zipfile` raises for archives that are damaged, encrypted or packed in another way."""


@dataclass(slots=True)
class Archive:
    """An open archive, whose members are unpacked within limits and once each."""

    path: Path
    zip: zipfile.ZipFile
    unpacked: dict[str, bytes] = field(default_factory=dict)

    def member(self, name: str) -> bytes:
        """Return the contents of a member.

        Raises
        ------
        DataError
            It is missing, too long, or damaged.
        """
        if name in self.unpacked:
            return self.unpacked[name]
        left = MOST_UNPACKED - sum(map(len, self.unpacked.values()))
        try:
            with self.zip.open(name) as packed:
                data = packed.read(left + 1)
        except KeyError:
            raise DataError(
                f"{self.path}: {name} is missing from the archive; save the experiment with "
                "Extra-P again."
            ) from None
        except DAMAGED as error:
            raise DataError(
                f"{self.path}: {name} cannot be unpacked ({error}). Copy the file again."
            ) from None
        if len(data) > left:
            raise DataError(
                f"{self.path}: the archive unpacks to more than {MOST_UNPACKED:,} bytes; at most "
                "that many are read. Save fewer kernels or metrics."
            )
        self.unpacked[name] = data
        return data

    def values(self, place: Any, where: str) -> list[float] | None:
        """Return the repetitions at a place, None if they are kept apart for every rank.

        Parameters
        ----------
        place : list of two whole numbers
            Of the file, and of the array in it.
        """
        if not (isinstance(place, list) and [type(each) for each in place] == [int, int]):
            raise DataError(f"{where}: values is {str(place)[:40]!r}; it should be two numbers.")
        index = self.member(f"values/{place[0]}.indx")
        stream = io.BytesIO(self.member(f"values/{place[0]}.vals"))
        at = INDEX_HEAD + 8 * place[1]
        if not INDEX_HEAD <= at <= len(index) - 8:
            raise DataError(f"{where}: values/{place[0]}.indx has no array {place[1]}.")
        try:
            stream.seek(struct.unpack_from("<Q", index, at)[0])
            found = NPY.read_array(stream, allow_pickle=False)
            if found.dtype.kind not in "fiu":
                raise ValueError(f"entries of type {found.dtype}")
            values = np.asarray(found, np.float64)
        except (*DAMAGED, TypeError, SyntaxError) as error:
            raise DataError(f"{where}: no array of values ({str(error)[:80]}).") from None
        return values.tolist() if values.ndim == 1 else None


def number_in(entry: JsonObject, name: str, where: str) -> float | None:
    """Return a number of a measurement, None if it has none of that name."""
    value = entry.get(name)
    if isinstance(value, str) and value.lower() in NOT_NUMBERS:
        return NOT_NUMBERS[value.lower()]
    return None if value is None else to_number(value, f"{where} {name}")


def check_version(data: JsonObject, path: Path) -> None:
    """Refuse what another version of Extra-P, or another program, wrote."""
    version = member(data, PRODUCT, str, f"{path}, {DOCUMENT}:")
    if version.split(".")[0] != VERSION:
        raise DataError(
            f"{path}: Extra-P {version[:20]} wrote it; version 4 is read. Export the data as "
            "JSON or text."
        )


def read_archive(path: Path, into: ExperimentGathering) -> None:
    """Read a file of version 4."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as packed:
            archive = Archive(path, packed)
            text = text_of(archive.member(DOCUMENT), path)
            data = expect(load(text, f"{path}, {DOCUMENT}"), dict, f"{path}, {DOCUMENT}")
            check_depth(data)
            check_version(data, path)
            read_measurements(data, archive, into)
    except DataError:
        raise
    except DAMAGED as error:
        raise DataError(
            f"{path} is not an archive that can be read ({error}). Copy the file again."
        ) from None


def text_of(data: bytes, path: Path) -> str:
    """Return the text of the document."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}, {DOCUMENT}, byte {error.start}: not UTF-8.") from None


def read_measurements(data: JsonObject, archive: Archive, into: ExperimentGathering) -> None:
    """Put all measurements of a document into the gathering."""
    path, lost = archive.path, False
    for kernel, metric, entry, where in declared_entries(data, path, into):
        coordinate = member(entry, "coordinate", list, where)
        point: Point = tuple(to_numbers(coordinate, f"{where} coordinate"))
        values = None
        if entry.get("values") is not None:
            values = archive.values(entry["values"], where)
        if values is None:
            values = [summary(entry, where)]
            lost = lost or entry.get("repetitions") != 1
        into.add((kernel, metric), point, values, where)
    if lost:
        into.remarks.add(
            "saved experiments without repetitions",
            f"{path} has no repetitions of all points, only what Extra-P made of them: medians are "
            "used, which show less of the noise. Read the measurements themselves, or save with "
            "Extra-P's --keep-values.",
        )


def summary(entry: JsonObject, where: str) -> float:
    """Return the median of a measurement, or else its mean."""
    for name in ("median", "mean"):
        if (value := number_in(entry, name, where)) is not None:
            return value
    raise DataError(f"{where} has neither 'median' nor 'mean'.")


def _recognises(path: Path, head: bytes) -> bool:
    if head[6:].startswith(VERSION_3):
        return True
    return head.startswith(ZIP) and (path.suffix == SUFFIX or DOCUMENT.encode() in head)


def _read(paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering) -> None:
    for path in paths:
        if head_of(path)[6:].startswith(VERSION_3):
            raise DataError(f"{path}: Extra-P 3 wrote it; open and save it with Extra-P 4.")
        read_archive(path, into)


EXTRAP_SAVED = ExperimentFormat(
    name="extra-p",
    looks_like="a saved experiment (*.extra-p; Extra-P 4)",
    recognises=_recognises,
    read=_read,
)
