"""Write a run file: gathered from the ranks in blocks, written by rank 0, whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.checksum import append_checksum
from hindmost.harness.runfile.contents import Edges, Header, RankRun
from hindmost.harness.runfile.disk import Disk
from hindmost.harness.runfile.schema import (
    BODY_FLAGS,
    CHUNK_ITERATIONS,
    CHUNK_RANKS,
    SCHEMA,
    SUFFIX,
    UNLIMITED,
    VARIABLES,
    VERSION,
    Variable,
)
from hindmost.harness.runfile.tally import Tally

if TYPE_CHECKING:
    from mpi4py import MPI

BLOCK_BYTES = 64 << 20
"""The most that rank 0 gathers at once."""

BY_ROW = ("duration", "start", "phase_duration", "restart_duration")
"""Variables that every rank has a column of."""


def write_run(folder: Path, header: Header, run: RankRun, communicator: MPI.Intracomm) -> Path:
    """Write the run of all ranks into a new, numbered file of a folder; collective.

    See `write_run_as`.
    """
    return write_run_as(RunName.of(folder, header), header, run, communicator)


def write_run_as(name: RunName, header: Header, run: RankRun, communicator: MPI.Intracomm) -> Path:
    """Write the run of all ranks into a new file; collective.

    Returns
    -------
    Path
        The file, on every rank.

    Raises
    ------
    DataError
        The ranks do not agree on the number of bodies, or rank 0 cannot write.
    """
    bodies, restarts = run.bodies.duration.size, run.bodies.restart_duration.size
    counts = communicator.allgather((bodies, restarts))
    if len(set(counts)) > 1:
        raise DataError(
            f"The ranks did not do the same number of bodies and restarts: {sorted(set(counts))}."
        )
    path = None
    if communicator.rank == 0:
        with PartFile(name, header) as target:
            gather_into(target, run, communicator)
            path = target.finish()
    else:
        gather_into(None, run, communicator)
    return Path(communicator.bcast(path))


class PartFile:
    """An HDF5 file under its preliminary name; it gets its own name only by `finish`."""

    def __init__(self, name: RunName, header: Header) -> None:
        self._name = name
        self._part = name.reserve()
        self._header = header
        self.tally = Tally(header.ranks, PHASES)
        try:
            self._disk = Disk(self._part)
            self.file = h5py.File(self._disk, "w", track_order=True)
        except OSError as error:
            self._part.unlink(missing_ok=True)
            raise unwritable(self._part, error) from error

    def __enter__(self) -> PartFile:
        """Return the target itself."""
        return self

    def write_rows(self, name: str, first: int, block: NDArray[Any]) -> None:
        """Write rows of a variable, counting what the run comes to."""
        if name == "duration":
            self.tally.add_durations(block)
        elif name == "phase_duration":
            self.tally.add_phases(block)
        self.file[name][first : first + block.shape[0]] = block
        self._disk.check()

    def finish(self) -> Path:
        """Close the file, append its checksum, give it its name and return that."""
        file = self.file
        between = file["lead_in"][:] + file["lead_out"][:] + file["restart_duration"][:].sum(axis=0)
        write_attributes(file, self._header)
        file.attrs["summary"] = json.dumps(self.tally.result(between, file["solve_time"][:]))
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
        """Leave nothing behind of a file that was not finished, and say why in one sentence."""
        if error is None:
            return
        self._close()
        self._part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise unwritable(self._part, error) from error


@dataclass(frozen=True, slots=True)
class RunName:
    """Where a run is to be written: the first free ``STEM-N.h5`` of a folder, or one path."""

    folder: Path
    stem: str
    numbered: bool = True

    @classmethod
    def of(cls, folder: Path, header: Header) -> RunName:
        """Return the name of a run in a folder."""
        return cls(folder, f"{header.workload}-{header.solver}-p{header.ranks}")

    def candidates(self) -> Iterator[Path]:
        """Yield the names that may be taken, in order."""
        numbers: Iterable[str] = (f"-{n}" for n in count()) if self.numbered else ("",)
        for number in numbers:
            yield self.folder / f"{self.stem}{number}{SUFFIX}"

    def reserve(self) -> Path:
        """Make the preliminary file of the first name that is free."""
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
        raise UsageError(f"{path} exists, or is being written; an existing run is not overwritten.")

    def publish(self, part: Path) -> Path:
        """Give a finished file the first free name, and never one that is taken."""
        for path in self.candidates():
            try:
                os.link(part, path)
            except FileExistsError:
                continue
            part.unlink()
            return path
        raise UsageError(f"{path} has come to exist meanwhile; an existing run is not overwritten.")


def unwritable(path: Path, error: OSError) -> DataError:
    """Say why a file cannot be written."""
    return DataError(
        f"{path} cannot be written: {error.strerror}. Nothing was left there; "
        "make room or choose another folder with --out."
    )


def sync_folder(folder: Path) -> None:
    """See a renamed file safe on the disk, where the file system can sync a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def gather_into(target: PartFile | None, run: RankRun, communicator: MPI.Intracomm) -> None:
    """Gather a run from all ranks and write it where the file is, on rank 0; collective."""
    bodies = run.bodies
    edges = gather_edges(run.incoming, communicator)
    per_rank = communicator.gather(
        {
            "host": run.host,
            "cpu": run.cpu,
            "context_switches": run.context_switches,
            "mpi_other": run.mpi_other_s,
            "clock_offset": run.clock_offset_s,
            "clock_uncertainty": run.clock_uncertainty_s,
            "lead_in": bodies.lead_in_s,
            "lead_out": bodies.lead_out_s,
            "solve_time": bodies.solve_time_s,
        }
    )
    if target is not None and per_rank is not None:
        sizes = {
            "iteration": bodies.duration.size,
            "rank": communicator.size,
            "restart": bodies.restart_duration.size,
            "edge": edges.source.size,
        }
        make_variables(target.file, sizes)
        small = {
            "body": bodies.kind,
            "position": bodies.position,
            "residual_norm": run.residual_norm,
            "edge_source": edges.source,
            "edge_target": edges.target,
            "edge_bytes": edges.bytes,
            **{name: [each[name] for each in per_rank] for name in per_rank[0]},
        }
        fill(target.file, small)
    for name in BY_ROW:
        for first, block in gathered_blocks(getattr(bodies, name), communicator):
            if target is not None and block is not None:
                target.write_rows(name, first, block)


