"""A run file while it is written: its name, its variables as netCDF-4, and totals of the run.

Its name is reserved before, and given to the complete file. The totals are computed while it is
written, so that readers need not read all of it.

The file below HDF5: a failed write is recorded and reported, but hidden from HDF5.

libhdf5 does not recover from a failed write: it tries to flush the data again whenever an object is
released, until the process ends, with a traceback each time. Therefore HDF5 writes through this
object, which keeps refused data in memory until `check` raises the first failure.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.files import publish, sync_folder
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.checksum import append_checksum
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.schema import (
    FLAGS,
    SCHEMA,
    SUFFIX,
    TEXTS,
    UNLIMITED,
    VARIABLES,
    VERSION,
    Variable,
    chunk_shape,
)


class Disk:
    """A file that HDF5 reads and writes through h5py's ``fileobj`` driver.

    Attributes
    ----------
    failure : OSError or None
        The first write that the disk refused.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_TRUNC)
        self._at = 0
        self._size = 0
        self._refused: list[tuple[int, bytes]] = []
        self.failure: OSError | None = None

    def check(self) -> None:
        """Raise the first failure, if there was one."""
        if self.failure is not None:
            raise self.failure

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def write(self, data: bytes | memoryview) -> int:
        """Write all data to the disk or, after a failure, to memory."""
        left = memoryview(data).cast("B")
        size, at = left.nbytes, self._at
        try:
            while left and self.failure is None:
                written = os.pwrite(self._file, left, at)
                left, at = left[written:], at + written
        except OSError as error:
            self.failure = error
        if left:
            self._refused.append((at, bytes(left)))
        self._at += size
        self._size = max(self._size, self._at)
        return size

    def readinto(self, buffer: bytearray | memoryview) -> int:
        """Read written data from the disk and from memory."""
        view = memoryview(buffer).cast("B")
        begin, end = self._at, self._at + view.nbytes
        on_disk = os.pread(self._file, view.nbytes, begin)
        view[: len(on_disk)] = on_disk
        view[len(on_disk) :] = bytes(view.nbytes - len(on_disk))
        for at, data in self._refused:
            first, last = max(begin, at), min(end, at + len(data))
            if first < last:
                view[first - begin : last - begin] = data[first - at : last - at]
        self._at = end
        return view.nbytes

    def read(self, size: int) -> bytes:
        """Read written data from the disk and from memory."""
        data = bytearray(size)
        self.readinto(data)
        return bytes(data)

    def truncate(self, size: int) -> int:
        """Set the length of the file."""
        if self.failure is None:
            try:
                os.ftruncate(self._file, size)
            except OSError as error:
                self.failure = error
        self._size = size
        return size

    def flush(self) -> None:
        """Do nothing: writes are not buffered here."""

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


@dataclass(frozen=True, slots=True)
class RunName:
    """The name of a new run: the first free ``STEM-N.h5`` of a folder, or one path."""

    folder: Path
    stem: str
    numbered: bool = True

    @classmethod
    def of(cls, folder: Path, header: Header) -> RunName:
        """Return the name of a run in a folder."""
        return cls(folder, f"{header.workload}-{header.solver}-p{header.ranks}")

    def candidates(self) -> Iterator[Path]:
        """Yield the possible names, in order."""
        numbers: Iterable[str] = (f"-{n}" for n in count()) if self.numbered else ("",)
        for number in numbers:
            yield self.folder / f"{self.stem}{number}{SUFFIX}"

    def refuse_taken(self) -> None:
        """Raise a UsageError if no name is free, before the run."""
        if not self.numbered and next(self.candidates()).exists():
            raise UsageError(f"{next(self.candidates())} exists; hindmost never overwrites a run.")

    def reserve(self) -> Path:
        """Create the preliminary file of the first free name."""
        for path in self.candidates():
            part = path.with_name(path.name + ".part")
            if path.exists():
                continue
            try:
                part.touch(exist_ok=False)
            except FileExistsError:
                continue
            except OSError as error:
                raise unwritable(part, error) from error
            return part
        raise UsageError(f"{path} exists, or is being written; hindmost never overwrites a run.")

    def publish(self, part: Path) -> Path:
        """Give a finished file the first free name; never replace a file."""
        for path in self.candidates():
            try:
                publish(part, path)
            except FileExistsError:
                continue
            return path
        raise UsageError(f"{path} appeared in the meantime; hindmost never overwrites a run.")


def unwritable(path: Path, error: OSError) -> DataError:
    """Say why a file cannot be written."""
    return DataError(
        f"{path} cannot be written: {error.strerror}. The unfinished file is removed; free some "
        "space or choose another folder."
    )


