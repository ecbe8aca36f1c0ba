"""What a run file holds, in a few numbers."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np

from hindmost.analysis.adaptive.cycle_summary import AdaptiveSummary, summarise_cycles
from hindmost.analysis.efficiency.of_run import quick_efficiencies
from hindmost.analysis.tables.terminal import seconds
from hindmost.errors import DataError
from hindmost.harness.runfile.bodies import BodyKind
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.efficiencies import Efficiencies

BALANCED_S = 1e-6
"""How closely the parts of a solve sum to its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in a few numbers.

    Attributes
    ----------
    body_s : dict of str to float
        ``minimum``, ``median``, ``quantile_99`` and ``maximum`` of all bodies, to 0.01 %.
    phase_share : dict of str to float
        Share of each phase in the time of all bodies.
    between : str
        What lies between cycles of bodies: restarts, unless the run says another word.
    instructions, cycles : float or None
        Of all bodies on all ranks, in user mode; None where they were not counted.
    load : list of float or None
        Of the busiest host before and after the solve.
    cpusets : list of str
        Cores that ranks may use, each once; empty where the file does not say.
    efficiency : Efficiencies or None
        Of all bodies; ``hindmost efficiency`` knows more of large runs, of which this knows only
        what needs no walk through their events, or nothing, until that was asked.
    kept_ranks : int or None
        Ranks with full records, where not all have them.
    balance_s : float
        The most that lead-in, bodies, restarts and lead-out miss the solve time by, on any rank.
    adaptive : AdaptiveSummary or None
        What an adaptive run has beside.
    """

    file: str
    workload: str
    solver: str
    ranks: int
    hosts: int
    iterations: int
    bodies: int
    kinds: dict[str, int]
    restarts: int
    between: str
    complete: bool
    solve_time_s: float
    body_s: dict[str, float]
    phase_share: dict[str, float]
    mpi_other_share: float
    balance_s: float
    context_switches: int
    instructions: float | None
    cycles: float | None
    load: list[float] | None
    cpusets: list[str]
    petsc: str
    mpi_library: str
    machine: str
    t0_utc: str
    efficiency: Efficiencies | None
    adaptive: AdaptiveSummary | None = None
    kept_ranks: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what ``hindmost show --json`` says of a run."""
        told = None if self.efficiency is None else self.efficiency.to_json()
        return {**asdict(self), "efficiency": told}

    def text(self) -> str:
        """Return the lines that ``hindmost show`` prints."""
        kinds = ", ".join(f"{count} {name}" for name, count in self.kinds.items())
        body = {name: seconds(value) for name, value in self.body_s.items()}
        shares = ", ".join(
            f"{name} {100 * share:.1f} %" for name, share in self.phase_share.items()
        )
        hosts = f" on {self.hosts} hosts" if self.hosts > 1 else ""
        ranks = "1 rank" if self.ranks == 1 else f"{self.ranks} ranks"
        if self.kept_ranks is not None:
            ranks += f" (full records of {self.kept_ranks}; times of bodies below are of these)"
        lines = [
            self.file + ("" if self.complete else f"  (INCOMPLETE: {self._why_incomplete()})"),
            f"  {self.solver} on {self.workload}, {ranks}{hosts}, {when(self.t0_utc)}",
            f"  solve time  {seconds(self.solve_time_s)} for {self.iterations} iterations: "
            f"{self.bodies} bodies ({kinds}), {self.restarts} {self.between}",
            f"  a body      {body['median']} (median); fastest {body['minimum']}, "
            f"99 % below {body['quantile_99']}, slowest {body['maximum']}",
            f"  its time    {shares}; MPI that fits no phase {100 * self.mpi_other_share:.1f} %",
            *self._efficiency_line(),
            *(self.adaptive.lines() if self.adaptive else ()),
            *self._counted_line(),
            f"  disturbed   {self.context_switches} involuntary context switches{self._load()}",
            *self._balance_line(),
            f"  stack       {self._petsc()}{self.mpi_library}",
            f"  machine     {self.machine}{self._binding()}",
        ]
        return "\n".join(lines)

    def _petsc(self) -> str:
        """Return PETSc's version where it solved."""
        return f"PETSc {self.petsc}, " if self.petsc and not self.adaptive else ""

    def _efficiency_line(self) -> list[str]:
        """Return a line on the efficiencies where they are known, else none."""
        if self.efficiency is None:
            return []
        names = ["load_balance", "serialisation", "transfer"]
        if self.efficiency.transfer is None:
            names[1:] = ["communication"]
        factors = " x ".join(
            f"{name.replace('_', ' ')} {100 * getattr(self.efficiency, name):.1f} %"
            for name in names
        )
        return [f"  efficiency  {100 * self.efficiency.parallel:.1f} % = {factors}"]

    def _why_incomplete(self) -> str:
        """Say why a run is."""
        failed = self.adaptive.failure if self.adaptive else ""
        return failed.rstrip(".") or "records were lost"

    def _counted_line(self) -> list[str]:
        """Return a line on instructions and cycles where they were counted, else none."""
        if not self.instructions or not self.cycles:
            return []
        return [
            f"  counted     {self.instructions:.4g} instructions, {self.cycles:.4g} cycles, "
            f"{self.instructions / self.cycles:.2f} instructions a cycle"
        ]

    def _load(self) -> str:
        if self.load is None:
            return ""
        return f"; load {self.load[0]:.1f} before, {self.load[1]:.1f} after"

    def _binding(self) -> str:
        if not self.cpusets:
            return ""
        if len(self.cpusets) == 1:
            return f"; ranks not bound (cores {self.cpusets[0]})" if self.ranks > 1 else ""
        shown = ", ".join(self.cpusets[:4]) + (", ..." if len(self.cpusets) > 4 else "")
        return f"; ranks bound to cores {shown}"

    def _balance_line(self) -> list[str]:
        """Return a line if the parts of the solve do not sum to its time, else none."""
        if self.balance_s <= BALANCED_S:
            return []
        return [
            f"  WRONG       lead-in, bodies, restarts and lead-out miss the solve time by "
            f"{seconds(self.balance_s)}"
        ]


