"""Frozen dataclasses to and from the values of JSON and TOML documents.

The type of a field says what its value may be, and a `Rule` in ``Annotated`` says more::

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Point:
        ranks: Annotated[int, Rule(least=1)]
        seconds: Annotated[float, Rule(above=0.0)]

    from_document(Point, {"ranks": 0, "seconds": 1.0})
    # RecordError: ranks is 0; allowed: a whole number of at least 1.

Types may be str, int, float, bool, enumerations, other dataclasses, tuples, dictionaries with names
as keys, and unions of these with each other and None. Numbers are finite, and ``true`` is none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)  # fmt: skip

from hindmost.parsing import LARGEST
from hindmost.rules import TEXT, UNKNOWN, RecordError, Rule, shown
from hindmost.text import choose

__all__ = [
    "RecordError", "Rule", "check_fields", "from_document", "given_fields", "to_document",
    "to_toml", "toml",
]  # fmt: skip

T = TypeVar("T")
Reader = Callable[[Any], Any]
NO_RULE: Final = Rule()
NOTHING: Final = type(None)
WORDS = {
    str: TEXT, int: "a whole number", float: "a finite number", bool: "true or false",
    NOTHING: "null", tuple: "a list", Any: "any value",
}  # fmt: skip
"""What types are called in messages; all others are objects."""


def from_document(kind: type[T], value: Any, *path: str | int, ignore_unknown: bool = False) -> T:
    """Make a record of what JSON or TOML holds.

    Parameters
    ----------
    kind : type
        A dataclass.
    value : object
        As a parser returns it.
    *path : str or int
        Where the value stands, for messages.
    ignore_unknown : bool
        Leave unknown keys alone; those of records inside are refused all the same.

    Raises
    ------
    RecordError
        A key is missing or unknown, or its value is not what the field may be.
    """
    try:
        return cast(T, _record(kind, value, ignore_unknown=ignore_unknown))
    except RecordError as error:
        raise error.below(*path) from None


def given_fields(
    kind: Any, value: Any, *path: str | int, ignore_unknown: bool = False
) -> dict[str, Any]:
    """Return those fields of a record that a document sets, by name; see `from_document`."""
    if not isinstance(value, dict):
        raise RecordError("allowed: an object", *path, found=value)
    known = {key: (name, read) for name, key, read, _ in _fields(kind)}
    found = {}
    for key, each in value.items():
        if key in known:
            name, read = known[key]
            try:
                found[name] = read(each)
            except RecordError as error:
                raise error.below(*path, key) from None
        elif not ignore_unknown:
            raise RecordError(choose(known, key), *path, key, found=UNKNOWN)
    return found


def check_fields(record: Any) -> None:
    """Raise a RecordError if a record that was made in code breaks the rules of its type."""
    kind: Any = type(record)
    for name, key, read, _ in _fields(kind):
        try:
            read(getattr(record, name))
        except RecordError as error:
            raise error.below(key) from None


def to_document(value: Any) -> Any:
    """Return a record as dictionaries, lists and scalars, which `from_document` reads."""
    if is_dataclass(value):
        kind: Any = type(value)
        return {key: to_document(getattr(value, name)) for name, key, _, _ in _fields(kind)}
    if isinstance(value, tuple | list):
        return [to_document(each) for each in value]
    if isinstance(value, Mapping):
        return {key: to_document(each) for key, each in value.items()}
    return value.value if isinstance(value, Enum) else value


def to_toml(record: Any) -> str:
    """Return a record of scalars and lists of scalars as TOML, a key on each line."""
    return "".join(f"{key} = {toml(value)}\n" for key, value in to_document(record).items())


def toml(value: Any) -> str:
    """Return a scalar, or a list of scalars, as TOML writes it."""
    if isinstance(value, float):
        return repr(value)
    # JSON writes the one control character that TOML does not allow in text.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _record(kind: Any, value: Any, *, ignore_unknown: bool = False) -> Any:
    """Read a record; one that was made already is right."""
    if isinstance(value, kind):
        return value
    found = given_fields(kind, value, ignore_unknown=ignore_unknown)
    for name, key, _, needed in _fields(kind):
        if needed and name not in found:
            raise RecordError(f"allowed: {_words(_hints(kind)[name])}", key)
    return kind(**found)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Return the types of a record's fields, with their rules."""
    return get_type_hints(kind, include_extras=True)


