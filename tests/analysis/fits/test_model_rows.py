"""Rows of models that say the same are shown once."""

from __future__ import annotations

from hindmost.analysis.fits.tables import without_the_same

WITH = ("max-plus", "explains", "404 ms", "+3.9 %", "Ranks wait for neighbours.")
WITHOUT = ("max-plus-no-halo", "explains", "404 ms", "+3.9 %", "Ranks wait for reductions only.")
MEAN = ("mean-work", "identity", "404 ms", "+3.9 %", "400 bodies.")


def test_max_plus_without_halos_is_a_row_only_where_it_differs() -> None:
    (same, other) = without_the_same([WITH, WITHOUT, MEAN])
    assert same[-1].endswith("The same without halos (max-plus-no-halo).")
    assert other == MEAN
    differs = (*WITHOUT[:2], "410 ms", *WITHOUT[3:])
    assert without_the_same([WITH, differs, MEAN]) == [WITH, differs, MEAN]
