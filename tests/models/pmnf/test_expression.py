from fractions import Fraction
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindmost.models.pmnf.model import Form, write_model
from hindmost.models.pmnf.space import Term

NAMES = ("p", "n")
PAIR = st.tuples(
    st.sampled_from([Fraction(each) for each in ("0", "1", "2", "1/2", "-2/3", "5/2")]),
    st.sampled_from([Fraction(each) for each in ("0", "1", "2", "1/2")]),
)
TERM = st.tuples(PAIR, PAIR).filter(lambda pairs: any(map(any, pairs)))


@given(
    st.floats(-1e6, 1e6),
    st.lists(st.tuples(st.floats(-1e6, 1e6), TERM), min_size=1, max_size=3),
    st.tuples(st.floats(1.5, 1e4), st.floats(1.5, 1e4)),
)
def test_what_people_read_computes_what_the_model_does(
    constant: float,
    parts: list[tuple[float, tuple[tuple[Fraction, Fraction], ...]]],
    point: tuple[float, float],
) -> None:
    terms = tuple(Term(exponents=pairs) for _, pairs in parts)
    rounded = [float(f"{factor:.4g}") for factor, _ in parts]
    form = Form(constant=float(f"{constant:.4g}"), coefficients=tuple(rounded), terms=terms)
    text = write_model(form.constant, form.coefficients, form.terms, NAMES)
    value = eval(text.replace("^", "**"), {"log2": log2, "p": point[0], "n": point[1]})
    sizes = abs(form.constant) + sum(
        abs(factor * float(term(np.array(point))))
        for factor, term in zip(rounded, terms, strict=True)
    )
    assert value == pytest.approx(float(form(np.array(point))), abs=1e-9 * sizes + 1e-300)


def test_a_model_is_written_with_its_signs() -> None:
    terms = (
        Term(exponents=((Fraction(0), Fraction(1)), (Fraction(0), Fraction(0)))),
        Term(exponents=((Fraction(1, 2), Fraction(2)), (Fraction(1), Fraction(0)))),
    )
    how = (1.5, (2e-7, -3.0), terms, NAMES)
    assert write_model(*how) == "1.5 + 2e-7 * log2(p) - 3 * p^(1/2) * log2(p)^2 * n"


def test_a_constant_of_zero_is_left_out_beside_terms() -> None:
    term = Term(exponents=((Fraction(1), Fraction(0)),))
    assert write_model(0.0, (2.0,), (term,), ("p",)) == "2 * p"
    assert write_model(0.0, (), (), ("p",)) == "0"
    assert write_model(-1.0, (2.0,), (term,), ("p",)) == "-1 + 2 * p"
