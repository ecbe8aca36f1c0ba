"""Study files: read, shipped with hindmost, or printed as a commented example."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from hindmost.documents import Document, parse_document, profiles_path, read_document
from hindmost.errors import DataError, UsageError
from hindmost.jobs.core.values import NAMED, OUT, Line, Whole, as_words, check_names, plain
from hindmost.jobs.study.machines import LOCAL, MachineTables, read_machines, with_this_one
from hindmost.jobs.study.study import (
    CONDITIONS,
    Pack,
    PackBy,
    RunOrder,
    Study,
    StudyLimits,
    configurations,
    read_axes,
    read_conditions,
    replace_axis,
)
from hindmost.records import RecordError, check_version, from_document
from hindmost.text import choose, parse_duration

SCHEMA = 1
COMMAND = (
    "hindmost", "run", "{problem}", "--solver", "{solver}", "--unknowns", "{unknowns}",
    "--iterations", "{iterations}", "--out", "{out}",
)  # fmt: skip
"""The default command of a run."""
GIVEN = ("ranks", "ranks_per_node", "nodes", "repeat", OUT)
"""Names that commands may use without a sweep setting them."""
RUNS = "runs"
"""The post-processing line's name for the folder of the collected run files."""
SUFFIX = ".toml"
DURATIONS = ("job", "run", "stop_before")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTable:
    """The table [study]."""

    name: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z][A-Za-z0-9._-]{0,63}\Z",
            description="letters, digits, dots and dashes, a letter first, at most 64",
        ),
    ]
    seed: Whole = 0
    repeats: Annotated[int, Meta(ge=1)] = 1
    order: RunOrder = RunOrder.RANDOM_BLOCKS
    machine: Line | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """The table [run]."""

    command: tuple[Line, ...] = COMMAND
    options: tuple[Line, ...] = ()

    def __post_init__(self) -> None:
        if not self.command or not self.command[0]:
            why = "allowed: a list of words, the first of which is a program"
            raise RecordError(why, "command", found=self.command)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectTable:
    """The table [collect]."""

    line: Line = ""

    def __post_init__(self) -> None:
        # Braces after a dollar sign belong to the shell.
        for name in re.findall(r"(?<!\$)\{([A-Za-z_]\w*)\}", self.line):
            check_names(f"{{{name}}}", (RUNS,), "line")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyFile(MachineTables):
    """A study file as written; sweep and machines are read further."""

    schema: Whole = SCHEMA
    study: StudyTable
    run: RunTable = RunTable()
    sweep: dict[str, Any] = field(default_factory=dict)
    pack: Pack = field(default_factory=Pack)
    limits: dict[str, Any] = field(default_factory=dict)
    collect: CollectTable = CollectTable()


def read_study(
    path: str | Path, *, profiles: Path | None = None, replacements: Sequence[str] = ()
) -> Study:
    """Read a study.

    Parameters
    ----------
    path : str or Path
        A study file; or, if there is no such file, the name of a study shipped with hindmost.
    profiles : Path or None
        The file of the user's machines; None for `profiles_path`.
    replacements : sequence of str
        ``NAME=VALUE,...``: values that replace those of a name in the sweep, or ``repeats=N``.

    Raises
    ------
    UsageError
        There is no such study, or a replacement is invalid.
    DataError
        The file is not a study; the message has the path of the key.
    """
    where = profiles_path() if profiles is None else profiles
    own = read_document(where) if where.exists() else None
    if own is not None:
        with own.errors():
            from_document(MachineTables, own.data)
    return study_of(find_study(path), own, replacements)


def find_study(path: str | Path) -> Document:
    """Read a study file, or a study shipped with hindmost."""
    if not Path(path).is_file():  # a folder of that name may exist: that of its runs
        shipped = shipped_studies()
        name = str(path).removesuffix(SUFFIX)
        if name in shipped:
            return parse_document(shipped[name], f"{name}{SUFFIX}")
        if not re.search(r"[/.]", str(path)) and not Path(path).exists():
            raise UsageError(
                f"{path}: no such file, and no study shipped with hindmost: "
                f"{choose(shipped, str(path))}."
            )
    return read_document(Path(path))


def shipped_studies() -> dict[str, str]:
    """Return the texts of the studies shipped with hindmost, by name."""
    folder = files("hindmost.jobs.studies")
    found = [path for path in folder.iterdir() if path.name.endswith(SUFFIX)]
    return {
        each.name.removesuffix(SUFFIX): each.read_text(encoding="utf-8")
        for each in sorted(found, key=lambda each: each.name)
    }