@cache
def _fields(kind: Any) -> tuple[tuple[str, str, Reader, bool], ...]:
    """Return the name, the document's key, the reader and the need of each field."""
    hints = _hints(kind)
    return tuple(
        (
            field.name,
            _split(hints[field.name])[1].key or field.name,
            _reader(hints[field.name]),
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(kind)
    )


def _split(hint: Any) -> tuple[Any, Rule]:
    """Return a type and its rule."""
    if get_origin(hint) is not Annotated:
        return hint, NO_RULE
    base, *others = get_args(hint)
    return base, next((each for each in others if isinstance(each, Rule)), NO_RULE)


def _words(hint: Any) -> str:
    """Say what a type allows."""
    base, rule = _split(hint)
    origin = get_origin(base) or base
    if origin in (Union, UnionType) and not rule.words:
        return " or ".join(dict.fromkeys(map(_words, get_args(base))))
    if isinstance(origin, type) and issubclass(origin, Enum):
        return f"one of {', '.join(shown(each.value) for each in origin)}"
    return rule.of(WORDS.get(origin, "an object"))


def _reader(hint: Any) -> Reader:
    """Return the function that reads a value of a type, or raises a RecordError."""
    base, rule = _split(hint)
    inner = _plain_reader(base, hint)
    if rule is NO_RULE:
        return inner

    def read(value: Any) -> Any:
        given = value
        if rule.read is not None:
            try:
                given = rule.read(value)
            except RecordError:
                raise
            except (ValueError, TypeError, OverflowError) as error:
                raise RecordError(str(error), found=value) from None
        result = inner(given)
        if rule.choices is not None and result not in (choices := tuple(rule.choices())):
            raise RecordError(choose(choices, result), found=value)
        if not rule.allows(result):
            raise RecordError(f"allowed: {_words(hint)}", found=value)
        return result

    return read


def _plain_reader(base: Any, hint: Any) -> Reader:
    """Return the function that reads a value of a type without its rule."""
    origin, inside = get_origin(base) or base, get_args(base)
    if origin in (Union, UnionType):
        return _union_reader([(each, _reader(each)) for each in inside], hint)
    if origin is tuple:
        return _list_reader([_reader(each) for each in inside if each is not ...], inside, hint)
    if origin in (dict, Mapping):
        key, value = inside or (str, Any)
        return _mapping_reader(_reader(key), _reader(value), hint)
    if is_dataclass(origin):
        return lambda value: _record(origin, value)
    if base is Any:
        return lambda value: value
    return lambda value: _scalar(origin, value, hint)


def _scalar(kind: type[Any], value: Any, hint: Any) -> Any:
    """Read text, a number, true or false, null, or a member of an enumeration."""
    if kind in (int, float):
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST:
            return kind(value)
        if kind is float and isinstance(value, float) and math.isfinite(value):
            return float(value)
    elif issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError:
            raise RecordError(choose([e.value for e in kind], value), found=value) from None
    elif isinstance(value, kind):
        return value
    raise RecordError(f"allowed: {_words(hint)}", found=value)


def _union_reader(readers: list[tuple[Any, Reader]], hint: Any) -> Reader:
    """Return the function that reads a value as the first type that it is of."""
    of_type = dict(readers)

    def read(value: Any) -> Any:
        if type(value) in of_type:
            return of_type[type(value)](value)
        errors = []
        for _, each in readers:
            try:
                return each(value)
            except RecordError as error:
                errors.append(error)
        # An error inside of the value, or about its choices, says more than all the types.
        telling = [error for error in errors if error.path] or [
            error for error in errors if "choose" in error.why
        ]
        if len(errors) - (NOTHING in of_type) == 1 and value is not None:
            telling = errors[:1]
        raise telling[0] if telling else RecordError(f"allowed: {_words(hint)}", found=value)

    return read


def _list_reader(readers: list[Reader], inside: tuple[Any, ...], hint: Any) -> Reader:
    """Return the function that reads a list: all entries of one type, or each of its own."""
    alike = inside[-1:] == (...,)

    def read(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise RecordError(f"allowed: {_words(hint)}", found=value)
        if not alike and len(value) != len(readers):
            raise RecordError(f"allowed: a list of {len(readers)} entries", found=value)
        found = []
        for at, each in enumerate(value):
            try:
                found.append(readers[0 if alike else at](each))
            except RecordError as error:
                raise error.below(at) from None
        return tuple(found)

    return read


def _mapping_reader(read_key: Reader, read_value: Reader, hint: Any) -> Reader:
    """Return the function that reads an object whose members are all of one type."""

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise RecordError(f"allowed: {_words(hint)}", found=value)
        found = {}
        for key, each in value.items():
            try:
                found[read_key(key)] = read_value(each)
            except RecordError as error:
                raise error.below(key) from None
        return found

    return read
