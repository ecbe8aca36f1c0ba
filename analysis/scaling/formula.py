"""Formulas as people write them, like ``p*log2(p) + n^(1/2)``: evaluated, and their growth.

They are Python's expressions of parameters, numbers, + - * /, powers (``^`` or ``**``) with numbers
as exponents, parentheses and `FUNCTIONS`, and nothing else.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from hindmost.errors import UsageError

Growth = tuple[float, float]
"""Exponents (i, j) of the leading p^i log2^j(p) of a parameter p."""
FLAT: Growth = (0.0, 0.0)

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "log2": math.log2,
    "log": math.log,
    "sqrt": math.sqrt,
}
OPERATIONS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.Pow: math.pow,
    ast.UAdd: lambda value: value,
    ast.USub: lambda value: -value,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """A formula of parameters.

    Attributes
    ----------
    text : str
        As it was written.
    root : ast.expr
        Names in it are those of parameters and functions.
    """

    text: str
    root: ast.expr

    def __call__(self, values: Mapping[str, float]) -> float:
        """Return the value at a point; NaN or infinite where it has none."""
        return evaluate(self.root, values)

    def growth(self, *parameters: str) -> Growth:
        """Return the leading exponents of parameters that grow together, all others being fixed."""
        return growth(self.root, parameters)


def evaluate(node: ast.expr, values: Mapping[str, float]) -> float:
    """Return the value of a node at a point; NaN or infinite where it has none."""
    match node:
        case ast.Constant(int() | float() as value):
            return float(value)
        case ast.Name(name):
            return values[name]
        case ast.Call(ast.Name(name), arguments):
            apply: Callable[..., float] = FUNCTIONS[name]
        case ast.UnaryOp(sign, operand):
            apply, arguments = OPERATIONS[type(sign)], [operand]
        case ast.BinOp(left, sign, right):
            apply, arguments = OPERATIONS[type(sign)], [left, right]
    operands = [evaluate(argument, values) for argument in arguments]
    if not all(map(math.isfinite, operands)):  # log2(-2)^0 is no number, though pow says 1
        return math.nan
    try:
        return apply(*operands)
    except OverflowError:
        return math.inf
    except (ValueError, ZeroDivisionError):
        return math.nan


def growth(node: ast.expr, parameters: Sequence[str]) -> Growth:
    """Return the leading exponents of parameters that grow together in a node.

    Of a sum they are the larger ones, also where terms would cancel. The logarithm of a logarithm
    grows slower than any term of a model, and counts as constant.
    """
    match node:
        case ast.Name(name):
            return (1.0, 0.0) if name in parameters else FLAT
        case ast.Call(ast.Name("sqrt"), [argument]):
            power, of_logarithm = growth(argument, parameters)
            return power / 2.0, of_logarithm / 2.0
        case ast.Call(_, [argument]):
            return (0.0, 1.0) if growth(argument, parameters)[0] else FLAT
        case ast.UnaryOp(_, operand):
            return growth(operand, parameters)
        case ast.BinOp(left, sign, right):
            one, other = growth(left, parameters), growth(right, parameters)
            if isinstance(sign, ast.Add | ast.Sub):
                return max(one, other)
            if isinstance(sign, ast.Pow):
                exponent = evaluate(right, {})
                return one[0] * exponent, one[1] * exponent
            way = 1.0 if isinstance(sign, ast.Mult) else -1.0
            return one[0] + way * other[0], one[1] + way * other[1]
    return FLAT


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
        A mistake: what it is, and what a formula consists of.
    """

    def refuse(what: str) -> NoReturn:
        raise UsageError(
            f"The expectation {text!r} is no formula: {what}. It consists of the parameters "
            f"({', '.join(sorted(parameters))}), numbers, + - * / ^, parentheses, "
            f"{', '.join(FUNCTIONS)}."
        )

    # Parameters as Python's names, and powers as its powers.
    names = {word_of(name): name for name in parameters}
    longest = sorted(map(re.escape, parameters), key=len, reverse=True)
    plain = re.sub(rf"(?<!\w)({'|'.join(longest)})(?!\w)", lambda found: word_of(found[0]), text)

    def check(node: Any) -> None:
        """Refuse what is no formula; give parameters their names."""
        match node:
            case ast.Constant(int() | float() as value) if not isinstance(value, bool):
                return
            case ast.Name(name) if name in names:
                node.id = names[name]
            case ast.Name(name) if name in FUNCTIONS:
                refuse(f"'(' is missing after {name}")
            case ast.Name(name) | ast.Call(ast.Name(name)) if name not in FUNCTIONS:
                refuse(f"'{name}' is neither a parameter nor a function")
            case ast.Call(ast.Name(), [argument], []):
                check(argument)
            case ast.UnaryOp(ast.UAdd() | ast.USub(), operand):
                check(operand)
            case ast.BinOp(left, sign, right) if type(sign) in OPERATIONS:
                check(left)
                check(right)
                if isinstance(sign, ast.Pow) and not is_number(right):
                    refuse(f"the exponent '{ast.unparse(right)}' must be a number")
            case _:
                refuse(f"'{ast.unparse(node)}' is not part of one")

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            root = ast.parse(" ".join(plain.replace("^", "**").split()), mode="eval").body
        check(root)
    except UsageError:
        raise
    except SyntaxError as error:
        refuse(error.msg)
    except (ValueError, RecursionError, MemoryError):
        refuse("too many nested parts")
    return Formula(text=text, root=root)


def word_of(name: str) -> str:
    """Return a name of Python."""
    word = re.sub(r"\W|^\d", "_", name)
    return word.upper() if keyword.iskeyword(word) else word


def is_number(node: ast.expr) -> bool:
    """Say whether a checked node is a finite number, whatever the parameters are."""
    called = {each.func for each in ast.walk(node) if isinstance(each, ast.Call)}
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name) and each not in called]
    return not names and math.isfinite(evaluate(node, {}))
