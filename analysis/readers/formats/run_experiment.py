"""The metrics of a run file.

Of a run that kept full records of some ranks only, whole solves and phases are of all ranks, by
what the file has of each. Statistics of single iterations are of the kept ranks, which are those
that stand out and no sample of all: `kept_only` says so.

The parameters of a run: sizes, machine, and all other numeric values.

Run files of hindmost as an experiment: a folder of runs over ranks, unknowns or both.

A kernel is a solver on a workload, and all other differences between runs except parameters:
restart, options, software, machine. Its size is the one that changes least often: over ranks, the
unknowns of a strong scaling study and the unknowns per rank of a weak one. Host names do not
separate kernels, since a study over ranks goes over hosts, nor does what follows the parameters: a
process grid, the matrix type of one rank. Repeats of a configuration are repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.experiment import ExperimentGathering
from hindmost.analysis.readers.format import ExperimentFormat, ExperimentRequest
from hindmost.analysis.runs.configuration import apart, configuration
from hindmost.analysis.runs.over_ranks import identifying, neighbours, size_of
from hindmost.analysis.runs.read import incomplete, why_twice
from hindmost.analysis.runs.remedies import Need, remedy
from hindmost.errors import DamagedFileError, DataError, NotARunFileError, UsageError
from hindmost.harness.runfile.all_ranks import profiles_of, total_of
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.provenance import THREAD_VARIABLES
from hindmost.harness.runfile.reader import BLOCK_BYTES, Run, open_run
from hindmost.text import choose

NO_ITERATION = "{} contains no iteration, so there is no iteration time."


def iteration_times(run: Run, phase: int | None = None) -> Iterator[NDArray[np.float64]]:
    """Yield the times of the regular bodies of some ranks at a time, shape (iteration, rank).

    All bodies, if none is regular.
    """
    regular = run.kind == BodyKind.REGULAR
    rows = np.flatnonzero(regular) if regular.any() else np.arange(run.bodies)
    if not rows.size:
        raise DataError(NO_ITERATION.format(run.path))
    ranks = run.columns
    width = max(1, BLOCK_BYTES // (8 * run.bodies))
    with run.reading() as file:
        for first in range(0, ranks, width):
            some = slice(first, min(first + width, ranks))
            if phase is None:
                block = file["duration"][:, some]
            else:
                block = file["phase_duration"][:, some, phase]
            yield np.asarray(block[rows], np.float64)


def _slowest(run: Run, over: Callable[..., NDArray[np.float64]], phase: int | None = None) -> float:
    """Return the largest value over the ranks of a statistic over iterations."""
    return max(float(np.max(over(times, axis=0))) for times in iteration_times(run, phase))


def time_to_tolerance(run: Run) -> float:
    """Return the time of a solve that reached its tolerance, of the slowest rank.

    Raises
    ------
    DataError
        No tolerance was asked for, or it was not reached.
    """
    ending = Ending.of(run.header)
    if ending is None or not ending.to_tolerance:
        raise DataError(
            f"{run.path} has no time to tolerance: the run had no tolerance"
            f"{remedy(Need.TOLERANCE, run, before='; ')}."
        )
    if not ending.reached:
        raise DataError(f"{run.path} has no time to tolerance: {ending.shortfall}.")
    return run.solve_time_s


METRICS: dict[str, Callable[[Run], float]] = {
    # The median time of the regular iterations, and the time of the whole solve, of the slowest
    # rank; the latter of a solve that reached its tolerance.
    "median-iteration": lambda run: _slowest(run, np.median),
    "solve-time": lambda run: run.solve_time_s,
    "time-to-tolerance": time_to_tolerance,
}
"""Metrics by name, in addition to every phase of a run."""

DEFAULT_METRIC = "median-iteration"


def measure(run: Run, name: str) -> float:
    """Return a metric of a run in seconds.

    A statistic over the iterations of each rank comes first, and then the rank where it is
    largest: ranks of pipelined solvers are not in step, so the maximum of each iteration would
    count their jitter twice. A phase is its mean over the regular iterations, so that a rare wait
    is in it; of a reduced run, over all bodies.

    Raises
    ------
    UsageError
        The run has neither a metric nor a phase of that name.
    """
    if name in METRICS:
        return METRICS[name](run)
    if name in run.phases:
        if run.reduced:
            if not run.bodies:
                raise DataError(NO_ITERATION.format(run.path))
            means_s = profiles_of(run).sum(axis=0) / run.bodies
            return float(means_s[:, run.phases.index(name)].max())
        return _slowest(run, np.mean, run.phases.index(name))
    choices = [*METRICS, *run.phases]
    raise UsageError(f"No metric '{name}' in {run.path}; {choose(choices)}.")


def kept_only(run: Run, name: str) -> str:
    """Say that a metric of a run is not of all ranks; empty if it is."""
    if not run.reduced or name != DEFAULT_METRIC:
        return ""
    return (
        f"{run.path}: {name} covers the {run.columns} of {run.header.ranks} ranks with full "
        "records; they were kept because they stand out, so another rank may be slower. "
        f"solve-time and the phases ({', '.join(run.phases)}) cover all ranks."
    )


DEFAULT_PARAMETER = "ranks"
NODES_OF_SCHEDULER = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES", "PBS_NUM_NODES")
"""Variables with the number of nodes, for files with the hosts of some ranks only."""


def unknown(run: Run, what: str) -> DataError:
    """Return the error for a run that does not record a parameter."""
    return DataError(
        f"{run.path} does not record its {what}, so it cannot be a parameter; "
        "use ranks or iterations."
    )


def given_number(run: Run, key: str) -> float:
    """Return a number of the spec: unknowns of the system, or bytes of a collective's message."""
    value = run.header.spec.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise unknown(run, key)
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
    "unknowns": lambda run: given_number(run, "unknowns"),
    "unknowns-per-rank": lambda run: given_number(run, "unknowns") / run.header.ranks,
    "iterations": lambda run: float(run.header.iterations),
    "bytes": lambda run: given_number(run, "bytes"),
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