def make_variables(
    file: h5py.File, shapes: Mapping[str, tuple[int, ...]], names: Mapping[str, tuple[str, ...]]
) -> None:
    """Make the dimensions with their coordinates, and the variables of a run, still empty.

    Parameters
    ----------
    shapes : mapping of str to tuple of int
        Of the variables that this run has.
    names : mapping of str to tuple of str
        Coordinates of dimensions that are not numbers: phases, and predictors if there are any.
    """
    there = [variable for variable in VARIABLES if variable.name in shapes]
    sizes: dict[str, int] = {}
    for variable in there:
        sizes |= dict(zip(variable.dimensions, shapes[variable.name], strict=True))
    texts = {name: about for name, about in TEXTS.items() if name in shapes}
    sizes |= {dimension: shapes[name][0] for name, (dimension, _) in texts.items()}
    sizes |= {name: len(each) for name, each in names.items()}
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
                chunks=chunk_shape([name], sizes, 4) if limit is None else None,
            )
        scale.make_scale(name)
        scales[name] = scale
    for variable in there:
        make_variable(file, variable, sizes, scales)
    for name, (dimension, long_name) in texts.items():
        text = file.create_dataset(name, (sizes[dimension],), dtype=h5py.string_dtype())
        add_text(text, "long_name", long_name)
        text.dims[0].attach_scale(scales[dimension])
    for name in FLAGS.keys() & shapes.keys():
        kinds = list(FLAGS[name])
        file[name].attrs["flag_values"] = np.array(kinds, "u1")
        file[name].attrs["flag_meanings"] = " ".join(kind.name.lower() for kind in kinds)


def make_variable(
    file: h5py.File, variable: Variable, sizes: dict[str, int], scales: dict[str, h5py.Dataset]
) -> None:
    """Make one variable, on dimensions whose coordinates are there."""
    shape = tuple(sizes[name] for name in variable.dimensions)
    grows = any(name in UNLIMITED for name in variable.dimensions)
    dataset = file.create_dataset(
        variable.name,
        shape,
        variable.type,
        maxshape=tuple(None if name in UNLIMITED else sizes[name] for name in variable.dimensions),
        chunks=chunk_shape(variable.dimensions, sizes, np.dtype(variable.type).itemsize)
        if grows
        else None,
        fillvalue=np.nan if variable.type.startswith("f") else None,
    )
    add_text(dataset, "long_name", variable.long_name)
    if variable.units:
        add_text(dataset, "units", variable.units)
    if variable.type.startswith("f"):
        dataset.attrs["_FillValue"] = np.array(np.nan, variable.type)
    for axis, name in enumerate(variable.dimensions):
        h5py.h5ds.attach_scale(dataset.id, scales[name].id, axis)


TEXT = h5py.h5t.py_create(h5py.string_dtype(), logical=True)
SCALAR = h5py.h5s.create(h5py.h5s.SCALAR)


def add_text(dataset: h5py.Dataset, name: str, text: str) -> None:
    """Add an attribute that is a text: a file has some sixty, and h5py finds a type for each."""
    h5py.h5a.create(dataset.id, name.encode(), TEXT, SCALAR).write(np.array(text, object))


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


DECADES = (-10.0, 6.0)
BINS = 1 << 18
"""Bins of the histogram of log10(seconds): quantiles are exact to 0.01 %."""
QUANTILES = {"median": 0.5, "quantile_99": 0.99}


class RunTotals:
    """Sums and quantiles of bodies and phases over blocks of a run.

    Parameters
    ----------
    ranks : int
    phases : sequence of str
    """

    def __init__(self, ranks: int, phases: tuple[str, ...]) -> None:
        self._phases = phases
        self._phase_s = np.zeros(len(phases))
        self._rank_s = np.zeros(ranks)
        self._restart_s = np.zeros(ranks)
        self._histogram = np.zeros(BINS, np.int64)
        self._least, self._most = np.inf, 0.0
        self.counted = {"instructions": 0.0, "cycles": 0.0}

    def add(self, name: str, block: NDArray[Any], rank: int) -> None:
        """Add rows of a variable, shape (row, rank, ...), from a rank on.

        Raises
        ------
        DataError
            A body has no time.
        """
        ranks = slice(rank, rank + block.shape[1])
        if name == "duration":
            self._add_durations(block)
            self._rank_s[ranks] += block.sum(axis=0)
        elif name == "restart_duration":
            self._restart_s[ranks] += block.sum(axis=0)
        elif name == "phase_duration":
            self._phase_s += block.sum(axis=(0, 1), dtype=np.float64)
        elif name in self.counted:
            self.counted[name] += float(np.nansum(block))

    def _add_durations(self, block: NDArray[np.float64]) -> None:
        if not (np.isfinite(block).all() and (block > 0.0).all()):
            raise DataError(
                "The time of an iteration is not above 0, so the run cannot be written; the clock "
                "or the recorder is faulty."
            )
        self._least = min(self._least, float(block.min()))
        self._most = max(self._most, float(block.max()))
        first, last = DECADES
        place = (np.log10(block.ravel()) - first) * (BINS / (last - first))
        index = np.clip(place.astype(np.int64), 0, BINS - 1)
        lowest = int(index.min())
        counts = np.bincount(index - lowest)
        self._histogram[lowest : lowest + counts.size] += counts

    def result(
        self, outside_s: NDArray[np.float64], solve_time_s: NDArray[np.float64]
    ) -> dict[str, Any]:
        """Return the sums.

        Parameters
        ----------
        outside_s, solve_time_s : float64 array, shape (rank,), seconds
            Time before the first body and after the last, and of the whole solve.

        Returns
        -------
        dict
            ``body_s``: minimum, median, quantile_99 and maximum; ``phase_s``: by name, all ranks
            together; ``counted``: instructions and cycles, 0 if they were not counted;
            ``balance_s``: largest difference of a solve's time and the sum of its parts.
        """
        cumulative = np.cumsum(self._histogram)
        first, last = DECADES
        body = {"minimum": self._least, "maximum": self._most}
        for name, share in QUANTILES.items():
            place = int(np.searchsorted(cumulative, math.ceil(share * int(cumulative[-1]))))
            middle = 10.0 ** (first + (place + 0.5) * (last - first) / BINS)
            body[name] = min(max(middle, self._least), self._most)
        missed = np.abs(self._rank_s + (outside_s + self._restart_s) - solve_time_s)
        return {
            "body_s": body,
            "phase_s": dict(zip(self._phases, self._phase_s.tolist(), strict=True)),
            "counted": self.counted,
            "balance_s": float(missed.max()),
        }


