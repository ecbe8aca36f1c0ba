"""The summary of a run file: a run in a few numbers, as ``hindmost show`` prints it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from hindmost.analysis.runs.configuration import LOOP, injected_noise, is_attached
from hindmost.analysis.runs.cores import TAKEN, CoreWait, OtherThreads, core_wait, other_threads
from hindmost.analysis.runs.cycles import AdaptiveRun, is_adaptive, read_adaptive
from hindmost.analysis.runs.efficiency.of_run import quick_efficiencies
from hindmost.analysis.runs.efficiency.withheld import told_shares, why_withheld
from hindmost.analysis.runs.finding import SPOILS, Finding
from hindmost.analysis.runs.tallies import (
    clock_uncertainty,
    exchanges_meet_in,
    first_bodies,
    neighbours_in,
)
from hindmost.analysis.show.phrases import FactEntry
from hindmost.analysis.show.table import RIGHT, Column, Table
from hindmost.errors import DataError
from hindmost.harness.runfile.all_ranks import hosts_of_all, profiles_of
from hindmost.harness.runfile.bodies import INJECTED, BodyKind
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run, check_values
from hindmost.harness.runfile.schema import VARIABLE
from hindmost.models.ranks.efficiencies import Efficiencies
from hindmost.models.ranks.links import LinkCost, link_costs
from hindmost.text import counted, number, percent, seconds


def times_of(link: LinkCost) -> str:
    """Say how long messages and reductions take; empty if that is not known."""
    known = (("message", link.message_s), ("reduction", link.reduction_s))
    said = [f"{seconds(time_s)} a {what}" for what, time_s in known if time_s]
    shortest_s = min(time_s for _, time_s in known if time_s) if said else 0.0
    if link.clock_s > SPOILS * shortest_s:
        said.append(f"to +-{seconds(link.clock_s)} of the clocks")
    return ", ".join(said)


def node_links(run: Run) -> list[LinkCost]:
    """Return the links of a run on several nodes, the largest share first; of its first events.

    Empty if it has no events of all ranks, or is on one node.
    """
    if len(set(run.hosts)) < 2 or run.reduced or not run.has("event_kind") or not run.bodies:
        return []
    block = first_bodies(run)
    for name in ("start", "duration", "event_work", "event_duration"):
        check_values(run.path, VARIABLE[name], block.variable(name))
    return link_costs(
        block.start,
        block.events,
        neighbours_in(run),
        run.hosts,
        clock_uncertainty(run),
        exchanges_meet=exchanges_meet_in(run),
    )


def link_words(links: list[LinkCost]) -> str:
    """Name the link between nodes that takes most time, and what others take; empty if none."""
    between = [link for link in links if len(link.nodes) == 2 and times_of(link)]
    if not between:
        return ""
    first = between[0]
    said = (
        f"between {first.nodes[0]} and {first.nodes[1]}: {times_of(first)} "
        f"({percent(first.share, 0)} of the ranks' time)"
    )
    rest = [("between other nodes", between[1:])]
    rest += [("within a node", [link for link in links if len(link.nodes) == 1])]
    for where, some in rest:
        times_s = [each.message_s for each in some if each.message_s is not None]
        if times_s:
            said += f"; {where}: {seconds(float(np.median(times_s)))} a message"
    return said


BALANCED_S = 1e-6
"""How closely the parts of a solve sum to its time."""
ONE = {
    "restarts": "restart",
    "alignments": "alignment",
    "restarts and changes of solve": "restart or change of solve",
}
"""Of what lies between cycles, by its plural."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in a few numbers.

    Attributes
    ----------
    run : Run
    body_s : dict of str to float
        ``minimum``, ``median``, ``quantile_99`` and ``maximum`` of all bodies, to 0.01 %.
    phase_share : dict of str to float
        Share of each phase in the time of all bodies.
    between : str
        What lies between cycles of bodies: restarts, unless the run names it otherwise.
    instructions, cycles : float or None
        Of all bodies on all ranks, in user mode; None where they were not counted.
    load : list of float or None
        Of the busiest host before and after the solve.
    cpusets : list of str
        Cores that ranks may use, without duplicates; empty if unknown.
    efficiency : Efficiencies or None
        Of all bodies. For large runs, only what needs no walk through their events, or None, until
        ``hindmost show --efficiency`` has cached the rest.
    kept_ranks : int or None
        Ranks with full records, where not all have them.
    efficiency_withheld : str
        Why no efficiency is given; empty if one is, or if none was computed.
    failure : str
        Why the run is incomplete, if the file says so.
    balance_s : float
        Largest difference on any rank between the solve time and the sum of lead-in, bodies,
        restarts and lead-out.
    core_wait : CoreWait or None
        None if unknown.
    threads : OtherThreads or None
        None if unknown.
    ending : Ending or None
        What the solve was asked to do and how much of it was done; None if unknown.
    activity_share : dict of str to float, or None
        Share of each activity in the local time of all bodies; None where it was not split.
    adaptive : AdaptiveRun or None
        What only an adaptive run has.
    solves : int or None
        Solves of an attached program that share the file; None for other runs.
    injected : str
        Law of the noise that was injected; empty if there was none.
    links : list of LinkCost
        What communication within and between nodes takes; empty on one node, or if unknown.
    findings : tuple of Finding
    facts : tuple of FactEntry
        What costs its time, in order.
    """

    run: Run
    hosts: int
    kinds: dict[str, int]
    restarts: int
    between: str
    body_s: dict[str, float]
    phase_share: dict[str, float]
    mpi_other_share: float
    balance_s: float
    context_switches: int
    core_wait: CoreWait | None
    threads: OtherThreads | None
    instructions: float | None
    cycles: float | None
    load: list[float] | None
    cpusets: list[str]
    petsc: str
    mpi_library: str
    machine: str
    efficiency: Efficiencies | None
    ending: Ending | None = None
    activity_share: dict[str, float] | None = None
    adaptive: AdaptiveRun | None = None
    kept_ranks: int | None = None
    efficiency_withheld: str = ""
    failure: str = ""
    solves: int | None = None
    injected: str = ""
    links: list[LinkCost] = field(default_factory=list)
    findings: tuple[Finding, ...] = ()
    facts: tuple[FactEntry, ...] = ()

    JSON = (
        "file=run.path workload=run.header.workload solver=run.header.solver "
        "ranks=run.header.ranks hosts iterations=run.header.iterations bodies=run.bodies kinds "
        "restarts between complete=run.header.complete "
        "solve_time_s=run.solve_time_s body_s phase_share mpi_other_share balance_s "
        "context_switches core_wait threads instructions cycles load cpusets petsc mpi_library "
        "machine t0_utc=run.header.t0_utc efficiency ending activity_share adaptive kept_ranks "
        "efficiency_withheld failure solves iteration_is=run.header.iteration_is injected "
        "origin=run.header.origin summed=run.summed links findings facts"
    )

    @property
    def said(self) -> tuple[str, ...]:
        """Codes of findings that the lines contain."""
        return (TAKEN,) if self.core_wait is not None and self.core_wait.matters else ()

    def lines(self, *, below_program: bool = False) -> list[str]:
        """Return the lines that ``hindmost show`` prints.

        Parameters
        ----------
        below_program : bool
            Only what the sentences on an attached program do not say.
        """
        body = {name: seconds(value) for name, value in self.body_s.items()}
        # The first iteration of a loop begins with its first call, so it may lack work.
        fastest = "" if self.run.header.solver == LOOP else f"fastest {body['minimum']}, "
        network = link_words(self.links)
        injected = percent(self.phase_share.get(INJECTED, 0.0))
        return [
            *([] if below_program else self._known_lines()),
            *self._ending_lines(),
            *(
                [
                    f"  iteration   {body['median']} (median); {fastest}"
                    f"99 % below {body['quantile_99']}, slowest {body['maximum']}"
                ]
                if self.run.bodies > 1
                else []
            ),
            *([f"  network     {network}"] if network and not below_program else []),
            *(
                [f"  INJECTED    noise {self.injected}: {injected} of the ranks' time"]
                if self.injected
                else []
            ),
            *([] if below_program else self._machine_lines()),
        ]

    def _known_lines(self) -> list[str]:
        """Say what ran, how long it took, and whether ranks had cores."""
        header, why = self.run.header, self.failure.rstrip(".") or "records were lost"
        hosts = f" on {self.hosts} hosts" if self.hosts > 1 else ""
        ranks = counted(header.ranks, "rank")
        if self.kept_ranks is not None:
            ranks += (
                f" (full records of {self.kept_ranks}; times and counts of iterations are of these)"
            )
        name = "loop time   " if header.solver == LOOP else "solve time  "
        if self.ending is not None and self.ending.reached:
            name = f"to {self.ending.tolerance}  "
        solves = self.solves or 0
        of = f" of {counted(solves, 'solve')}" if solves > 1 else ""
        if header.iteration_is:
            of = f" ({header.iteration_is})"
        recorded = ", ".join(f"{count:,} {name}" for name, count in self.kinds.items())
        if self.run.bodies != header.iterations:
            recorded = f"{self.run.bodies} recorded ({recorded})"
        if self.restarts == 1:
            recorded += f", 1 {ONE.get(self.between, self.between)}"
        elif self.restarts or header.solver != LOOP:  # a loop has no cycles
            recorded += f", {self.restarts} {self.between}"
        load = "; load {:.1f} before, {:.1f} after".format(*self.load) if self.load else ""
        cores = f"  noise       {self.context_switches:,} involuntary context switches{load}"
        if self.core_wait is not None:
            also = "; all below includes that" if self.core_wait.matters else ""
            cores = f"  cores       {self.core_wait}{also}"
        kept = (
            f"known one by one in {self.run.bodies - self.run.summed:,} of "
            f"{counted(self.run.bodies, 'iteration')}, by sums in the others ('attach --all' keeps "
            "all)"
        )
        return [
            str(self.run.path) + ("" if header.complete else f"  (INCOMPLETE: {why})"),
            f"  {header.solver} on {header.workload}, {ranks}{hosts}, {when(header.t0_utc)}"
            + (", simulated" if header.origin == "simulated" else ""),
            f"  {name}{seconds(self.run.solve_time_s)} for "
            f"{counted(header.iterations, 'iteration')}{of}: {recorded}",
            *([f"  calls       {kept}"] if self.run.summed else []),
            cores,
        ]

    def _machine_lines(self) -> list[str]:
        """Say how the time divides, what was counted, and where it ran."""
        cores = ", ".join(self.cpusets[:4]) + (", ..." if len(self.cpusets) > 4 else "")
        binding = f"; ranks on cores {cores}" if self.cpusets else ""
        if len(self.cpusets) == 1:
            binding = f"; all ranks on cores {cores}" if self.run.header.ranks > 1 else ""
        petsc = f"PETSc {self.petsc}, " if self.petsc and not self.adaptive else ""
        lines = [f"  phases      {shares_text(self.phase_share)}"]
        if self.activity_share:
            lines.append(f"  local work  {shares_text(self.activity_share)}")
        lines += self._efficiency_line()
        lines += self.adaptive.lines() if self.adaptive else ()
        if self.instructions and self.cycles:
            lines.append(
                f"  counted     {number(self.instructions)} instructions, "
                f"{number(self.cycles)} cycles, "
                f"{self.instructions / self.cycles:.2f} instructions per cycle"
            )
        return [*lines, f"  machine     {self.machine}{binding}; {petsc}{self.mpi_library}"]

    def _ending_lines(self) -> list[str]:
        """Return lines on a solve that fell short, or went to a tolerance."""
        ending = self.ending
        if ending is None:
            return []
        short = "FELL SHORT" if ending.reason else "ending    "
        lines = [f"  {short}  {ending.shortfall}"] if ending.shortfall else []
        if ending.doubt:
            lines.append(f"  NOT SOLVED  {ending.doubt}")
        if ending.to_tolerance and ending.iterations:
            norm = f", {ending.norm} norm" if ending.norm else ""
            if ending.true_residual is not None:
                norm += f"; true residual {ending.true_residual:.1e} of the right side"
            lines.append(
                f"  iterations  {seconds(self.run.solve_time_s / ending.iterations)} each; "
                f"{ending.reason or 'reason unknown'}{norm}"
            )
        if ending.generic:
            lines.append(
                "  generic     iterations last from one monitor call to the next: " + ending.generic
            )
        return lines

    def _efficiency_line(self) -> list[str]:
        """Return a line on the efficiencies, if they are known."""
        if self.efficiency_withheld:
            return [f"  efficiency  not given: {self.efficiency_withheld}"]
        if self.efficiency is None:
            return []
        names = ["load_balance", "serialisation", "transfer"]
        if self.efficiency.transfer is None:
            names[1:] = ["communication"]
        factors = " x ".join(
            f"{name.replace('_', ' ')} {percent(getattr(self.efficiency, name))}" for name in names
        )
        return [f"  efficiency  {percent(self.efficiency.parallel)} = {factors}"]


def shares_text(shares: Mapping[str, float]) -> str:
    """Write shares of a time with their names."""
    return ", ".join(f"{name} {percent(share)}" for name, share in shares.items())


def phase_shares(run: Run) -> dict[str, float]:
    """Return the share of each phase in the time of all bodies of all ranks."""
    phases = run.summary["phase_s"]
    if run.reduced:
        phases = dict(zip(run.phases, profiles_of(run).sum(axis=(0, 1)).tolist(), strict=True))
    total = sum(phases.values())
    return told_shares(run, {name: spent / total for name, spent in phases.items()})


def switches_of(run: Run) -> int:
    """Return the involuntary context switches of all ranks."""
    return int(run.variable("context_switches").sum())


def summarise_run(run: Run) -> RunSummary:
    """Summarise a run file from the summary that was written with it."""
    header, counted = run.header, run.summary
    kinds = np.bincount(run.kind, minlength=len(BodyKind))
    machine = header.environment.get("machine", {})
    cycles = is_adaptive(run) and run.has("cells") and run.bodies > 0
    links: list[LinkCost] = []
    with suppress(DataError):  # of events that cannot be
        links = node_links(run)
    return RunSummary(
        run=run,
        hosts=len(set(hosts_of_all(run) or run.hosts)),
        kinds={kind.name.lower(): int(kinds[kind]) for kind in BodyKind if kinds[kind]},
        restarts=run.restarts,
        between=str(header.spec.get("between", "restarts")),
        body_s=counted["body_s"],
        phase_share=phase_shares(run),
        mpi_other_share=float(run.variable("mpi_other").sum() / run.solve_time.sum()),
        balance_s=counted["balance_s"],
        context_switches=switches_of(run),
        core_wait=core_wait(run),
        threads=other_threads(run),
        instructions=counted.get("counted", {}).get("instructions") or None,
        cycles=counted.get("counted", {}).get("cycles") or None,
        load=load_around(run),
        cpusets=list(dict.fromkeys(run.texts("cpuset"))),
        petsc=str(header.environment.get("petsc")),
        mpi_library=mpi_name(header.mpi_library),
        machine=f"{machine.get('host')}: {machine.get('cores')} cores, {machine.get('cpu_model')}",
        efficiency=efficiency_of(run),
        ending=Ending.of(header),
        activity_share=activity_shares(run),
        adaptive=read_adaptive(run) if cycles else None,
        kept_ranks=run.columns if run.reduced else None,
        efficiency_withheld=why_withheld(run),
        failure=str(header.spec.get("failure") or ""),
        solves=header.spec["attached"].get("solves") if is_attached(run) else None,
        injected=injected_noise(run),
        links=links,
    )


def activity_shares(run: Run) -> dict[str, float] | None:
    """Return the share of each activity in the local time of all bodies; None if unknown."""
    names = run.activities
    if not names:
        return None
    spent = np.zeros(len(names))
    for rows in run.blocks():
        spent += run.variable("activity_duration", rows).sum(axis=(0, 1), dtype=np.float64)
    return dict(zip(names, (spent / (spent.sum() or 1.0)).tolist(), strict=True))


def efficiency_of(run: Run) -> Efficiencies | None:
    """Return the efficiencies of a run if they are cached or quick to compute."""
    try:
        return quick_efficiencies(run)
    except DataError:  # `show` also takes runs without bodies or without work
        return None


def load_around(run: Run) -> list[float] | None:
    """Return the load of the busiest host before and after a solve; None if unknown."""
    if not run.has("load_after"):
        return None
    return [float(run.variable(name).max()) for name in ("load_before", "load_after")]


def mpi_name(library: str) -> str:
    """Return name and version from the version string of an MPI library."""
    found = re.match(r"(Open MPI|MPICH|CRAY MPICH|Intel\S* MPI \S+)\D*?v?(\d[\w.]*)", library)
    return f"{found[1]} {found[2]}" if found else library[:40]


def when(t0_utc: str) -> str:
    """Write a date and time."""
    return datetime.fromisoformat(t0_utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def runs_table(runs: Sequence[Run]) -> Table:
    """Return the table of runs and where their time went."""
    shares = [phase_shares(run) for run in runs]
    phases = list(dict.fromkeys(phase for spent in shares for phase in spent))
    return Table(
        columns=(
            Column("run"),
            Column("solve time", RIGHT),
            Column("median iteration", RIGHT),
            Column("slowest", RIGHT),
            *(Column(phase, RIGHT) for phase in phases),
            Column("switches", RIGHT),
        ),
        rows=[
            (
                run.path.name,
                seconds(run.solve_time_s),
                *(seconds(run.summary["body_s"][name]) for name in ("median", "maximum")),
                *(percent(spent[phase]) if phase in spent else "" for phase in phases),
                str(switches_of(run)),
            )
            for run, spent in zip(runs, shares, strict=True)
        ],
    )
