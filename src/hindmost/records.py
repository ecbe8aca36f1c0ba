"""Frozen dataclasses to and from the values of JSON and TOML documents, by msgspec.

The type of a field says what its value may be, and `msgspec.Meta` says more; what concerns several
fields, a ``__post_init__`` checks, which raises a `RecordError`::

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Point:
        ranks: Annotated[int, Meta(ge=1)]
        seconds: Annotated[float, Meta(gt=0)]

    from_document(Point, {"ranks": 0, "seconds": 1.0})
    # RecordError: ranks is 0; allowed: a whole number of at least 1.

Numbers are finite and fit into 64 bits, and ``true`` is none. The description of a `Meta` with a
pattern says what is allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)  # fmt: skip
from typing import get_type_hints as hints_of

import msgspec

from hindmost.errors import DataError, UnknownSchemaError
from hindmost.output import plain
from hindmost.parsing import LARGEST, TOO_DEEP, shown
from hindmost.printable import one_line
from hindmost.text import choose

T = TypeVar("T")
KeyPath = tuple[str | int, ...]
"""Keys, and places in lists from 0, from the outside in."""
ABSENT: Final = object()
"""Stands for the value of a key that a document lacks."""
UNKNOWN: Final = object()
"""Stands for the value of a key that a document should not have."""
WORDS = {
    str: "text", int: "a whole number", float: "a finite number", bool: "true or false",
    tuple: "a list", list: "a list",
}  # fmt: skip
"""What types are called in messages; all others are objects."""
MISSING = re.compile(r"Object missing required field `(.*)`")


class RecordError(DataError):
    """A document has a value that its record may not have.

    Parameters
    ----------
    why : str
        The rule or the remedy, without a full stop.
    *path : str or int
        Where the value stands.
    found : object
        The value, `ABSENT` or `UNKNOWN`.
    """

    def __init__(self, why: str, *path: str | int, found: Any = ABSENT) -> None:
        self.why, self.path, self.found = why, path, found
        super().__init__(why)

    def below(self, *path: str | int) -> RecordError:
        """Return the error as the surrounding record sees it."""
        return RecordError(self.why, *path, *self.path, found=self.found)

    @property
    def problem(self) -> str:
        """Where and what it is, without the rule."""
        states = {id(ABSENT): "missing", id(UNKNOWN): "unknown"}
        what = states.get(id(self.found)) or shown(self.found)
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        return f"{one_line(where.removeprefix('.')) or 'the whole'} is {what}"

    def __str__(self) -> str:
        """Say where, what and why, as one sentence."""
        return f"{self.problem}; {self.why}."


def from_document(kind: type[T], value: Any, *path: str | int, ignore_unknown: bool = False) -> T:
    """Make a record of what JSON or TOML holds.

    Parameters
    ----------
    kind : type
        A dataclass, or another type that msgspec converts to.
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
        check_keys(kind, value, ignore_unknown=ignore_unknown)
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise explained(error, kind, value).below(*path) from None
    except RecordError as error:
        raise error.below(*path) from None
    except RecursionError:
        raise RecordError(TOO_DEEP, *path, found=value) from None


def check_version(version: Any, newest: int, where: object) -> int:
    """Return the version of a document's schema.

    Raises
    ------
    UnknownSchemaError
        A newer hindmost wrote it.
    DataError
        It is no version.
    """
    if type(version) is not int or version < 1:
        raise DataError(f"{where}: version is {shown(version)}; allowed: 1 to {newest}.")
    if version > newest:
        raise UnknownSchemaError(
            f"{where} has version {version}, and this hindmost reads up to {newest}. Install a "
            "newer one."
        )
    return version


def to_document(value: Any) -> Any:
    """Return a record as dictionaries, lists and scalars, which `from_document` reads."""
    return plain(value)


def to_toml(record: Any) -> str:
    """Return a record of scalars and lists of scalars as TOML, a key on each line."""
    return "".join(f"{key} = {toml(value)}\n" for key, value in to_document(record).items())


def toml(value: Any) -> str:
    """Return a scalar, or a list of scalars, as TOML writes it."""
    if isinstance(value, float):
        return repr(value)
    # JSON writes the one control character that TOML does not allow in text.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def check_keys(kind: Any, value: Any, *, ignore_unknown: bool = False) -> None:
    """Raise a RecordError for a key that is unknown, or a number that is none of ours.

    msgspec passes over both in dataclasses.
    """
    kind = part_for(kind, value)
    if isinstance(value, dict) and is_dataclass(kind):
        known = hints(kind)  # type: ignore[arg-type]
        for key in value:
            if key not in known and not ignore_unknown:
                raise RecordError(choose(known, key), key, found=UNKNOWN)
    for key, each in inner(value):
        if isinstance(each, dict | list):
            try:
                check_keys(kind_of_member(kind, key), each)
            except RecordError as error:
                raise error.below(key) from None
        elif isinstance(each, float | int) and not -LARGEST < each < LARGEST:
            of_key = kind_of_member(kind, key)
            if of_key is not Any and not may_be_infinite(of_key):
                raise RecordError(f"allowed: {words(of_key)}", key, found=each)


