"""Conditions on configurations, such as ``ranks > 128 and unknowns < 8e6``: parsed, never executed.

::

    either     = both ("or" both)*
    both       = turned ("and" turned)*
    turned     = "not" turned | comparison
    comparison = atom (("<" | "<=" | ">" | ">=" | "==" | "!=") atom)*
    atom       = number | text | "true" | "false" | name | "(" either ")"

Comparisons chain as in mathematics: ``2 < ranks <= 16``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn, Protocol

from hindmost.jobs.core.plan import Value
from hindmost.text import choose

DEEPEST = 50
"""The deepest nesting of parentheses and ``not``."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w))"
    r"|(?P<name>[^\W\d][\w-]*)|(?P<text>\"[^\"]*\"|'[^']*')"
    r"|(?P<sign><=|>=|==|!=|<|>|\(|\)))"
)
_WORDS = ("and", "or", "not", "true", "false")
_ORDERS: dict[str, Callable[[Value, Value], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class ConditionError(ValueError):
    """A condition is not valid; ``column`` counts characters of its text from 1."""

    def __init__(self, why: str, column: int) -> None:
        super().__init__(why)
        self.column = column


class _Node(Protocol):
    """A part of a condition."""

    @property
    def column(self) -> int:
        """The column where it begins."""

    def value(self, names: Mapping[str, Value]) -> Value:
        """Return its value for a configuration."""


@dataclass(frozen=True, slots=True)
class _Constant:
    constant: Value
    column: int

    def value(self, names: Mapping[str, Value]) -> Value:
        return self.constant


@dataclass(frozen=True, slots=True)
class _Name:
    name: str
    column: int

    def value(self, names: Mapping[str, Value]) -> Value:
        return names[self.name]


@dataclass(frozen=True, slots=True)
class _Chain:
    """A chain of comparisons, all of which must hold."""

    atoms: tuple[_Node, ...]
    signs: tuple[tuple[str, int], ...]
    column: int

    def value(self, names: Mapping[str, Value]) -> Value:
        values = [atom.value(names) for atom in self.atoms]
        pairs = zip(values, values[1:], self.signs, strict=False)
        return all(_compare(left, right, *sign) for left, right, sign in pairs)


@dataclass(frozen=True, slots=True)
class _Joined:
    """Conditions joined by ``and`` or ``or``."""

    join: Callable[[Iterable[bool]], bool]
    parts: tuple[_Node, ...]
    column: int

    def value(self, names: Mapping[str, Value]) -> Value:
        return self.join(_truth(part, names) for part in self.parts)


@dataclass(frozen=True, slots=True)
class _Not:
    part: _Node
    column: int

    def value(self, names: Mapping[str, Value]) -> Value:
        return not _truth(self.part, names)


def _number(word: str) -> int | float:
    """Read a number; whole numbers stay exact."""
    try:
        return int(word)
    except ValueError:
        return float(word)


def _truth(part: _Node, names: Mapping[str, Value]) -> bool:
    """Return whether a part holds; a number or a text is not a condition."""
    value = part.value(names)
    if not isinstance(value, bool):
        raise ConditionError(
            f"{value!r} is neither true nor false; compare it with a value", part.column
        )
    return value


def _compare(left: Value, right: Value, sign: str, column: int) -> bool:
    """Compare two values; values of different kinds are unequal and have no order."""
    sorts = {
        bool if isinstance(v, bool) else str if isinstance(v, str) else float: v
        for v in (left, right)
    }
    if sign in ("==", "!="):
        return (len(sorts) == 1 and left == right) == (sign == "==")
    if len(sorts) > 1 or bool in sorts:
        raise ConditionError(f"{left!r} {sign} {right!r}: these values have no order", column)
    return _ORDERS[sign](left, right)


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition; made by `parse_condition`.

    Attributes
    ----------
    text : str
    node : object
        What was understood.
    line, column : int
        Where its first character stands in the study file, as far as known.
    """

    text: str
    node: _Node
    line: int = 1
    column: int = 1

    def holds(self, names: Mapping[str, Value]) -> bool:
        """Tell whether it holds for a configuration; a ConditionError if it has no answer."""
        return _truth(self.node, names)


class _Parser:
    """Reads a condition from left to right."""

    def __init__(self, text: str, names: Iterable[str]) -> None:
        self.text = text
        self.names = list(names)
        self.tokens: list[tuple[str, str, int]] = []
        at = 0
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if found is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                raise ConditionError(
                    f"'{text[at]}' is not allowed; use names, numbers, texts in quotes, "
                    "comparisons, and, or, not and parentheses",
                    at + 1,
                )
            sort = str(found.lastgroup)
            self.tokens.append((sort, found[sort], found.start(sort) + 1))
            at = found.end()
        self.tokens.append(("end", "", len(text.rstrip()) + 1))
        self.at = 0
        self.depth = 0

    @property
    def word(self) -> str:
        """The next token, unless it is a text in quotes."""
        return self.tokens[self.at][1]

    @property
    def column(self) -> int:
        """The column where it begins."""
        return self.tokens[self.at][2]

    def whole(self) -> _Node:
        """Read the whole condition."""
        node = self.either()
        if self.tokens[self.at][0] != "end":
            self.expected("'and', 'or' or the end")
        return node

    def expected(self, what: str) -> NoReturn:
        """Refuse the next token."""
        found = f"'{self.word}'" if self.word else "the end"
        raise ConditionError(f"expected {what}, found {found}", self.column)

    def either(self) -> _Node:
        """Read conditions joined by ``or``."""
        return self.joined("or", any, self.both)

    def both(self) -> _Node:
        """Read conditions joined by ``and``."""
        return self.joined("and", all, self.turned)

    def joined(
        self, word: str, join: Callable[[Iterable[bool]], bool], read: Callable[[], _Node]
    ) -> _Node:
        """Read conditions joined by a word."""
        column, parts = self.column, [read()]
        while self.word == word:
            self.at += 1
            parts.append(read())
        return parts[0] if len(parts) == 1 else _Joined(join, tuple(parts), column)

    def turned(self) -> _Node:
        """Read a condition or its negation."""
        if self.word != "not":
            return self.comparison()
        column = self.column
        self.deeper()
        self.at += 1
        node = _Not(self.turned(), column)
        self.depth -= 1
        return node

    def deeper(self) -> None:
        """Count how deeply conditions are nested."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise ConditionError(f"nested deeper than {DEEPEST} levels", self.column)

    def comparison(self) -> _Node:
        """Read an atom or a chain of comparisons."""
        column, atoms, signs = self.column, [self.atom()], []
        while self.word in ("==", "!=", *_ORDERS):
            signs.append((self.word, self.column))
            self.at += 1
            atoms.append(self.atom())
        return atoms[0] if not signs else _Chain(tuple(atoms), tuple(signs), column)

    def atom(self) -> _Node:
        """Read a number, a text, a name or a condition in parentheses."""
        sort, word, column = self.tokens[self.at]
        if word == "(":
            self.deeper()
            self.at += 1
            node = self.either()
            self.depth -= 1
            if self.word != ")":
                self.expected("')'")
            self.at += 1
            return node
        if sort in ("sign", "end") or (sort == "name" and word in _WORDS[:3]):
            self.expected("a name, a number or a text")
        self.at += 1
        if sort == "text":
            return _Constant(word[1:-1], column)
        if sort == "number":
            return _Constant(_number(word), column)
        if word in _WORDS:
            return _Constant(word == "true", column)
        if word not in self.names:
            raise ConditionError(
                f"'{word}' is not set by the sweep: {choose(self.names, word)}", column
            )
        return _Name(word, column)


def parse_condition(text: str, names: Iterable[str]) -> Condition:
    """Parse a condition.

    Parameters
    ----------
    names : iterable of str
        What the sweep sets.

    Raises
    ------
    ConditionError
        It is none; with the column.
    """
    return Condition(text, _Parser(text, names).whole())
