"""What a run file holds, in a few numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hindmost.analysis.tables.terminal import seconds
from hindmost.harness.recorder.bodies import PHASES
from hindmost.harness.recorder.pattern import BodyKind
from hindmost.harness.runfile.reader import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in a few numbers.

    Attributes
    ----------
    body_quantiles_s : tuple of float
        Minimum, median, 99th percentile and maximum of all bodies.
    phase_share : dict of str to float
        Share of each phase in the time of all bodies.
    balance_s : float
        The most that lead-in, bodies, restarts and lead-out miss the solve time by, on any rank.
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
    complete: bool
    solve_time_s: float
    body_quantiles_s: tuple[float, float, float, float]
    phase_share: dict[str, float]
    mpi_other_share: float
    balance_s: float
    context_switches: int
    petsc: str
    mpi_library: str
    machine: str
    t0_utc: str

    def to_json(self) -> dict[str, Any]:
        """Return what ``hindmost show --json`` says of a run."""
        return asdict(self)

    def text(self) -> str:
        """Return the lines that ``hindmost show`` prints."""
        kinds = ", ".join(f"{count} {name}" for name, count in self.kinds.items())
        least, median, high, most = (seconds(value) for value in self.body_quantiles_s)
        shares = ", ".join(
            f"{name} {100 * share:.1f} %" for name, share in self.phase_share.items()
        )
        hosts = f" on {self.hosts} hosts" if self.hosts > 1 else ""
        lines = [
            self.file + ("" if self.complete else "  (INCOMPLETE: records were lost)"),
            f"  {self.solver} on {self.workload}, {self.ranks} ranks{hosts}, {self.t0_utc}",
            f"  solve time  {seconds(self.solve_time_s)} for {self.iterations} iterations: "
            f"{self.bodies} bodies ({kinds}), {self.restarts} restarts",
            f"  a body      {median} (median); fastest {least}, 99 % below {high}, slowest {most}",
            f"  its time    {shares}; MPI that fits no phase {100 * self.mpi_other_share:.1f} %",
            f"  books       closed to {seconds(max(self.balance_s, 1e-9))}; "
            f"{self.context_switches} involuntary context switches",
            f"  stack       PETSc {self.petsc}, {self.mpi_library}",
            f"  machine     {self.machine}",
        ]
        return "\n".join(lines)


def summarise_run(run: Run) -> RunSummary:
    """Summarise a run file."""
    header, durations, solve_time = run.header, run.durations, run.solve_time
    parts = run.lead_in + durations.sum(axis=0) + run.restart_durations.sum(axis=0) + run.lead_out
    total = float(durations.sum())
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
        complete=header.complete,
        solve_time_s=run.solve_time_s,
        body_quantiles_s=(
            float(durations.min()),
            float(np.median(durations)),
            float(np.quantile(durations, 0.99)),
            float(durations.max()),
        ),
        phase_share={name: float(run.phase(name).sum()) / total for name in PHASES},
        mpi_other_share=float(run.variable("mpi_other").sum() / solve_time.sum()),
        balance_s=float(np.abs(parts - solve_time).max()),
        context_switches=int(run.variable("context_switches").sum()),
        petsc=str(header.environment.get("petsc")),
        mpi_library=header.mpi_library.split(",")[0][:60],
        machine=f"{machine.get('host')}: {machine.get('cores')} cores, {machine.get('cpu_model')}",
        t0_utc=header.t0_utc,
    )