def summarise_run(run: Run) -> RunSummary:
    """Summarise a run file, from what was counted when it was written."""
    header, counted = run.header, run.summary
    body, phases = counted["body_s"], counted["phase_s"]
    total = sum(phases.values())
    kinds = np.bincount(run.kind, minlength=len(BodyKind))
    machine = header.environment.get("machine", {})
    return RunSummary(
        file=str(run.path),
        workload=header.workload,
        solver=header.solver,
        ranks=header.ranks,
        hosts=len(set(run.hosts)),
        iterations=header.iterations,
        bodies=run.bodies,
        kinds={kind.name.lower(): int(kinds[kind]) for kind in BodyKind if kinds[kind]},
        restarts=run.restarts,
        between=str(header.spec.get("between", "restarts")),
        complete=header.complete,
        solve_time_s=run.solve_time_s,
        body_s=body,
        phase_share={name: spent / total for name, spent in phases.items()},
        mpi_other_share=float(run.variable("mpi_other").sum() / run.solve_time.sum()),
        balance_s=counted["balance_s"],
        context_switches=int(run.variable("context_switches").sum()),
        instructions=counted.get("counted", {}).get("instructions") or None,
        cycles=counted.get("counted", {}).get("cycles") or None,
        load=load_around(run),
        cpusets=list(dict.fromkeys(run.texts("cpuset"))),
        petsc=str(header.environment.get("petsc")),
        mpi_library=mpi_name(header.mpi_library),
        machine=f"{machine.get('host')}: {machine.get('cores')} cores, {machine.get('cpu_model')}",
        t0_utc=header.t0_utc,
        efficiency=efficiency_of(run),
        adaptive=summarise_cycles(run),
        kept_ranks=run.columns if run.reduced else None,
    )


def efficiency_of(run: Run) -> Efficiencies | None:
    """Return the efficiencies of a run if they are known, or known in no time."""
    if run.reduced:
        return None
    try:
        return quick_efficiencies(run)
    except DataError:  # a run without bodies or without work is shown all the same
        return None


def load_around(run: Run) -> list[float] | None:
    """Return the load of the busiest host before and after a solve, None where it is unknown."""
    if not run.has("load_after"):
        return None
    return [float(run.variable(name).max()) for name in ("load_before", "load_after")]


def mpi_name(library: str) -> str:
    """Return name and version from what an MPI library says of itself."""
    found = re.match(r"(Open MPI|MPICH|CRAY MPICH|Intel\S* MPI \S+)\D*?v?(\d[\w.]*)", library)
    return f"{found[1]} {found[2]}" if found else library[:40]


def when(t0_utc: str) -> str:
    """Write a time of day for a person."""
    return datetime.fromisoformat(t0_utc).strftime("%Y-%m-%d %H:%M:%S UTC")
