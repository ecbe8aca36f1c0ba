"""Formulas against Python's own evaluator and against growth that is measured far out."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hindmost.analysis.scaling.formula import FLAT, parse
from hindmost.errors import UsageError

PARAMETERS = ("p", "n")

NUMBERS = st.sampled_from(["2", "0.5", "10", "1e3", "3.", ".25"])
EXPONENTS = st.sampled_from(["2", "(1/2)", "-1", "1.5", "(-1/3)", "0"])


def deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from([" + ", "-", " *", "/ "]), inner).map("".join),
        st.tuples(inner).map(lambda each: f"({each[0]})"),
        st.tuples(inner).map(lambda each: f"-{each[0]}" if each[0][0] != "-" else each[0]),
        st.tuples(st.sampled_from(["log2", "log", "sqrt"]), inner).map(
            lambda each: f"{each[0]}({each[1]})"
        ),
        st.tuples(inner, st.sampled_from(["^", "**"]), EXPONENTS).map(
            lambda each: f"({each[0]}){each[1]}{each[2]}"
        ),
    )


FORMULAS = st.recursive(st.one_of(NUMBERS, st.sampled_from(PARAMETERS)), deeper, max_leaves=8)


def by_python(text: str, p: float, n: float) -> float | None:
    names = {"p": p, "n": n, "log2": math.log2, "log": math.log, "sqrt": math.sqrt}
    try:
        value = eval(text.replace("^", "**"), {"__builtins__": {}}, names)
    except (ValueError, ZeroDivisionError, OverflowError, TypeError):  # the last: complex numbers
        return None
    return value if isinstance(value, float | int) and math.isfinite(value) else None


@given(text=FORMULAS, p=st.floats(1.5, 1e4), n=st.floats(0.5, 100.0))
@example(text="(log2(-2))^0", p=2.0, n=1.0)
def test_values_are_those_of_python(text: str, p: float, n: float) -> None:
    expected = by_python(text, p, n)
    found = parse(text, PARAMETERS)({"p": p, "n": n})
    if expected is None:
        assert not math.isfinite(found)
    else:
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-300)


@given(text=st.text(alphabet="pn2 .+-*/^()logsqrt,_%:", max_size=20))
def test_anything_else_is_a_usage_error_that_repeats_it(text: str) -> None:
    try:
        told = repr(parse(text, PARAMETERS).text)
    except UsageError as error:
        told = str(error)
    assert repr(text) in told


@pytest.mark.parametrize(
    ("text", "growth"),
    [
        ("7", FLAT),
        ("log2(p)", (0.0, 1.0)),
        ("3 + p*log2(p)^2", (1.0, 2.0)),
        ("p^2/n + p*log(p)", (2.0, 0.0)),
        ("sqrt(p)*log2(p)", (0.5, 1.0)),
        ("sqrt(p*log2(p))", (0.5, 0.5)),
        ("1/p", (-1.0, 0.0)),
        ("1 + 1/p", FLAT),
        ("p^(1/3)", (1.0 / 3.0, 0.0)),
        ("log2(p^2 * n)", (0.0, 1.0)),
        ("log2(log2(p))", FLAT),
        ("n^3", FLAT),
        ("-p**-2", (-2.0, 0.0)),
    ],
)
def test_leading_growth(text: str, growth: tuple[float, float]) -> None:
    formula = parse(text, PARAMETERS)
    assert formula.growth("p") == pytest.approx(growth)
    # Far out, doubling log p tells powers from logarithms.
    near, far = 2.0**200, 2.0**400
    if text != "log2(log2(p))":
        ratio = formula({"p": far, "n": 1.0}) / formula({"p": near, "n": 1.0})
        expected = 200.0 * growth[0] + growth[1]
        assert math.log2(ratio) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("log3(p)", "'log3' is neither a parameter nor a function"),
        ("p + q", "'q' is neither a parameter nor a function"),
        ("p +", "invalid syntax"),
        ("", "invalid syntax"),
        ("(p", "'(' was never closed"),
        ("p)", "unmatched ')'"),
        ("2p", "invalid"),
        ("p^n", "must be a number"),
        ("log2 + 1", "'(' is missing after log2"),
        ("2^p", "must be a number"),
        ("log2 p", "invalid syntax"),
        ("p $ 2", "invalid syntax"),
        ("__import__(p)", "'__import__' is neither a parameter nor a function"),
        ("p^(1/0)", "must be a number"),
        ("(" * 500 + "p" + ")" * 500, "nested"),
    ],
)
def test_mistakes_are_shown(text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(text, PARAMETERS)
    assert words in str(refused.value)


def test_parameters_that_are_no_words() -> None:
    formula = parse("2*unknowns-per-rank + lambda", ("lambda", "unknowns-per-rank"))
    assert formula({"lambda": 5.0, "unknowns-per-rank": 10.0}) == 25.0


def test_growth_of_parameters_together() -> None:
    formula = parse("p*log2(n) + n^2/p", PARAMETERS)
    assert formula.growth("p") == (1.0, 0.0)
    assert formula.growth("n") == (2.0, 0.0)
    assert formula.growth("p", "n") == (1.0, 1.0)
