"""The efficiencies of one kernel over several numbers of ranks, relative to the fewest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.analysis.runs.configuration import GROWS, configuration, injected_noise
from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies, efficiencies_of
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.efficiencies import ComputationScaling
from hindmost.records import to_document

SCALING = {
    "strong": "strong scaling",
    "weak": "weak scaling",
    "by size": "relative to the cells of all cycles",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingColumn:
    """The efficiencies of a kernel on one number of ranks.

    Attributes
    ----------
    of : RunEfficiencies
        Of the run of median solve time.
    runs : int
        Number of repeats.
    scaling : ComputationScaling or None
        Relative to the first column; None if the efficiency of either is withheld.
    """

    of: RunEfficiencies
    runs: int
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

    JSON = "title kind reference_ranks columns"

    @property
    def reference_ranks(self) -> int:
        """Ranks of the first column."""
        return self.columns[0].ranks


def efficiencies_over_ranks(runs: Iterable[Run]) -> list[KernelEfficiencies]:
    """Group runs of the same kernel on different numbers of ranks, and compare them.

    Runs with the same number of unknowns are strong scaling; others with the same number of
    unknowns per rank are weak scaling. A kernel on one number of ranks is a table of one column.
    """
    kernels: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    for run in runs:
        alike = sorted(part for part in configuration(run).items() if part[0] not in GROWS)
        kernels.setdefault(tuple(alike), []).append(run)
    return [
        over_ranks(kind, members)
        for alike in kernels.values()
        for kind, members in strong_or_weak(alike)
    ]


def strong_or_weak(runs: Sequence[Run]) -> list[tuple[str, list[Run]]]:
    """Divide runs of a kernel into strong scaling, weak scaling, and others."""

    def cut(some: Iterable[Run], *, a_rank: bool) -> list[list[Run]]:
        sets: dict[float | None, list[Run]] = {}
        for run in some:
            unknowns = run.header.spec.get("unknowns")
            size = unknowns / run.header.ranks if unknowns and a_rank else unknowns
            sets.setdefault(size, []).append(run)
        return list(sets.values())

    strong = [each for each in cut(runs, a_rank=False) if several_ranks(each)]
    left = [run for run in runs if not any(run in each for each in strong)]
    weak = [each for each in cut(left, a_rank=True) if several_ranks(each)]
    left = [run for run in left if not any(run in each for each in weak)]
    return [
        *((kind_of(each), each) for each in strong),
        *(("weak", each) for each in weak),
        *(("none", each) for each in cut(left, a_rank=False)),
    ]


def kind_of(runs: Sequence[Run]) -> str:
    """Return the kind of scaling of runs with the same unknowns; by size if unknown."""
    return "strong" if runs[0].header.spec.get("unknowns") else "by size"


def several_ranks(runs: Sequence[Run]) -> bool:
    """Tell whether runs are on more than one number of ranks."""
    return len({run.header.ranks for run in runs}) > 1


def over_ranks(kind: str, runs: Sequence[Run]) -> KernelEfficiencies:
    """Compare the median run of every number of ranks with that of the fewest."""
    by_ranks: dict[int, list[Run]] = {}
    for run in sorted(runs, key=lambda run: (run.header.ranks, run.solve_time_s)):
        by_ranks.setdefault(run.header.ranks, []).append(run)
    middle = [efficiencies_of(each[(len(each) - 1) // 2]) for each in by_ranks.values()]
    return KernelEfficiencies(
        title=title_of(kind, middle[0].run),
        kind=kind,
        columns=tuple(
            ScalingColumn(
                of=of,
                runs=len(repeats),
                scaling=None
                if of.withheld or middle[0].withheld
                else ComputationScaling.against(of.computation, middle[0].computation),
            )
            for of, repeats in zip(middle, by_ranks.values(), strict=True)
        ),
    )


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
