"""Models as text."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hindmost.models.pmnf.term import Term


def write_term(term: Term, names: Sequence[str]) -> str:
    """Write a term without its coefficient: ``p^(1/2) * log2(p)``."""
    factors = []
    for name, (power, of_logarithm) in zip(names, term.exponents, strict=True):
        for base, exponent in ((name, power), (f"log2({name})", of_logarithm)):
            if exponent:
                factors.append(base if exponent == 1 else f"{base}^{fraction(exponent)}")
    return " * ".join(factors)


def write_model(
    constant: float, coefficients: Sequence[float], terms: Sequence[Term], names: Sequence[str]
) -> str:
    """Write a whole model; a constant of 0 is left out if there are terms."""
    parts = [
        (coefficient, f"{number(coefficient)} * {write_term(term, names)}")
        for coefficient, term in zip(coefficients, terms, strict=True)
    ]
    if constant or not parts:
        parts.insert(0, (constant, number(constant)))
    (first, text), *others = parts
    signed = (f" {'-' if value < 0.0 else '+'} {part}" for value, part in others)
    return f"{'-' if first < 0.0 else ''}{text}{''.join(signed)}"


def number(value: float) -> str:
    """Write the size of a coefficient with four digits."""
    digits, exponent, power = f"{abs(value):.4g}".partition("e")
    return digits + (f"e{int(power)}" if exponent else "")


def fraction(value: Fraction) -> str:
    """Write an exponent: 2, (1/2), (-1)."""
    return str(value) if value.denominator == 1 and value >= 0 else f"({value})"
