"""Time per cell against cells: the piecewise curves of the paper's figure 1."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from statistics import median

from hindmost.errors import DataError
from hindmost.models.adaptive.machine import GrindPoint, Machine


@dataclass(frozen=True, slots=True)
class GrindCurve:
    """Time per cell, linear in the logarithm of cells between points, and constant beyond them.

    Attributes
    ----------
    log_cells : tuple of float
        Ascending.
    seconds : tuple of float
        Per cell.
    """

    log_cells: tuple[float, ...]
    seconds: tuple[float, ...]

    def seconds_per_cell(self, cells: float) -> float:
        """Return the time per cell at a number of cells per rank."""
        points, times = self.log_cells, self.seconds
        if cells <= 0.0:
            return times[0]
        place = math.log(cells)
        after = bisect_right(points, place)
        if after == 0:
            return times[0]
        if after == len(points):
            return times[-1]
        low, high = points[after - 1], points[after]
        share = (place - low) / (high - low)
        return times[after - 1] + share * (times[after] - times[after - 1])


def curve(points: tuple[GrindPoint, ...], phase: str, ranks_per_node: int) -> GrindCurve | None:
    """Return the curve of a phase for a number of busy ranks per node.

    Points at equal cells are repeats, and their median counts. Between measured numbers of ranks
    curves are interpolated; beyond them the nearest one is used. More ranks per node slow each
    other down, because they share the memory bandwidth: T_memcon.

    Returns
    -------
    GrindCurve or None
        None if the phase was not measured.
    """
    counts = sorted({point.ranks_per_node for point in points if point.phase == phase})
    if not counts:
        return None
    low = max((count for count in counts if count <= ranks_per_node), default=counts[0])
    high = min((count for count in counts if count >= ranks_per_node), default=counts[-1])
    first, last = (measured(points, phase, count) for count in (low, high))
    if high == low:
        return first
    share = (ranks_per_node - low) / (high - low)
    places = tuple(sorted({*first.log_cells, *last.log_cells}))
    times = []
    for place in places:
        cells = math.exp(place)
        times.append(
            (1.0 - share) * first.seconds_per_cell(cells) + share * last.seconds_per_cell(cells)
        )
    return GrindCurve(places, tuple(times))


def measured(points: tuple[GrindPoint, ...], phase: str, ranks_per_node: int) -> GrindCurve:
    """Return the curve through the medians at this number of ranks per node."""
    at: dict[float, list[float]] = {}
    for point in points:
        if point.phase == phase and point.ranks_per_node == ranks_per_node:
            at.setdefault(point.cells, []).append(point.seconds_per_cell)
    cells = sorted(at)
    return GrindCurve(
        tuple(math.log(count) for count in cells), tuple(median(at[count]) for count in cells)
    )


def curve_of(machine: Machine, phase: str, ranks_per_node: int) -> GrindCurve:
    """Return the curve of a machine.

    Raises
    ------
    DataError
        The phase was not measured.
    """
    found = curve(machine.grind, phase, ranks_per_node)
    if found is None:
        has = ", ".join(sorted({point.phase for point in machine.grind})) or "none"
        raise DataError(
            f"The machine '{machine.name}' has no grind curve of the phase '{phase}'; it has: "
            f"{has}. Measure it with `hindmost probe grind`."
        )
    return found


def event_s(machine: Machine, event: str, ranks_per_node: int) -> float:
    """Return the time of an event with this number of busy ranks per node, in seconds.

    It is that of the nearest measured number of ranks, the median over cells; 0 if none was
    measured.
    """
    return median(event_curve(machine, event, ranks_per_node).seconds)


def event_curve(machine: Machine, event: str, ranks_per_node: int) -> GrindCurve:
    """Return the time of an event against the cells per rank, in seconds for each event.

    Events whose time does not depend on the cells have a curve of one point; one that was not
    measured takes 0 s.
    """
    counts = {each.ranks_per_node for each in machine.events if each.event == event}
    if not counts:
        return GrindCurve((0.0,), (0.0,))
    nearest = min(counts, key=lambda count: (abs(count - ranks_per_node), count))
    points = sorted(
        (math.log(each.cells or 1.0), each.seconds)
        for each in machine.events
        if each.event == event and each.ranks_per_node == nearest
    )
    return GrindCurve(tuple(cells for cells, _ in points), tuple(each for _, each in points))
