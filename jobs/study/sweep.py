"""The sweep of a study: what each configuration sets, and which of them are left out."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from hindmost.errors import DataError, UsageError
from hindmost.jobs.plan.plan import Value
from hindmost.jobs.study.document import choices, shown
from hindmost.jobs.study.expression import Condition, ConditionError, parse_condition
from hindmost.jobs.study.section import Section, plain
from hindmost.jobs.study.study import Axis, Study

CONDITIONS = ("exclude", "only")
OWN_NAME = "name"
"""In a table of an axis, the value of the axis itself."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_TAKEN = ("and", "or", "not", "true", "false", "out", "repeat", "nodes")
"""Words that conditions or commands need."""
MOST = 1_000_000
"""Configurations, beyond which a sweep is a mistake."""


def read_axes(section: Section) -> tuple[Axis, ...]:
    """Read what is swept: every key but the conditions."""
    axes: list[Axis] = []
    owners: dict[str, str] = {}
    for key, value in section.table.items():
        if key in CONDITIONS:
            continue
        values = value if isinstance(value, list) else [value]
        if not values:
            section.refuse(key, "an empty list leaves no configuration.")
        inside = isinstance(value, list)
        settings = [
            read_setting(section, key, each, (number,) if inside else ())
            for number, each in enumerate(values)
        ]
        for number, setting in enumerate(settings):
            if set(setting) != set(settings[0]):
                section.refuse(
                    key,
                    f"it sets {', '.join(setting)}; the first of the list sets "
                    f"{', '.join(settings[0])}; all have to set the same names.",
                    number,
                )
            if setting in settings[:number]:
                section.refuse(key, "it stands in the list before.", number)
        for name in settings[0]:
            if name in owners:
                section.refuse(key, f"'{name}' is set by '{owners[name]}' already.")
            owners[name] = key
        axes.append(Axis(name=key, settings=tuple(settings)))
    if "ranks" not in owners:
        section.document.refuse(
            (*section.path, "ranks"), "sweep.ranks is missing: list numbers of ranks, as [1, 2]."
        )
    return tuple(axes)


def read_setting(
    section: Section, key: str, value: Any, inside: tuple[int, ...]
) -> dict[str, Value]:
    """Read one value of an axis: a scalar, or a table of several."""
    if not isinstance(value, dict):
        return {check_name(section, key, key, ()): check_value(section, key, key, value, inside)}
    if not value:
        section.refuse(key, "an empty table sets nothing.", *inside)
    setting = {}
    for name, each in value.items():
        own = key if name == OWN_NAME else name
        if own in setting:
            section.refuse(key, f"'{own}' is set twice.", *inside, name)
        check_name(section, key, own, (*inside, name))
        setting[own] = check_value(section, key, own, each, (*inside, name))
    return setting


def check_name(section: Section, key: str, name: str, inside: tuple[int | str, ...]) -> str:
    """Return a name that conditions and commands can use, or refuse it."""
    if not _NAME.fullmatch(name) or name in _TAKEN:
        section.refuse(
            key,
            f"'{name}' cannot be a name: letters, digits, _ and -, not digits first, and none of "
            f"{', '.join(_TAKEN)}.",
            *inside,
        )
    return name


def check_value(
    section: Section, key: str, name: str, given: Any, inside: tuple[int | str, ...]
) -> Value:
    """Return a value that can be a word, or refuse it."""
    if not isinstance(given, str | int | float | bool):
        section.refuse(key, "it has to be a text, a number, true or false.", *inside)
    value: Value = plain(given)
    if isinstance(value, float) and not math.isfinite(value):
        section.refuse(key, "it has to be a number that is finite.", *inside)
    if isinstance(value, str) and not value.isprintable():
        section.refuse(key, "it has to be one line that can be printed.", *inside)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if name in ("ranks", "ranks_per_node") and (not whole or int(value) < 1):
        section.refuse(key, f"{name} has to be a whole number, at least 1.", *inside)
    return value


