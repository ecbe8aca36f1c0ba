"""How well the models explain and predict real runs on 2 ranks; prints the tables of the docs.

Run by ``make validate`` (about 6 min, wants an idle machine). Settings were chosen on other runs.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.runs.tallies import solve_times
from hindmost.errors import DataError
from hindmost.harness.runfile.reader import Run
from hindmost.models.noise.cycle_places import fit_places
from hindmost.models.noise.maxplus import fit_both
from hindmost.models.noise.stationary import fit_nonstationary, fit_stationary
from hindmost.models.noise.times import SolveTimes

BIN = Path(sys.prefix) / "bin"
SOLVERS = ("gmres", "pgmres", "bcgs", "pipebcgs")
EXPLAINED_REPEATS = 3
HELD_OUT_REPEATS = 12
EARLIEST = 3
"""Solves that must have been before one is predicted."""
BASE, LONGER = 1000, 3000


def record(folder: Path, workload: str, solvers: Sequence[str], *words: str) -> None:
    """Run solvers on 2 ranks, shuffled, each warmed up."""
    chosen = [word for solver in solvers for word in ("--solver", solver)]
    command = ["-n", "2", BIN / "hindmost", "run", workload, *chosen, "--out", folder, *words]
    subprocess.run(
        [str(word) for word in (BIN / "mpiexec", *command)],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def of(runs: Sequence[Run], solver: str) -> list[Run]:
    """Return the runs of a solver in the order of time."""
    return sorted(
        (run for run in runs if run.header.solver == solver), key=lambda run: run.header.t0_utc
    )


def percent(predicted: float, measured: float) -> float:
    """Return an error in percent."""
    return 100.0 * (predicted / measured - 1.0)


def explain(folder: Path) -> None:
    """Learn on the first half of every run and judge on the second; the paper's models beside."""
    say(
        "| run | second half | max-plus, 2nd half | max-plus, whole | non-stationary | stationary |"
    )
    say("|---|---|---|---|---|---|")
    errors: dict[str, list[float]] = {name: [] for name in ("later", "whole", "uniform", "law")}
    for workload in ("laplacian-1d", "diagonal"):
        record(folder / workload, workload, SOLVERS, "--repeats", str(EXPLAINED_REPEATS))
        for run in find_runs([folder / workload]):
            times = solve_times(run)
            model, digest = fit_both(times)[0], times.digest()
            later = model.later_error_percent
            errors["later"].append(np.nan if later is None else later)
            errors["whole"].append(model.predict().error_percent(times.solve_time_s))
            for name, fit in (("uniform", fit_nonstationary), ("law", fit_stationary)):
                try:
                    error = fit(times, digest).predict().error_percent(times.solve_time_s)
                except DataError:  # no law describes these bodies
                    error = np.nan
                errors[name].append(error)
            cells = " | ".join(f"{errors[name][-1]:+.2f} %" for name in errors)
            say(f"| {run.path.stem} | {1e3 * model.later_measured_s:.0f} ms | {cells} |")
    for name, what in (("median", np.median), ("worst", np.max)):
        known = (np.array(values)[np.isfinite(values)] for values in errors.values())
        cells = " | ".join(f"{what(np.abs(values)):.2f} %" for values in known)
        say(f"| {name} of absolute values | | {cells} |")


def predict_repeats(folder: Path) -> None:
    """Predict every solve from those before it, in three ways."""
    say("| solver | difference of repeats | naive | max-plus of earlier | place in cycle | goal |")
    say("|---|---|---|---|---|---|")
    words = ("--repeats", str(HELD_OUT_REPEATS), "--iterations", str(BASE))
    record(folder, "laplacian-1d", SOLVERS, *words)
    runs = find_runs([folder])
    for solver in SOLVERS:
        times = [solve_times(run) for run in of(runs, solver)]
        measured = np.array([each.solve_time_s for each in times])
        replayed = np.array([fit_both(each)[0].predict().seconds for each in times])
        placed = np.array([fit_places([each]).predict().seconds for each in times])
        first, second = np.triu_indices(measured.size, 1)
        apart = float(np.median(np.abs(measured[first] / measured[second] - 1.0)))
        middle = [
            np.median(
                [
                    abs(float(np.median(earlier[:at])) / measured[at] - 1.0)
                    for at in range(EARLIEST, measured.size)
                ]
            )
            for earlier in (measured, replayed, placed)
        ]
        cells = " | ".join(f"{100 * each:.2f} % ({each / apart:.2f})" for each in middle)
        reached = "reached" if middle[1] <= 1.3 * apart else "missed"
        say(f"| {solver} | {100 * apart:.2f} % | {cells} | 1.30: {reached} |")


def predict_others(folder: Path) -> None:
    """Predict solves of more iterations from short ones."""
    say("| solver | later solve | measured (median) | predicted | error | in the 90 % interval |")
    say("|---|---|---|---|---|---|")
    name = f"{LONGER} iterations"
    for solver in SOLVERS:
        place = folder / solver
        for _ in range(HELD_OUT_REPEATS):
            # One after the other, so that a machine that drifts does so for all of them.
            record(place / "base", "laplacian-1d", [solver], "--iterations", str(BASE))
            record(place / "longer", "laplacian-1d", [solver], "--iterations", str(LONGER))
        base: list[SolveTimes] = [solve_times(run) for run in find_runs([place / "base"])]
        model = fit_places(base)
        found = [run.solve_time_s for run in find_runs([place / "longer"])]
        prediction = model.predict(LONGER)
        inside = sum(prediction.low_s <= one <= prediction.high_s for one in found)
        middle = float(np.median(found))
        error = percent(prediction.seconds, middle)
        say(
            f"| {solver} | {name} | {1e3 * middle:.0f} ms | {1e3 * prediction.seconds:.0f} ms "
            f"| {error:+.1f} % | {inside} of {len(found)} |"
        )


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def main() -> None:
    """Print the three tables."""
    with tempfile.TemporaryDirectory(prefix="hindmost-") as name:
        folder = Path(name)
        explain(folder / "explained")
        say("")
        predict_repeats(folder / "repeats")
        say("")
        predict_others(folder / "others")


if __name__ == "__main__":
    main()
