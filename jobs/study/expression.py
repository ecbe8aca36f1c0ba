"""Conditions on configurations, such as ``ranks > 128 and unknowns < 8e6``: never executed.

They are written as in Python, whose parser reads them: comparisons of names, numbers and texts in
quotes, ``and``, ``or``, ``not`` and parentheses; ``true`` and ``false`` as in TOML. Everything else
of Python is refused.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hindmost.jobs.core.plan import Value
from hindmost.text import choose

ALLOWED = "names, numbers, texts in quotes, comparisons, and, or, not and parentheses"
TRUTHS = {"true": True, "false": False}
SIGNS: dict[type[ast.cmpop], tuple[str, Callable[[Value, Value], bool]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}


class ConditionError(ValueError):
    """A condition is not valid; ``column`` counts characters of its text from 1."""

    def __init__(self, why: str, column: int) -> None:
        super().__init__(why)
        self.column = column


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A parsed condition; made by `parse_condition`.

    Attributes
    ----------
    text : str
    parsed : ast.expr
        Of `source_of` the text.
    """

    text: str
    parsed: ast.expr

    def holds(self, names: Mapping[str, Value]) -> bool:
        """Tell whether it holds for a configuration; a ConditionError if it has no answer."""
        return self._truth(self.parsed, names)

    def _truth(self, part: ast.expr, names: Mapping[str, Value]) -> bool:
        """Return whether a part holds; a number or a text is not a condition."""
        value = self._value(part, names)
        if not isinstance(value, bool):
            why = f"{value!r} is neither true nor false; compare it with a value"
            raise ConditionError(why, column_of(part, self.text))
        return value

    def _value(self, part: ast.expr, names: Mapping[str, Value]) -> Value:
        name = name_of(part, self.text)
        if name in names:
            return names[name]
        match part:
            case ast.Name(id=word):
                return TRUTHS[word]
            case ast.BoolOp(op=ast.And(), values=parts):
                return all(self._truth(each, names) for each in parts)
            case ast.BoolOp(values=parts):
                return any(self._truth(each, names) for each in parts)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return not self._truth(inner, names)
            case ast.Compare(left=left, ops=ops, comparators=others):
                values = [self._value(each, names) for each in (left, *others)]
                return all(
                    self._compared(one, other, type(op), part)
                    for one, other, op in zip(values, values[1:], ops, strict=False)
                )
        value: Value = ast.literal_eval(part)  # a number, which may have a sign, or a text
        return value

    def _compared(self, one: Value, other: Value, op: type[ast.cmpop], part: ast.expr) -> bool:
        """Compare two values; values of different kinds are unequal and have no order."""
        sign, compare = SIGNS[op]
        kinds = {kind_of(one), kind_of(other)}
        if op in (ast.Eq, ast.NotEq):
            return (len(kinds) == 1 and one == other) == (op is ast.Eq)
        if len(kinds) > 1 or bool in kinds:
            why = f"{one!r} {sign} {other!r}: these values have no order"
            raise ConditionError(why, column_of(part, self.text))
        return compare(one, other)


def kind_of(value: Value) -> type:
    """Return bool, str, or float for all numbers."""
    return type(value) if isinstance(value, bool | str) else float


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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the parser, on what is refused below
            parsed = ast.parse(source_of(text), mode="eval").body
    except SyntaxError as error:
        column = min(max(1, (error.offset or 2) - 1), len(text) + 1)
        raise ConditionError(f"{error.msg}; use {ALLOWED}", column) from None
    except (ValueError, RecursionError, MemoryError):
        raise ConditionError(f"too deeply nested, or no text; use {ALLOWED}", 1) from None
    check(parsed, text, list(names))
    return Condition(text=text, parsed=parsed)


def check(part: ast.expr, text: str, names: list[str]) -> None:
    """Refuse what is no part of a condition."""
    if name_of(part, text) in names:
        return
    match part:
        case ast.Name(id=word):
            if word not in TRUTHS:
                why = f"'{word}' is not set by the sweep: {choose(names, word)}"
                raise ConditionError(why, column_of(part, text))
        case ast.BoolOp(values=parts):
            for each in parts:
                check(each, text, names)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            check(inner, text, names)
        case ast.Compare(left=left, ops=ops, comparators=parts) if {*map(type, ops)} <= {*SIGNS}:
            for each in (left, *parts):
                check(each, text, names)
        case ast.Constant(value=str() | int() | float()):
            pass
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float())):
            pass
        case _:
            found = ast.get_source_segment(source_of(text), part)
            raise ConditionError(f"'{found}' is not allowed; use {ALLOWED}", column_of(part, text))


def source_of(text: str) -> str:
    """Return what the parser is given: one line, however the text is laid out."""
    return "(" + "".join(" " if each.isspace() else each for each in text) + ")"


def name_of(part: ast.expr, text: str) -> str:
    """Return the text of a name, which may have hyphens: to the parser they are differences."""
    if not isinstance(part, ast.Name | ast.BinOp):
        return ""
    return ast.get_source_segment(source_of(text), part) or ""


def column_of(part: ast.expr, text: str) -> int:
    """Return where a part begins, in characters from 1; the parser counts bytes."""
    return max(1, len(source_of(text).encode()[: part.col_offset].decode()))
