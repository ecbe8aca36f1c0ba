"""Conditions, against Python's own reading of the same text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindmost.jobs.core.plan import Value
from hindmost.jobs.study.expression import ConditionError, parse_condition

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


@given(CONDITIONS)
def test_a_condition_means_what_it_means_in_python(text: str) -> None:
    assert parse_condition(text, NAMES).holds(NAMES) == bool(eval(text, {}, dict(NAMES)))


def test_whole_numbers_are_compared_exactly() -> None:
    condition = parse_condition("ranks == 9007199254740993", NAMES)
    assert [condition.holds({"ranks": 9007199254740992 + more}) for more in (0, 1)] == [False, True]


@pytest.mark.parametrize("text", ["ranks == 1 and solver < 2", "ranks == 16 or solver < 2"])
def test_what_decides_nothing_is_not_asked(text: str) -> None:
    assert parse_condition(text, NAMES).holds(NAMES) == (" or " in text)


def test_words_for_true_and_false() -> None:
    assert parse_condition("fine == true and not false", NAMES).holds(NAMES)


def test_names_may_have_hyphens_and_texts_several_lines() -> None:
    names: dict[str, Value] = {"blocks-per-rank": 4, "blocks": 9, "grid-2": "a"}
    text = "blocks-per-rank < 5\n  and grid-2 == 'a' and not blocks < 9"
    assert parse_condition(text, names).holds(names)
    with pytest.raises(ConditionError, match="'blocks-rank' is not allowed"):
        parse_condition("blocks-rank < 5", names)


@pytest.mark.parametrize("text", ["solver == 16", "fine == 1", "1 == true"])
def test_values_of_two_sorts_are_unequal(text: str) -> None:
    assert not parse_condition(text, NAMES).holds(NAMES)


@pytest.mark.parametrize(
    ("text", "column", "word"),
    [
        ("ranks > ", 9, "invalid syntax; use names"),
        ("rnks > 2", 1, "did you mean ranks?"),
        ("ranks > 2 and solvr == 'x'", 15, "did you mean solver?"),
        ("ranks >> 2", 1, "'ranks >> 2' is not allowed"),
        ("ranks = 2", 1, "cannot assign|invalid syntax"),
        ("ranks > 2)", 11, "unmatched"),
        ("ranks 2", 1, "invalid syntax"),
        ("ranks is 2", 1, "is not allowed"),
        ("ranks in (2, 3)", 1, "is not allowed"),
        ("ranks > 2 if fine else fine", 1, "is not allowed"),
        ("fine == True == None", 17, "'None' is not allowed"),
        ("__import__('os')", 1, "is not allowed"),
        ("ranks.real > 1", 1, "'ranks.real' is not allowed"),
        ("ranks > 2x", 9, "invalid decimal literal"),
        ("solver == 'gmres", 11, "unterminated string"),
        ("ranks > 2j", 9, "'2j' is not allowed"),
        ("", 1, "is not allowed"),
        ("and", 1, "invalid syntax"),
        ("(" * 1000, 200, "too many nested"),
    ],
)
def test_errors_have_their_column(text: str, column: int, word: str) -> None:
    with pytest.raises(ConditionError, match=word) as caught:
        parse_condition(text, NAMES)
    assert caught.value.column == column


@pytest.mark.parametrize(
    ("text", "column", "word"),
    [
        ("fine and ranks", 10, "neither true nor false"),
        ("ranks < 2 or solver > 3", 14, "have no order"),
        ("fine > false", 1, "have no order"),
    ],
)
def test_what_cannot_be_told(text: str, column: int, word: str) -> None:
    with pytest.raises(ConditionError, match=word) as caught:
        parse_condition(text, NAMES).holds(NAMES)
    assert caught.value.column == column


@given(st.text(max_size=20) | st.text("()<>=! andortnks'\"1.e-", max_size=30))
def test_any_text_is_a_condition_or_refused(text: str) -> None:
    column = 1
    try:
        parse_condition(text, NAMES).holds(NAMES)
    except ConditionError as error:
        column = error.column
    assert 1 <= column <= len(text) + 1
