"""The efficiencies of a run file, read by blocks and cached next to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.cores import core_wait, share_with_core
from hindmost.analysis.runs.efficiency.withheld import why_withheld
from hindmost.analysis.runs.finding import Finding
from hindmost.analysis.runs.over_ranks import counts_cells
from hindmost.analysis.runs.read import cached, is_cached
from hindmost.analysis.runs.tallies import MAX_IN_MEMORY, Block, Wanted, exchanges_meet_in, tallied
from hindmost.errors import DataError
from hindmost.harness.runfile.all_ranks import profiles_of, total_of
from hindmost.harness.runfile.bodies import IN_MPI, INJECTED, sum_of_phases
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind
from hindmost.models.ranks.efficiencies import NO_CORE, OUTSIDE, PARTS, Computation, Efficiencies
from hindmost.models.ranks.efficiency_tally import EfficiencyTally, Window
from hindmost.models.simulation.blocks import EventBlock, absent_ranks
from hindmost.models.simulation.event_simulator import FEW_EVENTS
from hindmost.text import capital, percent

KIND = "efficiencies"
WINDOWS = 40
"""Default number of windows."""
NOT_SPLIT = "serialisation and transfer cannot be separated"
OF_PROFILES = "profiles of all ranks were kept, but the events of only some (run --keep)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEfficiencies:
    """The efficiencies of a run and of its parts.

    Attributes
    ----------
    run : Run
    whole : Efficiencies
        Of all bodies and ranks.
    windows : tuple of Window
    computation : Computation
        The work of all ranks together.
    findings : tuple of Finding
    """

    run: Run
    whole: Efficiencies
    windows: tuple[Window, ...]
    computation: Computation
    findings: tuple[Finding, ...] = ()

    JSON = (
        "file=run.path workload=run.header.workload solver=run.header.solver "
        "ranks=run.header.ranks bodies=run.bodies solve_time_s=run.solve_time_s outside_s "
        "not_split? text=explain withheld? whole=shown windows=shown_windows "
        "computation=shown_computation findings"
    )

    @property
    def withheld(self) -> str:
        """Why no efficiency is given; empty if one is."""
        return why_withheld(self.run)

    @property
    def not_split(self) -> str:
        """Why communication efficiency is not split; empty if it is."""
        if self.whole.ideal_s is not None:
            return ""
        why_not = self.run.header.spec.get("events_left_out") or "this run has no events"
        return f"{NOT_SPLIT}: {OF_PROFILES if self.run.reduced else why_not}"

    @property
    def whole_s(self) -> float:
        """Time of the solve, or of its iterations if ranks began them before the solve did."""
        return max(self.run.solve_time_s, self.whole.run_time_s)

    @property
    def parts_s(self) -> dict[str, float]:
        """Where that goes, see `where_time_goes`; empty if no efficiency is given."""
        return {} if self.withheld else where_time_goes(self.run, self.whole)

    @property
    def outside_s(self) -> float:
        """Time of the solve outside all bodies, which no efficiency covers, in seconds."""
        return self.whole.parts_s(self.whole_s)[OUTSIDE]

    def explain(self) -> str:
        """Return the losses by cause, what is not split and what is left out, in sentences."""
        if self.withheld:
            return f"No efficiency is given: {self.withheld}."
        words = [self.whole.explain()]
        if self.not_split:
            words.append(f"{capital(self.not_split)}.")
        share = self.outside_s / self.whole_s
        waited = core_wait(self.run)
        if waited is not None and waited.matters:
            words.append(f"{capital(str(waited))}; that is part of all of these.")
        if share >= 0.0005:
            words.append(f"Another {percent(share)} of the solve time lies outside the iterations.")
        return " ".join(words)

    @property
    def shown(self) -> Efficiencies | None:
        """The efficiencies of the whole run; None if they are withheld."""
        return None if self.withheld else self.whole

    @property
    def shown_windows(self) -> tuple[Window, ...]:
        """Those of its windows."""
        return () if self.withheld else self.windows

    @property
    def shown_computation(self) -> Computation | None:
        """The work of all ranks together; None if it cannot be told from waiting."""
        return None if self.withheld else self.computation


def where_time_goes(run: Run, whole: Efficiencies) -> dict[str, float]:
    """Return where the time of a run goes, by name, in seconds: what `show` and reports print."""
    injected_s = 0.0
    if INJECTED in run.phases:
        at = run.phases.index(INJECTED)
        spent = run.summary["phase_s"][INJECTED]
        spent = float(profiles_of(run)[:, :, at].sum()) if run.reduced else spent
        injected_s = spent / run.header.ranks
    parts_s = whole.parts_s(run.solve_time_s, injected_s)
    share, whole_s = share_with_core(run), sum(parts_s.values())
    parts_s = {name: share * part_s for name, part_s in parts_s.items()}
    parts_s[NO_CORE] = (1.0 - share) * whole_s
    return {name: parts_s[name] for name in PARTS if parts_s.get(name, 0.0) > 0.0}


def efficiencies_of(run: Run, windows: int = WINDOWS) -> RunEfficiencies:
    """Compute the efficiencies of a run file, or read what was kept of it.

    Parameters
    ----------
    run : Run
    windows : int
        Number of windows of bodies.

    Raises
    ------
    DamagedFileError, DataError
        Impossible times; the run has no bodies or no local work.
    """
    return cached(run, KIND, {"windows": windows}, RunEfficiencies, lambda: compute(run, windows))


def quick_efficiencies(run: Run) -> Efficiencies | None:
    """Return the efficiencies of a whole run if they are cached or quick to compute, else None.

    With more than `FEW_EVENTS` events, communication efficiency is split only if a result is
    cached. Runs that fill memory, and runs whose efficiency is withheld, give None.
    """
    if why_withheld(run):
        return None
    if is_kept(run):
        return efficiencies_of(run).whole
    if run.reduced:  # read from profiles
        return compute(run).whole
    if run.bodies * run.header.ranks > MAX_IN_MEMORY:
        return None
    few = run.has("event_work") and np.prod(run.shape("event_work")) <= FEW_EVENTS
    return compute(run, windows=1, split=bool(few)).whole


def compute(run: Run, windows: int = WINDOWS, *, split: bool = True) -> RunEfficiencies:
    """Compute the efficiencies of a run file, block by block.

    Parameters
    ----------
    split : bool
        Walk through the events, if there are any, to separate serialisation from transfer.
    """
    if run.bodies == 0:
        raise DataError(f"{run.path} contains no iterations, so it has no efficiency.")
    if run.reduced:
        return of_profiles(run)
    return tallied(run, counted_efficiencies(windows, split=split))


def counted_efficiencies(windows: int = WINDOWS, *, split: bool = True) -> Wanted[RunEfficiencies]:
    """Return what `compute` reads of a run, to be read together with other results."""
    return Wanted(RunTally, (windows, split))


def is_kept(run: Run) -> bool:
    """Tell whether the efficiencies of a run are cached."""
    return is_cached(run, KIND, {"windows": WINDOWS})


class RunTally:
    """The efficiencies of a run, counted block by block; see `compute`."""

    def __init__(self, run: Run, windows: int, split: bool) -> None:
        edges = run.edges
        with_events = split and has_all_events(run)
        self._run = run
        self._tally = EfficiencyTally(
            run.position,
            run.columns,
            edges.source,
            edges.target,
            with_events=with_events,
            exchanges_meet=with_events and exchanges_meet_in(run),
            windows=windows,
        )

    def add(self, block: Block) -> None:
        """Count the next bodies."""
        self._tally.add(block.rows.start, block.start, block.duration, *local_work(block))

    def result(self) -> RunEfficiencies:
        """Return the efficiencies."""
        whole, windows = self._tally.result()
        computation = computation_of(self._run, whole.ranks * whole.mean_local_s)
        return RunEfficiencies(run=self._run, whole=whole, windows=windows, computation=computation)


def of_profiles(run: Run) -> RunEfficiencies:
    """Compute the efficiencies of all ranks of a run with full records of only some.

    Raises
    ------
    DataError
        An older version wrote the file, without the run time of all ranks.
    """
    phases = profiles_of(run).sum(axis=0)
    own = [at for at, name in enumerate(run.phases) if name not in IN_MPI]
    local = phases[:, own].sum(axis=1)
    run_time_s = float(run.variable("interval_run_time").sum())
    return RunEfficiencies(
        run=run,
        whole=Efficiencies.of_ranks(local, run_time_s, None),
        windows=(),
        computation=computation_of(run, float(local.sum())),
    )


def has_all_events(run: Run) -> bool:
    """Tell whether the calls of each iteration are known one by one, and none by sums only."""
    return run.has("event_kind") and not run.summed


def local_work(block: Block) -> tuple[NDArray[np.float64], EventBlock | None]:
    """Return own work, shape (iteration, rank), seconds, and events, as efficiencies count them."""
    run, duration = block.run, block.duration
    if not has_all_events(run):
        local = sum_of_phases(block.phases, [name not in IN_MPI for name in run.phases])
        return np.minimum(local, duration), None
    kind, work = block.variable("event_kind"), block.variable("event_work")
    inside = block.variable("event_duration")
    absent = absent_ranks(kind, work, inside)
    there = (kind != EventKind.NONE)[:, None, :]
    spent = np.where(there, inside, 0.0).sum(axis=2, dtype=np.float64)
    work = np.where(there, work, np.float32(0.0))
    # Single precision may round this below the work before the events.
    local = np.maximum(duration - spent, work.sum(axis=2, dtype=np.float64))
    if "unclassified" in run.phases:  # is not work; its place between the events is unknown
        unclassified = block.phases[:, :, run.phases.index("unclassified")].astype(np.float64)
        left = np.clip(1.0 - unclassified / np.maximum(local, 1e-12), 0.0, 1.0)
        local, work = local * left, work * left[:, :, None].astype(np.float32)
        local = np.maximum(local, work.sum(axis=2, dtype=np.float64))
    events = EventBlock(
        kind=kind,
        work=work,
        duration=inside,
        rest=np.maximum(local - work.sum(axis=2, dtype=np.float64), 0.0),
        cycle_begins=block.cycle_begins,
        absent=absent,
        group=block.group,
        behind=block.behind,
    )
    return local, events


def computation_of(run: Run, local_s: float) -> Computation:
    """Return the work of all ranks, with instructions and cycles only if every body has them.

    Parameters
    ----------
    local_s : float
        Local work of all ranks.
    """
    counts = {
        name: sum(float(run.variable(name, rows).sum()) for rows in run.blocks())
        for name in ("instructions", "cycles")
        if run.has(name) and not run.reduced
    }
    known = len(counts) == 2 and all(0.0 < count < np.inf for count in counts.values())
    cells = float(total_of(run, "cells").sum()) if counts_cells(run) else 0.0
    unknowns = float(run.header.spec.get("unknowns") or 1) * (run.header.iterations or 1)
    return Computation(
        local_s=local_s,
        size=cells or unknowns,
        counted_s=sum(run.summary["phase_s"].values()) if known else None,
        **(counts if known else {}),
    )
