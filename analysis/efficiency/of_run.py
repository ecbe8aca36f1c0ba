"""The efficiencies of a run file, read by blocks and kept beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.analysis.cache import is_kept, kept
from hindmost.analysis.runs import MOST_IN_MEMORY, reduced
from hindmost.errors import DataError
from hindmost.harness.runfile.bodies import WAITING
from hindmost.harness.runfile.cycles import ADAPTIVE
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind
from hindmost.models.ranks.computation import Computation
from hindmost.models.ranks.efficiencies import Efficiencies
from hindmost.models.ranks.efficiency_tally import EfficiencyTally, Window
from hindmost.models.ranks.ideal_network import FEW
from hindmost.models.ranks.stretches import BodyBlock

KIND = "efficiencies"
WINDOWS = 40
"""Into which a run is cut if nothing else is asked for."""
RESULT = frozenset({"whole", "windows", "nodes", "places", "computation"})
"""Parts of what is kept of a run."""
IN_MPI = (*WAITING, "post")
"""Phases that are no work of a rank by itself, as the field counts it: all time in messages."""
WITHOUT_EVENTS = (
    "serialisation and transfer are not told apart: no events were recorded of this run"
)
OF_ADAPTIVE = (
    "serialisation and transfer are not told apart: an adaptive run records the phases of a cycle, "
    "but not where in it ranks wait for each other"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEfficiencies:
    """The efficiencies of a run and of its parts.

    Attributes
    ----------
    run : Run
    whole : Efficiencies
        Of all bodies and ranks; restarts, lead-in and lead-out are left out.
    windows : tuple of Window
    nodes : dict of str to Efficiencies
    places : dict of int to Efficiencies
        By place in the restart cycle; empty where there are no cycles that repeat.
    computation : Computation
        The work of all ranks together.
    """

    run: Run
    whole: Efficiencies
    windows: tuple[Window, ...]
    nodes: dict[str, Efficiencies]
    places: dict[int, Efficiencies]
    computation: Computation

    @property
    def not_split(self) -> str:
        """Why communication is not split; empty where it is."""
        if self.whole.ideal_s is not None:
            return ""
        return OF_ADAPTIVE if self.run.header.workload == ADAPTIVE else WITHOUT_EVENTS

    @property
    def places_not_split(self) -> str:
        """Why communication at places of the cycle is not split where the run's is."""
        places = list(self.places.values())
        if not places or self.whole.ideal_s is None or places[0].ideal_s is not None:
            return ""
        return (
            "Serialisation and transfer are not told apart by place: reductions overlap with work, "
            "so what is waited for at one place may belong to another."
        )

    @property
    def outside_s(self) -> float:
        """Time of the solve outside all bodies, of which nothing is said here, in seconds."""
        return max(self.run.solve_time_s - self.whole.run_time_s, 0.0)

    def explain(self) -> str:
        """Say it in sentences: what is lost to what, what is not split, what is left out."""
        words = [self.whole.explain()]
        if self.not_split:
            words.append(f"{self.not_split[0].upper()}{self.not_split[1:]}.")
        share = 100.0 * self.outside_s / max(self.run.solve_time_s, self.whole.run_time_s)
        if share >= 0.05:
            words.append(f"Another {share:.1f} % of the solve time lies outside the bodies.")
        return " ".join(words)

    def to_json(self) -> dict[str, Any]:
        """Return what ``hindmost efficiency --json`` says of a run."""
        header = self.run.header
        return {
            "file": str(self.run.path),
            "workload": header.workload,
            "solver": header.solver,
            "ranks": header.ranks,
            "bodies": self.run.bodies,
            "solve_time_s": self.run.solve_time_s,
            "outside_s": self.outside_s,
            "not_split": self.not_split or None,
            "text": self.explain(),
            **self.parts_json(),
        }

    def parts_json(self) -> dict[str, Any]:
        """Return the numbers alone, as they are kept."""
        return {
            "whole": self.whole.to_json(),
            "windows": [window.to_json() for window in self.windows],
            "nodes": [{"node": name, **each.to_json()} for name, each in self.nodes.items()],
            "places": [{"position": at, **each.to_json()} for at, each in self.places.items()],
            "computation": self.computation.to_json(),
        }

    @classmethod
    def from_kept(cls, run: Run, values: dict[str, Any]) -> RunEfficiencies:
        """Return what `parts_json` told."""
        read = Efficiencies.from_json
        return cls(
            run=run,
            whole=read(values["whole"]),
            windows=tuple(
                Window(first=each["bodies"][0], last=each["bodies"][1], efficiencies=read(each))
                for each in values["windows"]
            ),
            nodes={each["node"]: read(each) for each in values["nodes"]},
            places={each["position"]: read(each) for each in values["places"]},
            computation=Computation(**values["computation"]),
        )


