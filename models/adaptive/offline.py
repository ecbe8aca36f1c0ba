"""The offline model: the time of a cycle from a machine and an application.

T_cycle = T_comp + T_memcon + T_GScomm + T_allreduce + T_adapt + T_load (section 2, and the model of
SAGE that it cites). T_memcon is part of the grind curve for several ranks per node. Ranks wait for
the one with most cells, therefore its cells are those of T_comp; and wherever they meet, for the
one whose detours took longest, which the halo's time contains.

With E cells per rank on P ranks SAGE's domain is a cube of side L = (E P)^(1/3), in whose row order
a rank owns a slab, layer by layer, in blocks of 2 x 2 x 2 cells. That of the kernel is a square of
side (E P)^(1/2), of which a rank owns a compact piece along a space-filling curve.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
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
    """Gathers or scatters.

    Attributes
    ----------
    count : Count
    bytes_per_cell : float
    directions : int or None
        Directions of the surface that one of them covers; None for all. A gather of SAGE covers
        one direction, a halo exchange all.
    """

    count: Count
    bytes_per_cell: float
    directions: int | None = None


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
    """The cells that a rank receives in one exchange, from one direction.

    Attributes
    ----------
    cells : float
    messages : float
        Number of ranks that they come from.
    distance : int
        Largest difference of rank numbers: PED, the PE distance.
    directions : int
        Such directions of an inner rank: 2, lower and upper, or 1 for all at once.
    """

    cells: float
    messages: float
    distance: int
    directions: int


NO_SURFACE = Surface(0.0, 0.0, 0, 0)


def slab_surface(cells: float, ranks: int) -> Surface:
    """Return SAGE's surface, with ``cells`` per rank in row order in a cube.

    S = min((E P)^(2/3), E / 2), because at most half of a slab's cells are on one side of it, and
    PED = 2 / thickness rounded up = ceil((8 P^2 / E)^(1/3)).
    """
    if ranks < 2:
        return NO_SURFACE
    face: float = (cells * ranks) ** (2.0 / 3.0)
    blocks: float = (8.0 * ranks**2 / cells) ** (1.0 / 3.0)
    distance = min(max(1, math.ceil(blocks - 1e-9)), ranks - 1)
    return Surface(min(face, cells / 2.0), float(distance), distance, min(2, ranks - 1))


def curve_surface(cells: float, ranks: int) -> Surface:
    """Return the kernel's surface, along Morton's curve in a square: 4 sqrt(E), all sides at once.

    On two and four ranks pieces also have outer sides: a half has one inner side as long as the
    domain, a quarter two of its own length.
    """
    if ranks < 2:
        return NO_SURFACE
    inner = min(4.0, math.log2(ranks))
    # Halves of a square share a cut of sqrt(2 E).
    side = math.sqrt(2.0 * cells if ranks == 2 else cells)
    messages = float(min(ranks - 1, 4 if inner < 4.0 else 6))
    return Surface(inner * side, messages, min(ranks - 1, 4), 1)


def contention(surface: Surface, ranks: int, ranks_per_node: int) -> float:
    """Return C(P, E): messages that share a node's NIC; 1 if no message leaves the node.

    min(PED, PPN) ranks of a node send messages off it in each direction.
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
        points, times = self.log_cells, self.seconds
        place = math.log(cells) if cells > 0.0 else -math.inf
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


