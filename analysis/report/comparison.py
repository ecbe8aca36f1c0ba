"""The comparison of solvers: the same workload, on the same machine, by different solvers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.analysis.fits.study import FittedGroup
from hindmost.analysis.runs.configuration import OF_THE_SOLVER, OWN_SOLVER, STRUCTURE, configuration
from hindmost.analysis.runs.figures.compare_runs import apart
from hindmost.analysis.runs.finding import OF_COMPARISON
from hindmost.analysis.runs.first_screen import doubted
from hindmost.analysis.runs.sides import Case
from hindmost.analysis.runs.summary import phase_shares
from hindmost.analysis.show.facts import Certainty, Link, Stated
from hindmost.analysis.show.table import RIGHT, Column, Table
from hindmost.harness.runfile.ending import Ending
from hindmost.models.inference import order_chance, repeats_words, separated
from hindmost.text import percent, seconds

FASTER, SLOWER = "faster in every repeat", "slower in every repeat"
DECIDED = (FASTER, SLOWER)
NOT_COMPARED = "not compared: a solve fell short"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSolver:
    """One of the compared solvers.

    Attributes
    ----------
    name : str
        What distinguishes it from the others.
    times_s : sequence of float
        Solve times of its repeats.
    done : sequence of int
        Iterations of its repeats.
    wait_share : float
        Share of waiting in the time of all bodies, the median over repeats.
    ratio : float or None
        Its median over that of the first solver; None if either fell short.
    verdict : str
        The conclusion from the ratio, given the spread of repeats; empty for the first.
    shortfall : str
        How some repeat fell short: it did not reach its tolerance, or it stopped early. Empty if
        none did.
    true_residual : float or None
        The largest of its repeats; None if unknown.
    """

    name: str
    times_s: Sequence[float]
    done: Sequence[int]
    wait_share: float
    ratio: float | None
    verdict: str
    shortfall: str
    true_residual: float | None

    @property
    def median_s(self) -> float:
        """Median of the solve times."""
        return float(np.median(self.times_s))


def comparable(groups: Iterable[FittedGroup]) -> list[list[FittedGroup]]:
    """Return the sets of at least two groups that differ only in their solver."""
    sets: dict[tuple[tuple[str, str], ...], list[FittedGroup]] = {}
    for fitted in groups:
        kind = configuration(fitted.group.runs[0])
        # The events of a user's loop differ with the solver that it names.
        may_differ = (*OF_THE_SOLVER, *(STRUCTURE if OWN_SOLVER in kind else ()))
        key = tuple(
            sorted(
                part
                for part in kind.items()
                # An option of a program may name its solver.
                if part[0] not in may_differ and part[1] != kind["solver"]
            )
        )
        sets.setdefault(key, []).append(fitted)
    return [members for members in sets.values() if len(members) > 1]


def compare_solvers(groups: Sequence[FittedGroup]) -> list[ComparedSolver]:
    """Compare groups with the first of them."""
    names = apart([fitted.group for fitted in groups])
    return [
        compare_one(groups[0], fitted, name) for name, fitted in zip(names, groups, strict=True)
    ]


def compare_one(first: FittedGroup, fitted: FittedGroup, name: str) -> ComparedSolver:
    """Compare a group with the first.

    Times of solves that did different work are not compared: a solve that did not reach its
    tolerance, or stopped early, has no ratio.
    """
    times, done = fitted.solve_times_s, fitted.group.iterations_done
    short = first.group.shortfalls or fitted.group.shortfalls
    ratio = None if short else float(np.median(times) / np.median(first.solve_times_s))
    endings = [Ending.of(run.header) for run in fitted.group.runs]
    residuals = [
        ending.true_residual for ending in endings if ending and ending.true_residual is not None
    ]
    said = NOT_COMPARED if short else verdict(first.solve_times_s, times)
    return ComparedSolver(
        name=name,
        times_s=times,
        done=done,
        wait_share=float(np.median([phase_shares(run.run)["wait"] for run in fitted.runs])),
        ratio=ratio,
        verdict="" if fitted is first else said,
        shortfall=next(iter(fitted.group.shortfalls), ""),
        true_residual=max(residuals, default=None),
    )


def verdict(first: Sequence[float], second: Sequence[float]) -> str:
    """Return the conclusion that two sets of solve times allow.

    Parameters
    ----------
    first, second : sequence of float, seconds
    """
    if min(len(first), len(second)) < 2:
        return "unknown without repeats"
    side, _ = separated(first, second)
    if not side:
        return "inconclusive: the repeats overlap"
    order, why_not = FASTER if side < 0 else SLOWER, repeats_words(first, second)
    return f"undecided: {order}, but {why_not}" if why_not else order


def solver_conclusions(members: Sequence[FittedGroup], anchor: str) -> list[Stated]:
    """Return how every other solver compares with the first one.

    Parameters
    ----------
    anchor : str
        Of the table of solvers.
    """
    solvers = compare_solvers(members)
    first = solvers[0]
    findings = [finding for fitted in members for finding in fitted.findings]
    found = []
    for solver, fitted in zip(solvers[1:], members[1:], strict=True):
        if solver.ratio is None:
            continue
        sure = solver.verdict in DECIDED
        chance = order_chance(len(solver.times_s), len(first.times_s))
        case = Case(name="", first=members[0].group.runs, second=fitted.group.runs)
        delta_s = solver.median_s - first.median_s
        files = [str(run.run.path) for group in (members[0], fitted) for run in group.runs]
        found.append(
            doubted(
                Stated(
                    quantity=f"{solver.name} instead of {first.name}",
                    text=f"{solver.name} takes {solver.ratio:.2f} times as long as {first.name}: "
                    f"{seconds(solver.median_s)} and {seconds(first.median_s)} (medians), "
                    f"{solver.verdict}; {case.factors()}.",
                    cost_s=delta_s,
                    share=delta_s / first.median_s,
                    relative=True,
                    certainty=Certainty.MEASURED if sure else Certainty.OPEN,
                    basis=f"solve times of {len(solver.times_s)} and {len(first.times_s)} repeats"
                    + (f"; by chance in 1 of {1.0 / chance:.0f}" if sure else ""),
                    links=(Link(anchor=anchor, text="Solvers side by side"),),
                    topics=OF_COMPARISON,
                    files=tuple(files),
                ),
                findings,
            )
        )
    return found


def solvers_table(members: Sequence[FittedGroup]) -> Table:
    """Return the table of solvers of the same workload."""
    solvers = compare_solvers(members)
    names = {fitted.group.time_name for fitted in members}
    return Table(
        columns=(
            Column("solver"),
            Column("runs", RIGHT),
            Column(names.pop() if len(names) == 1 else "solve time", RIGHT),
            Column("range of repeats", RIGHT),
            Column("spread", RIGHT),
            Column("iterations", RIGHT),
            Column("per iteration", RIGHT),
            Column("true residual", RIGHT),
            Column("waiting", RIGHT),
            Column(f"relative to {solvers[0].name}", RIGHT),
            Column("difference"),
        ),
        rows=[
            (
                solver.name,
                str(len(solver.times_s)),
                solver.shortfall or seconds(solver.median_s),
                *spread(solver),
                " to ".join(map(str, dict.fromkeys((min(solver.done), max(solver.done))))),
                seconds(float(np.median(np.divide(solver.times_s, solver.done)))),
                "" if solver.true_residual is None else f"{solver.true_residual:.1e}",
                percent(solver.wait_share),
                "" if solver.ratio is None else f"{solver.ratio:.2f}",
                solver.verdict,
            )
            for solver in solvers
        ],
    )


def spread(solver: ComparedSolver) -> tuple[str, str]:
    """Write the range of repeats and its width; a single run has none."""
    low_s, high_s = min(solver.times_s), max(solver.times_s)
    if len(solver.times_s) == 1 or solver.shortfall:
        return "", ""
    return f"{seconds(low_s)} to {seconds(high_s)}", percent(high_s / low_s - 1.0)