def efficiencies_of(run: Run, windows: int = WINDOWS) -> RunEfficiencies:
    """Compute the efficiencies of a run file, or read what was kept of it.

    Parameters
    ----------
    run : Run
    windows : int
        Into how many windows of bodies the run is cut.

    Raises
    ------
    DamagedFileError, DataError
        Times that cannot be; the run holds no bodies or no local work.
    """
    asked = {"windows": windows}
    told = kept(run, KIND, asked, lambda: compute(run, windows).parts_json(), RESULT)
    return RunEfficiencies.from_kept(run, told)


def quick_efficiencies(run: Run) -> Efficiencies | None:
    """Return what is known of a run as a whole, or known in no time; nothing is kept.

    Of more than a few events communication is not split, unless `efficiencies_of` did that before;
    of a run that fills memory nothing is said.
    """
    if is_kept(run, KIND, {"windows": WINDOWS}):
        return efficiencies_of(run).whole
    if run.bodies * run.header.ranks > MOST_IN_MEMORY:
        return None
    few = run.has("event_work") and np.prod(run.shape("event_work")) <= FEW
    return compute(run, windows=1, split=bool(few)).whole


def compute(run: Run, windows: int = WINDOWS, *, split: bool = True) -> RunEfficiencies:
    """Compute the efficiencies of a run file, block by block.

    Parameters
    ----------
    split : bool
        Walk through the events, where there are any, to tell serialisation from transfer.
    """
    if run.bodies == 0:
        raise DataError(f"{run.path} holds no bodies, so nothing can be said of their time.")
    if run.reduced:
        raise DataError(reduced(run))
    run.verify()
    edges = run.edges
    tally = EfficiencyTally(
        run.position,
        run.hosts,
        edges.source,
        edges.target,
        with_events=split and run.has("event_kind"),
        overlapping=run.header.synchronisation == "pipelined",
        windows=windows,
    )
    counts = Counts(run)
    for rows in run.blocks():
        block = read_block(run, rows)
        tally.add(rows.start, block)
        counts.add(rows, block)
    parts = tally.result()
    return RunEfficiencies(
        run=run,
        whole=parts.whole,
        windows=parts.windows,
        nodes=parts.nodes,
        places=parts.places,
        computation=counts.result(tally.local_s),
    )


def read_block(run: Run, rows: slice) -> BodyBlock:
    """Read some bodies of a run file."""
    start, duration = run.variable("start", rows), run.variable("duration", rows)
    if not run.has("event_kind"):
        own = [at for at, name in enumerate(run.phases) if name not in IN_MPI]
        phases = run.variable("phase_duration", rows)
        local = np.asarray(phases[:, :, own].sum(axis=2, dtype=np.float64))
        return BodyBlock(start=start, duration=duration, local=np.minimum(local, duration))
    kind, work = run.variable("event_kind", rows), run.variable("event_work", rows)
    inside = run.variable("event_duration", rows)
    there = (kind != EventKind.NONE)[:, None, :]
    spent = np.where(there, inside, 0.0).sum(axis=2, dtype=np.float64)
    work = np.where(there, work, np.float32(0.0))
    # Rounding of single precision may leave less than the work before the events.
    local = np.maximum(duration - spent, work.sum(axis=2, dtype=np.float64))
    return BodyBlock(start=start, duration=duration, local=local, kind=kind, work=work)


class Counts:
    """Instructions, cycles and the size of a run, counted block by block."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._counted = run.has("instructions") and run.has("cycles")
        self._sums = {"instructions": 0.0, "cycles": 0.0}
        self._seconds, self._cells = 0.0, 0.0

    def add(self, rows: slice, block: BodyBlock) -> None:
        """Count some bodies."""
        self._seconds += float(block.duration.sum())
        if self._counted:
            values = {name: self._run.variable(name, rows) for name in self._sums}
            for name, each in values.items():
                self._sums[name] += float(each.sum())
        if self._run.has("cells"):
            self._cells += float(self._run.variable("cells", rows).sum())

    def result(self, local_s: float) -> Computation:
        """Return the work of all ranks; counts only where every body has them."""
        known = self._counted and all(0.0 < each < np.inf for each in self._sums.values())
        return Computation(
            local_s=local_s,
            size=self._size(),
            counted_s=self._seconds if known else None,
            **(self._sums if known else {}),
        )

    def _size(self) -> float:
        """Return what was asked for: cells of all cycles, or unknowns times iterations."""
        header = self._run.header
        if self._cells > 0.0:
            return self._cells
        return float(header.spec.get("unknowns") or 1) * float(header.iterations or 1)
