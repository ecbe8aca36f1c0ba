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
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from hindmost.analysis.readers.format import ExperimentFormat, ExperimentRequest
from hindmost.analysis.readers.formats.extrap_json import declared_entries
from hindmost.analysis.readers.gather_experiment import ExperimentGathering
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

SUFFIX = ".extra-p"
DOCUMENT = "experiment.json"
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


def unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the contents of a member of an archive."""
    with archive.open(name) as packed:
        data = packed.read(MOST_UNPACKED + 1)
    if len(data) > MOST_UNPACKED:
        raise DataError(
            f"{archive.filename}: {name} has more than {MOST_UNPACKED:,} bytes; at most that many "
            "are read. Save fewer kernels or metrics."
        )
    return data


def repetitions(archive: zipfile.ZipFile, place: Any, kept: dict[str, bytes]) -> list[float] | None:
    """Return the repetitions at a place, None if they are kept apart for every rank.

    Parameters
    ----------
    place : list of two whole numbers
        Of the file, and of the array in it.
    kept : dict
        Members that were unpacked before.
    """
    file, number = place
    for name in (f"values/{file}.indx", f"values/{file}.vals"):
        if name not in kept:
            kept[name] = unpacked(archive, name)
    places = np.frombuffer(kept[f"values/{file}.indx"], "<u8", offset=INDEX_HEAD)
    stream = io.BytesIO(kept[f"values/{file}.vals"])
    stream.seek(int(places[number]))
    found = NPY.read_array(stream, allow_pickle=False)
    values: list[float] = found.astype(np.float64).tolist()
    return values if found.ndim == 1 else None


def read_archive(path: Path, into: ExperimentGathering) -> None:
    """Read a file of version 4."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            text = unpacked(archive, DOCUMENT).decode("utf-8")
            where = f"{path}, {DOCUMENT}"
            data = expect(load(text, where), dict, where)
            version = member(data, "Extra-P", str, f"{where}:")
            if version.split(".")[0] != VERSION:
                raise DataError(
                    f"{path}: Extra-P {version[:20]} wrote it; version 4 is read. Export the data "
                    "as JSON or text."
                )
            read_measurements(data, archive, path, into)
    except DataError:
        raise
    except Exception as error:  # of a damaged archive, whatever zipfile and numpy meet
        raise DataError(
            f"{path} is not an archive that can be read ({type(error).__name__}: "
            f"{str(error)[:80]}). Copy the file again, or save it with Extra-P again."
        ) from error


def read_measurements(
    data: JsonObject, archive: zipfile.ZipFile, path: Path, into: ExperimentGathering
) -> None:
    """Put all measurements of a document into the gathering."""
    kept: dict[str, bytes] = {}
    lost = False
    for kernel, metric, entry, where in declared_entries(data, path, into):
        coordinate = member(entry, "coordinate", list, where)
        point = tuple(to_numbers(coordinate, f"{where} coordinate"))
        place = entry.get("values")
        values = None if place is None else repetitions(archive, place, kept)
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
        value = entry.get(name)
        if isinstance(value, str) and value.lower() in NOT_NUMBERS:
            return NOT_NUMBERS[value.lower()]
        if value is not None:
            return to_number(value, f"{where} {name}")
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
