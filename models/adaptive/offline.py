"""The offline model: the time of a cycle from a machine and an application.

T_cycle = T_comp + T_memcon + T_GScomm + T_allreduce + T_adapt + T_load (section 2, and the model of
SAGE that it cites). T_memcon is part of the grind curve for several ranks per node. Ranks wait for
the one with most cells, therefore its cells are those of T_comp; and wherever they meet, for the
one whose detours took longest, which the halo's time contains.

With E cells per rank on P ranks the kernel's domain is a square of side (E P)^(1/2), of which a
rank owns a compact piece along a space-filling curve.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np

from hindmost.errors import DataError, UsageError
from hindmost.models.adaptive.machine import GrindPoint, Machine, Network, SystemNoise, pace_of
from hindmost.models.adaptive.work import Work
from hindmost.models.simulation.network import Link


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often something happens: per cycle, per step and per heat iteration."""

    per_cycle: float = 0.0
    per_step: float = 0.0
    per_iteration: float = 0.0

    def of(self, steps: float, iterations: float) -> float:
        """Return how often it happens in a cycle with these steps and iterations."""
        return self.per_cycle + steps * self.per_step + iterations * self.per_iteration


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Halo exchanges.

    Attributes
    ----------
    count : Count
    bytes_per_cell : float
    """

    count: Count
    bytes_per_cell: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """A deck, as the offline model uses it: counts, bytes and shares, alike on every machine.

    Attributes
    ----------
    name : str
    exchanges : tuple of Exchange
    reductions : Count
        Of 8 bytes.
    iterations : float
        Heat iterations of a typical cycle, for a first cycle, whose own are not known yet.
    solves : float
        Heat solves in a cycle; 0 without heat, or if solves cost nothing but iterations.
    moved_share : float
        Expected share of the cells of a rank that move to another one, per adaption.
    bytes_moved : float
        Bytes of a cell that moves to another rank.
    imbalance : float
        Increase of max / mean - 1 of the cells per rank by an adaption, if none move.
    """

    name: str
    exchanges: tuple[Exchange, ...] = ()
    reductions: Count = Count()
    iterations: float = 0.0
    solves: float = 0.0
    moved_share: float = 0.0
    bytes_moved: float = 0.0
    imbalance: float = 0.0


class Surface(NamedTuple):
    """The cells that a rank receives in one exchange.

    Attributes
    ----------
    messages : float
        Number of ranks that they come from.
    distance : int
        Largest difference of rank numbers: PED, the PE distance.
    """

    cells: float
    messages: float
    distance: int


def curve_surface(cells: float, ranks: int) -> Surface:
    """Return the kernel's surface, along Morton's curve in a square: 4 sqrt(E).

    On two and four ranks pieces also have outer sides: a half has one inner side as long as the
    domain, a quarter two of its own length.
    """
    if ranks < 2:
        return Surface(0.0, 0.0, 0)
    inner = min(4.0, math.log2(ranks))
    # Halves of a square share a cut of sqrt(2 E).
    side = math.sqrt(2.0 * cells if ranks == 2 else cells)
    messages = float(min(ranks - 1, 4 if inner < 4.0 else 6))
    return Surface(inner * side, messages, min(ranks - 1, 4))


def contention(surface: Surface, ranks: int, ranks_per_node: int) -> float:
    """Return C(P, E): messages that share a node's NIC; 1 if no message leaves the node.

    min(PED, PPN) ranks of a node send messages off it at once.
    """
    if ranks <= ranks_per_node:
        return 1.0
    return float(max(1, min(surface.distance, ranks_per_node)))


@dataclass(frozen=True, slots=True)
class GrindCurve:
    """The paper's figure 1: time per cell, linear in the logarithm of cells between points.

    Attributes
    ----------
    log_cells : tuple of float
        Ascending.
    seconds : tuple of float
        Per cell; constant beyond the first and the last point.
    """

    log_cells: tuple[float, ...]
    seconds: tuple[float, ...]

    def seconds_per_cell(self, cells: float) -> float:
        """Return the time per cell at a number of cells per rank."""
        return self.at_log(math.log(cells) if cells > 0.0 else -math.inf)

    def at_log(self, place: float) -> float:
        """Return the time per cell at a logarithm of cells per rank."""
        points, times = self.log_cells, self.seconds
        after = bisect_right(points, place)
        if after == 0:
            return times[0]
        if after == len(points):
            return times[-1]
        low, high = points[after - 1], points[after]
        share = (place - low) / (high - low)
        return times[after - 1] + share * (times[after] - times[after - 1])


NOTHING = GrindCurve((0.0,), (0.0,))
"""The curve of what was not measured."""


def curve_of(points: Iterable[tuple[int, float, float]], ranks_per_node: int) -> GrindCurve | None:
    """Return the curve for a number of busy ranks per node; None without points.

    Points at equal cells are repeats, and their median counts. Between measured numbers of ranks
    curves are interpolated; beyond them the nearest one is used. More ranks per node slow each
    other down, because they share the memory bandwidth: T_memcon.

    Parameters
    ----------
    points : tuples of int, float, float
        Ranks per node, cells per rank, seconds.
    """
    at: dict[int, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for count, cells, seconds in points:
        at[count][math.log(cells)].append(seconds)
    if not at:
        return None

    def measured(count: int) -> GrindCurve:
        places = sorted(at[count])
        return GrindCurve(tuple(places), tuple(median(at[count][place]) for place in places))

    low = max((count for count in at if count <= ranks_per_node), default=min(at))
    high = min((count for count in at if count >= ranks_per_node), default=max(at))
    first, last = measured(low), measured(high)
    if high == low:
        return first
    share = (ranks_per_node - low) / (high - low)
    places = tuple(sorted({*first.log_cells, *last.log_cells}))
    return GrindCurve(
        places,
        tuple((1.0 - share) * first.at_log(place) + share * last.at_log(place) for place in places),
    )


def grind_curve(
    points: tuple[GrindPoint, ...], phase: str, ranks_per_node: int
) -> GrindCurve | None:
    """Return the time per cell of a phase; None if it was not measured."""
    return curve_of(
        (
            (point.ranks_per_node, point.cells, point.seconds_per_cell)
            for point in points
            if point.phase == phase
        ),
        ranks_per_node,
    )


def event_curve(machine: Machine, event: str, ranks_per_node: int) -> GrindCurve:
    """Return the time of an event against the cells per rank, in seconds for each event.

    Events whose time does not depend on the cells have a curve of one point; one that was not
    measured takes 0 s.
    """
    found = curve_of(
        (
            (each.ranks_per_node, each.cells or 1.0, each.seconds)
            for each in machine.events
            if each.event == event
        ),
        ranks_per_node,
    )
    return NOTHING if found is None else found


def link_between(network: Network, *, across: bool, both_ways: bool) -> Link:
    """Return the link; the one within a node if links between nodes were not measured."""
    if across and network.across is not None:
        return network.across_both_ways or network.across if both_ways else network.across
    return network.within_both_ways if both_ways else network.within


def allreduce_s(machine: Machine, ranks: int) -> float:
    """Return the time of an allreduce of 8 bytes.

    Between measured numbers of ranks it is interpolated over their logarithm. Beyond the largest,
    and if none was measured, it takes 2 ceil(log2 P) messages (reduce and broadcast trees). Without
    a network it takes no time.
    """
    network = machine.network
    if network is None or ranks < 2:
        return 0.0
    by_ranks = {each.ranks: each.seconds for each in network.allreduce if each.bytes == 8}
    measured = sorted(by_ranks)
    times = [by_ranks[each] for each in measured]
    across = ranks > machine.ranks_per_node
    message_s = link_between(network, across=across, both_ways=False).time_s(8.0)
    trees = 2 * math.ceil(math.log2(ranks))
    if not measured or ranks < measured[0]:
        return trees * message_s
    if ranks >= measured[-1]:
        return times[-1] + (trees - 2 * math.ceil(math.log2(measured[-1]))) * message_s
    return float(np.interp(math.log(ranks), np.log(measured), times))


DETOUR_PARTS = (0.5, 0.4, 0.09, 0.01)
"""Shares of the detours up to and between the quantiles of `SystemNoise`."""
MANY = 2000.0
"""Mean count from which on a Poisson law is as good as normal."""
INTERVALS_S = np.geomspace(1e-6, 10.0, 57)
"""Lengths of intervals for which waiting is tabulated."""


def detour_parts(noise: SystemNoise) -> list[tuple[float, float]]:
    """Return detours per second and their mean length, in seconds, of each of `DETOUR_PARTS`.

    Lengths below the median are uniform, and their logarithm is between quantiles; the longest ones
    have what is left of the share of time that all detours took.
    """
    median_s, *others, _ = noise.detour_quantiles_s
    means = [0.5 * median_s]
    for low, high in zip((median_s, *others), others, strict=False):
        spread = math.log(high / low) if 0.0 < low < high else 0.0
        means.append((high - low) / spread if spread else 0.5 * (low + high))
    known_s = sum(part * mean_s for part, mean_s in zip(DETOUR_PARTS, means, strict=False))
    means.append(max(0.0, noise.share / noise.detours_per_s - known_s) / DETOUR_PARTS[-1])
    return [
        (part * noise.detours_per_s, each) for part, each in zip(DETOUR_PARTS, means, strict=True)
    ]


def excess_of_maximum(mean: float, ranks: int) -> float:
    """Return E[max of P counts] - E[count], for independent counts of a Poisson law."""
    if mean > MANY:  # a normal law by now, whose deviation is the root of the mean
        return excess_of_maximum(MANY, ranks) * math.sqrt(mean / MANY)
    count = np.arange(1.0, mean + 12.0 * math.sqrt(mean) + 30.0)
    # F(n), from the logarithms of mean / 1, mean / 2, ...
    below = np.exp(np.cumsum(np.append(-mean, np.log(mean / count)))).cumsum()
    below = np.minimum(below, 1.0)
    # The sum over n of P(max > n) = 1 - F(n)^P; of the mean alike, with P = 1.
    return float(np.sum(below - below**ranks))


def waiting_curve(noise: SystemNoise | None, ranks: int) -> GrindCurve:
    """Return the waiting for detours, against the logarithm of the time between two meetings.

    With X(L) the detours of a rank in a time L, all wait for E[max of P X(L)] - E[X(L)]; the grind
    curves, which are measured times of whole cycles, contain the mean. Detours are independent and
    come at random. Each part of them has one length, and the parts are added up: they are of such
    different lengths that the longest one decides where there is one.

    Returns
    -------
    GrindCurve
        Seconds of waiting for each second of work; 0 if detours are unknown or nobody waits.
    """
    if noise is None or ranks < 2 or not noise.detour_quantiles_s or not noise.detours_per_s:
        return NOTHING
    waits_s = sum(
        length_s
        * np.array([excess_of_maximum(rate * each, ranks) for each in INTERVALS_S.tolist()])
        for rate, length_s in detour_parts(noise)
    )
    return GrindCurve(tuple(np.log(INTERVALS_S).tolist()), tuple((waits_s / INTERVALS_S).tolist()))


class OfflineModel:
    """The time of a cycle, from measurements made before the run.

    Parameters
    ----------
    machine : Machine
        The only part that depends on the machine.
    application : Application
    ranks : int
    pulse_s : float, optional
        Current time of a pulse on the slowest rank. Computation is scaled by its ratio to the time
        when the grind curves were measured, because curves depend on the load of the machine. Both
        are for the same number of ranks per node, because the curves already include contention.

    Attributes
    ----------
    pace : float
        That ratio; 1 if unknown.

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
        ranks: int = 1,
        pulse_s: float | None = None,
    ) -> None:
        if ranks < 1:
            raise UsageError(f"{ranks} ranks; at least 1 is needed.")
        network, across = machine.network, ranks > machine.ranks_per_node
        if ranks > 1 and network is None:
            raise UsageError(
                f"{ranks} ranks, but the machine '{machine.name}' has no network; measure it with "
                "`hindmost probe network`, or use 1 rank."
            )
        self.machine, self.application, self.ranks = machine, application, ranks
        self.on_node = min(ranks, machine.ranks_per_node)
        self._pulse_s = machine.pulse_of(self.on_node)
        pace = None if pulse_s is None else self.pace_of(pulse_s)
        self.pace = 1.0 if pace is None else pace
        self._curves = {
            "hydro": self._curve("hydro", needed=True),
            "heat": self._curve("heat", needed=bool(application.iterations or application.solves)),
            "heat-solve": self._curve("heat-solve"),
            "adaption": self._curve("adaption"),
            # Calls are timed on one rank, where nobody waits.
            **{event: event_curve(machine, event, 1) for event in ("exchange", "reduce", "loop")},
        }
        self._balance_s = median(event_curve(machine, "balance", self.on_node).seconds)
        self._allreduce_s = allreduce_s(machine, ranks)
        self._waiting = waiting_curve(machine.noise, ranks)
        self._link = self._one_way = None
        if network is not None:
            self._link = link_between(network, across=across, both_ways=True)
            self._one_way = link_between(network, across=across, both_ways=False)

    def pace_of(self, pulse_s: float) -> float | None:
        """Return the pace that a pulse shows; None if the machine's was not measured."""
        then_s = self._pulse_s
        return None if then_s is None else pace_of(pulse_s, then_s)

    def _curve(self, phase: str, *, needed: bool = False) -> GrindCurve:
        """Return a grind curve; zeros if the phase was not measured and is not needed."""
        found = grind_curve(self.machine.grind, phase, self.on_node)
        if found is None and needed:
            has = ", ".join(sorted({point.phase for point in self.machine.grind})) or "none"
            raise DataError(
                f"The machine '{self.machine.name}' has no grind curve of the phase '{phase}'; it "
                f"has: {has}. Measure it with `hindmost probe grind`."
            )
        return NOTHING if found is None else found

    def cycle_s(self, work: Work, iterations: float, *, pace: float | None = None) -> float:
        """Return the time of the whole cycle: all phases, and the calls between them.

        See `phases_s` for the parameters.
        """
        loop_s = work.steps * self._curves["loop"].seconds_per_cell(work.cells)
        loop_s *= self.pace if pace is None else pace
        return sum(self.phases_s(work, iterations, pace=pace)) + loop_s

    def phases_s(
        self, work: Work, iterations: float, *, pace: float | None = None
    ) -> tuple[float, ...]:
        """Return the times in the order of `hindmost.models.adaptive.work.PHASES`.

        Parameters
        ----------
        work : Work
        iterations : float
            Of the heat solver; those of the application if unknown (NaN).
        pace : float, optional
            Of the computation; by default the model's own.
        """
        app, cells, steps = self.application, work.cells, work.steps
        pace = self.pace if pace is None else pace
        cost_s = {name: curve.seconds_per_cell(cells) for name, curve in self._curves.items()}
        if math.isnan(iterations):
            iterations = app.iterations
        solves = app.solves if iterations else 0.0
        hydro = pace * cells * steps * cost_s["hydro"]
        heat = pace * cells * (iterations * cost_s["heat"] + solves * cost_s["heat-solve"])
        adaption = balance = 0.0
        if work.adapts:
            adaption = pace * cells * cost_s["adaption"]
            balance = self.balance_s(app.moved_share * cells)
        exchanges = messages = 0.0
        for each, each_s in zip(app.exchanges, self._messages_s(work), strict=True):
            count = each.count.of(steps, iterations)
            exchanges += count
            messages += count * each_s
        reductions = app.reductions.of(steps, iterations)
        work_s = hydro + heat + adaption
        between_s = work_s / max(1.0, exchanges, reductions)
        halo = pace * cost_s["exchange"] * exchanges + messages
        halo += work_s * self._waiting.seconds_per_cell(between_s)
        reduction = reductions * (cost_s["reduce"] + self._allreduce_s)
        return hydro, halo, heat, reduction, adaption, balance

    def _messages_s(self, work: Work) -> list[float]:
        """Return the time of the messages of each of the application's exchanges."""
        surface = curve_surface(work.cells, self.ranks)
        if work.ghosts > 0.0:  # counted in the mesh, which is exact
            known = max(1.0, work.messages)
            surface = Surface(work.ghosts, known, min(self.ranks - 1, round(known)))
        if self.ranks == 1 or self._link is None or surface.messages == 0.0:
            return [0.0] * len(self.application.exchanges)
        each = surface.cells / surface.messages
        messages = surface.messages * contention(surface, self.ranks, self.machine.ranks_per_node)
        return [
            messages * self._link.time_s(each * exchange.bytes_per_cell)
            for exchange in self.application.exchanges
        ]

    def balance_s(self, moved: float) -> float:
        """Return the time of a balance check and T_load, one message with all cells that move."""
        if self._one_way is None or self.ranks == 1 or moved <= 0.0:
            return self._balance_s
        return self._balance_s + self._one_way.time_s(moved * self.application.bytes_moved)
