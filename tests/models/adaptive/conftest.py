"""Machines that match a law of drawn cycles, and laws that stand for a quiet and a loaded one."""

from collections.abc import Callable

import pytest
from benchmarks.synthetic.cycles import CycleLaw

from hindmost.models.adaptive.machine import GrindPoint, Machine, Network
from hindmost.models.adaptive.offline import Application, Count, Exchange, OfflineModel
from hindmost.models.simulation.network import Link, Piece


def link(latency_s: float, per_byte_s: float = 0.0) -> Link:
    return Link(pieces=(Piece(from_bytes=0, latency_s=latency_s, per_byte_s=per_byte_s),))


@pytest.fixture
def model_of() -> Callable[..., OfflineModel]:
    """Return what makes the offline model that a law follows, but for a factor on its pace."""

    def make(law: CycleLaw, *, pace: float = 1.0) -> OfflineModel:
        costs = {"hydro": law.hydro_s, "heat": law.heat_s, "adaption": law.adaption_s}
        grind = tuple(
            GrindPoint(phase=phase, ranks_per_node=1, cells=cells, seconds_per_cell=pace * cost)
            for phase, cost in costs.items()
            for cells in (1e3, 1e5)
        )
        way = link(law.message_s or 1e-6)
        machine = Machine(
            name="drawn",
            ranks_per_node=2,
            network=Network(within=way, within_both_ways=way),
            grind=grind,
        )
        application = Application(
            name="drawn",
            exchanges=(Exchange(count=Count(per_step=1, per_iteration=1), bytes_per_cell=32.0),),
            reductions=Count(per_step=0.5, per_iteration=1.0),
        )
        ranks = 2 if law.message_s else 1
        return OfflineModel(machine=machine, application=application, ranks=ranks)

    return make
