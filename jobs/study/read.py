"""Read a study file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from hindmost.errors import UnknownSchemaError, UsageError
from hindmost.jobs.study.document import Document, choices, parse_document, read_document
from hindmost.jobs.study.machines import LOCAL, read_machines, with_this_one
from hindmost.jobs.study.section import Section
from hindmost.jobs.study.study import Limits, Order, Pack, PackBy, Study
from hindmost.jobs.study.sweep import (
    CONDITIONS,
    configurations,
    read_axes,
    read_conditions,
    replace_axis,
)
from hindmost.jobs.study.words import NAMED, OUT
from hindmost.profiles import profiles_path

SCHEMA = 1
COMMAND = (
    "hindmost", "run", "{problem}", "--solver", "{solver}", "--unknowns", "{unknowns}",
    "--iterations", "{iterations}", "--out", "{out}",
)  # fmt: skip
"""What a run does where the study does not say."""
GIVEN = ("ranks", "ranks_per_node", "nodes", "repeat", OUT)
"""Names that commands may use although no sweep sets them."""
RUNS = "runs"
"""What the line of post-processing calls the folder of the collected run files."""
MOST_REPEATS = 100_000
_TABLES = ("schema", "study", "machine", "run", "sweep", "pack", "limits", "collect")
SUFFIX = ".toml"


def read_study(
    path: str | Path, *, profiles: Path | None = None, replacements: Sequence[str] = ()
) -> Study:
    """Read a study.

    Parameters
    ----------
    path : str or Path
        Of a study file; or the name of one that comes with hindmost, where there is no such file.
    profiles : Path or None
        File of the user's machines; None for `profiles_path`.
    replacements : sequence of str
        ``NAME=VALUE,...``: other values for a name of the sweep, or ``repeats=N``.

    Raises
    ------
    UsageError
        There is no such study, or a replacement is not possible.
    DataError
        The file is no study: with line and column.
    """
    where = profiles_path() if profiles is None else profiles
    own = read_document(where) if where.exists() else None
    if own is not None:
        Section(own, ()).only(["machine"])
    return study_of(find_study(path), own, replacements)


def find_study(path: str | Path) -> Document:
    """Read a study file, or one that comes with hindmost."""
    if not Path(path).is_file():  # a folder of that name may be there: that of its runs
        shipped = shipped_studies()
        name = str(path).removesuffix(SUFFIX)
        if name in shipped:
            return parse_document(shipped[name], f"{name}{SUFFIX}")
        if not re.search(r"[/.]", str(path)) and not Path(path).exists():
            raise UsageError(
                f"{path}: no such file, and no study that comes with hindmost: "
                f"{choices(str(path), shipped)}."
            )
    return read_document(Path(path))


def shipped_studies() -> dict[str, str]:
    """Return the texts of the studies that come with hindmost, by name."""
    folder = files("hindmost.jobs.studies")
    found = [each for each in folder.iterdir() if each.name.endswith(SUFFIX)]
    return {
        each.name.removesuffix(SUFFIX): each.read_text(encoding="utf-8")
        for each in sorted(found, key=lambda each: each.name)
    }


def study_of(
    document: Document, profiles: Document | None = None, replacements: Iterable[str] = ()
) -> Study:
    """Check a document and return the study that it is; see `read_study`."""
    replacements = tuple(replacements)
    whole = Section(document, ())
    if whole.count("schema", SCHEMA) > SCHEMA:
        place = document.place(("schema",))
        raise UnknownSchemaError(
            f"{document.name}:{place.line}:{place.column}: schema = {document.data['schema']}; "
            f"this hindmost reads up to {SCHEMA}. Install a newer one."
        )
    whole.only(_TABLES)
    head, run, sweep = (Section(document, (name,)) for name in ("study", "run", "sweep"))
    pack, limits, collect = (Section(document, (name,)) for name in ("pack", "limits", "collect"))
    for section, known in (
        (head, ("name", "seed", "repeats", "order", "machine")),
        (run, ("command", "options")),
        (pack, ("by", "runs")),
        (limits, ("job", "run", "stop_before", "max_retries")),
        (collect, ("line",)),
    ):
        section.only(known)
    axes = read_axes(sweep)
    names = [name for axis in axes for name in axis.names]
    machines = read_machines(document, profiles)
    only = "" if len(machines) > 1 else next(iter(machines), LOCAL)
    if "machine" in head.table:
        only = head.choice("machine", with_this_one(machines), only)
    study = Study(
        name=read_name(head),
        file=document.name,
        sha256=hashlib.sha256("\n".join([document.text, *replacements]).encode()).hexdigest()
        if replacements
        else document.sha256,
        seed=head.count("seed", 0),
        repeats=head.count("repeats", 1, least=1, most=MOST_REPEATS),
        order=Order(head.choice("order", list(Order), Order.RANDOM_BLOCKS)),
        command=read_words(run, "command", COMMAND, names),
        options=read_words(run, "options", (), names),
        sweep=axes,
        exclude=read_conditions(sweep, CONDITIONS[0], names),
        only=read_conditions(sweep, CONDITIONS[1], names),
        pack=Pack(by=read_pack_by(pack, names), runs=pack.count("runs", 0)),
        limits=read_limits(limits),
        collect=read_collect(collect),
        machines=with_this_one(machines),
        only_machine=only,
    )
    study = replace(replaced(study, replacements), replacements=replacements)
    configurations(study)
    return study


def replaced(study: Study, replacements: Iterable[str]) -> Study:
    """Replace what the command line sets."""
    for text in replacements:
        name, _, value = text.partition("=")
        if name.strip() == "repeats" and name.strip() not in study.names:
            if not value.strip().isdecimal() or not 1 <= int(value) <= MOST_REPEATS:
                raise UsageError(f"--set {text}: repeats is a whole number, 1 to {MOST_REPEATS}.")
            study = replace(study, repeats=int(value))
        else:
            study = replace(study, sweep=replace_axis(study.sweep, text))
    return study


def read_name(section: Section) -> str:
    """Read the study's name, which folders and jobs are called by."""
    name = section.text("name")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]{0,63}", name):
        section.refuse("name", "letters, digits, dots and dashes, a letter first, at most 64.")
    return name