BY_ROW = tuple(each.name for each in VARIABLES if each.dimensions[1:2] == ("rank",))
"""Variables with a column for every rank."""


class PartFile:
    """An HDF5 file with a preliminary name; `finish` gives it the final one.

    `hindmost.files.replacing` does not fit: HDF5 writes the file, the ranks gather it in steps that
    rank 0 may not leave early, and its name is the first free one at the end.
    """

    def __init__(
        self,
        name: RunName,
        header: Header,
        phases: tuple[str, ...] = PHASES,
        columns: int | None = None,
    ) -> None:
        self.phases = phases
        self._name = name
        self._part = name.reserve()
        self._header = header
        self.tally = RunTotals(header.ranks if columns is None else columns, phases)
        try:
            self._disk = Disk(self._part)
            self.file = h5py.File(self._disk, "w", track_order=True)
        except BaseException as error:
            self._part.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise unwritable(self._part, error) from error
            raise

    def __enter__(self) -> PartFile:
        """Return the target itself."""
        return self

    def write_rows(self, name: str, first: int, block: NDArray[Any], rank: int = 0) -> None:
        """Write rows of a variable, and add them to the totals.

        Parameters
        ----------
        first, rank : int
            The first row and the first rank of the block.
        block : array, shape (row, rank, ...)
        """
        self.tally.add(name, block, rank)
        rows, ranks = block.shape[:2]
        self.file[name][first : first + rows, rank : rank + ranks] = block
        self._disk.check()

    def note(self, name: str, value: Any) -> None:
        """Add a value to the run's ``spec`` that was found while gathering."""
        self._header = replace(self._header, spec={**self._header.spec, name: value})

    def finish(self) -> Path:
        """Close the file, append its checksum, and return its final name."""
        file = self.file
        outside = file["lead_in"][:] + file["lead_out"][:]
        write_attributes(file, self._header)
        file.attrs["summary"] = json.dumps(self.tally.result(outside, file["solve_time"][:]))
        self._close()
        self._disk.check()
        append_checksum(self._part)
        path = self._name.publish(self._part)
        sync_folder(path.parent)
        return path

    def _close(self) -> None:
        if self.file:
            self.file.close()
            self._disk.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        """Remove an unfinished file, and explain why in one sentence."""
        if error is None:
            return
        try:
            self._close()
        finally:
            self._part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise unwritable(self._part, error) from error


def write_whole(
    folder: Path,
    header: Header,
    values: Mapping[str, Any],
    phases: tuple[str, ...] = PHASES,
    predictors: tuple[str, ...] = (),
    activities: tuple[str, ...] = (),
    file_name: RunName | None = None,
) -> Path:
    """Write a run that is in one process: simulated and synthetic ones.

    Parameters
    ----------
    values : mapping of str to array
        All variables of the schema that are not optional, with their shapes, and ``host``, a name
        for each rank.
    phases : tuple of str
        `PHASES`, followed by phases that the user defined.
    predictors : tuple of str
        Names for ``predicted``.
    activities : tuple of str
        Names for ``activity_duration``.
    file_name : RunName, optional
        Of the file; else it is numbered.
    """
    optional = {"predictor": predictors, "activity": activities}
    names = {"phase": phases, **{name: texts for name, texts in optional.items() if texts}}
    file_name = file_name or RunName.of(folder, header)
    with PartFile(file_name, header, phases, len(values["solve_time"])) as target:
        make_variables(target.file, {name: np.shape(each) for name, each in values.items()}, names)
        for name, value in values.items():
            if name in BY_ROW:
                target.write_rows(name, 0, np.asarray(value))
            else:
                fill(target.file, {name: value})
        return target.finish()
