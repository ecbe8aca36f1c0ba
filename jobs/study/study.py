"""A study: the checked contents of a study file.

The sweep of a study: the values of each configuration, and which ones are left out.

Conditions such as ``ranks > 128 and unknowns < 8e6`` are written as in Python, whose parser reads
them: comparisons of names, numbers and texts in quotes, ``and``, ``or``, ``not`` and parentheses;
``true`` and ``false`` as in TOML. Everything else of Python is refused before anything is computed.
"""

from __future__ import annotations

import ast
import math
import re
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from keyword import iskeyword
from types import CodeType
from typing import Annotated, Any

from msgspec import Meta

from hindmost.errors import DataError, UsageError
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.plan import Value
from hindmost.jobs.core.values import Line, Whole, plain
from hindmost.records import KeyPath, RecordError
from hindmost.text import choose, either

Positive = Annotated[float, Meta(gt=0)]


class RunOrder(StrEnum):
    """The order of runs."""

    RANDOM_BLOCKS = "random-blocks"
    """Every block contains each configuration once, shuffled, so that drift affects all alike."""
    AS_WRITTEN = "as-written"


class PackBy(StrEnum):
    """What the runs of an allocation share, unless it is a list of names."""

    RANKS = "ranks"
    ALL = "all"
    NONE = "none"
    """Every run has its own allocation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One key of the sweep.

    Attributes
    ----------
    name : str
    settings : tuple of dict of str to Value
        What each value sets: the name itself, or several names. All set the same names.
    """

    name: str
    settings: tuple[dict[str, Value], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the axis sets."""
        return tuple(self.settings[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition on configurations; made by `hindmost.jobs.study.study.parse_condition`."""

    text: str
    code: CodeType

    def holds(self, names: Mapping[str, Value]) -> bool:
        """Tell whether it holds; a ValueError if it has no answer."""
        try:
            value = eval(self.code, {"__builtins__": {}}, dict(names))  # of comparisons alone
        except TypeError:
            raise ValueError("a text and a number have no order; use == or !=") from None
        if not isinstance(value, bool):
            raise ValueError(f"{value!r} is neither true nor false; compare it with a value")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """How runs are packed into allocations.

    Attributes
    ----------
    by : PackBy or tuple of str
        Names of the sweep whose values the runs of an allocation share.
    runs : int
        The maximum number of runs per allocation; 0 for no limit.
    """

    by: PackBy | tuple[Line, ...] = PackBy.RANKS
    runs: Whole = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyLimits:
    """The limits of jobs and runs.

    Attributes
    ----------
    job_s : float
        The longest walltime of an allocation.
    run_s : float
        The time after which a run is stopped.
    stop_before_s : float
        No run starts that could end later than this before the end of the allocation.
    max_retries : int
    """

    job_s: Positive = 3600.0
    run_s: Positive = 600.0
    stop_before_s: float = 120.0
    max_retries: Annotated[int, Meta(ge=0, le=1000)] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study.

    Attributes
    ----------
    name : str
    file : str
        Path of its file as given, for messages.
    sha256 : str
        Of the file and of the replacements on the command line.
    seed : int
        Of the order.
    repeats : int
    order : RunOrder
    command, options : tuple of str
        Words with ``{names}``; options follow ``--``.
    sweep : tuple of Axis
    exclude, only : tuple of Condition
        A configuration is left out if any of the former holds, or any of the latter does not.
    pack : Pack
    limits : StudyLimits
    collect : str
        Shell line that post-processes the collected run files.
    machines : dict of str to Machine
        Machines of the study and of the user, and this one as ``local``.
    only_machine : str
        The machine that the study chooses, else the only one given; this one if none is given,
        empty if several are.
    replacements : tuple of str
        Values set on the command line, as ``ranks=1,2``.
    """

    name: str
    file: str
    sha256: str
    seed: int
    repeats: int
    order: RunOrder
    command: tuple[str, ...]
    options: tuple[str, ...]
    sweep: tuple[Axis, ...]
    exclude: tuple[Condition, ...]
    only: tuple[Condition, ...]
    pack: Pack
    limits: StudyLimits
    collect: str
    machines: dict[str, MachineProfile]
    only_machine: str
    replacements: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the sweep sets."""
        return tuple(name for axis in self.sweep for name in axis.names)


CONDITIONS = ("exclude", "only")
OWN_NAME = "name"
"""In a table of an axis, the value of the axis itself."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN = ("true", "false", "out", "repeat", "nodes")
"""Words with a meaning in conditions or commands."""
MOST = 1_000_000
"""The most runs of a study; more are a mistake."""
TRUTHS = {"true": True, "false": False}
ALLOWED = "names, numbers, texts in quotes, comparisons, and, or, not and parentheses"
NODES = (
    ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.Compare, ast.Eq,
    ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Name, ast.Load, ast.Constant,
)  # fmt: skip
"""What of Python's syntax is `ALLOWED`."""


def read_axes(table: dict[str, Any]) -> tuple[Axis, ...]:
    """Read the axes: every key except the conditions."""
    axes: list[Axis] = []
    owners: dict[str, str] = {}
    for key, value in table.items():
        if key in CONDITIONS:
            continue
        values = value if isinstance(value, list) else [value]
        if not values:
            raise RecordError("an empty list leaves no configuration", key, found=value)
        paths = [(key, at) for at in range(len(values))] if isinstance(value, list) else [(key,)]
        settings = [read_setting(key, each, path) for each, path in zip(values, paths, strict=True)]
        for setting, each, path in zip(settings, values, paths, strict=True):
            if set(setting) != set(settings[0]):
                why = (
                    f"it sets {', '.join(setting)}, but the first of the list sets "
                    f"{', '.join(settings[0])}; all must set the same names"
                )
                raise RecordError(why, *path, found=each)
            if setting in settings[: path[-1] if isinstance(path[-1], int) else 0]:
                raise RecordError("it is in the list twice", *path, found=each)
        for name in settings[0]:
            if name in owners:
                raise RecordError(f"'{owners[name]}' already sets '{name}'", key, found=value)
            owners[name] = key
        axes.append(Axis(name=key, settings=tuple(settings)))
    if "ranks" not in owners:
        raise RecordError("give a list of numbers of ranks, such as [1, 2]", "ranks")
    return tuple(axes)


def read_setting(key: str, value: Any, path: KeyPath) -> dict[str, Value]:
    """Read one value of an axis: a scalar, or a table of several."""
    if not isinstance(value, dict):
        check_name(key, path, value)
        return {key: check_value(key, value, path)}
    if not value:
        raise RecordError("an empty table sets nothing", *path, found=value)
    setting = {}
    for name, each in value.items():
        own, inside = key if name == OWN_NAME else name, (*path, name)
        if own in setting:
            raise RecordError(f"'{own}' is set twice", *inside, found=each)
        check_name(own, inside, each)
        setting[own] = check_value(own, each, inside)
    return setting


def check_name(name: str, path: KeyPath, value: Any) -> None:
    """Refuse a name that is not valid in conditions and commands."""
    if not _NAME.fullmatch(name) or name in _TAKEN or iskeyword(name):
        why = (
            f"'{name}' is not a valid name: use letters, digits and _, a letter first, and no word "
            f"of Python, nor {either(_TAKEN)}"
        )
        raise RecordError(why, *path, found=value)


def check_value(name: str, given: Any, path: KeyPath) -> Value:
    """Return a value that is valid on a command line, or refuse it."""
    value: Value = plain(given)
    if not isinstance(value, str | int | float):
        why = "it must be a text, a number, true or false"
    elif isinstance(value, float) and not math.isfinite(value):
        why = "it must be finite"
    elif isinstance(value, str) and not value.isprintable():
        why = "it must be one printable line"
    elif name in ("ranks", "ranks_per_node") and (type(value) is not int or value < 1):
        why = f"{name} must be a whole number of at least 1"
    else:
        return value
    raise RecordError(why, *path, found=given)


def read_conditions(table: dict[str, Any], key: str, names: Sequence[str]) -> tuple[Condition, ...]:
    """Read ``exclude`` or ``only``: one condition or a list of them."""
    texts = table.get(key, [])
    inside = isinstance(texts, list)
    conditions = []
    for number, text in enumerate(texts if inside else [texts]):
        path = (key, number) if inside else (key,)
        if not isinstance(text, str):
            why = 'it must be a condition in quotes, such as "ranks > 4"'
            raise RecordError(why, *path, found=text)
        try:
            conditions.append(parse_condition(text, names))
        except ValueError as error:
            raise RecordError(str(error), *path, found=text) from None
    return tuple(conditions)


def parse_condition(text: str, names: Sequence[str]) -> Condition:
    """Parse a condition on names that the sweep sets; a ValueError if it is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the parser, on what is refused below
            parsed = ast.parse(re.sub(r"\s", " ", text).strip(), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{error.msg}; use {ALLOWED}") from None
    except (RecursionError, MemoryError):
        raise ValueError(f"too deeply nested; use {ALLOWED}") from None
    for part in ast.walk(parsed.body):
        if isinstance(part, ast.Name) and part.id not in (*names, *TRUTHS):
            raise ValueError(f"'{part.id}' is not set by the sweep: {choose(names, part.id)}")
        number_or_text = not isinstance(part, ast.Constant) or type(part.value) in (int, float, str)
        if not isinstance(part, NODES) or not number_or_text:
            raise ValueError(f"'{ast.unparse(part)}' is not allowed; use {ALLOWED}")
    return Condition(text=text, code=compile(parsed, "condition", "eval"))


def configurations(study: Study) -> list[dict[str, Value]]:
    """Return all configurations in the order of the file, without those left out.

    Raises
    ------
    DataError
        There are too many or none, or a condition has no answer.
    """
    count = math.prod(len(axis.settings) for axis in study.sweep)
    if count * study.repeats > MOST:
        raise DataError(
            f"{study.file}: {count:,} configurations, {study.repeats} times each, are more than "
            f"{MOST:,} runs. Remove values from the sweep."
        )
    found = []
    for parts in product(*(axis.settings for axis in study.sweep)):
        names: dict[str, Value] = {}
        for part in parts:
            names |= part
        if wanted(study, names):
            found.append(names)
    if not found:
        raise DataError(
            f"{study.file}: sweep.exclude and sweep.only exclude all {count:,} configurations."
        )
    return found


def wanted(study: Study, names: dict[str, Value]) -> bool:
    """Tell whether a configuration is part of the study."""

    def holds(condition: Condition) -> bool:
        try:
            return condition.holds({**TRUTHS, **names})
        except ValueError as error:
            text = " ".join(condition.text.split())
            raise DataError(f"{study.file}: '{text}': {error}.") from error

    return all(map(holds, study.only)) and not any(map(holds, study.exclude))


def replace_axis(axes: tuple[Axis, ...], text: str) -> tuple[Axis, ...]:
    """Replace the values of a name, as in ``--set ranks=1,2``.

    A name that tables set is removed from them and becomes its own axis.

    Raises
    ------
    UsageError
        The sweep does not set the name, or there are no values.
    """
    name, sign, listed = text.partition("=")
    name = name.strip()
    words = [word.strip() for word in listed.split(",")]
    if not sign or not all(words):
        raise UsageError(f"--set {text}: write NAME=VALUE or NAME=VALUE,VALUE,...")
    if name not in (names := [name for axis in axes for name in axis.names]):
        raise UsageError(f"--set {text}: the sweep does not set '{name}': {choose(names, name)}.")
    try:
        values = list(dict.fromkeys(check_value(name, read_word(word), ()) for word in words))
    except RecordError as error:
        raise UsageError(f"--set {text}: {error.why}.") from None
    new = Axis(name=name, settings=tuple({name: value} for value in values))
    found: list[Axis] = []
    for axis in axes:
        if name not in axis.names:
            found.append(axis)
        elif len(axis.names) == 1:
            found.append(new)
        else:
            rest = [{k: v for k, v in setting.items() if k != name} for setting in axis.settings]
            unlike = [each for at, each in enumerate(rest) if each not in rest[:at]]
            found += [Axis(name=axis.name, settings=tuple(unlike)), new]
    return tuple(found)


def read_word(word: str) -> Value:
    """Read a value of the command line: a scalar of TOML, or else a text."""
    try:
        value = tomllib.loads(f"x = {word}")["x"]
    except tomllib.TOMLDecodeError:
        return word
    return value if isinstance(value, str | int | float | bool) else word
