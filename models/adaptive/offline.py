"""The offline model: the time of a cycle from a machine, an application and a pattern.

T_cycle = T_comp + T_memcon + T_GScomm + T_allreduce + T_adapt + T_load (section 2, and the model of
SAGE that it cites). T_memcon is part of the grind curve for several ranks per node.
To these comes the waiting of the ranks for each other: for a rank with more cells in T_comp, whose
cells are those of the rank with most; for detours of the system in the time of the halo.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hindmost.errors import UsageError
from hindmost.models.adaptive.application import Application
from hindmost.models.adaptive.geometry import Curve, Pattern, Surface, contention
from hindmost.models.adaptive.grind import (
    GrindCurve,
    curve_of,
    event_curve,
    event_s,
)
from hindmost.models.adaptive.machine import Machine, pace_of
from hindmost.models.adaptive.network import allreduce_s, link_between
from hindmost.models.adaptive.waiting import waiting_curve
from hindmost.models.adaptive.work import PHASES, Work
from hindmost.text import counted, plural, seconds

NOTHING = GrindCurve((0.0,), (0.0,))
"""The curve of a phase that was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTimes:
    """The time of each phase of a cycle, in seconds."""

    hydro: float = 0.0
    halo: float = 0.0
    heat: float = 0.0
    reduction: float = 0.0
    adaption: float = 0.0
    balance: float = 0.0
    loop: float = 0.0
    """Time outside all phases: the calls between them."""

    @property
    def phases_s(self) -> tuple[float, ...]:
        """Times in the order of `PHASES`."""
        return tuple(getattr(self, phase) for phase in PHASES)

    @property
    def seconds(self) -> float:
        """The whole cycle."""
        return sum(self.phases_s) + self.loop


