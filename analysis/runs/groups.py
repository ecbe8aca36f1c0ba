"""Run files, as the analysis takes them: found, grouped, turned into what models take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hindmost.analysis.runs.configuration import (
    IN_TITLE,
    apart,
    configuration,
    injected_noise,
    is_loop,
    part_words,
    solves_in,
)
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run
from hindmost.text import counted, plural


@dataclass(frozen=True, slots=True)
class Group:
    """Repeats of one configuration on one machine.

    Attributes
    ----------
    runs : tuple of Run
        Alike in their `configuration`.
    remark : str
        What sets them apart from another group of the same solver, workload and size; may be empty.
    """

    runs: tuple[Run, ...]
    remark: str = ""

    @property
    def title(self) -> str:
        """What the runs have in common, for a heading."""
        header = self.runs[0].header
        unknowns = header.spec.get("unknowns")
        size = f"{unknowns:,} unknowns, " if unknowns else ""
        ranks = counted(header.ranks, "rank")
        restart = f", restart {header.restart}" if header.restart else ""
        remark = f" ({self.remark})" if self.remark else ""
        ending = Ending.of(header)
        number = header.iterations if ending is None else ending.asked
        length = f"{number} {plural(number, 'iteration')}"
        if ending is not None and ending.to_tolerance:  # how many that takes differs
            length = f"to {ending.tolerance}"
        noise = injected_noise(self.runs[0])
        noise = f", injected noise {noise}" if noise else ""
        noise += ", simulated" if header.origin == "simulated" else ""
        return (
            f"{header.solver} on {header.workload}: {size}{ranks}, {length}{restart}{noise}{remark}"
        )

    @property
    def time_name(self) -> str:
        """What the solve times of the runs are: of a loop, a solve, several, or to a tolerance."""
        if is_loop(self.runs[0]):
            return "loop time"
        if (solves := max(map(solves_in, self.runs))) > 1:
            return f"time of {solves} solves"
        endings = [Ending.of(run.header) for run in self.runs]
        reached = [ending is not None and ending.reached for ending in endings]
        return "time to tolerance" if all(reached) else "solve time"

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """What each run did not do of what it was asked, where it did not."""
        endings = [Ending.of(run.header) for run in self.runs]
        return tuple(
            ending.shortfall for ending in endings if ending is not None and ending.shortfall
        )

    @property
    def iterations_done(self) -> list[int]:
        """Iterations of every run."""
        return [run.header.iterations for run in self.runs]


def group_runs(runs: Iterable[Run]) -> list[Group]:
    """Put repeats of the same configuration together, in the order in which they come.

    Those of a solver on a workload come in the order of their ranks.
    """
    groups: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(tuple(sorted(configuration(run).items())), []).append(run)
    headers = [members[0].header for members in groups.values()]
    bases = list(dict.fromkeys((header.solver, header.workload) for header in headers))
    ordered = sorted(
        groups.values(),
        key=lambda members: (
            bases.index((members[0].header.solver, members[0].header.workload)),
            members[0].header.ranks,
        ),
    )
    kinds = [configuration(members[0]) for members in ordered]
    remarks = []
    for kind in kinds:
        alike = [other for other in kinds if all(other[key] == kind[key] for key in IN_TITLE)]
        # The title names injected noise; only its absence is to be remarked, and of nothing else.
        named = [key for key in apart(alike) if (key == INJECTED) != (key in kind)]
        remarks.append(", ".join(part_words(key, kind.get(key)) for key in named))
    return [Group(tuple(members), remark) for members, remark in zip(ordered, remarks, strict=True)]
