"""The efficiencies of one kernel over several numbers of ranks, relative to the fewest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.analysis.runs.configuration import GROWS, configuration, injected_noise
from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies, efficiencies_of
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.computation import ComputationScaling

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

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.of.run.header.ranks

    @property
    def values(self) -> dict[str, float | None]:
        """Every metric by name; None if unknown."""
        shares, scaling = self.of.shares, self.scaling
        parallel = shares["parallel"]
        if parallel is None or scaling is None:
            names = ("computation", "instructions", "ipc", "frequency", "counted_share")
            return {"global": None, **shares, **dict.fromkeys(names)}
        return {"global": parallel * scaling.computation, **shares, **scaling.to_json()}

    def to_json(self) -> dict[str, Any]:
        """Return the metrics of a column."""
        run = self.of.run
        return {
            "ranks": self.ranks,
            "runs": self.runs,
            "file": str(run.path),
            "unknowns": run.header.spec.get("unknowns"),
            "run_time_s": self.of.whole.run_time_s,
            "withheld": self.of.withheld or None,
            **self.values,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEfficiencies:
    """A kernel over numbers of ranks; the first column is the reference."""

    title: str
    kind: str
    columns: tuple[ScalingColumn, ...]

    def to_json(self) -> dict[str, Any]:
        """Return title, kind of scaling (strong, weak, by size, none) and columns."""
        return {
            "title": self.title,
            "kind": self.kind,
            "reference_ranks": self.columns[0].ranks,
            "columns": [column.to_json() for column in self.columns],
        }


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
