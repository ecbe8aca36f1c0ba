"""Read run files: verified first, then on demand from disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError, DataError, NotARunFileError
from hindmost.harness.runfile.attributes import Json, read_summary
from hindmost.harness.runfile.bodies import EARLIER_PHASES, NOT_WORK, PHASES, SUMMED, sum_of_phases
from hindmost.harness.runfile.checksum import verify_checksum
from hindmost.harness.runfile.contents import Edges, Header
from hindmost.harness.runfile.contexts import CallContexts, Module, PythonCode
from hindmost.harness.runfile.hdf5 import VerifiedFile, scalar_attributes
from hindmost.harness.runfile.interchange import (
    call_tree_of,
    dataset_of,
    frame_of,
    graph_frame_of,
)
from hindmost.harness.runfile.schema import (
    NAMED,
    SCHEMA,
    TEXTS,
    VARIABLE,
    VARIABLES,
    VERSION,
    Variable,
)
from hindmost.models.events import EventKind
from hindmost.parsing import shown
from hindmost.records import RecordError, check_version
from hindmost.text import choose, percent, seconds

TOLERANCE_S = 1e-6
"""Tolerance of the sum of phases against the duration of a body."""
ATTRIBUTES = ("schema", "schema_version", "summary", *(field.name for field in fields(Header)))
"""The attributes that are read."""


class Run:
    """A verified run file; made by `open_run`.

    Arrays are read from disk at every access.

    Attributes
    ----------
    path : Path
    header : Header
    checksum : str
        SHA-256 of the file's contents.
    bodies, restarts : int
        Numbers of bodies and restarts.
    columns : int
        Number of ranks with full records: all of them, unless the file is `reduced`.
    phases : tuple of str
        `PHASES`, and phases that the user defined; `EARLIER_PHASES` before version 3.
    summary : dict
        Totals of the run, computed during writing; see `RunTotals.result`.
    results, to_read : dict, tuple
        What was computed of the run so far, and what is to be computed in one reading; see
        `hindmost.analysis.runs.tallies`.
    """

    path: Path
    header: Header
    bodies: int

    def __init__(
        self,
        verified_file: VerifiedFile,
        header: Header,
        checksum: str,
        sizes: dict[str, int],
        phases: list[str],
        summary: Json,
    ) -> None:
        self._file = verified_file
        self.path = verified_file.path
        self.header = header
        self.summary = summary
        self.checksum = checksum
        self.bodies = sizes["iteration"]
        self.restarts = sizes["restart"]
        self.columns = sizes["rank"]
        self.phases = tuple(phases)
        self.results: dict[Any, Any] = {}
        self.to_read: tuple[Any, ...] = ()
        self._verified = False  # all times
        self._names: frozenset[str] | None = None
        self._kept: dict[str, NDArray[Any]] = {}

    def __repr__(self) -> str:
        """Describe the run."""
        header = self.header
        return (
            f"<Run {self.path.name}: {header.workload}, {header.solver}, {header.ranks} ranks, "
            f"{self.bodies} bodies>"
        )

    def to_xarray(self) -> Any:
        """Return all variables, read into memory: xarray.Dataset, times in seconds.

        Raises
        ------
        MissingError
            xarray or h5netcdf is not installed.
        """
        with self.reading():
            return dataset_of(self.path)

    def to_pandas(self) -> Any:
        """Return a row for each body and rank: pandas.DataFrame, times in seconds.

        The index has the levels ``iteration`` and ``rank``; the columns are ``start``, ``duration``
        and the phases.

        Raises
        ------
        MissingError
            pandas is not installed.
        """
        columns = {"start": self.starts.ravel(), "duration": self.durations.ravel()}
        phases = self.variable("phase_duration")
        for at, name in enumerate(self.phases):
            columns[f"{name} (phase)" if name in columns else name] = phases[:, :, at].ravel()
        return frame_of(columns, iteration=range(self.bodies), rank=self.kept_ranks)

    def call_tree(self) -> list[dict[str, Any]]:
        """Return its calls of MPI as a tree, in the literal form that Hatchet and Thicket read.

        See `hindmost.harness.runfile.interchange.call_tree_of`.

        Raises
        ------
        DataError
            The run does not know where its calls were made.
        """
        if not self.has("event_context") or not self.has("frame_place"):
            raise DataError(
                f"{self.path} does not know where its calls of MPI were made, so it has no call "
                "tree: record it with 'hindmost attach'."
            )
        names = ("event_context", "event_work", "event_duration")
        with self.reading():
            blocks = (tuple(self.variable(name, rows) for name in names) for rows in self.blocks())
            return call_tree_of(self.contexts, self.columns, blocks)

    def to_hatchet(self) -> Any:
        """Return the tree of its calls of MPI: hatchet.GraphFrame, times in seconds.

        Raises
        ------
        DataError
            As by `call_tree`.
        MissingError
            hatchet is not installed.
        """
        return graph_frame_of(self.call_tree())

    @property
    def reduced(self) -> bool:
        """Whether only some ranks have full records (``--keep``)."""
        return self.has("kept_rank")

    @property
    def kept_ranks(self) -> NDArray[np.int64]:
        """Numbers of the ranks of the columns: int64, shape (rank,)."""
        if not self.reduced:
            return np.arange(self.columns, dtype=np.int64)
        return np.asarray(self.variable("kept_rank"), np.int64)

    def reading(self) -> AbstractContextManager[h5py.File]:
        """Open the file for reading; raises if it has changed since it was verified."""
        return self._file.reading()

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a variable."""
        with self.reading() as file:
            shape: tuple[int, ...] = file[name].shape
        return shape

    def has(self, name: str) -> bool:
        """Tell whether the file has a variable; some are absent from older files."""
        if self._names is None:
            with self.reading() as file:
                self._names = frozenset(file)  # for good: a file that changes is read no more
        return name in self._names

    def blocks(self) -> Iterator[slice]:
        """Yield slices of rows whose float64 blocks (iteration, rank) have a bounded size.

        `variable`, `phase` and `work_in` accept rows, to read files larger than memory.
        """
        rows = max(1, BLOCK_BYTES // (8 * self.columns))
        for first in range(0, self.bodies, rows):
            yield slice(first, min(first + rows, self.bodies))

    def variable(self, name: str, rows: slice = slice(None)) -> NDArray[Any]:
        """Read a variable, or some of its rows; raise a DataError if the run lacks it.

        Small ones are kept: a page asks for some three hundred, and opening the file costs most.
        """
        if name in self._kept:
            self._file.check_unchanged()
            kept: NDArray[Any] = self._kept[name][rows].copy()
            return kept
        known = self.has(name)
        with self.reading() as file:
            if not known:
                raise DataError(
                    f"{self.path} has no '{name}': it was not recorded, or an older hindmost "
                    f"wrote the file. It has: {', '.join(file)}."
                )
            values: NDArray[Any] = file[name][rows]
        if rows == slice(None) and values.nbytes <= KEPT_BYTES:
            self._kept[name] = values.copy()
        return values

    @property
    def durations(self) -> NDArray[np.float64]:
        """Time of every body: float64, shape (iteration, rank), seconds."""
        return self.variable("duration")

    @property
    def starts(self) -> NDArray[np.float64]:
        """Start of every body since the barrier: float64, shape (iteration, rank), seconds."""
        return self.variable("start")

    def phase(self, name: str, rows: slice = slice(None)) -> NDArray[np.float64]:
        """Time of every body in one phase: float64, shape (iteration, rank), seconds."""
        if name not in self.phases:
            raise DataError(f"Unknown phase '{name}'; {choose(self.phases)}.")
        with self.reading() as file:
            values = file["phase_duration"][rows, :, self.phases.index(name)]
        return np.asarray(values, np.float64)

    def work_in(self, rows: slice) -> NDArray[np.float64]:
        """Own work of the ranks in some bodies: float64, shape (row, rank), seconds.

        The sum of all phases but `NOT_WORK`.
        """
        return self.own_work(self.variable("phase_duration", rows))

    def own_work(self, phases: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return the own work of ranks in bodies whose phases were read.

        Parameters
        ----------
        phases : float array, shape (row, rank, phase), seconds

        Returns
        -------
        float64 array, shape (row, rank), seconds
        """
        return sum_of_phases(phases, [name not in NOT_WORK for name in self.phases])

    @property
    def work(self) -> NDArray[np.float64]:
        """Time of every body without waiting, see `work_in`: float64, shape (iteration, rank)."""
        return self.work_in(slice(None))

    @property
    def unclassified_share(self) -> NDArray[np.float64]:
        """Share of each rank's solve in MPI calls of no known kind: float64, shape (rank,).

        In files before version 3 that time is part of ``local``.
        """
        return np.asarray(self.variable("mpi_other") / self.solve_time)

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
    def summed(self) -> int:
        """Iterations in which some rank's calls are known by sums only."""
        if self.header.spec.get("events_left_out") != SUMMED:
            return 0
        if not self.has("event_kind"):
            return self.bodies
        return int(np.count_nonzero(self.variable("event_kind")[:, 0] == EventKind.UNKNOWN))

    @property
    def of_program(self) -> str:
        """What part of its program an attached run is, to end a sentence; empty if unknown."""
        whole_s = (self.header.spec.get("attached") or {}).get("program_s", 0.0)
        share = self.solve_time_s / whole_s if whole_s > 0.0 else 0.0
        if not 0.01 <= share <= 1.01:  # ranks begin at different times
            return ""
        whole_s = max(whole_s, self.solve_time_s)
        return f", {percent(self.solve_time_s / whole_s, 0)} of the program's {seconds(whole_s)}"

    @property
    def predictors(self) -> list[str]:
        """Names of the predictors of cycles; empty if there were none."""
        return self.texts("predictor")

    @property
    def activities(self) -> list[str]:
        """Names of the parts of local work; empty if it was not split."""
        return self.texts("activity")

    def activity(self, name: str) -> NDArray[np.float64]:
        """Time of every body in one part of local work: float64, shape (iteration, rank), s."""
        if name not in self.activities:
            if not self.activities:
                raise DataError(
                    f"{self.path} has no activities: only solves of PETSc that 'hindmost attach', "
                    "'hindmost run --activities' or record_ksp(..., activities=True) record have "
                    "them."
                )
            raise DataError(f"Unknown activity '{name}'; {choose(self.activities)}.")
        with self.reading() as file:
            values = file["activity_duration"][:, :, self.activities.index(name)]
        return np.asarray(values, np.float64)

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

    @property
    def contexts(self) -> CallContexts:
        """The call contexts of its events; of other runs than attached ones, context 0 alone."""
        if not self.has("chain_end"):
            return CallContexts.none()
        lines = self.variable("code_line").tolist()
        found = CallContexts(
            modules=tuple(
                Module(path=path, identity=identity)
                for path, identity in zip(
                    self.texts("module_path"), self.texts("module_identity"), strict=True
                )
            ),
            codes=tuple(
                PythonCode(file=file, function=function, first_line=line)
                for file, function, line in zip(
                    self.texts("code_file"), self.texts("code_function"), lines, strict=True
                )
            ),
            module=self.variable("frame_module"),
            offset=self.variable("frame_offset"),
            function=self.variable("frame_function"),
            size=self.variable("frame_bytes"),
            start=np.concatenate([[0], self.variable("chain_end")]),
            frames=self.variable("chain_frame"),
            places=tuple(self.texts("frame_place")) if self.has("frame_place") else (),
        )
        try:
            found.check()
        except ValueError as error:
            raise DamagedFileError(f"{self.path}: {error}.") from None
        return found

    def verify(self) -> None:
        """Read and check all times in the file, once: it may not change while it is open.

        Raises
        ------
        DamagedFileError
            A time is NaN or negative, or parts do not sum to their whole.
        """
        if self._verified:
            return
        for rows in self.blocks():
            self.verify_bodies(
                self.variable("start", rows),
                self.variable("duration", rows),
                self.variable("phase_duration", rows),
            )
        self.verify_rest()

    def verify_rest(self) -> None:
        """Check what is left once `verify_bodies` saw every body; raises like `verify`."""
        checked = ("start", "duration", "phase_duration")
        with self.reading() as file:
            rest = [
                variable
                for variable in VARIABLES
                if variable.large and variable.name not in checked
            ]
            check_values_in(self.path, file, rest, self.columns, self.bodies)
        self._verified = True

    @property
    def verified(self) -> bool:
        """Whether all times were read and checked."""
        return self._verified

    def verify_bodies(
        self,
        starts: NDArray[np.float64],
        durations: NDArray[np.float64],
        phases: NDArray[np.floating[Any]],
    ) -> None:
        """Check bodies that were read; raises like `verify`.

        Parameters
        ----------
        starts, durations : float64 array, shape (row, rank), seconds
        phases : float array, shape (row, rank, phase), seconds
        """
        for name, values in (
            ("start", starts),
            ("duration", durations),
            ("phase_duration", phases),
        ):
            check_values(self.path, VARIABLE[name], values)
        missed = sum_of_phases(phases)
        missed -= durations
        if (np.abs(missed, out=missed) > TOLERANCE_S + 1e-6 * durations).any():
            raise DamagedFileError(
                f"{self.path}: the phases of an iteration do not sum to its duration."
            )

    def texts(self, name: str) -> list[str]:
        """Read texts, of every rank for instance; empty if the file lacks them."""
        if not self.has(name):
            return []
        kept = self._kept.get(name)
        if kept is None:
            with self.reading() as file:
                kept = np.array(texts_of(self.path, file, name), object)
            if len(kept) <= MAX_KEPT_TEXTS:
                self._kept[name] = kept
        return [*kept]

    @property
    def hosts(self) -> list[str]:
        """Host of every rank."""
        return self.texts("host")


def open_run(path: str | Path) -> Run:
    """Open a run file.

    The checksum is verified before HDF5 sees the file, and shapes and types of all variables are
    checked before any number is returned.

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
        verified_file = VerifiedFile.of(path)
        with verified_file.reading() as file:
            attributes = scalar_attributes(file, ATTRIBUTES)
            version = check_schema(path, attributes)
            verified_file.check_objects(file)
            header = Header.from_attributes(attributes)
            sizes = check_variables(path, file, header)
            phases = texts_of(path, file, "phase")
            check_names(path, file, phases, version)
        if "summary" not in attributes:
            raise ValueError("the attribute 'summary' is missing")
        summary = read_summary(attributes["summary"], tuple(phases))
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
        if isinstance(error, DataError) and not isinstance(error, RecordError):
            raise
        raise DamagedFileError(
            f"{path} has a valid checksum, but invalid contents: {str(error).rstrip('.')}."
        ) from error
    return Run(verified_file, header, checksum, sizes, phases, summary)


KEPT_BYTES = 16 << 10
"""Largest variable that is kept when it was read: a thousand runs of a folder may be open."""
MAX_KEPT_TEXTS = 1024
BLOCK_BYTES = 8 << 20
"""Size of rows that are read at once: what is computed of them stays in the processor's caches."""


def texts_of(path: Path, file: h5py.File, name: str) -> list[str]:
    """Read a variable of texts."""
    if h5py.check_string_dtype(file[name].dtype) is None or file[name].ndim != 1:
        raise DamagedFileError(f"{path}: '{name}' is not a list of texts.")
    try:
        return [str(text) for text in file[name].asstr()[:]]
    except UnicodeDecodeError:
        raise DamagedFileError(f"{path}: '{name}' contains texts that are not UTF-8.") from None


def check_names(path: Path, file: h5py.File, phases: list[str], version: int) -> None:
    """Check that phases begin with those of every run, and that names are unique."""
    first = EARLIER_PHASES if version < 3 else PHASES
    if phases[: len(first)] != list(first):
        raise DamagedFileError(
            f"{path}: its phases are {shown(phases)}; they should begin with {', '.join(first)}."
        )
    for dimension in NAMED:
        names = texts_of(path, file, dimension) if dimension in file else []
        if len(set(names)) < len(names) or not all(names):
            raise DamagedFileError(
                f"{path}: each '{dimension}' should come once and have a name; they are "
                f"{shown(names)}."
            )


def check_schema(path: Path, attributes: Mapping[str, str | int | float]) -> int:
    """Return the file's version; refuse other schemas and newer versions."""
    if attributes.get("schema") != SCHEMA:
        raise NotARunFileError(
            f"{path} is HDF5 with hindmost's checksum, but its schema is not '{SCHEMA}'."
        )
    return check_version(attributes.get("schema_version"), VERSION, path)


def check_variables(path: Path, file: h5py.File, header: Header) -> dict[str, int]:
    """Check that every variable exists with its type and shape; return the sizes of dimensions.

    The values of those that are not `Variable.large` are checked as well, so that numbers of ranks,
    meshes and places can be used as indices.
    """
    held = {name: file[name] for name in file}  # each is looked up once
    groups = {variable.group for variable in VARIABLES if variable.name in held} - {"alone"}
    there = [
        variable for variable in VARIABLES if variable.name in held or variable.group in groups
    ]
    names = {name for variable in there for name in variable.dimensions}
    names |= {dimension for name, (dimension, _) in TEXTS.items() if name in held}
    texts = {"host"} | ({"every_host"} if "ranks" in groups else set())
    texts |= {
        name
        for start, group in (("module", "contexts"), ("code", "contexts"), ("place", "samples"))
        for name in TEXTS
        if name.startswith(start) and group in groups
    }
    for name in names | texts | {variable.name for variable in there}:
        if name not in held:
            raise DamagedFileError(f"{path} lacks the variable '{name}'.")
    for name in names:
        if held[name].ndim != 1:
            raise DamagedFileError(f"{path}: the dimension '{name}' should be a list.")
    sizes = {name: int(held[name].shape[0]) for name in names}
    for name, (dimension, _) in TEXTS.items():
        if name in held and held[name].shape != (sizes.get(dimension),):
            raise DamagedFileError(f"{path}: '{name}' should have a text for every {dimension}.")
    for variable in there:
        dataset = held[variable.name]
        wanted = tuple(sizes[name] for name in variable.dimensions)
        if dataset.shape != wanted or dataset.dtype.newbyteorder("=") != np.dtype(variable.type):
            raise DamagedFileError(
                f"{path}: variable '{variable.name}' is {dataset.dtype} {dataset.shape}; "
                f"it should be {variable.type} {wanted}."
            )
    whole = "every_rank" if "kept_rank" in held else "rank"
    if sizes.get(whole) != header.ranks:
        raise DamagedFileError(
            f"{path}: {sizes.get(whole)} ranks; the header says {header.ranks} ranks."
        )
    if whole == "every_rank":
        kept = held["kept_rank"][:]
        if not kept.size or kept[0] < 0 or kept[-1] >= header.ranks or (np.diff(kept) <= 0).any():
            raise DamagedFileError(
                f"{path}: 'kept_rank' should ascend from 0 at least to {header.ranks - 1} at most."
            )
        if int(held["interval_bodies"][:].sum(dtype=np.int64)) != sizes["iteration"]:
            raise DamagedFileError(f"{path}: 'interval_bodies' should sum to the bodies.")
    small = [variable for variable in there if not variable.large]
    check_values_in(path, held, small, header.ranks, sizes["iteration"])
    return sizes


def check_values_in(
    path: Path,
    datasets: Mapping[str, h5py.Dataset],
    variables: Iterable[Variable],
    ranks: int = 1,
    bodies: int = 1,
) -> None:
    """Read the existing ones of these variables block by block, and check them."""
    for variable in variables:
        if variable.name not in datasets:
            continue
        dataset = datasets[variable.name]
        size = dataset.size * dataset.dtype.itemsize
        rows = len(dataset) if size <= BLOCK_BYTES else max(1, len(dataset) * BLOCK_BYTES // size)
        for first in range(0, len(dataset), rows or 1):
            block = dataset[first : first + rows]
            check_values(path, variable, block, ranks, bodies)


def check_values(
    path: Any, variable: Variable, values: NDArray[Any], ranks: int = 1, bodies: int = 1
) -> None:
    """Raise a DamagedFileError if a value of a variable is out of its range."""
    allowed = variable.allowed
    if allowed is None or not values.size:
        return
    least, most = values.min(), values.max()
    if not allowed.may_lack and np.isnan(least):
        raise DamagedFileError(f"{path}: a value of '{variable.name}' is not a number.")
    if allowed.may_lack:
        least, most = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)
    if least < allowed.least and -1 < allowed.least <= 0:
        raise DamagedFileError(f"{path}: a value of '{variable.name}' is negative: {least:g}.")
    largest = allowed.largest(ranks, bodies)
    if least < allowed.least or most > largest:
        raise DamagedFileError(
            f"{path}: '{variable.name}' ranges from {least:g} to {most:g}; it must lie between "
            f"{allowed.least:g} and {largest:.16g}."
        )
