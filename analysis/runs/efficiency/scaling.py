"""The efficiencies of one kernel over several numbers of ranks, relative to the fewest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hindmost.analysis.runs.configuration import injected_noise
from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies, efficiencies_of
from hindmost.analysis.runs.over_ranks import RankSeries, grouped, series_over_ranks
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.efficiencies import Computation, ComputationScaling
from hindmost.records import to_document

SCALING = {
    "strong": "strong scaling",
    "weak": "weak scaling",
    "by size": "relative to the cells of all cycles",
    "other": "problem sizes that do not compare",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingColumn:
    """The efficiencies of a kernel on one number of ranks.

    Attributes
    ----------
    of : RunEfficiencies
        Of the run of median solve time.
    times_s : tuple of float
        Solve times of its repeats, in seconds, ascending.
    scaling : ComputationScaling or None
        Relative to the first column; None if the efficiency of either is withheld.
    """

    of: RunEfficiencies
    times_s: tuple[float, ...]
    scaling: ComputationScaling | None

    JSON = (
        "ranks runs file=of.run.path unknowns run_time_s=of.whole.run_time_s withheld=of.withheld? "
        "global=overall parallel=of.shown.parallel load_balance=of.shown.load_balance "
        "communication=of.shown.communication serialisation=of.shown.serialisation "
        "transfer=of.shown.transfer computation=scaling.computation "
        "instructions=scaling.instructions ipc=scaling.ipc frequency=scaling.frequency "
        "counted_share=scaling.counted_share"
    )

    @property
    def runs(self) -> int:
        """Number of repeats."""
        return len(self.times_s)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.of.run.header.ranks

    @property
    def values(self) -> dict[str, Any]:
        """Every metric by name; None if unknown."""
        return dict(to_document(self))

    @property
    def overall(self) -> float | None:
        """The product of parallel efficiency and scaling of the computation."""
        shown, scaling = self.of.shown, self.scaling
        return None if shown is None or scaling is None else shown.parallel * scaling.computation

    @property
    def unknowns(self) -> float | None:
        """Of the system that was solved."""
        unknowns: float | None = self.of.run.header.spec.get("unknowns")
        return unknowns


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEfficiencies:
    """A kernel over numbers of ranks; the first column is the reference."""

    title: str
    kind: str
    columns: tuple[ScalingColumn, ...]
    assumed: tuple[str, ...] = ()

    JSON = "title kind assumed reference_ranks columns"

    @property
    def reference_ranks(self) -> int:
        """Ranks of the first column."""
        return self.columns[0].ranks


def efficiencies_over_ranks(runs: Iterable[Run]) -> list[KernelEfficiencies]:
    """Group runs of the same program on different numbers of ranks, and compare them.

    A program on one number of ranks is a table of one column.
    """
    return [over_ranks(series) for series in series_over_ranks(runs)]


def over_ranks(series: RankSeries) -> KernelEfficiencies:
    """Compare the median run of every number of ranks with that of the fewest."""
    by_ranks = list(grouped(series.runs, lambda run: run.header.ranks).values())
    middle = [efficiencies_of(each[(len(each) - 1) // 2]) for each in by_ranks]
    works = [work_of(series.kind, each) for each in middle]
    return KernelEfficiencies(
        title=title_of(series.kind, middle[0].run),
        kind=series.kind,
        assumed=series.assumed,
        columns=tuple(
            ScalingColumn(
                of=of,
                times_s=tuple(run.solve_time_s for run in repeats),
                scaling=None
                if of.withheld or middle[0].withheld or series.kind == "other"
                else ComputationScaling.against(work, works[0]),
            )
            for of, work, repeats in zip(middle, works, by_ranks, strict=True)
        ),
    )


def work_of(kind: str, of: RunEfficiencies) -> Computation:
    """Return the work of a run with the size of its problem, in weak scaling that of its ranks."""
    grown = kind == "weak" and not of.run.header.spec.get("unknowns")
    return replace(of.computation, size=of.computation.size * (of.run.header.ranks if grown else 1))


def title_of(kind: str, run: Run) -> str:
    """Return what the runs of a table have in common."""
    header = run.header
    unknowns = header.spec.get("unknowns")
    size = ""
    if unknowns:
        a_rank = unknowns / header.ranks
        size = (
            f"{a_rank:,.0f} unknowns per rank, " if kind == "weak" else f"{unknowns:,} unknowns, "
        )
    restart = f", restart {header.restart}" if header.restart else ""
    noise = injected_noise(run)
    noise = f", injected noise {noise}" if noise else ""
    scaling = "" if kind == "none" else f" ({SCALING[kind]})"
    return (
        f"{header.solver} on {header.workload}: {size}{header.iterations} iterations"
        f"{restart}{noise}{scaling}"
    )
