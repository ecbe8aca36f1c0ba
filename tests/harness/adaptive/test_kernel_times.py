"""The kernel under the grind probe, and how what heat took is shared between its parts."""

from __future__ import annotations

import pytest
from tests.alone import ALONE

from hindmost.harness.adaptive import kernel_times
from hindmost.harness.adaptive.kernel_times import heat_costs, measure
from hindmost.harness.adaptive.phases import PhaseClock


def test_what_it_ran_on_is_told_not_what_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_times, "CELL_STEPS", 60_000)
    measured = measure(3000, ALONE)
    # By hand: the same cycles, their cells counted.
    kernel = kernel_times.kernel_of(3000, ALONE, PhaseClock())
    for _ in range(kernel_times.WARM):
        kernel.cycle()
    cells = [kernel.cycle()["cells"] for _ in range(kernel_times.CYCLES)]
    assert measured.cells == pytest.approx(sum(cells) / len(cells))
    assert measured.cells != 3000
    assert set(measured.phases) == {"hydro", "heat", "heat-solve", "adaption"}
    calls = {"exchange", "reduce", "loop"}
    assert set(measured.events) == {"balance"} | calls
    assert min(measured.events[name] for name in calls) > 0
    assert min(measured.phases.values()) > 0
    assert kernel.deck.steps == kernel.deck.heats * kernel_times.STEPS_A_SOLVE


@pytest.mark.parametrize("cells", [2800, 9000, 40_000])
def test_the_mesh_comes_near_to_what_is_wanted(cells: int) -> None:
    kernel = kernel_times.kernel_of(cells, ALONE, PhaseClock())
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