def write_whole(folder: Path, header: Header, values: Mapping[str, Any]) -> Path:
    """Write a run that one process holds whole: simulated and synthetic ones.

    Parameters
    ----------
    values : mapping of str to array
        Every variable of the schema in its shape, and ``host``, a name for each rank.
    """
    sizes = {
        name: np.shape(values[variable.name])[axis]
        for variable in VARIABLES
        for axis, name in enumerate(variable.dimensions)
        if name != "phase"
    }
    with PartFile(RunName.of(folder, header), header) as target:
        make_variables(target.file, sizes)
        for name, value in values.items():
            if name in BY_ROW:
                target.write_rows(name, 0, np.asarray(value))
            else:
                fill(target.file, {name: value})
        return target.finish()


def fill(file: h5py.File, values: Mapping[str, Any]) -> None:
    """Write whole variables."""
    for name, value in values.items():
        file[name][...] = list(value) if name == "host" else value


def gathered_blocks(
    mine: Any, communicator: MPI.Intracomm
) -> Iterator[tuple[int, NDArray[Any] | None]]:
    """Gather rows of all ranks, so many at a time that rank 0 holds a bounded block.

    Yields
    ------
    int
        The first row of the block.
    array or None, shape (row, rank, ...)
        The block on rank 0, None elsewhere.
    """
    row_bytes = mine.itemsize * int(np.prod(mine.shape[1:], dtype=np.int64)) * communicator.size
    rows = max(1, BLOCK_BYTES // row_bytes)
    for first in range(0, len(mine), rows):
        part = np.ascontiguousarray(mine[first : first + rows])
        whole = (
            np.empty((communicator.size, *part.shape), part.dtype)
            if communicator.rank == 0
            else None
        )
        communicator.Gather(part, whole, root=0)
        yield first, None if whole is None else np.moveaxis(whole, 0, 1)


def gather_edges(incoming: Edges, communicator: MPI.Intracomm) -> Edges:
    """Gather the edges of all ranks; on other ranks than 0 the rank's own are returned."""
    parts = communicator.gather(incoming)
    if parts is None:
        return incoming
    return Edges(
        source=np.concatenate([part.source for part in parts]),
        target=np.concatenate([part.target for part in parts]),
        bytes=np.concatenate([part.bytes for part in parts]),
    )


def make_variables(file: h5py.File, sizes: dict[str, int]) -> None:
    """Make the dimensions, with their coordinates, and every variable, still empty."""
    sizes = {**sizes, "phase": len(PHASES)}
    for name, size in sizes.items():
        limit = None if name in UNLIMITED else size
        if name == "phase":
            scale = file.create_dataset(name, data=list(PHASES), dtype=h5py.string_dtype())
        else:
            scale = file.create_dataset(
                name,
                data=np.arange(size, dtype="i4"),
                maxshape=(limit,),
                chunks=True if limit is None else None,
            )
        scale.make_scale(name)
    for variable in VARIABLES:
        make_variable(file, variable, sizes)
    host = file.create_dataset("host", (sizes["rank"],), dtype=h5py.string_dtype())
    host.attrs["long_name"] = "host of the rank"
    host.dims[0].attach_scale(file["rank"])
    body = file["body"]
    body.attrs["flag_values"] = np.array(list(BODY_FLAGS.values()), "u1")
    body.attrs["flag_meanings"] = " ".join(BODY_FLAGS)


def make_variable(file: h5py.File, variable: Variable, sizes: dict[str, int]) -> None:
    """Make one variable."""
    shape = tuple(sizes[name] for name in variable.dimensions)
    chunk_of = {
        "iteration": CHUNK_ITERATIONS,
        "rank": min(sizes["rank"], CHUNK_RANKS),
        "phase": len(PHASES),
        "restart": CHUNK_ITERATIONS,
        "edge": CHUNK_ITERATIONS,
    }
    grows = any(name in UNLIMITED for name in variable.dimensions)
    dataset = file.create_dataset(
        variable.name,
        shape,
        variable.type,
        maxshape=tuple(None if name in UNLIMITED else sizes[name] for name in variable.dimensions),
        chunks=tuple(chunk_of[name] for name in variable.dimensions) if grows else None,
        fillvalue=np.nan if variable.type.startswith("f") else None,
    )
    dataset.attrs["long_name"] = variable.long_name
    if variable.units:
        dataset.attrs["units"] = variable.units
    if variable.type.startswith("f"):
        dataset.attrs["_FillValue"] = np.array(np.nan, variable.type)
    for axis, name in enumerate(variable.dimensions):
        dataset.dims[axis].attach_scale(file[name])


def write_attributes(file: h5py.File, header: Header) -> None:
    """Write what is said of the whole run."""
    file.attrs["Conventions"] = "CF-1.11"
    file.attrs["schema"] = SCHEMA
    file.attrs["schema_version"] = VERSION
    for name, value in header.to_attributes().items():
        file.attrs[name] = np.uint8(value) if name == "complete" else value
    file["start"].attrs["t0_utc"] = header.t0_utc
