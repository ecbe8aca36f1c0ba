"""Read run files: verified first, then from disk as they are asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError, DataError, NotARunFileError, UnknownSchemaError
from hindmost.harness.runfile.bodies import PHASES, WAITING
from hindmost.harness.runfile.checksum import verify_checksum
from hindmost.harness.runfile.contents import Edges, Header, Json
from hindmost.harness.runfile.schema import SCHEMA, VARIABLES, VERSION
from hindmost.models.events import EventKind

BLOCK_BYTES = 64 << 20
"""Of a block of rows, by default."""

TOLERANCE_S = 1e-6
"""To which the phases of a body sum to its duration."""
ROUNDING_S = 1e-9
"""How far below zero rounding may take a phase that is nothing."""


class Run:
    """A run file that was verified and can be read; made by `open_run`.

    Arrays are read from disk whenever they are asked for; nothing is kept.

    Attributes
    ----------
    path : Path
    header : Header
    checksum : str
        SHA-256 of the file's contents.
    bodies, restarts : int
        Numbers of bodies and restarts.
    columns : int
        Ranks that the file has full records of: all of them, unless it is `reduced`.
    phases : tuple of str
        Parts of a body: halo, wait, post, local, and a user's own.
    """

    def __init__(
        self, path: Path, header: Header, checksum: str, sizes: dict[str, int], phases: list[str]
    ) -> None:
        self.path = path
        self.header = header
        self.checksum = checksum
        self.bodies = sizes["iteration"]
        self.restarts = sizes["restart"]
        self.columns = sizes["rank"]
        self.phases = tuple(phases)

    def __repr__(self) -> str:
        """Say what the run is."""
        header = self.header
        return (
            f"<Run {self.path.name}: {header.workload}, {header.solver}, {header.ranks} ranks, "
            f"{self.bodies} bodies>"
        )

    @property
    def reduced(self) -> bool:
        """Whether full records of some ranks only were kept (``hindmost run --keep``)."""
        return self.has("kept_rank")

    @property
    def kept_ranks(self) -> NDArray[np.int64]:
        """Numbers of the ranks that the columns are of: int64, shape (rank,)."""
        if not self.reduced:
            return np.arange(self.columns, dtype=np.int64)
        return np.asarray(self.variable("kept_rank"), np.int64)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a variable."""
        with h5py.File(self.path, "r") as file:
            shape: tuple[int, ...] = file[name].shape
        return shape

    def has(self, name: str) -> bool:
        """Tell whether the file has a variable; some are absent from older files."""
        with h5py.File(self.path, "r") as file:
            return name in file

    def blocks(self) -> Iterator[slice]:
        """Yield rows so many at a time that a block of float64 (iteration, rank) fits.

        With `variable`, `phase` and `work`, which take rows, a file larger than memory is read.
        """
        rows = max(1, BLOCK_BYTES // (8 * self.columns))
        for first in range(0, self.bodies, rows):
            yield slice(first, min(first + rows, self.bodies))

    def variable(self, name: str, rows: slice = slice(None)) -> NDArray[Any]:
        """Read a variable, or some rows of it; raise a DataError if this run has none."""
        with h5py.File(self.path, "r") as file:
            if name not in file:
                raise DataError(
                    f"{self.path} has no '{name}': it was not counted, or an older hindmost wrote "
                    f"the file. It has: {', '.join(file)}."
                )
            values: NDArray[Any] = file[name][rows]
        return values

    @property
    def durations(self) -> NDArray[np.float64]:
        """Time of every body: float64, shape (iteration, rank), seconds."""
        return self.variable("duration")

    @property
    def starts(self) -> NDArray[np.float64]:
        """Begin of every body since the barrier: float64, shape (iteration, rank), seconds."""
        return self.variable("start")

    def phase(self, name: str, rows: slice = slice(None)) -> NDArray[np.float64]:
        """Time of every body in one phase: float64, shape (iteration, rank), seconds."""
        if name not in self.phases:
            raise DataError(f"Unknown phase '{name}'; choose from: {', '.join(self.phases)}.")
        with h5py.File(self.path, "r") as file:
            values = file["phase_duration"][rows, :, self.phases.index(name)]
        return np.asarray(values, np.float64)

    def work_in(self, rows: slice) -> NDArray[np.float64]:
        """Time without waiting of some bodies: float64, shape (row, rank), seconds.

        All phases but halo and wait: what a rank does by itself.
        """
        return self.own_work(self.variable("phase_duration", rows))

    def own_work(self, phases: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return what ranks did by themselves in bodies whose phases were read.

        Parameters
        ----------
        phases : float array, shape (row, rank, phase), seconds

        Returns
        -------
        float64 array, shape (row, rank), seconds
        """
        work = np.zeros(phases.shape[:2])
        for at, name in enumerate(self.phases):
            if name not in WAITING:
                work += phases[:, :, at]
        return work

    @property
    def work(self) -> NDArray[np.float64]:
        """Time of every body without waiting, see `work_in`: float64, shape (iteration, rank)."""
        return self.work_in(slice(None))

    @property
    def position(self) -> NDArray[np.int32]:
        """Place of every body in its restart cycle: int32, shape (iteration,)."""
        return self.variable("position")

    @property
    def kind(self) -> NDArray[np.uint8]:
        """Kind of every body, see BodyKind: uint8, shape (iteration,)."""
        return self.variable("body")

    @property
    def restart_durations(self) -> NDArray[np.float64]:
        """Time of every restart: float64, shape (restart, rank), seconds."""
        return self.variable("restart_duration")

    @property
    def lead_in(self) -> NDArray[np.float64]:
        """Time before the first body: float64, shape (rank,), seconds."""
        return self.variable("lead_in")

    @property
    def lead_out(self) -> NDArray[np.float64]:
        """Time after the last body: float64, shape (rank,), seconds."""
        return self.variable("lead_out")

    @property
    def solve_time(self) -> NDArray[np.float64]:
        """Time of the solve on every rank: float64, shape (rank,), seconds."""
        return self.variable("solve_time")

    @property
    def solve_time_s(self) -> float:
        """Time of the solve, the maximum over ranks, in seconds."""
        return float(self.variable("every_solve_time" if self.reduced else "solve_time").max())

    @property
    def predictors(self) -> list[str]:
        """Names of what predicted every cycle; empty where nothing did."""
        return self.texts("predictor")

    @property
    def edges(self) -> Edges:
        """Who sends halos to whom."""
        return Edges(
            source=self.variable("edge_source"),
            target=self.variable("edge_target"),
            bytes=self.variable("edge_bytes"),
            messages=self.variable("edge_messages") if self.has("edge_messages") else None,
            epoch=self.variable("edge_epoch") if self.has("edge_epoch") else None,
        )

    def verify(self) -> None:
        """Read every time in the file and see that it can be.

        Raises
        ------
        DamagedFileError
            A time that is not a number or is negative, or parts that do not sum to their whole.
        """
        self.verify_outline()
        for rows in self.blocks():
            self.verify_bodies(
                self.variable("start", rows),
                self.variable("duration", rows),
                self.variable("phase_duration", rows),
            )
            if self.has("event_kind"):
                for name in ("event_work", "event_duration"):
                    self._refuse_impossible(name, self.variable(name, rows))

    def verify_outline(self) -> None:
        """See that all that is not of single bodies can be; raise as `verify` does."""
        for name in ("restart_duration", "lead_in", "lead_out", "solve_time"):
            self._refuse_impossible(name, self.variable(name))
        ranks = self.header.ranks
        limits = {"edge_source": ranks, "edge_target": ranks, "position": max(self.bodies, 1)}
        if self.has("event_kind"):
            limits["event_kind"] = len(EventKind)
        for name, limit in limits.items():
            values = self.variable(name)
            if values.size and (values.min() < 0 or values.max() >= limit):
                raise DamagedFileError(
                    f"{self.path}: '{name}' holds {values.min()} to {values.max()}; "
                    f"it should be from 0 to {limit - 1}."
                )

    def verify_bodies(
        self,
        starts: NDArray[np.float64],
        durations: NDArray[np.float64],
        phases: NDArray[np.floating[Any]],
    ) -> None:
        """See that bodies that were read can be; raise as `verify` does.

        Parameters
        ----------
        starts, durations : float64 array, shape (row, rank), seconds
        phases : float array, shape (row, rank, phase), seconds
        """
        if not np.isfinite(starts).all():
            raise DamagedFileError(f"{self.path}: a value of 'start' is not a number.")
        self._refuse_impossible("duration", durations)
        self._refuse_impossible("phase_duration", phases)
        missed = np.abs(phases.sum(axis=2, dtype=np.float64) - durations)
        if (missed > TOLERANCE_S + 1e-6 * durations).any():
            raise DamagedFileError(f"{self.path}: the phases of a body do not sum to its duration.")

    def _refuse_impossible(self, name: str, values: NDArray[Any]) -> None:
        """Raise if a time is not a number or is negative."""
        if not np.isfinite(values).all() or (values.size and values.min() < -ROUNDING_S):
            raise DamagedFileError(f"{self.path}: a value of '{name}' is negative or not a number.")

    def texts(self, name: str) -> list[str]:
        """Read texts, of every rank for instance; empty where the file does not have them."""
        with h5py.File(self.path, "r") as file:
            if name not in file:
                return []
            if h5py.check_string_dtype(file[name].dtype) is None:
                raise DamagedFileError(
                    f"{self.path}: '{name}' holds numbers; it should hold texts."
                )
            return [str(text) for text in file[name].asstr()[:]]

    @property
    def hosts(self) -> list[str]:
        """Host of every rank."""
        return self.texts("host")

    @property
    def summary(self) -> Json:
        """What the run comes to, as counted while it was written; see `Tally.result`."""
        with h5py.File(self.path, "r") as file:
            summary: Json = json.loads(file.attrs["summary"])
        return summary


def open_run(path: str | Path) -> Run:
    """Open a run file.

    The checksum is verified before HDF5 sees the file, and every variable's shape and type before
    a number is returned.

    Raises
    ------
    NotARunFileError, DamagedFileError, UnknownSchemaError
        See their descriptions.
    DataError
        The file cannot be read.
    """
    path = Path(path)
    checksum = verify_checksum(path)
    try:
        with h5py.File(path, "r") as file:
            check_schema(path, file)
            header = Header.from_attributes(file.attrs)
            if "summary" not in file.attrs:
                raise ValueError("the attribute 'summary' is missing")
            sizes = check_variables(path, file, header)
            phases = [str(name) for name in file["phase"].asstr()[:]]
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
        if isinstance(error, DataError):
            raise
        raise DamagedFileError(
            f"{path} has a right checksum but not the contents of a run file: {error}."
        ) from error
    if phases[: len(PHASES)] != list(PHASES) or len(set(phases)) < len(phases):
        raise DamagedFileError(
            f"{path}: its phases are {', '.join(phases)}; they should begin with "
            f"{', '.join(PHASES)}, and each come once."
        )
    return Run(path, header, checksum, sizes, phases)


def check_schema(path: Path, file: h5py.File) -> None:
    """Refuse a file of another schema, or of a version that came after this reader."""
    if file.attrs.get("schema") != SCHEMA:
        raise NotARunFileError(
            f"{path} is HDF5 with hindmost's checksum, but not of schema '{SCHEMA}'."
        )
    version = file.attrs.get("schema_version")
    if not isinstance(version, int | np.integer) or version < 1:
        raise DamagedFileError(
            f"{path}: the attribute 'schema_version' is {version!r}; it should be 1 to {VERSION}."
        )
    if version > VERSION:
        raise UnknownSchemaError(
            f"{path} follows version {version} of the schema '{SCHEMA}'; this hindmost reads up to "
            f"{VERSION}. Install a newer hindmost to read it."
        )


def check_variables(path: Path, file: h5py.File, header: Header) -> dict[str, int]:
    """Check that every variable is there in its type and shape; return the dimensions' sizes."""
    there = [each for each in VARIABLES if each.name in file or not each.optional]
    names = {name for variable in there for name in variable.dimensions}
    required = {variable.name for variable in VARIABLES if not variable.optional}
    for name in names | required | {"host"}:
        if name not in file or not isinstance(file[name], h5py.Dataset):
            raise DamagedFileError(f"{path} lacks the variable '{name}'.")
    sizes = {name: int(file[name].shape[0]) for name in names}
    for variable in there:
        dataset = file[variable.name]
        wanted = tuple(sizes[name] for name in variable.dimensions)
        if dataset.shape != wanted or dataset.dtype.newbyteorder("=") != np.dtype(variable.type):
            raise DamagedFileError(
                f"{path}: variable '{variable.name}' is {dataset.dtype} {dataset.shape}; "
                f"it should be {variable.type} {wanted}."
            )
    whole = "every_rank" if "kept_rank" in file else "rank"
    if sizes.get(whole) != header.ranks:
        raise DamagedFileError(
            f"{path}: {sizes.get(whole)} ranks; the header says {header.ranks} ranks."
        )
    if whole == "every_rank":
        kept = file["kept_rank"][:]
        if not kept.size or kept[0] < 0 or kept[-1] >= header.ranks or (np.diff(kept) <= 0).any():
            raise DamagedFileError(
                f"{path}: 'kept_rank' should ascend from 0 at least to {header.ranks - 1} at most."
            )
    return sizes
