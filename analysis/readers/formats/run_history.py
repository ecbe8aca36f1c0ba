"""Run files of hindmost as a history: every run is an observation.

A case is a solver on a workload with its configuration, and a machine is the cluster that the
scheduler names, or the host. The timers are the solve (the slowest rank's), the iterations and
their median, the mean of every phase in an iteration, the work of every stretch between two calls
of MPI (see `RunParts`), and instructions where they were counted; all are parts of the solve. The
median iteration and the phases are those of the rank with most; for a run with records of some,
the median iteration is of these only, and a remark says so. The standard errors of the solve and of
the median iteration come from batches of iterations, so that serial correlation counts; they know
nothing of differences between runs. The measured software is the commit of the repository around
the run, and the version of PETSc. An incomplete run is a failed one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.format import (
    NORMAL_QUARTILES,
    OF_A_MEDIAN,
    HistoryEntry,
    HistoryFormat,
    Session,
    StandardError,
)
from hindmost.analysis.readers.formats.run_experiment import (
    RUN_EXPERIMENT,
    iteration_times,
    kept_only,
    measure,
    recognises,
)
from hindmost.analysis.readers.history import Circumstances, StretchTimers
from hindmost.analysis.readers.provenance import seconds_since_1970
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.runs.configuration import (
    OF_MACHINE,
    STRUCTURE,
    Group,
    configuration,
    name_of,
)
from hindmost.analysis.runs.finding import WORTH_SAYING
from hindmost.analysis.runs.read import cached, incomplete
from hindmost.analysis.runs.stretches import stretches_of
from hindmost.analysis.runs.summary import mpi_name
from hindmost.harness.runfile.contexts import CodePlace
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.text import counted

SOLVE = "solve"
ITERATION = "iteration"
ITERATIONS = "iterations"
INSTRUCTIONS, PER_CYCLE = "instructions", "instructions per cycle"
LONGEST, MEAN = ", longest rank", ", mean of ranks"
DISTURBANCES = "work beyond the quickest iterations"
"""Names of timers; the work of a stretch has two, see `RunParts`."""
BATCHES = 10
OF_MACHINE_NOW = ("host", "cpu_model", "kernel", "governor", "clock_source", "smt_active")
"""Parts of the environment that say on what a run was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """The work of an iteration by stretch, as nights compare it: in its quickest iterations.

    With what comes back by count, and without what disturbs; see `hindmost.models.ranks.culprit`.

    Attributes
    ----------
    names : list of str
        Without lines, which move when a program is edited.
    places : list of str
        The same with lines.
    longest_s, mean_s : list of float, seconds
        Of the rank with most, and of all ranks.
    ranks : list of int
        The rank with most.
    beyond_s : float, seconds
        All other work of an iteration, the mean of the ranks.
    """

    names: list[str]
    places: list[str]
    longest_s: list[float]
    mean_s: list[float]
    ranks: list[int]
    beyond_s: float


def parts_of(run: Run) -> RunParts:
    """Return the work of the stretches that matter; none if the run does not know its calls."""
    stretches = stretches_of(run)
    whole_s = sum(float(stretch.work_s.sum()) for stretch in stretches)
    chosen = [stretch for stretch in stretches if stretch.work_s.sum() >= WORTH_SAYING * whole_s]
    chosen.sort(key=str)
    names: list[str] = []
    for name in [stretch.without_lines for stretch in chosen]:
        again = sum(known == name or known.startswith(f"{name} #") for known in names)
        names.append(f"{name} #{again + 1}" if again else name)
    works_s = [stretch.quickest.typical_s for stretch in chosen]
    mean_s = [float(work_s.mean()) for work_s in works_s]
    beyond_s = whole_s / run.columns / run.bodies - sum(mean_s) if chosen else 0.0
    return RunParts(
        names=names,
        places=list(map(str, chosen)),
        longest_s=[float(work_s.max()) for work_s in works_s],
        mean_s=mean_s,
        ranks=[int(run.kept_ranks[work_s.argmax()]) for work_s in works_s],
        beyond_s=max(beyond_s, 0.0),
    )


def work_of(stretch: str, which: str) -> str:
    """Return the timer of the work of a stretch: `LONGEST` or `MEAN`."""
    return f"work {stretch}{which}"


def _machine(run: Run) -> str:
    header = run.header
    cluster = header.scheduler.get("SLURM_CLUSTER_NAME")
    machine = header.environment.get("machine")
    host = machine.get("host") if isinstance(machine, dict) else None
    return str(cluster or host or next(iter(run.hosts), ""))


def case_of(run: Run) -> str:
    """Return the name of the case that a run is of."""
    return Group((run,), name_of(run)).title


def circumstances_of(run: Run, parts: RunParts) -> Circumstances:
    """Return what else is known of a run: what was asked, of which machine and libraries."""
    header, given = run.header, configuration(run)
    machine = header.environment.get("machine")
    packages = header.environment.get("packages")
    loop = given.pop("loop", "")
    asked = ("workload", "solver", "ranks", "origin")
    question = [*(given.pop(name, "") for name in asked), CodePlace.read(loop).without_line]
    measured = ("iterations", *OF_MACHINE, *STRUCTURE)
    software = {"MPI": mpi_name(header.mpi_library), "Python": header.environment.get("python")}
    software |= {"PETSc": header.environment.get("petsc")}
    software |= packages if isinstance(packages, dict) else {}
    known = machine if isinstance(machine, dict) else {}
    hosts = given.get("hosts")
    return Circumstances(
        question=" ".join(question),
        inputs={name: value for name, value in given.items() if name not in measured},
        machine={name: str(known[name]) for name in OF_MACHINE_NOW if known.get(name)}
        | ({"host": hosts} if hosts else {}),
        software={name: str(value) for name, value in software.items() if value},
        place=loop,
        iterations=header.iterations,
        ranks=header.ranks,
        load=_load(known),
        stretches={
            work_of(name, LONGEST): StretchTimers(
                mean=work_of(name, MEAN), place=place, longest=rank
            )
            for name, place, rank in zip(parts.names, parts.places, parts.ranks, strict=True)
        },
    )


