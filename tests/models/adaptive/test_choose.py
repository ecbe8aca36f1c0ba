"""Which mesh and threshold to choose, held against times by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.models.adaptive.machines import DECK, PLAIN, link

from hindmost.errors import UsageError
from hindmost.models.adaptive.choose import THRESHOLDS, Choice, choose
from hindmost.models.adaptive.machine import EventCost, GrindPoint, Machine, Network
from hindmost.models.adaptive.offline import Application, OfflineModel
from hindmost.models.adaptive.work import Work

CYCLE = Work(cells=1.0, steps=10, adapts=True)
WITH_HEAT = Work(cells=1.0, steps=40, iterations=80, adapts=True)


def chosen(
    machine: Machine, deck: Application, budget_s: float, *, ranks: int, cycles: int,
    work: Work = CYCLE, **values: Any,
) -> tuple[Choice, ...]:  # fmt: skip
    model = OfflineModel(machine=machine, application=deck, ranks=ranks)
    return choose(model, work, budget_s, cycles=cycles, **values)


def memory_bound(balance_s: float) -> Machine:
    """Return a machine whose cells cost twice as much beyond the cache, and more on a full node."""
    grind = tuple(
        GrindPoint(phase=phase, ranks_per_node=count, cells=cells, seconds_per_cell=cost * factor)
        for phase, cost in (("hydro", 3e-8), ("heat", 4e-9), ("adaption", 3e-8))
        for count, busy in ((1, 1.0), (4, 1.5))
        for cells, factor in ((4e3, 1.0), (16e3, 2.0 * busy))
    )
    events = tuple(
        EventCost(event="balance", ranks_per_node=count, seconds=1e-5) for count in (1, 4)
    )
    network = Network(within=link(balance_s, 0.0), within_both_ways=link(2e-6, 1e-9))
    return Machine(name="memory", ranks_per_node=4, network=network, grind=grind, events=events)


@pytest.mark.parametrize("growth", [0.005, 0.02])
@pytest.mark.parametrize("balance_s", [1e-4, 1e-2])
def test_the_threshold_that_is_chosen_is_the_best_by_hand(growth: float, balance_s: float) -> None:
    deck = Application(name="deck", solves=10, imbalance=growth, bytes_moved=41.0)
    found = chosen(
        memory_bound(balance_s), deck, 1e3, ranks=4, cycles=100, work=WITH_HEAT, cells=(16_000,)
    )
    # After n adaptions the threshold is exceeded: g (n - 1) / 2 too much until then, on average,
    # and the message, whatever its size here, once in n cycles.
    compute_s = 16e3 * 3.0 * (40 * 3e-8 + 80 * 4e-9 + 3e-8)

    def by_hand(threshold: float) -> float:
        looks = np.floor(threshold / growth + 1e-9) + 1
        return float(compute_s * (1 + growth * (looks - 1) / 2) + balance_s / looks)

    assert len({one.seconds for one in found}) == len(found)
    assert found[0].threshold == min(THRESHOLDS, key=by_hand)
    times = {one.threshold: one.seconds / 100 for one in found}
    lowest, highest = min(THRESHOLDS), max(THRESHOLDS)
    assert times[highest] - times[lowest] == pytest.approx(
        by_hand(highest) - by_hand(lowest), rel=0.1
    )


def test_a_choice_refuses_what_it_does_not_know() -> None:
    with pytest.raises(UsageError, match="budget"):
        chosen(PLAIN, DECK, 0.0, ranks=1, cycles=1)
