"""The kernel under the grind probe, and how what cycles took is shared between parts."""

from __future__ import annotations

import pytest
from tests.alone import ALONE

from hindmost.harness.adaptive import kernel_times
from hindmost.harness.adaptive.adaption_times import AdaptionCosts, Bench
from hindmost.harness.adaptive.kernel import Choices
from hindmost.harness.adaptive.kernel_times import Sums, adaption_phases, heat_phases, measure
from hindmost.harness.adaptive.phases import Phase, PhaseClock


def test_what_it_ran_on_is_told_not_what_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_times, "CELL_STEPS", 60_000)
    measured = measure(3000, ALONE)
    # By hand: the same cycles, their cells counted.
    kernel = kernel_times.kernel_of(3000, ALONE, PhaseClock())
    for _ in range(kernel_times.WARM):
        kernel.cycle()
    cells = [kernel.cycle().counts["cells"] for _ in range(kernel_times.CYCLES)]
    assert measured.cells == pytest.approx(sum(cells) / len(cells))
    assert measured.cells != 3000
    assert set(measured.phases) == {"hydro", "heat", "heat-solve", "adaption", "connection"}
    # One rank moves nothing, and waits for nobody.
    adaption, calls = {"divide", "combine", "balance"}, {"exchange", "reduce", "loop"}
    assert set(measured.events) == adaption | calls
    assert min(measured.events[name] for name in calls) > 0
    assert min(measured.phases.values()) > 0
    assert kernel.deck.steps == kernel.deck.heats * kernel_times.STEPS_A_SOLVE


@pytest.mark.parametrize("cells", [2800, 9000, 40_000])
def test_the_mesh_comes_near_to_what_is_wanted(cells: int) -> None:
    kernel = kernel_times.kernel_of(cells, ALONE, PhaseClock())
    assert kernel.mesh.patch.owned == pytest.approx(cells, rel=0.1)
    assert kernel.choices == Choices()


def test_heat_is_shared_between_iterations_and_solves() -> None:
    # 100 cells, 40 solves of 7 iterations: 2 ns an iteration and 9 ns a solve.
    seconds = 100 * (280 * 2e-9 + 40 * 9e-9)
    sums = Sums(seconds={Phase.HEAT: seconds}, iterations=28_000, solves=4000)
    assert heat_phases(sums, 2e-9) == pytest.approx({"heat": 2e-9, "heat-solve": 9e-9})
    # Whatever the time of an iteration was found to be, the whole is what cycles took.
    for found in (1e-9, 3e-9, 5e-9):
        shared = heat_phases(sums, found)
        whole = 28_000 * shared["heat"] + 4000 * shared["heat-solve"]
        assert whole == pytest.approx(seconds, rel=1e-2)
    unknown = heat_phases(sums, 0.0)
    assert unknown["heat"] == pytest.approx(seconds / 28_000)
    assert unknown["heat-solve"] < 0.01 * unknown["heat"]
    none = Sums(seconds={Phase.HEAT: 100 * 40 * 9e-9}, solves=4000)
    assert heat_phases(none, 2e-9) == pytest.approx({"heat": 2e-9, "heat-solve": 9e-9})


def test_adaption_is_shared_between_looks_changes_and_connections() -> None:
    costs = AdaptionCosts(
        look_s=2e-8, connection_s=1e-7, divide_s=5e-8, combine_s=4e-8, balance_s=1e-6, move_s=None
    )
    took = 300 * 2e-8 + 200 * 7e-8 + 10 * 5e-8 + 5 * 4e-8
    sums = Sums(seconds={Phase.ADAPTION: took}, cells=300, changed=200, divided=10, combined=5)
    assert adaption_phases(sums, costs) == pytest.approx({"adaption": 2e-8, "connection": 7e-8})
    still = Sums(seconds={Phase.ADAPTION: 6e-6}, cells=300)
    assert adaption_phases(still, costs) == pytest.approx({"adaption": 2e-8, "connection": 1e-7})


def test_what_is_divided_on_the_bench_is_combined_again() -> None:
    kernel = kernel_times.kernel_of(2800, ALONE, PhaseClock())
    bench = Bench(kernel, ALONE)
    before = kernel.mesh.patch.owned
    _, adapted = bench.change(bench.none)
    assert (adapted.divided, adapted.combined, kernel.mesh.patch.owned) == (0, 0, before)
    _, adapted = bench.change(bench.some)
    assert adapted.divided >= before // 10
    _, back = bench.change(bench.back)
    assert 0 < back.combined <= adapted.divided
    assert kernel.mesh.patch.owned == before + 3 * (adapted.divided - back.combined)
    assert bench.move() is None
