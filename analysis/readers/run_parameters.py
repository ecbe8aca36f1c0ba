"""The parameters of a run: sizes, machine, and all other numeric values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from hindmost.analysis.runs.configuration import configuration
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.all_ranks import total_of
from hindmost.harness.runfile.provenance import THREAD_VARIABLES
from hindmost.harness.runfile.reader import Run
from hindmost.text import choose

DEFAULT_PARAMETER = "ranks"
NODES_OF_SCHEDULER = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES", "PBS_NUM_NODES")
"""Variables with the number of nodes, for files with the hosts of some ranks only."""


def unknown(run: Run, what: str) -> DataError:
    """Return the error for a run that does not record a parameter."""
    return DataError(
        f"{run.path} does not record its {what}, so it cannot be a parameter; "
        "use ranks or iterations."
    )


def unknowns(run: Run) -> float:
    """Return the unknowns of the linear system."""
    return _given(run, "unknowns", "unknowns")


def message_bytes(run: Run) -> float:
    """Return the size of a collective's message in bytes."""
    return _given(run, "bytes", "bytes")


def _given(run: Run, key: str, what: str) -> float:
    value = run.header.spec.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise unknown(run, what)
    return float(value)


def cells(run: Run) -> float:
    """Return the cells of all ranks of an adaptive run, on average over its cycles."""
    if not run.has("cells") and not run.has("count_total"):
        raise unknown(run, "cells")
    return float(total_of(run, "cells").mean())


def nodes(run: Run) -> float:
    """Return the number of hosts of the run."""
    hosts = run.texts("every_host") if run.reduced else run.hosts
    if hosts:
        return float(len(set(hosts)))
    for name in NODES_OF_SCHEDULER:
        with suppress(ValueError, TypeError):
            return float(run.header.scheduler.get(name, ""))
    raise unknown(run, "nodes")


def threads(run: Run) -> float:
    """Return the threads of each rank, as the environment set them for OpenMP or the BLAS."""
    given = run.header.environment.get("variables")
    variables = given if isinstance(given, dict) else {}
    for name in THREAD_VARIABLES:
        with suppress(ValueError, TypeError):
            return float(variables.get(name, ""))
    raise unknown(run, "threads")


PARAMETERS: dict[str, Callable[[Run], float]] = {
    "ranks": lambda run: float(run.header.ranks),
    "unknowns": unknowns,
    "unknowns-per-rank": lambda run: unknowns(run) / run.header.ranks,
    "iterations": lambda run: float(run.header.iterations),
    "bytes": message_bytes,
    "cells": cells,
    "cells-per-rank": lambda run: cells(run) / run.header.ranks,
    "nodes": nodes,
    "threads": threads,
}
"""Parameters of any run by name, in addition to every number of its configuration."""


def parameter(run: Run, name: str) -> float:
    """Return a parameter of a run.

    Parameters
    ----------
    name : str
        One of `PARAMETERS`, or a numeric part of the configuration: a value of a sweep, of an
        option of the program, or of a recorded loop's ``parameters``.

    Raises
    ------
    DataError
        The run does not record it.
    """
    missing = unknown(run, name)
    if name in PARAMETERS:
        try:
            return PARAMETERS[name](run)
        except DataError as error:
            missing = error
    parts = configuration(run)
    value = number(parts.get(given_name(parts, name)))
    if value is None:
        raise missing
    return value


def given_name(parts: Mapping[str, str], name: str) -> str:
    """Return the name of a part; an option is also named without its dashes."""
    return next((each for each in (name, f"-{name}", f"--{name}") if each in parts), name)


def number(text: str | None) -> float | None:
    """Return a part of a configuration as a number; None if it is not one."""
    with suppress(ValueError):
        value = float(text or "")
        if math.isfinite(value):
            return value
    return None


def check_names(names: Sequence[str], runs: Sequence[Run]) -> None:
    """Refuse parameters that no run has.

    Raises
    ------
    UsageError
    """
    own: dict[str, None] = {}
    for run in runs if set(names) - set(PARAMETERS) else ():
        own |= {
            name.lstrip("-"): None
            for name, text in configuration(run).items()
            if number(text) is not None and name not in PARAMETERS
        }
    for name in names:
        if name not in PARAMETERS and name not in own:
            raise UsageError(f"No parameter '{name}' of runs; {choose([*PARAMETERS, *own])}.")
