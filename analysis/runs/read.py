"""Finding and opening run files, and the reasons why noise models cannot be fitted to some.

Results of runs that are kept under the checksum of the run and of the source.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import msgspec

from hindmost.analysis.runs.configuration import injected_noise
from hindmost.analysis.runs.remedies import Need, remedy
from hindmost.cache import keep, read_kept, source_checksum
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.cycles import ADAPTIVE
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.output import plain, warn
from hindmost.printable import shell_word
from hindmost.records import hints
from hindmost.text import by_number, counted


def find_runs(paths: Iterable[Path], *, complete: bool = False) -> list[Run]:
    """Open run files, also those in folders.

    A file in a folder that cannot be read is left out, with a warning.

    Parameters
    ----------
    complete : bool
        Leave incomplete runs out, with a warning; refuse if there are no others.

    Raises
    ------
    UsageError
        There is no run file.
    DataError
        A named file cannot be read, or no file in the folders can.
    """
    runs, refused = open_runs(paths)
    for reason in refused.values():
        warn(f"left out: {reason}")
    whole = [run for run in runs if run.header.complete or not complete]
    if not whole:
        raise DataError(incomplete(runs[0]))
    for run in runs:
        if run not in whole:
            warn(f"left out: {incomplete(run)}")
    return whole


def open_runs(paths: Iterable[Path]) -> tuple[list[Run], dict[Path, str]]:
    """Open run files; return the runs, at least one, and why files in folders failed.

    A run that is given twice counts once, with a warning, also under another path: it is no repeat.
    """
    files: list[tuple[Path, bool]] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(path.glob("*.h5"), key=by_number)
            if not inside:
                raise UsageError(nothing_in(path))
            files += [(file, True) for file in inside]
        elif path.exists():
            files.append((path, False))
        else:
            raise UsageError(f"{path} does not exist.")
    runs: dict[str, Run] = {}
    refused: dict[Path, str] = {}
    first: DataError | None = None
    for file, in_folder in files:
        try:
            run = open_run(file)
        except DataError as error:
            if not in_folder:
                raise
            first = first or error
            refused[file] = str(error)
        else:
            if given_twice := why_twice(runs, run):
                warn(f"left out: {given_twice}")
    if not runs and first is not None:
        raise first
    return list(runs.values()), refused


def why_twice(runs: dict[str, Run], run: Run) -> str:
    """Add a run to others by its checksum; return why it is no repeat if it was added before."""
    earlier = runs.setdefault(run.checksum, run)
    if earlier is run:
        return ""
    if run.path.resolve() == earlier.path.resolve():
        return f"{run.path} is given twice; it counts once."
    return f"{run.path} has the same contents as {earlier.path}; a copy counts once."


def nothing_in(folder: Path) -> str:
    """Say that a folder has no run files, what else of hindmost is in it, and what to do."""
    if not any(path.is_dir() for path in folder.glob("*.raw")):
        return f"{folder} has no run file (*.h5); 'hindmost run' and 'hindmost attach' write them."
    return (
        f"{folder} has no run file (*.h5), only what 'hindmost attach' recorded and could not "
        f"convert (*.raw). To see why: hindmost attach --convert {shell_word(folder)}"
    )


def incomplete(run: Run) -> str:
    """Return why models cannot be fitted to an incomplete run."""
    failure = run.header.spec.get("failure")
    if failure:
        return f"{run.path} is incomplete: {failure}"
    return (
        f"{run.path} is incomplete: records were lost, so its iterations are not all. To have them "
        f"all, {remedy(Need.ROOM, run, otherwise='record less')}."
    )


def why_not_alike(run: Run) -> str:
    """Return why noise models cannot be fitted to an adaptive run, and what to use instead."""
    return (
        f"{run.path}: the cycles of an adaptive run do different work, so they do not follow one "
        "law, and noise models do not apply. For their predictions use `hindmost report` and "
        "`hindmost show`; for the time of a later run `hindmost whatif --adaptive`."
    )


def fittable_runs(runs: Iterable[Run]) -> list[Run]:
    """Return the runs that noise models can be fitted to; warn of the others, adaptive runs.

    Raises
    ------
    UsageError
        All runs are adaptive.
    """
    every = list(runs)
    left = [run for run in every if run.header.workload != ADAPTIVE]
    if every and not left:
        raise UsageError(why_not_alike(every[0]))
    for run in every:
        if run not in left:
            warn(f"left out: {why_not_alike(run)}")
    return left


def reduced(run: Run) -> str:
    """Return why some results are not given of a run with full records of some ranks only."""
    return (
        f"{run.path} has full records of {of_how_many(run)} (run --keep). These are outliers and "
        "exemplars, which do not follow the law of all ranks. This needs the iterations of every "
        "rank: run without --keep."
    )


def of_how_many(run: Run) -> str:
    """Write how many ranks have full records in a file: ``32 of 4096 ranks``."""
    return f"{run.columns} of {counted(run.header.ranks, 'rank')}"


def title_of(run: Run) -> str:
    """Return solver, workload, ranks and injected noise, as over every figure."""
    header, noise = run.header, injected_noise(run)
    about = f"{header.solver} on {header.workload}, {counted(header.ranks, 'rank')}"
    about += ", simulated" if header.origin == "simulated" else ""
    return f"{about}, injected noise {noise}" if noise else about


Result = TypeVar("Result")


def once_a_run(find: Callable[[Run], Result]) -> Callable[[Run], Result]:
    """Let a function find something of a run once, while that is open."""
    known: WeakKeyDictionary[Run, Result] = WeakKeyDictionary()

    @wraps(find)
    def of_run(run: Run) -> Result:
        if run not in known:
            known[run] = find(run)
        return known[run]

    return of_run


def cached(
    run: Run, what: str, asked: dict[str, Any], kind: type[Result], compute: Callable[[], Result]
) -> Result:
    """Return a kept result, or compute and keep it.

    Parameters
    ----------
    what : str
        A word for the kind of result.
    asked : dict
        Everything that the result depends on besides the run.
    kind : type
        A dataclass, whose fields are kept, but for the run and what was found about it.
    compute : callable
        Gives the result.
    """
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    kept = [name for name in names if name not in ("run", "findings")]
    found = read_kept(what, *made_of(run, asked))
    if found is not None:
        with suppress(msgspec.MsgspecError, KeyError, TypeError):
            values = msgspec.msgpack.decode(found)
            types = hints(cast(Any, kind))
            parts = {name: msgspec.convert(values[name], types[name]) for name in kept}
            return kind(**parts, **({"run": run} if "run" in names else {}))
    result = compute()
    values = {name: getattr(result, name) for name in kept}
    keep(msgspec.msgpack.encode(values, enc_hook=plain), what, *made_of(run, asked))
    return result


def is_cached(run: Run, what: str, asked: dict[str, Any]) -> bool:
    """Tell whether a result is kept."""
    return read_kept(what, *made_of(run, asked)) is not None


def made_of(run: Run, asked: dict[str, Any]) -> tuple[str, str, str]:
    """Return everything that a result depends on."""
    return run.checksum, json.dumps(asked, sort_keys=True), source_checksum()