def _load(machine: Mapping[str, Any]) -> float | None:
    """Return how many tasks each core of the host had to run before the run; None if unknown."""
    load, cores = machine.get("load_before"), machine.get("cores")
    if isinstance(load, int | float) and isinstance(cores, int) and cores > 0:
        return float(load) / cores
    return None


def _commits(run: Run) -> dict[str, str]:
    header = run.header
    found: dict[str, str] = {}
    commit = header.git.get("commit")
    if commit:
        found[""] = f"{commit}{' with changes' if header.git.get('dirty') else ''}"
    if header.environment.get("petsc"):
        found["PETSc"] = str(header.environment["petsc"])
    return found


def _errors(run: Run) -> dict[str, StandardError]:
    """Return the standard errors of the solve and of the median iteration.

    Each is of the rank that is slowest in it, from the scatter of batches of iterations in a row
    (batch means; Law and Kelton). That of the median is at least what independent iterations of a
    normal law with the same quartiles give. Empty if there are too few iterations.
    """
    medians: list[tuple[float, float]] = []
    totals: list[tuple[float, float]] = []
    for times in iteration_times(run):
        count = len(times)
        if count < BATCHES * 4:
            return {}
        batches = np.array_split(times, BATCHES)
        low, median, high = np.quantile(times, (0.25, 0.5, 0.75), axis=0)
        alone = OF_A_MEDIAN * (high - low) / NORMAL_QUARTILES / math.sqrt(count)
        errors = np.maximum(alone, _scatter([np.median(batch, axis=0) for batch in batches]))
        slowest = int(np.argmax(median))
        medians.append((float(median[slowest]), float(errors[slowest])))
        total = times.sum(axis=0)
        slowest = int(np.argmax(total))
        error = count * _scatter([batch.mean(axis=0) for batch in batches])[slowest]
        totals.append((float(total[slowest]), float(error)))
    freedom = BATCHES - 1.0
    return {
        SOLVE: StandardError(max(totals)[1], freedom),
        ITERATION: StandardError(max(medians)[1], freedom),
    }


def _times_of(run: Run, parts: list[str]) -> dict[str, str]:
    """Return what the timers are times of, where the person who recorded the run chose it."""
    ending, each = Ending.of(run.header), run.header.calls_of_iteration
    work = dict.fromkeys((ITERATION, *parts), f"iterations of {each}") if each else {}
    if ending is None or not ending.to_tolerance:
        count = counted(run.header.iterations, "iteration")
        work[SOLVE] = f"{count} of {each}" if each else count
    return work


def _scatter(of_batches: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the standard error of the mean of batches, shape (rank,)."""
    return np.asarray(np.std(of_batches, axis=0, ddof=1) / math.sqrt(len(of_batches)))


def _read(path: Path, folder_machine: str, remarks: Remarks) -> Iterator[HistoryEntry]:
    run = open_run(path)
    time = seconds_since_1970(run.header.t0_utc, f"{run.path}: t0_utc")
    case = case_of(run)
    ending = Ending.of(run.header)
    shortfall = ending.shortfall if ending is not None else ""
    failure = shortfall if run.header.complete else incomplete(run)
    session = Session(machine=_machine(run), time=time, file=str(run.path), commits=_commits(run))
    if failure:
        yield session.failed(case, failure)
        return
    parts = cached(run, "nightly parts", {}, RunParts, lambda: parts_of(run))
    session = replace(session, circumstances=circumstances_of(run, parts))
    if caution := kept_only(run, "median-iteration"):
        remarks.add("metrics of kept ranks only", caution)
    phases = [name for name in run.phases if name not in (SOLVE, ITERATION)]
    values = {SOLVE: run.solve_time_s, ITERATION: measure(run, "median-iteration")}
    values[ITERATIONS] = float(run.header.iterations)
    # What a run does not use, as the halo on one rank, is not a measurement.
    others = {name: measure(run, name) for name in phases}
    for name, longest_s, mean_s in zip(parts.names, parts.longest_s, parts.mean_s, strict=True):
        others |= {work_of(name, LONGEST): longest_s, work_of(name, MEAN): mean_s}
    others[DISTURBANCES] = parts.beyond_s
    values |= {name: value for name, value in others.items() if value > 0.0}
    counts = run.summary.get("counted")
    counts = counts if isinstance(counts, dict) else {}
    instructions, cycles = (float(counts.get(name) or 0.0) for name in (INSTRUCTIONS, "cycles"))
    if instructions > 0.0 < cycles and run.bodies:
        values |= {INSTRUCTIONS: instructions / run.bodies, PER_CYCLE: instructions / cycles}
    yield session.result(
        case,
        values,
        units=dict.fromkeys((ITERATIONS, INSTRUCTIONS, PER_CYCLE), ""),
        errors=_errors(run),
        work=_times_of(run, phases),
        parents=dict.fromkeys((name for name in values if name != SOLVE), SOLVE)
        | {work_of(name, MEAN): work_of(name, LONGEST) for name in parts.names},
        smaller_is_better={PER_CYCLE: False},
    )


RUN_HISTORY = HistoryFormat(
    name=RUN_EXPERIMENT.name,
    looks_like=RUN_EXPERIMENT.looks_like,
    recognises=recognises,
    read=_read,
)

FORMATS = (RUN_HISTORY,)
