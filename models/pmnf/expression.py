"""Models as text: for people and for LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hindmost.models.pmnf.term import Term


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """One way to write a model.

    Attributes
    ----------
    power : str
        Of a parameter, with ``{name}`` and ``{exponent}``.
    logarithm, logarithm_power : str
        Of a parameter, to the first and to another power.
    product : str
        Between factors.
    scientific : str
        Of a number, with ``{mantissa}`` and ``{exponent}``.
    """

    power: str
    logarithm: str
    logarithm_power: str
    product: str
    scientific: str

    def number(self, value: float) -> str:
        """Write a coefficient with three digits."""
        digits = f"{value:.4g}"
        if "e" not in digits:
            return digits
        mantissa, exponent = digits.split("e")
        return self.scientific.format(mantissa=mantissa, exponent=int(exponent))

    def term(self, term: Term, names: Sequence[str]) -> str:
        """Write a term without its coefficient."""
        factors = []
        for name, (power, of_logarithm) in zip(names, term.exponents, strict=True):
            if power == 1:
                factors.append(name)
            elif power:
                factors.append(self.power.format(name=name, exponent=fraction(power)))
            if of_logarithm == 1:
                factors.append(self.logarithm.format(name=name))
            elif of_logarithm:
                factors.append(
                    self.logarithm_power.format(name=name, exponent=fraction(of_logarithm))
                )
        return self.product.join(factors)

    def model(
        self,
        constant: float,
        coefficients: Sequence[float],
        terms: Sequence[Term],
        names: Sequence[str],
    ) -> str:
        """Write a whole model; a constant of 0 is left out if there are terms."""
        parts = [
            self.number(abs(coefficient)) + self.product + self.term(term, names)
            for coefficient, term in zip(coefficients, terms, strict=True)
        ]
        signs = ["-" if coefficient < 0.0 else "+" for coefficient in coefficients]
        if constant or not parts:
            parts.insert(0, self.number(abs(constant)))
            signs.insert(0, "-" if constant < 0.0 else "+")
        text = ("-" if signs[0] == "-" else "") + parts[0]
        for sign, part in zip(signs[1:], parts[1:], strict=True):
            text += f" {sign} {part}"
        return text


def fraction(value: Fraction) -> str:
    """Write an exponent: 2, (1/2), (-1)."""
    return str(value) if value.denominator == 1 and value >= 0 else f"({value})"


HUMAN = Hand(
    power="{name}^{exponent}",
    logarithm="log2({name})",
    logarithm_power="log2({name})^{exponent}",
    product=" * ",
    scientific="{mantissa}e{exponent}",
)
LATEX = Hand(
    power="{name}^{{{exponent}}}",
    logarithm=r"\log_2 {name}",
    logarithm_power=r"\log_2^{{{exponent}}} {name}",
    product=r" \cdot ",
    scientific=r"{mantissa} \cdot 10^{{{exponent}}}",
)