def study_of(
    document: Document, profiles: Document | None = None, replacements: Iterable[str] = ()
) -> Study:
    """Check a document and return its study; see `read_study`."""
    replacements = tuple(replacements)
    with document.errors():
        check_version(document.data.get("schema", SCHEMA), SCHEMA, document.name)
        file = from_document(StudyFile, with_words(document.data))
        limits = read_limits(file.limits)
    with document.errors("sweep"):
        axes = read_axes(file.sweep)
        names = [name for axis in axes for name in axis.names]
        exclude, only = (read_conditions(file.sweep, key, names) for key in CONDITIONS)
    machines = read_machines(document, profiles)
    chosen = "" if len(machines) > 1 else next(iter(machines), LOCAL)
    machines = with_this_one(machines)
    with document.errors():
        if file.study.machine is not None and file.study.machine not in machines:
            why = choose(machines, file.study.machine)
            raise RecordError(why, "study", "machine", found=file.study.machine)
        check_words(document, "command", file.run.command, names)
        check_words(document, "options", file.run.options, names)
        check_pack(file.pack, names)
    if limits.run_s + limits.stop_before_s > limits.job_s:
        raise DataError(
            f"{document.name}: limits.run ({limits.run_s:g} s) plus limits.stop_before "
            f"({limits.stop_before_s:g} s) exceeds limits.job ({limits.job_s:g} s): no run would "
            "start."
        )
    study = Study(
        name=file.study.name,
        file=document.name,
        sha256=hashlib.sha256("\n".join([document.text, *replacements]).encode()).hexdigest(),
        seed=file.study.seed,
        repeats=file.study.repeats,
        order=file.study.order,
        command=file.run.command,
        options=file.run.options,
        sweep=axes,
        exclude=exclude,
        only=only,
        pack=replace(file.pack, by=file.pack.by or PackBy.ALL),
        limits=limits,
        collect=file.collect.line,
        machines=machines,
        only_machine=file.study.machine or chosen,
    )
    study = replace(replaced(study, replacements), replacements=replacements)
    configurations(study)
    return study


def with_words(data: dict[str, Any]) -> dict[str, Any]:
    """Return a study file in which whole numbers are integers, and numbers among words are words.

    The sweep is as written: `read_axes` reads it.
    """
    found = {}
    for table, values in data.items():
        if isinstance(values, dict) and table not in ("sweep", "machine"):
            values = {key: as_words(plain(value)) for key, value in values.items()}
        found[table] = values
    return found


def read_limits(table: dict[str, Any]) -> StudyLimits:
    """Read the table [limits], in which times are durations as ``5m``."""
    limits: dict[str, Any] = {}
    for key, value in table.items():
        try:
            limits |= {f"{key}_s": parse_duration(value)} if key in DURATIONS else {key: value}
        except ValueError as error:
            raise RecordError(str(error), "limits", key, found=value) from None
    return from_document(StudyLimits, limits, "limits")


def replaced(study: Study, replacements: Iterable[str]) -> Study:
    """Apply the replacements of the command line."""
    for text in replacements:
        name, _, value = text.partition("=")
        if name.strip() == "repeats" and name.strip() not in study.names:
            if not value.strip().isdecimal() or int(value) < 1:
                raise UsageError(f"--set {text}: repeats must be a whole number of at least 1.")
            study = replace(study, repeats=int(value))
        else:
            study = replace(study, sweep=replace_axis(study.sweep, text))
    return study


def check_words(document: Document, key: str, words: Sequence[str], names: list[str]) -> None:
    """Refuse names in braces that nothing sets."""
    known = [*names, *(name for name in GIVEN if name not in names)]
    for number, word in enumerate(words):
        for name in NAMED.findall(word):
            if name in known:
                continue
            if key in document.data.get("run", {}):
                why = f"{{{name}}} is not set by the sweep: {choose(known, name)}"
                raise RecordError(why, "run", key, number, found=word)
            raise DataError(
                f"{document.name}: the sweep does not set '{name}', which the default command "
                f"needs ({' '.join(words)}): set it, or give a command in [run]."
            )


def check_pack(pack: Pack, names: list[str]) -> None:
    """Refuse names in pack.by that the sweep does not set."""
    for number, name in enumerate(pack.by if isinstance(pack.by, tuple) else ()):
        if name not in names:
            why = f"the sweep does not set it: {choose(names, name)}"
            raise RecordError(why, "pack", "by", number, found=name)


def example() -> str:
    """Return an example study, with a machine for each scheduler."""
    return (files("hindmost.jobs.study") / "example.toml").read_text(encoding="utf-8")
