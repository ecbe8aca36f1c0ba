"""Names that are nearly those that there are."""

from __future__ import annotations

import pytest

from hindmost.analysis.history.name_patterns import suggested

NAMES = ["ant-2-20km_ml_ls_np384", "green-1-7km_pop_np384", "humboldt-1-10km_cop_fro_wdg_np384"]


@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        ("humbolt*", NAMES[2]),
        ("gren-1*", NAMES[1]),
        ("ant-2-20km_ml_ls_np38", NAMES[0]),
        ("ANT-2-20KM_ML_LS_NP384", NAMES[0]),
        ("*cop_fro*", NAMES[2]),
    ],
)
def test_the_nearest_comes_first(pattern: str, near: str) -> None:
    assert suggested(pattern, NAMES).startswith(f"The nearest are: {near!r}")