def grind_curve(
    points: tuple[GrindPoint, ...], phase: str, ranks_per_node: int
) -> GrindCurve | None:
    """Return the curve of a phase for a number of busy ranks per node.

    Points at equal cells are repeats, and their median counts. Between measured numbers of ranks
    curves are interpolated; beyond them the nearest one is used. More ranks per node slow each
    other down, because they share the memory bandwidth: T_memcon.

    Returns
    -------
    GrindCurve or None
        None if the phase was not measured.
    """
    at: dict[int, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for point in points:
        if point.phase == phase:
            at[point.ranks_per_node][point.cells].append(point.seconds_per_cell)
    if not at:
        return None

    def measured(count: int) -> GrindCurve:
        cells = sorted(at[count])
        return GrindCurve(
            tuple(math.log(each) for each in cells),
            tuple(median(at[count][each]) for each in cells),
        )

    low = max((count for count in at if count <= ranks_per_node), default=min(at))
    high = min((count for count in at if count >= ranks_per_node), default=max(at))
    first, last = measured(low), measured(high)
    if high == low:
        return first
    share = (ranks_per_node - low) / (high - low)
    places = tuple(sorted({*first.log_cells, *last.log_cells}))
    cells = [math.exp(place) for place in places]
    return GrindCurve(
        places,
        tuple(
            (1.0 - share) * first.seconds_per_cell(each) + share * last.seconds_per_cell(each)
            for each in cells
        ),
    )


def event_curve(machine: Machine, event: str, ranks_per_node: int) -> GrindCurve:
    """Return the time of an event against the cells per rank, in seconds for each event.

    It is that of the nearest measured number of ranks. Events whose time does not depend on the
    cells have a curve of one point; one that was not measured takes 0 s.
    """
    counts = {each.ranks_per_node for each in machine.events if each.event == event}
    if not counts:
        return NOTHING
    nearest = min(counts, key=lambda count: (abs(count - ranks_per_node), count))
    points = sorted(
        (math.log(each.cells or 1.0), each.seconds)
        for each in machine.events
        if each.event == event and each.ranks_per_node == nearest
    )
    return GrindCurve(tuple(cells for cells, _ in points), tuple(each for _, each in points))


def link_between(network: Network, *, across: bool, both_ways: bool) -> Link:
    """Return the link; the one within a node if links between nodes were not measured."""
    if across and network.across is not None:
        return network.across_both_ways or network.across if both_ways else network.across
    return network.within_both_ways if both_ways else network.within


def allreduce_s(machine: Machine, ranks: int, bytes: float = 8.0) -> float:
    """Return the time of an allreduce.

    Between measured numbers of ranks it is interpolated over their logarithm. Beyond the largest,
    and if none was measured, it takes 2 ceil(log2 P) messages (reduce and broadcast trees). Without
    a network it takes no time.

    Parameters
    ----------
    bytes : float
        Size of the reduced numbers.
    """
    network = machine.network
    if network is None or ranks < 1:
        return 0.0
    by_ranks: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for point in network.allreduce:
        by_ranks[point.ranks].append((float(point.bytes), point.seconds))
    measured = sorted(by_ranks)
    message = link_between(network, across=ranks > machine.ranks_per_node, both_ways=False)
    trees = 2 * math.ceil(math.log2(ranks)) if ranks > 1 else 0
    if not measured or ranks < measured[0]:
        return trees * message.time_s(bytes)
    if ranks >= measured[-1]:
        below = 2 * math.ceil(math.log2(measured[-1])) if measured[-1] > 1 else 0
        return over_bytes(by_ranks[measured[-1]], bytes) + (trees - below) * message.time_s(bytes)
    place = math.log(ranks)
    return float(
        np.interp(place, np.log(measured), [over_bytes(by_ranks[each], bytes) for each in measured])
    )


def over_bytes(points: list[tuple[float, float]], bytes: float) -> float:
    """Interpolate between measured sizes; beyond them, extrapolate the last slope."""
    sizes, times = (np.array(column) for column in zip(*sorted(points), strict=True))
    if bytes > sizes[-1] and sizes.size > 1:
        slope = max(0.0, (times[-1] - times[-2]) / (sizes[-1] - sizes[-2]))
        return float(times[-1] + slope * (bytes - sizes[-1]))
    return float(np.interp(bytes, sizes, times))


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
    surface_of : callable
        What a rank exchanges, given its cells and the ranks: `curve_surface` or `slab_surface`.
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
        surface_of: Callable[[float, int], Surface] = curve_surface,
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
        self._surface_of = surface_of
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
        exchanges = self.application.exchanges
        surface = self._surface_of(work.cells, self.ranks)
        if work.ghosts > 0.0:  # counted in the mesh, which is exact
            known = max(1.0, work.messages)
            surface = Surface(work.ghosts, known, min(self.ranks - 1, round(known)), 1)
        if self.ranks == 1 or self._link is None or surface.messages == 0.0:
            return [0.0] * len(exchanges)
        each = surface.cells / surface.messages
        shared = contention(surface, self.ranks, self.machine.ranks_per_node)
        found = []
        for exchange in exchanges:
            directions = min(surface.directions, exchange.directions or surface.directions)
            message_s = self._link.time_s(each * exchange.bytes_per_cell)
            found.append(shared * directions * surface.messages * message_s)
        return found

    def balance_s(self, moved: float) -> float:
        """Return the time of a balance check and T_load, one message with all cells that move."""
        if self._one_way is None or self.ranks == 1 or moved <= 0.0:
            return self._balance_s
        return self._balance_s + self._one_way.time_s(moved * self.application.bytes_moved)