def inner(value: Any) -> Iterator[tuple[str | int, Any]]:
    """Yield the members of an object or a list with their keys."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)


@cache
def hints(kind: Any) -> dict[str, Any]:
    """Return the types of a record's fields, with what else is said of them."""
    found = hints_of(kind, include_extras=True)
    return {
        name: get_args(each)[0] if get_origin(each) in (Required, NotRequired) else each
        for name, each in found.items()
    }


def is_record(kind: Any) -> bool:
    """Tell whether a type has named fields."""
    return is_dataclass(kind) or is_typeddict(kind)


def may_be_infinite(kind: Any) -> bool:
    """Tell whether the type of a number says that it may be infinite."""
    return get_origin(kind) is Annotated and "infinite" in (get_args(kind)[1].extra or ())


@cache
def parts_of(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the one type; without what is said of them."""
    if get_origin(kind) is Annotated:
        return parts_of(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return tuple(part for arg in get_args(kind) for part in parts_of(arg))
    return (kind,)


def part_for(kind: Any, value: Any) -> Any:
    """Return the part of a type that a list or an object has to be of."""
    parts = parts_of(kind)
    if len(parts) == 1:
        return parts[0]
    for part in parts:
        origin = get_origin(part) or part
        if isinstance(value, dict) and (is_record(origin) or issubclass(origin, Mapping)):
            return part
        if isinstance(value, list | tuple) and origin in (list, tuple):
            return part
    return kind


def kind_of_member(kind: Any, key: str | int) -> Any:
    """Return the type of a member of a list or an object; Any where it is free."""
    if is_record(kind):
        return hints(kind).get(str(key), Any)
    args = get_args(kind)
    if not args or get_origin(kind) in (Union, UnionType):
        return Any
    if isinstance(key, int):
        return args[0] if len(args) == 1 or args[1] is ... else args[min(key, len(args) - 1)]
    return args[-1]


def explained(error: msgspec.ValidationError, kind: Any, value: Any) -> RecordError:
    """Return an error of msgspec with the key path, what was found and what is allowed."""
    said, _, where = str(error).partition(" - at `$")
    path: list[str | int] = []
    for name, place in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", where):
        kind = part_for(kind, value)
        step = name or (failing(kind, value) if place == "..." else int(place))
        kind, value = kind_of_member(kind, step), value[step]
        path.append(step)
    if isinstance(error.__cause__, RecordError):
        return error.__cause__.below(*path)
    if error.__cause__ is not None:  # of a __post_init__
        return RecordError(said, *path, found=value)
    if missing := MISSING.fullmatch(said):
        kind = hints(part_for(kind, value))[missing[1]]
        return RecordError(f"allowed: {words(kind)}", *path, missing[1])
    choices = [choice for part in parts_of(kind) for choice in choices_of(part)]
    return RecordError(
        choose(choices, value) if choices else f"allowed: {words(kind)}", *path, found=value
    )


def failing(kind: Any, value: Mapping[str, Any]) -> str:
    """Return the key of the first value of an object that is not of the type of all."""
    of_all = get_args(kind)[-1]
    for key, each in value.items():
        try:
            msgspec.convert(each, of_all)
        except msgspec.ValidationError:
            return key
    raise AssertionError(f"{value} is of {kind}")


def choices_of(part: Any) -> list[Any]:
    """Return the values of an enumeration or a literal type."""
    if get_origin(part) is Literal:
        return list(get_args(part))
    return [each.value for each in part] if isinstance(part, type(Enum)) else []


@cache
def words(kind: Any) -> str:
    """Say what a type allows."""
    if get_origin(kind) is Annotated:
        base, meta = get_args(kind)[:2]
        if meta.description:
            return str(meta.description)
        low = ("of at least", meta.ge) if meta.ge is not None else ("above", meta.gt)
        high = ("at most", meta.le) if meta.le is not None else ("below", meta.lt)
        bounds = [f"{word} {bound:.15g}" for word, bound in (low, high) if bound is not None]
        if meta.ge is not None and meta.le is not None:
            bounds = [f"from {meta.ge:.15g} to {meta.le:.15g}"]
        return " ".join((words(base), *bounds))
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else ()
    if parts:
        return " or ".join(dict.fromkeys(words(part) for part in parts if part is not type(None)))
    if choices := choices_of(kind):
        return f"one of {', '.join(map(shown, choices))}"
    origin, args = get_origin(kind) or kind, get_args(kind)
    if origin is tuple and args[-1] is not ...:
        return f"a list of {len(args)} entries"
    return WORDS.get(origin, "an object")