class OfflineModel:
    """The time of a cycle, from measurements made before the run.

    Parameters
    ----------
    machine : Machine
        The only part that depends on the machine.
    application : Application
    pattern : Pattern
    ranks : int
    speed_s : float, optional
        Current time of the reference kernel on all ranks at once. Computation is scaled by its
        ratio to the time when the grind curves were measured, because curves depend on the load of
        the machine. Both are for the same number of ranks per node, because the curves already
        include contention.
    pulse_s : float, optional
        Current time of a pulse on the slowest rank; it replaces ``speed_s`` if the machine's pulse
        is known, because the same reading can follow every cycle.

    Attributes
    ----------
    pace : float
        That ratio; 1 if unknown.
    remarks : tuple of str
        Limitations of the model, as sentences.

    Raises
    ------
    DataError
        The machine has no grind curve that the application needs.
    UsageError
        Fewer than one rank, or several on a machine without a network.
    """

    def __init__(
        self,
        *,
        machine: Machine,
        application: Application,
        pattern: Pattern | None = None,
        ranks: int = 1,
        speed_s: float | None = None,
        pulse_s: float | None = None,
    ) -> None:
        if ranks < 1:
            raise UsageError(f"{ranks} ranks; at least 1 is needed.")
        if ranks > 1 and machine.network is None:
            raise UsageError(
                f"{ranks} ranks, but the machine '{machine.name}' has no network; measure it with "
                "`hindmost probe network`, or use 1 rank."
            )
        self.machine, self.application, self.ranks = machine, application, ranks
        self.pattern: Pattern = Curve() if pattern is None else pattern
        self.on_node = min(ranks, machine.ranks_per_node)
        self.remarks: tuple[str, ...] = ()
        self._pulse_s = machine.pulse_of(self.on_node)
        now = None if pulse_s is None else self.pace_of(pulse_s)
        self.pace = self._pace(speed_s) if now is None else now
        self._curves = {
            "hydro": curve_of(machine, "hydro", self.on_node),
            "heat": self._curve("heat", application.iterations > 0 or application.solves > 0),
            "heat-solve": self._curve("heat-solve"),
            "adaption": self._curve("adaption"),
            # Calls are timed on one rank, where nobody waits.
            **{event: event_curve(machine, event, 1) for event in ("exchange", "reduce", "loop")},
        }
        self._balance_s = event_s(machine, "balance", self.on_node)
        self._allreduce_s = allreduce_s(machine, ranks, application.reduction_bytes)
        self._waiting = waiting_curve(machine.noise, ranks)
        self._last: tuple[Work | None, float, tuple[float, ...], float] = (None, 0.0, (), 0.0)
        network = machine.network
        across = ranks > machine.ranks_per_node
        self._link = self._one_way = None
        if network is not None:
            self._link = link_between(network, across=across, both_ways=True)
            self._one_way = link_between(network, across=across, both_ways=False)

    def pace_of(self, pulse_s: float) -> float | None:
        """Return the pace that a pulse shows; None if the machine's was not measured."""
        then_s = self._pulse_s
        return None if then_s is None else pace_of(pulse_s, then_s)

    def _pace(self, speed_s: float | None) -> float:
        """Compare the speed with that of the same number of ranks per node."""
        then_s = self.machine.speed_of(self.on_node)
        if speed_s is None:
            return 1.0
        if then_s is None:
            self.remarks = (
                f"The machine's speed was not measured with {self.on_node} "
                f"{plural(self.on_node, 'rank')} per node, so computation is assumed to be as "
                f"fast as when it was probed; `mpiexec -n {self.on_node} hindmost probe grind` "
                "measures it.",
            )
            return 1.0
        return speed_s / then_s

    def _curve(self, phase: str, needed: bool = False) -> GrindCurve:
        """Return a grind curve; zeros if the phase was not measured and is not needed."""
        if needed or any(point.phase == phase for point in self.machine.grind):
            return curve_of(self.machine, phase, self.on_node)
        return NOTHING

    def phase_times(
        self,
        work: Work,
        *,
        iterations: float | None = None,
        moved: float | None = None,
    ) -> PhaseTimes:
        """Return the time of each phase.

        Parameters
        ----------
        iterations : float, optional
            Iterations of the heat solver, if known better than in ``work``.
        moved : float, optional
            Cells that move to another rank, if known; by default the application's share.
        """
        hydro, halo, heat, reduction, adaption, balance = self.phases_s(
            work, self._expected(work) if iterations is None else iterations
        )
        if work.adapts and moved is not None:
            balance = self._balance_s + self._load_s(moved)
        return PhaseTimes(
            hydro=hydro,
            halo=halo,
            heat=heat,
            reduction=reduction,
            adaption=adaption,
            balance=balance,
            loop=self.loop_s(work),
        )

    def cycle_s(self, work: Work, iterations: float, *, pace: float | None = None) -> float:
        """Return the time of the whole cycle; see `phases_s`.

        Parameters
        ----------
        pace : float, optional
            Of the computation; by default the model's own.
        """
        phases = self.phases_s(work, iterations)
        loop_s = self.loop_s(work)
        if pace is None:
            return sum(phases) + loop_s
        hydro, halo, heat, reduction, adaption, balance = phases
        waiting_s = self._last[3]
        computed_s = hydro + heat + adaption + loop_s + waiting_s
        return pace / self.pace * computed_s + halo - waiting_s + reduction + balance

    def loop_s(self, work: Work) -> float:
        """Return the time outside all phases."""
        return self.pace * work.steps * self._curves["loop"].seconds_per_cell(work.cells)

    def phases_s(self, work: Work, iterations: float) -> tuple[float, ...]:
        """Return the times in the order of `PHASES`.

        Unknown iterations (NaN) are those of the application. The last result is cached, because
        several predictors ask for the same cycle.
        """
        if self._last[0] is not work or self._last[1] != iterations:
            self._last = (work, iterations, *self._phases_s(work, iterations))
        return self._last[2]

    def _phases_s(self, work: Work, iterations: float) -> tuple[tuple[float, ...], float]:
        """Return the times of the phases, and what the halo's has of waiting for detours."""
        cells, steps, app, pace = work.cells, work.steps, self.application, self.pace
        cost_s = {name: curve.seconds_per_cell(cells) for name, curve in self._curves.items()}
        if math.isnan(iterations):
            iterations = app.iterations
        solves = work.solves
        if solves is None:
            solves = app.solves if iterations else 0.0
        hydro = pace * cells * steps * cost_s["hydro"]
        heat = pace * cells * (iterations * cost_s["heat"] + solves * cost_s["heat-solve"])
        adaption = balance = 0.0
        if work.adapts:
            adaption = pace * cells * cost_s["adaption"]
            balance = self._balance_s + self._load_s(app.moved_share * cells)
        exchanges = messages = 0.0
        for each, each_s in zip(app.exchanges, self._messages_s(work), strict=True):
            count = each.count.of(steps, iterations)
            exchanges += count
            messages += count * each_s
        reductions = app.reductions.of(steps, iterations)
        reduction = reductions * (cost_s["reduce"] + self._allreduce_s)
        halo, waiting = pace * cost_s["exchange"] * exchanges + messages, 0.0
        if self._waiting is not None:
            work_s = hydro + heat + adaption
            meetings = max(1.0, exchanges, reductions)
            waiting = work_s * self._waiting.seconds_per_cell(work_s / meetings)
            halo += waiting
        return (hydro, halo, heat, reduction, adaption, balance), waiting

    def explain(self, work: Work | None = None) -> str:
        """Describe a cycle in words, with the time of each part."""
        work = self.application.work(1.0, self.ranks) if work is None else work
        times = self.phase_times(work)
        surface = self._surface(work)
        scaled = "" if self.pace == 1.0 else f", {self.pace:.2f} times the time of the probe"
        words = [
            f"{self.application.name} on {counted(self.ranks, 'rank')} of "
            f"{self.machine.name}, {self.on_node} per node: a cycle of {work.cells:,.0f} cells, "
            f"{work.steps} steps and {self._expected(work):.0f} heat iterations takes "
            f"{seconds(times.seconds)}.",
            f"Computation: grind curve of {counted(self.on_node, 'rank')} per node{scaled}: "
            f"hydro {seconds(times.hydro)}, heat {seconds(times.heat)}.",
        ]
        if self.ranks > 1:
            factor = contention(surface, self.ranks, self.machine.ranks_per_node)
            words.append(
                f"In the {self.pattern.name} order {surface.cells:,.0f} cells come from "
                f"{surface.messages:.0f} ranks in each of {surface.directions} directions, up to "
                f"{surface.distance} ranks away, and {factor:.0f} messages share a node's "
                f"NIC: halo {seconds(times.halo)}, reductions {seconds(times.reduction)}."
            )
        if work.adapts:
            words.append(
                f"The mesh is adapted ({seconds(times.adaption)}) and balanced "
                f"({seconds(times.balance)})."
            )
        return " ".join([*words, *self.remarks])

    def _expected(self, work: Work) -> float:
        """Return the iterations of a cycle; those of a typical one if unknown."""
        return self.application.iterations if math.isnan(work.iterations) else work.iterations

    def _surface(self, work: Work) -> Surface:
        if work.ghosts > 0.0:  # counted in the mesh, which is exact
            known = max(1.0, work.messages)
            return Surface(work.ghosts, known, min(self.ranks - 1, round(known)), 1)
        return self.pattern.surface(work.cells, self.ranks)

    def _messages_s(self, work: Work) -> tuple[float, ...]:
        """Return the time of the messages of each of the application's exchanges."""
        exchanges = self.application.exchanges
        if self.ranks == 1 or self._link is None:
            return (0.0,) * len(exchanges)
        surface = self._surface(work)
        if surface.messages == 0.0:
            return (0.0,) * len(exchanges)
        each = surface.cells / surface.messages
        shared = contention(surface, self.ranks, self.machine.ranks_per_node)
        found = []
        for exchange in exchanges:
            directions = surface.directions
            if exchange.directions is not None:
                directions = min(directions, exchange.directions)
            message_s = self._link.time_s(each * exchange.bytes_per_cell)
            found.append(shared * directions * surface.messages * message_s)
        return tuple(found)

    def _load_s(self, moved: float) -> float:
        """T_load: one message with all cells that move."""
        if self._one_way is None or self.ranks == 1 or moved <= 0.0:
            return 0.0
        return self._one_way.time_s(moved * self.application.bytes_moved)
