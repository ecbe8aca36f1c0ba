"""Formulas as people write them, like ``p*log2(p) + n^(1/2)``: parsed, evaluated, and their growth.

::

    sum      = product (("+" | "-") product)*
    product  = signed (("*" | "/") signed)*
    signed   = ("+" | "-") signed | power
    power    = atom (("^" | "**") signed)?      the exponent is a number, as 2 or (1/2)
    atom     = number | parameter | function "(" sum ")" | "(" sum ")"
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from hindmost.errors import UsageError

Growth = tuple[float, float]
"""Exponents (i, j) of the leading p^i log2^j(p) of a parameter p."""
FLAT: Growth = (0.0, 0.0)

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "log2": math.log2,
    "log": math.log,
    "sqrt": math.sqrt,
}
SIGNS: dict[str, Callable[[float, float], float]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "^": lambda left, right: math.pow(left, right),
}
DEEPEST = 100
"""The most nested parentheses and signs."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>\*\*|[-+*/^()]))"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function of something."""

    function: str
    argument: Node


@dataclass(frozen=True, slots=True)
class Operation:
    """Two things, and a sign between them."""

    sign: str
    left: Node
    right: Node


Node = Number | Parameter | FunctionCall | Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """A formula of parameters.

    Attributes
    ----------
    text : str
        As it was written.
    root : Node
    """

    text: str
    root: Node

    def __call__(self, values: Mapping[str, float]) -> float:
        """Return the value at a point; NaN or infinite where it has none."""
        return evaluate(self.root, values)

    def growth(self, *parameters: str) -> Growth:
        """Return the leading exponents of parameters that grow together, all others being fixed."""
        return growth(self.root, parameters)


def evaluate(node: Node, values: Mapping[str, float]) -> float:
    """Return the value of a node at a point; NaN or infinite where it has none."""
    match node:
        case Number(value):
            return value
        case Parameter(name):
            return values[name]
        case FunctionCall(function, argument):
            operands = [evaluate(argument, values)]
            apply: Callable[..., float] = FUNCTIONS[function]
        case Operation(sign, left, right):
            operands = [evaluate(left, values), evaluate(right, values)]
            apply = SIGNS[sign]
    if not all(map(math.isfinite, operands)):  # log2(-2)^0 is no number, though pow says 1
        return math.nan
    try:
        return apply(*operands)
    except OverflowError:
        return math.inf
    except (ValueError, ZeroDivisionError):
        return math.nan


def growth(node: Node, parameters: Sequence[str]) -> Growth:
    """Return the leading exponents of parameters that grow together in a node.

    Of a sum they are the larger ones, also where terms would cancel. The logarithm of a logarithm
    grows slower than any term of a model, and counts as constant.
    """
    match node:
        case Number():
            return FLAT
        case Parameter(name):
            return (1.0, 0.0) if name in parameters else FLAT
        case FunctionCall("sqrt", argument):
            power, of_logarithm = growth(argument, parameters)
            return power / 2.0, of_logarithm / 2.0
        case FunctionCall(_, argument):
            return (0.0, 1.0) if growth(argument, parameters)[0] else FLAT
        case Operation(sign, left, right):
            one, other = growth(left, parameters), growth(right, parameters)
            if sign in "+-":
                return max(one, other)
            if sign == "^":
                exponent = evaluate(right, {})
                return one[0] * exponent, one[1] * exponent
            way = 1.0 if sign == "*" else -1.0
            return one[0] + way * other[0], one[1] + way * other[1]


def parse(text: str, parameters: Sequence[str]) -> Formula:
    """Read a formula.

    Parameters
    ----------
    text : str
    parameters : sequence of str
        The names that may occur. A name that is not a word, as ``unknowns-per-rank``, is found as
        written.

    Raises
    ------
    UsageError
        A mistake, with the place where it is.
    """
    return Formula(text=text, root=_FormulaParser(text, parameters).whole())


class _FormulaParser:
    """A formula while it is read, token by token."""

    def __init__(self, text: str, parameters: Sequence[str]) -> None:
        self.text = text
        self.parameters = sorted(parameters, key=len, reverse=True)
        self.tokens = self.split()
        self.at = 0
        self.depth = 0

    def split(self) -> list[tuple[str, str, int]]:
        """Return the tokens: kind, text and place of each."""
        tokens = []
        place = 0
        while self.text[place:].strip():
            begin = place + len(self.text[place:]) - len(self.text[place:].lstrip())
            odd = next((name for name in self.parameters if self.begins(name, begin)), None)
            if odd is not None:
                tokens.append(("name", odd, begin))
                place = begin + len(odd)
                continue
            found = _TOKEN.match(self.text, place)
            if found is None or found.lastgroup is None:
                self.refuse(f"'{self.text[begin]}' is not allowed", begin)
            tokens.append((found.lastgroup, found[found.lastgroup], begin))
            place = found.end()
        tokens.append(("end", "", len(self.text)))
        return tokens

    def begins(self, name: str, place: int) -> bool:
        """Say whether a parameter stands at a place, as a whole word."""
        after = self.text[place + len(name) : place + len(name) + 1]
        return self.text.startswith(name, place) and not re.match(r"\w", after)

    def refuse(self, what: str, place: int) -> NoReturn:
        names = ", ".join(sorted(self.parameters))
        raise UsageError(
            f"{what}, at character {place + 1} of the expectation. It consists of the parameters "
            f"({names}), numbers, + - * / ^, parentheses, {', '.join(FUNCTIONS)}.\n"
            f"    {self.text}\n    {' ' * place}^"
        )

    def whole(self) -> Node:
        node = self.sum()
        kind, text, place = self.tokens[self.at]
        if kind != "end":
            self.refuse(f"'{text}' found where an operator or the end is expected", place)
        return node

    def next_sign(self, signs: str) -> str:
        """Take a sign if it is one of some; ``**`` is ``^``."""
        kind, text, _ = self.tokens[self.at]
        text = "^" if text == "**" else text
        if kind == "sign" and text in signs:
            self.at += 1
            return text
        return ""

    def sum(self) -> Node:
        node = self.product()
        while sign := self.next_sign("+-"):
            node = Operation(sign, node, self.product())
        return node

    def product(self) -> Node:
        node = self.signed()
        while sign := self.next_sign("*/"):
            node = Operation(sign, node, self.signed())
        return node

    def signed(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            self.refuse(f"more than {DEEPEST} nested parts", self.tokens[self.at][2])
        sign = self.next_sign("+-")
        if sign:
            node = self.signed()
            node = Operation("*", Number(-1.0), node) if sign == "-" else node
        else:
            node = self.power()
        self.depth -= 1
        return node

    def power(self) -> Node:
        node = self.atom()
        if self.next_sign("^"):
            place = self.tokens[self.at][2]
            exponent = self.signed()
            if not _is_constant(exponent) or not math.isfinite(evaluate(exponent, {})):
                self.refuse("an exponent must be a number", place)
            node = Operation("^", node, exponent)
        return node

    def atom(self) -> Node:
        kind, text, place = self.tokens[self.at]
        self.at += kind != "end"
        if kind == "number":
            return Number(float(text))
        if kind == "name" and text in self.parameters:
            return Parameter(text)
        if kind == "name" and text in FUNCTIONS:
            opening = self.tokens[self.at]
            if not self.next_sign("("):
                self.refuse(f"'(' is missing after {text}", opening[2])
            return FunctionCall(text, self.closed(opening[2]))
        if kind == "name":
            self.refuse(f"'{text}' is neither a parameter nor a function", place)
        if text == "(":
            return self.closed(place)
        what = f"'{text}' found" if text else "it ends"
        return self.refuse(f"{what} where a number, a parameter or '(' is expected", place)

    def closed(self, opening: int) -> Node:
        """Read what is in parentheses, whose first one was taken."""
        node = self.sum()
        if not self.next_sign(")"):
            self.refuse("'(' without ')'", opening)
        return node


def _is_constant(node: Node) -> bool:
    match node:
        case Number():
            return True
        case Parameter():
            return False
        case FunctionCall(_, argument):
            return _is_constant(argument)
        case Operation(_, left, right):
            return _is_constant(left) and _is_constant(right)
