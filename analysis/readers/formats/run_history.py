"""Run files of hindmost as a history: every run is an observation.

A case is a solver on a workload with its configuration, and a machine is the cluster that the
scheduler names, or the host. The timers are the solve (the slowest rank's), the median iteration
and the mean of every phase in an iteration; those are parts of the solve. The median iteration and
the phases are those of the rank with most; for a run with full records of some ranks, the median
iteration is of these only, and a remark says so. The standard errors of the solve and of the median
iteration come from stretches of the run, so that serial correlation counts; they know nothing of
differences between runs. The measured software is the commit of the
repository around the run, and the version of PETSc. An incomplete run is a failed one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.readers.dates import seconds_since_1970
from hindmost.analysis.readers.format import HistoryEntry, HistoryFormat, Session
from hindmost.analysis.readers.formats.run_experiment import RUN_EXPERIMENT, recognises
from hindmost.analysis.readers.remarks import Remarks
from hindmost.analysis.readers.repetitions import NORMAL_QUARTILES, OF_A_MEDIAN, StandardError
from hindmost.analysis.readers.run_metrics import iteration_times, kept_only, measure
from hindmost.analysis.runs.configuration import name_of
from hindmost.analysis.runs.groups import Group
from hindmost.analysis.runs.read import incomplete
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.text import counted

SOLVE = "solve"
ITERATION = "iteration"
BATCHES = 10
FEWEST_IN_BATCH = 4


def _machine(run: Run) -> str:
    header = run.header
    cluster = header.scheduler.get("SLURM_CLUSTER_NAME")
    machine = header.environment.get("machine")
    host = machine.get("host") if isinstance(machine, dict) else None
    return str(cluster or host or next(iter(run.hosts), ""))


def case_of(run: Run) -> str:
    """Return the name of the case that a run is of."""
    return Group((run,), name_of(run)).title


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
        if count < BATCHES * FEWEST_IN_BATCH:
            return {}
        batches = np.array_split(times, BATCHES)
        low, median, high = np.quantile(times, (0.25, 0.5, 0.75), axis=0)
        alone = OF_A_MEDIAN * (high - low) / NORMAL_QUARTILES / math.sqrt(count)
        errors = np.maximum(alone, _scatter([np.median(each, axis=0) for each in batches]))
        slowest = int(np.argmax(median))
        medians.append((float(median[slowest]), float(errors[slowest])))
        total = times.sum(axis=0)
        slowest = int(np.argmax(total))
        error = count * _scatter([each.mean(axis=0) for each in batches])[slowest]
        totals.append((float(total[slowest]), float(error)))
    freedom = BATCHES - 1.0
    return {
        SOLVE: StandardError(max(totals)[1], freedom),
        ITERATION: StandardError(max(medians)[1], freedom),
    }


def _work(run: Run, parts: list[str]) -> dict[str, str]:
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
    case, commits = case_of(run), _commits(run)
    session = Session(machine=_machine(run), time=time, file=str(run.path), commits=commits)
    ending = Ending.of(run.header)
    shortfall = ending.shortfall if ending is not None else ""
    if failure := shortfall if run.header.complete else incomplete(run):
        yield session.failed(case, failure)
        return
    if caution := kept_only(run, "median-iteration"):
        remarks.add("metrics of kept ranks only", caution)
    parts = [name for name in run.phases if name not in (SOLVE, ITERATION)]
    values = {SOLVE: run.solve_time_s, ITERATION: measure(run, "median-iteration")}
    # A phase that a run does not use, as the halo on one rank, is not a measurement.
    values |= {name: mean for name in parts if (mean := measure(run, name)) != 0.0}
    yield session.result(
        case,
        values,
        errors=_errors(run),
        work=_work(run, parts),
        parents=dict.fromkeys((ITERATION, *parts), SOLVE),
    )


RUN_HISTORY = HistoryFormat(
    name=RUN_EXPERIMENT.name,
    looks_like=RUN_EXPERIMENT.looks_like,
    recognises=recognises,
    read=_read,
)
