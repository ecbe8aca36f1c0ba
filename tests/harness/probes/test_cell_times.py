from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hindmost.errors import DataError, MissingError, UsageError
from hindmost.harness.probes.cell_times import (
    CellTimes,
    GrindTimes,
    NodeTimes,
    cell_counts,
    described,
    load_kernel,
    on_ranks,
)
from hindmost.harness.probes.section import ProbeResult
from hindmost.harness.solo import Solo
from hindmost.models.adaptive.machine import ELASTICITY


def test_grid_is_even_in_the_logarithm() -> None:
    cells = cell_counts()
    assert (cells[0], cells[-1]) == (1400, 300_000)
    ratio = np.diff(np.log(cells))
    assert ratio.max() - ratio.min() < 0.1
    assert cell_counts("80000,1400") == (1400, 80000)


@pytest.mark.parametrize("text", ["", "many", "0,5", "1e5", "1400,,2", "-3"])
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

    times = on_ranks(Solo(), measure, (1000, 4000, 9000), 5)
    assert sorted(set(asked)) == [1000, 4000, 9000]
    assert asked != sorted(asked)
    points = {(point.phase, point.cells): point for each in times for point in each.points()}
    assert len(points) == 6
    for cells in (1000.0, 4000.0, 9000.0):
        assert points["hydro", cells].seconds_per_cell == pytest.approx(30e-9)
        assert points["heat", cells].seconds_per_cell == pytest.approx(2e-9 * cells)
        assert points["heat", cells].ranks_per_node == 1
    assert [len(values) for values in times[0].phases["hydro"]] == [5]


def test_the_cells_that_it_ran_on_are_kept_and_events_with_them() -> None:
    def measure(cells: int, communicator: Any) -> CellTimes:
        return CellTimes(
            cells=2 * cells + 0.5,
            phases={"hydro": 3e-8},
            events={"balance": 1e-6 * cells, "combine": 0.0},
        )

    times = on_ranks(Solo(), measure, (1000, 1400, 5000), 2)
    assert [(each.asked, each.cells) for each in times] == [
        (1000, 2000.5), (1400, 2800.5), (5000, 10000.5),
    ]  # fmt: skip
    assert [point.cells for each in times for point in each.points()] == [2000.5, 2800.5, 10000.5]
    node = NodeTimes(ranks_per_node=1, sizes=tuple(times))
    assert {each.event: each.seconds for each in node.events} == pytest.approx(
        {"balance": 1.4e-3, "combine": 0.0}
    )


def test_times_are_scaled_to_the_speed_at_which_the_machine_was_fast() -> None:
    asked: list[int] = []

    def measure(cells: int, communicator: Any) -> CellTimes:
        asked.append(cells)
        slow = 1.6 if asked.count(cells) in (2, 3, 5) else 1.0  # three repeats of five
        return CellTimes(
            cells=cells,
            phases={"hydro": slow * 3e-8},
            events={"balance": slow * 1e-6, "loop": slow * 1e-9 * cells},
            pulse_s=slow ** (1.0 / ELASTICITY) * 4e-6,
        )

    sizes = tuple(on_ranks(Solo(), measure, (1000, 4000), 5))
    node = NodeTimes(ranks_per_node=1, sizes=sizes)
    changes = described([node], "k").changes
    assert [each.seconds_per_cell for each in changes["grind"]] == pytest.approx([3e-8, 3e-8])
    assert [(each.event, each.cells) for each in changes["events"]] == [
        ("balance", None), ("loop", 1000), ("loop", 4000),
    ]  # fmt: skip
    assert [each.seconds for each in changes["events"]] == pytest.approx([1e-6, 1e-6, 4e-6])
    assert [each.seconds for each in changes["pulse"]] == pytest.approx([4e-6])
    # Without pulses the medians stand as they were measured.
    bare = [point.seconds_per_cell for size in sizes for point in size.points()]
    assert bare == pytest.approx([1.6 * 3e-8] * 2)


def test_the_slowest_rank_of_each_repeat_counts() -> None:
    # Ranks take turns in being slow: in the median each is fast, but never both.
    hydro = [[3e-8, 3e-8, 4e-8, 3e-8, 4e-8], [4e-8, 5e-8, 3e-8, 4e-8, 3e-8]]
    pulses = [[4e-6] * 5, [4e-6, 2.0 ** (1.0 / ELASTICITY) * 4e-6, 4e-6, 4e-6, 4e-6]]
    times = GrindTimes(
        ranks_per_node=2, asked=1000, cells=1000.0,
        phases={"hydro": hydro}, events={"divide": hydro}, pulses=pulses,
    )  # fmt: skip
    assert [each.seconds_per_cell for each in times.points()] == pytest.approx([4e-8])
    # Of the repeat in which the core of rank 1 was slow, half the time counts.
    assert [each.seconds_per_cell for each in times.points(4e-6)] == pytest.approx([4e-8])
    assert times.scaled_s(hydro, 4e-6).max(axis=0) == pytest.approx(
        [4e-8, 2.5e-8, 4e-8, 4e-8, 4e-8]
    )
    # Nobody waits in an event.
    assert times.middle_s(hydro) == pytest.approx(3.5e-8)


@pytest.mark.parametrize(
    ("ran_on", "phases"),
    [(0, {"a": 1.0}), (np.nan, {"a": 1.0}), (9, {}), (9, {"a": 0.0}), (9, {"a": np.nan})],
)
def test_times_that_are_none(ran_on: float, phases: dict[str, float]) -> None:
    def measure(cells: int, communicator: Any) -> CellTimes:
        return CellTimes(cells=ran_on, phases=phases)

    with pytest.raises(DataError, match="At 1000 cells"):
        on_ranks(Solo(), measure, (1000,), 1)


def test_a_size_that_a_kernel_refuses_is_named() -> None:
    def measure(cells: int, communicator: Any) -> dict[str, float]:
        raise UsageError("columns is 40000; allowed: a whole number from 1 to 32768.")

    with pytest.raises(UsageError, match=r"^--cells 10: columns is 40000"):
        on_ranks(Solo(), measure, [10], repeats=0)


def test_a_kernel_that_fails_is_named() -> None:
    def fails(cells: int, communicator: Any) -> dict[str, float]:
        raise ArithmeticError("the density is negative")

    with pytest.raises(
        DataError, match=r"1000 cells.*ArithmeticError: the density.*test_cell_times"
    ):
        on_ranks(Solo(), fails, (1000,), 1)


def test_a_machine_that_changes_is_told() -> None:
    def told(*hydro: list[float]) -> ProbeResult:
        size = GrindTimes(
            ranks_per_node=len(hydro), asked=1000, cells=1000.0,
            phases={"hydro": list(hydro)}, events={},
        )  # fmt: skip
        return described([NodeTimes(ranks_per_node=len(hydro), sizes=(size,))], "k")

    assert not told([1.0, 1.1, 1.02]).warnings
    assert "+20.0 % while grind was measured with 1 rank at" in told([1.0, 1.2]).warnings[0]
    # Of two ranks at once the slower counts, as in a run.
    assert not told([1.0, 1.2], [1.3, 1.3]).warnings


@pytest.mark.parametrize("name", ["math", "absent.module:measure", "math:absent", "..:measure"])
def test_kernels_that_cannot_be_had(name: str) -> None:
    with pytest.raises(MissingError, match="--kernel MODULE:FUNCTION"):
        load_kernel(name)


def test_a_kernel_whose_module_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ends_when_imported.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingError, match="SystemExit: 3"):
        load_kernel("ends_when_imported:measure")