def read_words(
    section: Section, key: str, default: tuple[str, ...], names: list[str]
) -> tuple[str, ...]:
    """Read words with names in braces, all of which have to be known."""
    words = section.words(key, default)
    known = [*names, *(name for name in GIVEN if name not in names)]
    for number, word in enumerate(words):
        for name in NAMED.findall(word):
            if name in known:
                continue
            if key in section:
                section.refuse(
                    key, f"{{{name}}} is not set by the sweep: {choices(name, known)}.", number
                )
            section.document.refuse(
                ("sweep",),
                f"the sweep does not set '{name}', which the usual command needs "
                f"({' '.join(default)}): set it, or write a command into [run].",
            )
    if key == "command" and not (words and words[0]):
        section.refuse(key, "a command has at least one word.")
    return words


def read_pack_by(section: Section, names: list[str]) -> PackBy | tuple[str, ...]:
    """Read what the runs of an allocation share."""
    if not isinstance(section.table.get("by"), list):
        return PackBy(section.choice("by", list(PackBy), PackBy.RANKS))
    by = section.words("by")
    for number, name in enumerate(by):
        if name not in names:
            section.refuse("by", f"the sweep does not set it: {choices(name, names)}.", number)
    return by or PackBy.ALL


def read_limits(section: Section) -> Limits:
    """Read the limits, and see that a run fits into a job."""
    limits = Limits(
        job_s=section.duration_s("job", "1h"),
        run_s=section.duration_s("run", "10m"),
        stop_before_s=section.duration_s("stop_before", "2m", positive=False),
        max_retries=section.count("max_retries", 2, most=1000),
    )
    if limits.run_s + limits.stop_before_s > limits.job_s:
        section.document.refuse(
            (*section.path, "run"),
            f"limits.run ({limits.run_s:g} s) and limits.stop_before ({limits.stop_before_s:g} s) "
            f"are longer together than limits.job ({limits.job_s:g} s): no run would be begun.",
        )
    return limits


def read_collect(section: Section) -> str:
    """Read the line of post-processing; braces with a dollar before them are the shell's."""
    line = section.text("line")
    for name in re.findall(r"(?<!\$)\{([A-Za-z_]\w*)\}", line):
        if name != RUNS:
            section.refuse("line", f"{{{name}}} is not known: {choices(name, [RUNS])}.")
    return line