SIZES = ("ranks", "unknowns", "unknowns-per-rank")
"""Any two of these give the third."""
SIZES_OF_CELLS = ("ranks", "cells", "cells-per-rank")
WORDS = {name: name.replace("-per-rank", " a rank") for name in (*SIZES, *SIZES_OF_CELLS)}
ADAPTIVE = "adaptive"
OF_MESH = ("deck.name", "deck.summary", "deck.columns", "deck.rows", "deck.spacing", "deck.levels")
FOLLOWS = {
    "nodes": ("ranks",),
    "threads": THREAD_VARIABLES,
    "cells": OF_MESH,
    "cells-per-rank": OF_MESH,
}
"""Parts of a configuration that follow a parameter, so that they do not separate kernels."""


def _complete(paths: tuple[Path, ...], into: ExperimentGathering) -> list[Run]:
    """Open the usable files, and remark on the others and on copies."""
    runs: dict[str, Run] = {}
    unreadable: list[DataError] = []
    for path in paths:
        try:
            run = open_run(path)
        except (NotARunFileError, DamagedFileError) as error:
            unreadable.append(error)
            continue
        if not run.header.complete:
            into.remarks.add("incomplete runs", f"{incomplete(run)} Left out.")
        elif given_twice := why_twice(runs, run):
            into.remarks.add("copies", f"{given_twice} Left out.")
    if not runs and unreadable:
        raise unreadable[0]
    for each in unreadable:
        into.remarks.add("files that are damaged or no run files", f"{each} Left out.")
    return list(runs.values())


def _sizes(runs: list[Run], name: str) -> list[str | None]:
    """Return a size for the name of each run's kernel, None if the run does not know it.

    A mesh is seldom divided without a remainder, so that sizes per rank differ a little; the cells
    of an adaptive one differ from run to run. Those near each other have the name of the first.
    """
    known: dict[int, float] = {}
    for place, run in enumerate(runs):
        with suppress(DataError):
            known[place] = PARAMETERS[name](run)
    if name in ("ranks", "unknowns"):
        return [f"{known[place]:,.0f}" if place in known else None for place in range(len(runs))]
    words: dict[int, str] = {}
    for near in neighbours(known, lambda place: math.log(max(known[place], 1e-300))):
        words |= dict.fromkeys(near, f"{known[min(near)]:.3g}")
    return [words.get(place) for place in range(len(runs))]