def read_conditions(section: Section, key: str, names: Sequence[str]) -> tuple[Condition, ...]:
    """Read ``exclude`` or ``only``: one condition or a list of them."""
    texts = section.table.get(key, [])
    inside = isinstance(texts, list)
    conditions = []
    for number, text in enumerate(texts if inside else [texts]):
        path = (number,) if inside else ()
        if not isinstance(text, str):
            section.refuse(key, 'it has to be a condition in quotes: "ranks > 4".', *path)
        place = section.document.place((*section.path, key, *path))
        try:
            parsed = parse_condition(text, names)
        except ConditionError as error:
            raise refusal(
                section.document.name, text, place.line, place.column + 1, error
            ) from None
        conditions.append(replace(parsed, line=place.line, column=place.column + 1))
    return tuple(conditions)


def refusal(file: str, text: str, line: int, column: int, error: ConditionError) -> DataError:
    """Say what is wrong with a condition, and at which character.

    The column is exact where the text stands in the file as it is, which it does without escapes.
    """
    return DataError(
        f"{file}:{line}:{column + error.column - 1}: in '{' '.join(text.split())}', "
        f"character {error.column}: "
        f"{error}."
    )


def configurations(study: Study) -> list[dict[str, Value]]:
    """Return all configurations, in the order of the file, without those that are left out.

    Raises
    ------
    DataError
        There are too many, or none is left, or a condition cannot be told.
    """
    count = math.prod(len(axis.settings) for axis in study.sweep)
    if count * study.repeats > MOST:
        raise DataError(
            f"{study.file}: {count:,} configurations, {study.repeats} times each: more than "
            f"{MOST:,} runs. Take values out of the sweep."
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
            f"{study.file}: sweep.exclude and sweep.only leave none of {count:,} configurations."
        )
    return found


def wanted(study: Study, names: dict[str, Value]) -> bool:
    """Tell whether a configuration is to be run."""

    def holds(condition: Condition) -> bool:
        try:
            return condition.holds(names)
        except ConditionError as error:
            place = (condition.line, condition.column)
            raise refusal(study.file, condition.text, *place, error) from error

    return all(map(holds, study.only)) and not any(map(holds, study.exclude))


def replace_axis(axes: tuple[Axis, ...], text: str) -> tuple[Axis, ...]:
    """Replace the values of a name, as ``--set ranks=1,2`` asks for.

    A name that tables set is taken out of them, and swept by itself.

    Raises
    ------
    UsageError
        The sweep does not set the name, or there are no values.
    """
    name, sign, listed = text.partition("=")
    name = name.strip()
    words = [word.strip() for word in listed.split(",")]
    if not sign or not all(words):
        raise UsageError(f"--set {text}: it has to be NAME=VALUE, or NAME=VALUE,VALUE,...")
    if name not in (names := [each for axis in axes for each in axis.names]):
        raise UsageError(f"--set {text}: the sweep does not set '{name}': {choices(name, names)}.")
    values = list(dict.fromkeys(read_word(word) for word in words))
    if name in ("ranks", "ranks_per_node") and not all(
        isinstance(value, int) and value >= 1 for value in values
    ):
        raise UsageError(f"--set {text}: {name} has to be a whole number, at least 1.")
    new = Axis(name=name, settings=tuple({name: value} for value in values))
    found: list[Axis] = []
    for axis in axes:
        if name not in axis.names:
            found.append(axis)
        elif len(axis.names) == 1:
            found.append(new)
        else:
            rest = [{k: v for k, v in each.items() if k != name} for each in axis.settings]
            unlike = [each for at, each in enumerate(rest) if each not in rest[:at]]
            found += [Axis(name=axis.name, settings=tuple(unlike)), new]
    return tuple(found)


def read_word(word: str) -> Value:
    """Read a value of the command line: what is a scalar in TOML is one, all else a text."""
    try:
        value = tomllib.loads(f"x = {word}")["x"]
    except tomllib.TOMLDecodeError:
        return word
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"--set: {shown(value)} is not finite.")
    return plain(value) if isinstance(value, str | int | float | bool) else word
