"""Read run files: verified first, then from disk as they are asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError, DataError, NotARunFileError, UnknownSchemaError
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.checksum import verify_checksum
from hindmost.harness.runfile.contents import Edges, Header, Json
from hindmost.harness.runfile.schema import SCHEMA, VARIABLES, VERSION

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
    """

    def __init__(self, path: Path, header: Header, checksum: str, bodies: int, restarts: int):
        self.path = path
        self.header = header
        self.checksum = checksum
        self.bodies = bodies
        self.restarts = restarts

    def __repr__(self) -> str:
        """Say what the run is."""
        header = self.header
        return (
            f"<Run {self.path.name}: {header.workload}, {header.solver}, {header.ranks} ranks, "
            f"{self.bodies} bodies>"
        )

    def variable(self, name: str, rows: slice = slice(None)) -> NDArray[Any]:
        """Read a variable, or some rows of it."""
        with h5py.File(self.path, "r") as file:
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

    def phase(self, name: str) -> NDArray[np.float64]:
        """Time of every body in one phase: float64, shape (iteration, rank), seconds."""
        if name not in PHASES:
            raise DataError(f"Unknown phase '{name}'; choose from: {', '.join(PHASES)}.")
        with h5py.File(self.path, "r") as file:
            values = file["phase_duration"][:, :, PHASES.index(name)]
        return np.asarray(values, np.float64)

    @property
    def work(self) -> NDArray[np.float64]:
        """Time of every body without waiting: float64, shape (iteration, rank), seconds.

        Local work and the starts of non-blocking reductions: what a rank does by itself.
        """
        return self.phase("local") + self.phase("post")

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
        return float(self.solve_time.max())

    @property
    def edges(self) -> Edges:
        """Who sends halos to whom."""
        return Edges(
            source=self.variable("edge_source"),
            target=self.variable("edge_target"),
            bytes=self.variable("edge_bytes"),
        )

    def verify(self) -> None:
        """Read every time in the file and see that it can be.

        Raises
        ------
        DamagedFileError
            A time that is not a number or is negative, or parts that do not sum to their whole.
        """
        durations, phases = self.durations, self.variable("phase_duration")
        times = {
            "duration": durations,
            "phase_duration": phases,
            "restart_duration": self.restart_durations,
            "lead_in": self.lead_in,
            "lead_out": self.lead_out,
            "solve_time": self.solve_time,
        }
        for name, values in times.items():
            if not np.isfinite(values).all() or (values.size and values.min() < -ROUNDING_S):
                raise DamagedFileError(
                    f"{self.path}: a value of '{name}' is negative or not a number."
                )
        missed = np.abs(phases.sum(axis=2, dtype=np.float64) - durations)
        if (missed > TOLERANCE_S + 1e-6 * durations).any():
            raise DamagedFileError(f"{self.path}: the phases of a body do not sum to its duration.")

    @property
    def hosts(self) -> list[str]:
        """Host of every rank."""
        with h5py.File(self.path, "r") as file:
            return [str(host) for host in file["host"].asstr()[:]]

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
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
        if isinstance(error, DataError):
            raise
        raise DamagedFileError(
            f"{path} has a right checksum but not the contents of a run file: {error}."
        ) from error
    return Run(path, header, checksum, sizes["iteration"], sizes["restart"])


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
    names = {name for variable in VARIABLES for name in variable.dimensions}
    for name in names | {variable.name for variable in VARIABLES} | {"host"}:
        if name not in file or not isinstance(file[name], h5py.Dataset):
            raise DamagedFileError(f"{path} lacks the variable '{name}'.")
    sizes = {name: int(file[name].shape[0]) for name in names}
    for variable in VARIABLES:
        dataset = file[variable.name]
        wanted = tuple(sizes[name] for name in variable.dimensions)
        if dataset.shape != wanted or dataset.dtype.newbyteorder("=") != np.dtype(variable.type):
            raise DamagedFileError(
                f"{path}: variable '{variable.name}' is {dataset.dtype} {dataset.shape}; "
                f"it should be {variable.type} {wanted}."
            )
    if sizes["rank"] != header.ranks or sizes["phase"] != len(PHASES):
        raise DamagedFileError(
            f"{path}: {sizes['rank']} ranks and {sizes['phase']} phases; the header says "
            f"{header.ranks} ranks, the schema {len(PHASES)} phases."
        )
    return sizes