def _separating_sizes(runs: list[Run], chosen: tuple[str, ...]) -> list[str]:
    """Return the sizes other than parameters that can separate runs into kernels."""
    sizes = SIZES_OF_CELLS if set(chosen) & {"cells", "cells-per-rank"} else SIZES
    taken = {*chosen, *(part for name in chosen for part in FOLLOWS.get(name, ()))}
    known = [name for name in sizes if name not in taken]
    if len(known) < 2:
        return []
    if len(known) == 3:
        return ["ranks", "unknowns"]
    kinds = {name: len({*_sizes(runs, name)}) for name in known}
    return [min(known, key=kinds.__getitem__)]


def _name_parts(runs: list[Run], chosen: tuple[str, ...]) -> list[dict[str, str]]:
    """Return what distinguishes each run from others, without sizes and parameters."""
    points = [(*(parameter(run, name) for name in chosen), size_of(run) or 0.0) for run in runs]
    follow = {part for name in chosen for part in FOLLOWS.get(name, ())}
    known = []
    for run, parts in zip(runs, identifying(runs, points), strict=True):
        for name in ("workload", "solver", *follow, *(given_name(parts, each) for each in chosen)):
            parts.pop(name, None)
        if "machine" in parts:
            parts["machine file"] = parts.pop("machine")
        machine = run.header.environment.get("machine")
        if isinstance(machine, dict):
            parts["machine"] = f"{machine.get('cpu_model')}, {machine.get('cores')} cores"
        known.append(parts)
    return known


def _base(run: Run, chosen: tuple[str, ...]) -> str:
    """Name solver and workload, without the size where that is a parameter."""
    header = run.header
    operation = header.spec.get("operation")
    if "bytes" in chosen and isinstance(operation, str):
        return f"{operation} on {header.workload}"
    if header.workload == ADAPTIVE and set(chosen) & {"cells", "cells-per-rank"}:
        return header.workload  # the solver is the deck
    return f"{header.solver} on {header.workload}"


def _kernels(runs: list[Run], chosen: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the kernel of every run, and other numbers by which kernels differ."""
    alike: dict[str, list[int]] = {}
    for at, run in enumerate(runs):
        alike.setdefault(_base(run, chosen), []).append(at)
    titles = [""] * len(runs)
    numbers: dict[str, None] = {}
    for base, places in alike.items():
        members = [runs[at] for at in places]
        parts = _name_parts(members, chosen)
        varying = apart(parts)
        named = {size: _sizes(members, size) for size in _separating_sizes(members, chosen)}
        sizes = [size for size, words in named.items() if len({*words}) > 1]
        numbers |= dict.fromkeys(sizes)
        numbers |= {
            key: None for key in varying if all(number(part.get(key)) is not None for part in parts)
        }
        for place, (at, part) in enumerate(zip(places, parts, strict=True)):
            words = [f"{named[size][place]} {WORDS[size]}" for size in sizes]
            words += [f"{key} {part[key]}" if key in part else f"without {key}" for key in varying]
            titles[at] = ", ".join([base, *words])
    return titles, list(numbers)


def _read(paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering) -> None:
    """Put the metrics of every complete run into a gathering."""
    chosen = request.parameters or (DEFAULT_PARAMETER,)
    runs = _complete(paths, into)
    check_names(chosen, runs)
    into.declare(chosen, "run files")
    kernels, others = _kernels(runs, chosen)
    if others and not request.parameters:
        into.remarks.add(
            "parameters that were not chosen",
            f"Kernels are modelled over {DEFAULT_PARAMETER}; runs that differ in "
            f"{', '.join(others)} are separate kernels. To model over another parameter: "
            f"--parameter {others[0]}.",
        )
    for run, kernel in zip(runs, kernels, strict=True):
        point = tuple(parameter(run, name) for name in chosen)
        for metric in request.metrics or (DEFAULT_METRIC,):
            if caution := kept_only(run, metric):
                into.remarks.add("metrics of kept ranks only", caution)
            into.add((kernel, metric), point, [measure(run, metric)], str(run.path), "s")


def recognises(path: Path, head: bytes) -> bool:
    """Tell whether a file is HDF5."""
    return head.startswith(b"\x89HDF\r\n\x1a\n")


RUN_EXPERIMENT = ExperimentFormat(
    name="runs",
    looks_like="run files (*.h5) that 'hindmost run' or hindmost.record wrote",
    recognises=recognises,
    read=_read,
)

FORMATS = (RUN_EXPERIMENT,)
