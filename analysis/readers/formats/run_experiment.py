"""Run files of hindmost as an experiment: a folder of runs over ranks, unknowns or both.

A kernel is a solver on a workload, and all other differences between runs except parameters:
restart, options, software, machine. Its size is the one that changes least often: over ranks, the
unknowns of a strong scaling study and the unknowns per rank of a weak one. Host names do not
separate kernels, since a study over ranks goes over hosts, nor does what follows the parameters: a
process grid, the matrix type of one rank. Repeats of a configuration are repetitions.
"""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path

from hindmost.analysis.readers.format import ExperimentFormat, ExperimentRequest
from hindmost.analysis.readers.gather_experiment import ExperimentGathering
from hindmost.analysis.readers.run_metrics import DEFAULT_METRIC, kept_only, measure
from hindmost.analysis.readers.run_parameters import (
    DEFAULT_PARAMETER,
    PARAMETERS,
    check_names,
    given_name,
    number,
    parameter,
)
from hindmost.analysis.runs.configuration import apart
from hindmost.analysis.runs.over_ranks import identifying, neighbours, size_of
from hindmost.analysis.runs.read import incomplete, why_twice
from hindmost.errors import DamagedFileError, DataError, NotARunFileError
from hindmost.harness.runfile.provenance import THREAD_VARIABLES
from hindmost.harness.runfile.reader import Run, open_run

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
