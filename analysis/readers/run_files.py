"""Run files of hindmost as an experiment: a folder of runs over ranks, unknowns or both.

A kernel is a solver on a workload, and what else tells the runs apart besides the parameters:
restart, options, software, machine. Its size is told apart by what changes least often: over ranks
these are the unknowns of a strong scaling study, and the unknowns a rank of a weak one. Host names
do not tell kernels apart, since a study over ranks goes over hosts. Repeats of a configuration are
repetitions.
"""

from __future__ import annotations

from pathlib import Path

from hindmost.analysis.readers.gathering import Gathering
from hindmost.analysis.readers.request import Format, Request
from hindmost.analysis.readers.run_metrics import (
    DEFAULT_METRIC,
    DEFAULT_PARAMETER,
    PARAMETERS,
    measure,
)
from hindmost.analysis.runs import configuration, incomplete
from hindmost.errors import DamagedFileError, DataError, NotARunFileError, UsageError
from hindmost.harness.runfile.reader import Run, open_run

SIZES = ("ranks", "unknowns", "unknowns-per-rank")
"""Any two of these give the third."""
WORDS = {"ranks": "ranks", "unknowns": "unknowns", "unknowns-per-rank": "unknowns a rank"}


def _complete(paths: tuple[Path, ...], into: Gathering) -> list[Run]:
    """Open what can be of use, and remark on the rest."""
    runs: list[Run] = []
    unreadable: list[DataError] = []
    for path in paths:
        try:
            run = open_run(path)
        except (NotARunFileError, DamagedFileError) as error:
            unreadable.append(error)
            continue
        if run.header.complete:
            runs.append(run)
        else:
            into.remarks.add("incomplete runs", f"{incomplete(run)} Left out.")
    if not runs and unreadable:
        raise unreadable[0]
    for each in unreadable:
        into.remarks.add("files that are damaged or no run files", f"{each} Left out.")
    return runs


def _size(run: Run, name: str) -> str | None:
    """Return a size for a kernel's name, None if the run does not know it."""
    try:
        value = PARAMETERS[name](run)
    except DataError:
        return None
    # A mesh is seldom divided without a remainder, so that sizes a rank differ a little.
    return f"{value:.3g}" if name == "unknowns-per-rank" else f"{value:,.0f}"


def _sizes_apart(runs: list[Run], chosen: tuple[str, ...]) -> list[str]:
    """Return the sizes that tell the runs of one kernel apart besides the parameters."""
    known = [name for name in SIZES if name not in chosen]
    if len(known) < 2:
        return []
    if len(known) == 3:
        return ["ranks", "unknowns"]
    kinds = {name: len({_size(run, name) for run in runs}) for name in known}
    return [min(known, key=kinds.__getitem__)]


def _name_parts(run: Run, chosen: tuple[str, ...]) -> dict[str, str]:
    """Return what tells a run from others, sizes and parameters left aside."""
    parts = configuration(run)
    for name in ("workload", "solver", "unknowns", "ranks", "hosts", *chosen):
        parts.pop(name, None)
    machine = run.header.environment.get("machine")
    if isinstance(machine, dict):
        parts["machine"] = f"{machine.get('cpu_model')}, {machine.get('cores')} cores"
    return parts


def _titles(runs: list[Run], chosen: tuple[str, ...]) -> list[str]:
    """Return the kernel of every run."""
    alike: dict[str, list[int]] = {}
    for at, run in enumerate(runs):
        alike.setdefault(f"{run.header.solver} on {run.header.workload}", []).append(at)
    titles = [""] * len(runs)
    for base, places in alike.items():
        members = [runs[at] for at in places]
        parts = [_name_parts(run, chosen) for run in members]
        keys = dict.fromkeys(key for part in parts for key in part)
        varying = [key for key in keys if len({part.get(key) for part in parts}) > 1]
        sizes = [
            size
            for size in _sizes_apart(members, chosen)
            if len({_size(run, size) for run in members}) > 1
        ]
        for at, run, part in zip(places, members, parts, strict=True):
            apart = [f"{_size(run, size)} {WORDS[size]}" for size in sizes]
            apart += [f"{key} {part.get(key, 'unknown')[:60]}" for key in varying]
            titles[at] = ", ".join([base, *apart])
    return titles


def _read(paths: tuple[Path, ...], request: Request, into: Gathering) -> None:
    chosen = request.parameters or (DEFAULT_PARAMETER,)
    for name in chosen:
        if name not in PARAMETERS:
            raise UsageError(
                f"No parameter '{name}' of runs; choose from: {', '.join(PARAMETERS)}."
            )
    runs = _complete(paths, into)
    into.declare(chosen, "run files")
    for run, kernel in zip(runs, _titles(runs, chosen), strict=True):
        point = tuple(PARAMETERS[name](run) for name in chosen)
        for metric in request.metrics or (DEFAULT_METRIC,):
            into.add((kernel, metric), point, [measure(run, metric)], str(run.path), "s")


def _recognises(path: Path, head: bytes) -> bool:
    return head.startswith(b"\x89HDF\r\n\x1a\n")


RUNS = Format(
    name="runs",
    looks_like="run files (*.h5) that 'hindmost run' or hindmost.record wrote",
    recognises=_recognises,
    read=_read,
)
