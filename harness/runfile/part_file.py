"""A run file under a preliminary name, and runs that are in one process, written without MPI."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hindmost.files import sync_folder
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.checksum import append_checksum
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.cycles import COUNTS, PULSES
from hindmost.harness.runfile.disk import Disk
from hindmost.harness.runfile.layout import fill, make_variables, write_attributes
from hindmost.harness.runfile.naming import RunName, unwritable
from hindmost.harness.runfile.schema import OPTIONAL, TEXTS, VARIABLES
from hindmost.harness.runfile.totals import RunTotals

BY_ROW = (
    "duration",
    "start",
    "phase_duration",
    "restart_duration",
    "instructions",
    "cycles",
    "work_amount",
    "event_work",
    "event_duration",
    "event_group",
    "activity_duration",
    "injected",
    *COUNTS,
    *PULSES,
    "phase_cpu",
)
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

    def write_rows(self, name: str, first: int, block: NDArray[Any]) -> None:
        """Write rows of a variable, and add them to the totals."""
        if name == "duration":
            self.tally.add_durations(block)
        elif name == "phase_duration":
            self.tally.add_phases(block)
        elif name in self.tally.counted:
            self.tally.add_counts(name, block)
        self.file[name][first : first + block.shape[0]] = block
        self._disk.check()

    def note(self, name: str, value: Any) -> None:
        """Add a value to the run's ``spec`` that was found while gathering."""
        self._header = replace(self._header, spec={**self._header.spec, name: value})

    def finish(self) -> Path:
        """Close the file, append its checksum, and return its final name."""
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
    sizes = {
        name: np.shape(values[variable.name])[axis]
        for variable in VARIABLES
        if variable.name in values
        for axis, name in enumerate(variable.dimensions)
        if name not in names
    }
    file_name = file_name or RunName.of(folder, header)
    with PartFile(file_name, header, phases, sizes["rank"]) as target:
        absent = {*OPTIONAL, *TEXTS} - set(values)
        make_variables(target.file, sizes, names, absent)
        for name, value in values.items():
            if name in BY_ROW:
                target.write_rows(name, 0, np.asarray(value))
            else:
                fill(target.file, {name: value})
        return target.finish()
