"""The ranges of the variables of a run file; values outside them are refused.

Small variables are checked when a file is opened, so that numbers of ranks, meshes and places can
be used as indices. Variables as large as the bodies are checked by `Run.verify`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DamagedFileError
from hindmost.harness.runfile.attributes import MOST_COUNT
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.cycles import COUNTS, PULSES
from hindmost.harness.runfile.reduced_variables import ALL_EVENTS, OF_ALL_BODIES
from hindmost.models.events import EventKind

BLOCK_BYTES = 8 << 20
"""Size of rows that are read at once: what is computed of them stays in the processor's caches."""
ROUNDING_S = 1e-9
"""Rounding may make a time of zero negative by this much."""
MOST_S = 1e11
"""Three thousand years; sums of such times and their squares are finite."""
SHORTEST_S = 1e-12
"""Shortest solve: no clock resolves less."""


class Range(NamedTuple):
    """The smallest and largest value of a variable, and whether values may be missing (NaN)."""

    least: float
    most: float
    may_lack: bool = False


TIME = Range(-ROUNDING_S, MOST_S)
COUNT = Range(0, MOST_COUNT)
INT32 = Range(0, (1 << 31) - 1)
SMALL = {
    "solve_time": Range(SHORTEST_S, MOST_S),
    "every_solve_time": Range(SHORTEST_S, MOST_S),
    "every_last": COUNT,
    "every_longest_body": COUNT,
    **dict.fromkeys(
        (
            "every_waited",
            "every_charged",
            "every_lost",
            "every_transfer",
            "every_transfer_charged",
            "every_deviation",
            "every_longest",
        ),
        TIME,
    ),
    "every_drift": Range(-MOST_S, MOST_S),
    "interval_start": Range(-MOST_S, MOST_S),
    "interval_run_time": TIME,
    "work_bin_from": TIME,
    "work_bin_count": COUNT,
    "all_bin_count": Range(1, MOST_COUNT),
    **dict.fromkeys((variable.name for variable in OF_ALL_BODIES if variable.type == "f8"), TIME),
    "lead_in": TIME,
    "lead_out": TIME,
    "restart_duration": TIME,
    "mpi_other": TIME,
    "injected_outside": TIME,
    "clock_offset": Range(-MOST_S, MOST_S),
    "clock_uncertainty": TIME,
    "load_before": Range(0, MOST_COUNT),
    "load_after": Range(0, MOST_COUNT),
    "cpu": Range(-1, (1 << 31) - 1),
    "context_switches": COUNT,
    "body": Range(0, len(BodyKind) - 1),
    "solve": Range(0, (1 << 32) - 1),
    "snes_step": Range(-1, (1 << 31) - 1),
    "time_step": Range(-1, (1 << 31) - 1),
    "event_kind": Range(0, len(EventKind) - 1),
    "edge_bytes": COUNT,
    "edge_messages": INT32,
    "block_place": COUNT,
    "block_load": COUNT,
    "block_edge_source": COUNT,
    "block_edge_target": COUNT,
    "block_edge_bytes": COUNT,
    "interval_bodies": COUNT,
    "predicted": Range(-MOST_S, MOST_S, may_lack=True),
}
"""Ranges of small variables, without a column for every rank."""
LARGE = {
    "start": Range(-MOST_S, MOST_S),
    "duration": TIME,
    "phase_duration": TIME,
    "phase_least": TIME,
    "profile_phase": TIME,
    "phase_cpu": TIME._replace(may_lack=True),
    **dict.fromkeys(PULSES, TIME),
    "event_work": TIME,
    "event_duration": TIME,
    "activity_duration": TIME,
    "injected": TIME,
    "instructions": Range(0, 1e30, may_lack=True),
    "cycles": Range(0, 1e30, may_lack=True),
    "work_amount": Range(0, 1e30),
    **dict.fromkeys((variable.name for variable in ALL_EVENTS), TIME),
    **dict.fromkeys((*COUNTS, "count_total", "count_most", "profile_count"), COUNT),
}
"""Ranges of variables with a column for every rank, or of that size."""


def ranges_of(ranks: int, bodies: int) -> dict[str, Range]:
    """Return the ranges of the small variables of a run, including indices."""
    rank, place, mesh = Range(0, ranks - 1), Range(0, max(bodies, 1) - 1), Range(0, bodies)
    return {
        **SMALL,
        **dict.fromkeys(("edge_source", "edge_target", "block_owner"), rank),
        "position": place,
        **dict.fromkeys(("epoch", "edge_epoch", "block_epoch", "block_edge_epoch"), mesh),
    }


def check_variables_in(file: h5py.File, ranges: dict[str, Range]) -> None:
    """Read the existing ones of these variables block by block, and check them.

    Raises
    ------
    DamagedFileError
        A value is out of range.
    """
    for name in ranges.keys() & file.keys():
        for block in blocks_of(file[name]):
            check_values(file.filename, name, block, ranges[name])


def blocks_of(dataset: Any) -> Iterator[NDArray[Any]]:
    """Yield a dataset in rows of some 64 MiB."""
    size = dataset.size * dataset.dtype.itemsize
    rows = len(dataset) if size <= BLOCK_BYTES else max(1, len(dataset) * BLOCK_BYTES // size)
    for first in range(0, len(dataset), rows or 1):
        yield dataset[first : first + rows]


def check_values(path: Any, name: str, values: NDArray[Any], allowed: Range) -> None:
    """Raise a DamagedFileError if a value of a variable is out of range."""
    if not values.size:
        return
    least, most = values.min(), values.max()
    if not allowed.may_lack and np.isnan(least):
        raise DamagedFileError(f"{path}: a value of '{name}' is not a number.")
    if allowed.may_lack:
        least, most = np.fmin.reduce(values, axis=None), np.fmax.reduce(values, axis=None)
    if least < allowed.least and -1 < allowed.least <= 0:
        raise DamagedFileError(f"{path}: a value of '{name}' is negative: {least:g}.")
    if least < allowed.least or most > allowed.most:
        raise DamagedFileError(
            f"{path}: '{name}' ranges from {least:g} to {most:g}; it must lie between "
            f"{allowed.least:g} and {allowed.most:.16g}."
        )
