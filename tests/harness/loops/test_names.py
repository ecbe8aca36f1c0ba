"""What functions are called that debug information names."""

from __future__ import annotations

import pytest

from hindmost.harness.loops.names import short


@pytest.mark.parametrize(
    ("symbol", "name"),
    [("MAIN__", "MAIN__"), ("solve_", "solve"), ("__hydro_MOD_step", "step"), ("step", "step")],
)
def test_fortran_is_named_as_in_its_source(symbol: str, name: str) -> None:
    assert short(symbol, of_fortran=True) == name


def test_templates_and_parameters_are_left_out() -> None:
    assert short("void grid::sweep<double, 3>(int, double*)") == "grid::sweep"
