"""P-values in words."""

from __future__ import annotations

import pytest

from hindmost.models.significance import p_number, p_words


@pytest.mark.parametrize(
    ("p_value", "told"),
    [(0.0, "p < 1e-15"), (1e-300, "p < 1e-15"), (2e-15, "p = 2e-15"), (0.0213, "p = 0.021")],
)
def test_no_p_value_is_told_to_be_zero(p_value: float, told: str) -> None:
    assert p_words(p_value) == told


def test_digits_are_those_asked_for() -> None:
    assert p_number(0.0213, 1) == "0.02"
