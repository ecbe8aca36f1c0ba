"""Conditions, against Python's own reading of the same text."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindmost.jobs.core.plan import Value
from hindmost.jobs.study.study import TRUTHS, parse_condition

NAMES: dict[str, Value] = {
    "ranks": 16,
    "unknowns": 1000000,
    "solver": "gmres",
    "fine": True,
    "tolerance": 1e-8,
}

NUMBERS = st.sampled_from(["ranks", "unknowns", "tolerance", "16", "-3", "8e6", ".5", "1_000_000"])
TEXTS = st.sampled_from(["solver", '"gmres"', "'pgmres'", '"and"', "')'"])
SIGN = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    atoms = draw(st.sampled_from([NUMBERS, TEXTS]))
    text = draw(atoms)
    for _ in range(draw(st.integers(1, 2))):
        text += f" {draw(SIGN)}{draw(st.sampled_from(['', '  ']))}{draw(atoms)}"
    return text


CONDITIONS = st.recursive(
    comparisons() | st.just("fine"),
    lambda inner: (
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join)
        | inner.map(lambda text: f"( {text})")
        | inner.map(lambda text: f"not {text}")
    ),
    max_leaves=8,
)


def holds(text: str) -> bool:
    return parse_condition(text, tuple(NAMES)).holds({**TRUTHS, **NAMES})


@given(CONDITIONS)
def test_a_condition_means_what_it_means_in_python(text: str) -> None:
    assert holds(text) == bool(eval(text, {}, dict(NAMES)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ranks == 1 and solver < 2", False),  # what decides nothing is not asked
        ("ranks == 16 or solver < 2", True),
        ("fine == true and not false", True),
        ("ranks < 17\n  and solver == 'gmres'", True),
        ("solver == 16", False),
    ],
)
def test_what_holds(text: str, expected: bool) -> None:
    assert holds(text) is expected


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("ranks > ", "invalid syntax; use names"),
        ("rnks > 2", r"did you mean ranks\?"),
        ("ranks > 2 and solvr == 'x'", r"did you mean solver\?"),
        ("ranks >> 2", "'ranks >> 2' is not allowed"),
        ("ranks - 1 > 2", "'ranks - 1' is not allowed"),
        ("ranks = 2", "cannot assign|invalid syntax"),
        ("ranks > 2)", "unmatched"),
        ("ranks > 2) or (fine", "unmatched"),
        ("ranks 2", "invalid syntax"),
        ("ranks is 2", "is not allowed"),
        ("ranks in (2, 3)", "is not allowed"),
        ("ranks > 2 if fine else fine", "is not allowed"),
        ("fine == True == None", "'True' is not allowed"),
        ("__import__('os')", "is not allowed"),
        ("ranks.real > 1", "'ranks.real' is not allowed"),
        ("ranks > 2x", "invalid decimal literal"),
        ("solver == 'gmres", "unterminated string"),
        ("ranks > 2j", "'2j' is not allowed"),
        ("", "invalid syntax"),
        ("and", "invalid syntax"),
        ("(" * 1000, "too many nested"),
    ],
)
def test_what_is_no_condition_is_refused(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        parse_condition(text, tuple(NAMES))


@pytest.mark.parametrize(
    ("text", "word"),
    [("fine and ranks", "neither true nor false"), ("ranks < 2 or solver > 3", "have no order")],
)
def test_what_cannot_be_told(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        holds(text)


@given(st.text(max_size=20) | st.text("()<>=! andortnks'\"1.e-", max_size=30))
def test_any_text_is_a_condition_or_refused(text: str) -> None:
    with suppress(ValueError):
        holds(text)
