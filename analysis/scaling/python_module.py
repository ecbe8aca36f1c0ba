"""Models as a Python module: one function a kernel, with all digits, that needs nothing else."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Sequence
from fractions import Fraction

from hindmost.analysis.scaling.kernel import KernelScaling
from hindmost.analysis.scaling.study import ScalingStudy
from hindmost.models.pmnf.expression import fraction
from hindmost.models.pmnf.model import Form, ScalingModel
from hindmost.models.pmnf.term import Term
from hindmost.printable import one_line

RESERVED = ("log2", "nan", "MODELS", *dir(builtins))
"""What the module itself needs, or would hide."""


def python_module(study: ScalingStudy, *, top: int | None = None) -> str:
    """Write the models of a study as a Python module.

    Each kernel is a function of the parameters, which returns what `KernelScaling.predict` does;
    ``MODELS`` has them by kernel and metric.

    Parameters
    ----------
    top : int, optional
        Kernels of each metric; all by default.
    """
    arguments = distinct([identifier(name) for name in study.target.parameters], taken=RESERVED)
    kernels = [metric.kernel(at) for metric in study.metrics for at in metric.order[:top].tolist()]
    several = len(study.metrics) > 1
    names = distinct(
        [
            identifier(
                f"{each.series.kernel} {each.series.metric}" if several else each.series.kernel
            )
            for each in kernels
        ],
        taken=(*RESERVED, *arguments),
    )
    parts = [
        _docstring(f"Scaling models of {study.experiment.source}, written by hindmost scale.")
        + "\n\nfrom math import log2, nan\n"
    ]
    for name, kernel in zip(names, kernels, strict=True):
        parts.append(_function(name, arguments, kernel))
    entries = "".join(
        f"    ({each.series.kernel!r}, {each.series.metric!r}): {name},\n"
        for name, each in zip(names, kernels, strict=True)
    )
    parts.append(f"MODELS = {{\n{entries}}}\n")
    return "\n\n".join(parts)


def _function(name: str, arguments: Sequence[str], kernel: KernelScaling) -> str:
    """Write one kernel."""
    series = kernel.series
    unit = f", in {series.unit}" if series.unit else ""
    about = f"Return {series.metric} of {series.kernel}{unit}: {kernel.explain()}."
    lines = [f"def {name}({', '.join(arguments)}):", "    " + _docstring(about)]
    changes = kernel.changes
    for change, segment in zip(changes, kernel.segments, strict=False):
        lines.append(f"    if {arguments[kernel.axis]} <= {change.middle!r}:")
        lines += _answer(segment.model, arguments, indent=8)
    last = kernel.segments[-1].model if changes else kernel.whole
    lines += _answer(last, arguments, indent=4)
    return "\n".join(lines) + "\n"


def _answer(model: ScalingModel | None, arguments: Sequence[str], *, indent: int) -> list[str]:
    """Write the lines that return a model's value, after a comment where it does not fit.

    Without a model they return NaN: that of all points is none of a part that departs from it.
    """
    if model is None:
        return [" " * indent + "return nan  # too few points for a model"]
    lines = [f"return {formula(model, arguments)}"]
    if model.misfit:
        about = one_line(model.misfit.explain(model.parameters))
        lines.insert(0, f"# {about[:1].upper()}{about[1:]}.")
    return [" " * indent + line for line in lines]


def formula(model: ScalingModel, arguments: Sequence[str]) -> str:
    """Write a function with all digits of its coefficients."""
    form: Form = model.form
    parts = [repr(form.constant)]
    for coefficient, term in zip(form.coefficients, form.terms, strict=True):
        parts.append(" * ".join([repr(coefficient), *_factors(term, arguments)]))
    return " + ".join(parts)


def _factors(term: Term, arguments: Sequence[str]) -> list[str]:
    """Write the factors of a term; no root is computed of a logarithm below 0."""
    factors = []
    for name, (power, of_logarithm) in zip(arguments, term.exponents, strict=True):
        if power:
            factors.append(_power(name, power))
        if of_logarithm:
            whole = of_logarithm.denominator == 1
            base = f"log2({name})" if whole else f"max(log2({name}), 0.0)"
            factors.append(_power(base, of_logarithm))
    return factors


def _power(base: str, exponent: Fraction) -> str:
    return base if exponent == 1 else f"{base} ** {fraction(exponent)}"


def identifier(name: str) -> str:
    """Make a name of Python out of any text."""
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "kernel"
    word = f"k_{word}" if word[0].isdigit() else word
    return f"{word}_" if keyword.iskeyword(word) else word


def distinct(names: Sequence[str], *, taken: Sequence[str] = ()) -> list[str]:
    """Return the names, those that were there before with a number."""
    used = set(taken)
    found = []
    for name in names:
        number, unique = 1, name
        while unique in used:
            number += 1
            unique = f"{name}_{number}"
        used.add(unique)
        found.append(unique)
    return found


def _docstring(text: str) -> str:
    """Write a docstring on one line, whatever is in the text."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"""' + " ".join(plain.split()) + '"""'
