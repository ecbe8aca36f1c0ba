from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hindmost.errors import DataError, MissingError, UsageError
from hindmost.harness.probes.grind import cell_counts, load_kernel, on_ranks
from hindmost.harness.probes.sections.grind import described
from hindmost.harness.solo import Solo


def test_grid_is_even_in_the_logarithm() -> None:
    cells = cell_counts()
    assert (cells[0], cells[-1]) == (1400, 300_000)
    ratio = np.diff(np.log(cells))
    assert ratio.max() - ratio.min() < 0.1
    assert cell_counts("80000,1400") == (1400, 80000)


@pytest.mark.parametrize("text", ["many", "0,5", "1e5", "1400,,2", "-3"])
def test_cells_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="--cells"):
        cell_counts(text)


def test_the_median_of_each_phase_over_repeats() -> None:
    asked: list[int] = []

    def measure(cells: int, communicator: Any) -> dict[str, float]:
        asked.append(cells)
        # Slow at first, as code that is not warm is, and disturbed in the last repeat.
        slow = 50 if asked.count(cells) == 1 else 7 if asked.count(cells) == 6 else 1
        return {"hydro": slow * 30e-9, "heat": 2e-9 * cells}

    times = on_ranks(Solo(), measure, (1000, 4000, 9000), 5, seed=2)
    assert sorted(set(asked)) == [1000, 4000, 9000]
    assert asked != sorted(asked)
    points = {(point.phase, point.cells): point for each in times for point in each.points()}
    assert len(points) == 6
    for cells in (1000.0, 4000.0, 9000.0):
        assert points["hydro", cells].seconds_per_cell == pytest.approx(30e-9)
        assert points["heat", cells].seconds_per_cell == pytest.approx(2e-9 * cells)
        assert points["heat", cells].ranks_per_node == 1
    assert [len(values) for values in times[0].phases["hydro"]] == [5]


@pytest.mark.parametrize("phases", [{}, {"hydro": 0.0}, {"hydro": float("nan")}])
def test_times_that_are_none(phases: dict[str, float]) -> None:
    with pytest.raises(DataError, match="At 1000 cells"):
        on_ranks(Solo(), lambda cells, communicator: phases, (1000,), 1, seed=0)


def test_a_kernel_that_fails_is_named() -> None:
    def fails(cells: int, communicator: Any) -> dict[str, float]:
        raise ArithmeticError("the density is negative")

    with pytest.raises(DataError, match=r"1000 cells.*ArithmeticError: the density.*test_grind"):
        on_ranks(Solo(), fails, (1000,), 1, seed=0)


def test_a_machine_that_changes_is_told() -> None:
    steady = described([], "k", [1.0, 1.1, 1.0], [1.02])
    assert not steady.warnings
    assert steady.changes["speed_s"] == pytest.approx(1.01)
    assert "+20.0 %" in described([], "k", [1.0], [1.2]).warnings[0]


def test_kernels_that_cannot_be_had() -> None:
    with pytest.raises(UsageError, match="MODULE:FUNCTION"):
        load_kernel("stencil")
    with pytest.raises(MissingError, match="absent"):
        load_kernel("absent.module:measure")
    with pytest.raises(MissingError, match="--kernel"):
        load_kernel("math:absent")
