"""The grind probe: the kernel under it, how heat is shared between its parts, and its points."""

from typing import Any

import numpy as np
import pytest
from tests.alone import ALONE

from hindmost.harness.adaptive.phases import PhaseClock
from hindmost.harness.probes import grind
from hindmost.harness.probes.grind import (
    CELLS,
    CellTimes,
    GrindTimes,
    described,
    heat_costs,
    measure,
    on_ranks,
)
from hindmost.harness.solo import Solo
from hindmost.models.adaptive.machine import ELASTICITY


def test_what_it_ran_on_is_told_not_what_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grind, "CELL_STEPS", 60_000)
    measured = measure(3000, ALONE)
    # By hand: the same cycles, their cells counted.
    kernel = grind.kernel_of(3000, ALONE, PhaseClock())
    for _ in range(grind.WARM):
        kernel.cycle()
    cells = [kernel.cycle()["cells"] for _ in range(grind.CYCLES)]
    assert measured.cells == pytest.approx(sum(cells) / len(cells))
    assert measured.cells != 3000
    assert set(measured.phases) == {"hydro", "heat", "heat-solve", "adaption"}
    calls = {"exchange", "reduce", "loop"}
    assert set(measured.events) == {"balance"} | calls
    assert min(measured.events[name] for name in calls) > 0
    assert min(measured.phases.values()) > 0
    assert kernel.deck.steps == kernel.deck.heats * grind.STEPS_A_SOLVE


@pytest.mark.parametrize("cells", [2800, 9000, 40_000])
def test_the_mesh_comes_near_to_what_is_wanted(cells: int) -> None:
    kernel = grind.kernel_of(cells, ALONE, PhaseClock())
    assert kernel.mesh.patch.owned == pytest.approx(cells, rel=0.1)


def test_heat_is_shared_between_iterations_and_solves() -> None:
    # 100 cells, 40 solves of 7 iterations: 2 ns an iteration and 9 ns a solve.
    seconds = 100 * (280 * 2e-9 + 40 * 9e-9)
    assert heat_costs(seconds, 28_000, 4000, 2e-9) == pytest.approx((2e-9, 9e-9))
    # Whatever the time of an iteration was found to be, the whole is what cycles took.
    for found in (1e-9, 3e-9, 5e-9):
        each_s, solve_s = heat_costs(seconds, 28_000, 4000, found)
        assert 28_000 * each_s + 4000 * solve_s == pytest.approx(seconds, rel=1e-2)
    each_s, solve_s = heat_costs(seconds, 28_000, 4000, 0.0)
    assert each_s == pytest.approx(seconds / 28_000)
    assert solve_s < 0.01 * each_s
    assert heat_costs(100 * 40 * 9e-9, 0.0, 4000, 2e-9) == pytest.approx((2e-9, 9e-9))


def test_the_grid_is_even_in_the_logarithm() -> None:
    assert (CELLS[0], CELLS[-1]) == (1400, 300_000)
    ratio = np.diff(np.log(CELLS))
    assert ratio.max() - ratio.min() < 0.1


def times_of(cells: float, slow: float = 1.0, *, pulse: float | None = None) -> CellTimes:
    """Return what a machine measures that is slower by a factor, which its pulse shows or not."""
    return CellTimes(
        cells=2 * cells,
        phases={"hydro": slow * 3e-8},
        events={"balance": slow * 1e-6, "loop": slow * 1e-9 * cells},
        pulse_s=(slow if pulse is None else pulse) ** (1.0 / ELASTICITY) * 4e-6,
    )


def test_times_are_scaled_to_the_speed_at_which_the_machine_was_fast() -> None:
    asked: list[int] = []

    def timer(cells: int, communicator: Any) -> CellTimes:
        asked.append(cells)
        repeat = asked.count(cells)  # the first does not count
        return times_of(cells, 50.0 if repeat == 1 else 1.6 if repeat in (2, 3, 5) else 1.0)

    sizes = on_ranks(Solo(), timer, (1000, 4000), 5)
    assert sorted(set(asked)) == [1000, 4000]
    assert asked != sorted(asked)
    assert [len(size.times[0]) for size in sizes] == [5, 5]
    changes = described(sizes).changes
    assert [each.cells for each in changes["grind"]] == [2000, 8000]  # as it ran
    assert [each.seconds_per_cell for each in changes["grind"]] == pytest.approx([3e-8, 3e-8])
    assert [(each.event, each.cells) for each in changes["events"]] == [
        ("balance", None), ("loop", 2000), ("loop", 8000),
    ]  # fmt: skip
    assert [each.seconds for each in changes["events"]] == pytest.approx([1e-6, 1e-6, 4e-6])
    assert [each.seconds for each in changes["pulse"]] == pytest.approx([4e-6])


def test_the_slowest_rank_of_each_repeat_counts() -> None:
    # Ranks take turns in being slow: in the median each is fast, but never both.
    ranks = [[3.0, 3.0, 4.0, 3.0, 4.0], [4.0, 5.0, 3.0, 4.0, 3.0]]
    times = [[times_of(1000, each, pulse=1.0) for each in rank] for rank in ranks]
    size = GrindTimes(asked=1000, times=times)
    changes = described([size]).changes
    assert [each.seconds_per_cell for each in changes["grind"]] == pytest.approx([4 * 3e-8])
    assert changes["events"][0].seconds == pytest.approx(3.5e-6)  # nobody waits in an event
    # Of the repeat in which the core of rank 1 was slow, half the time counts.
    times[1][1] = times_of(1000, 5.0, pulse=2.0)
    scaled = size.scaled_s(size.values("phases")["hydro"], 4e-6).max(axis=0) / 3e-8
    assert scaled == pytest.approx([4.0, 2.5, 4.0, 4.0, 4.0])


def test_a_machine_that_changes_is_told() -> None:
    def told(*ranks: tuple[float, ...]) -> tuple[str, ...]:
        times = [[times_of(1000, each, pulse=1.0) for each in rank] for rank in ranks]
        return described([GrindTimes(asked=1000, times=times)]).warnings

    assert not told((1.0, 1.1, 1.02))
    assert "+20.0 % while grind was measured with 1 rank at" in told((1.0, 1.2))[0]
    # Of two ranks at once the slower counts, as in a run.
    assert not told((1.0, 1.2), (1.3, 1.3))
