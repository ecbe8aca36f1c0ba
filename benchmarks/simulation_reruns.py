"""Predictions from recorded runs, against reruns that were done as predicted.

    python -m benchmarks.simulation_reruns [--quick] [FOLDER]

Records GMRES and PGMRES on 1 and 2 ranks: as they are, with injected noise, and with three times
the iterations, in turns, so that a machine that drifts does so for all of them. GMRES is also
recorded on 2 ranks with an MPI whose reductions are late (`late_reductions.c`), and the network is
probed. Then predicts, from the runs as they are:

- noise: with the law that was injected (`hindmost whatif --noise`);
- longer: three times as many (`hindmost whatif --iterations`);
- partner: PGMRES on 2 ranks, from runs of GMRES (`hindmost whatif --solver pgmres`);
- latency: GMRES on 2 ranks with late reductions, which need one message each there
  (`hindmost whatif --latency +200us`; its halos take longer too, behind work);
- ranks: 2 ranks, from runs on 1 (`hindmost whatif --ranks 2 --scaling strong --machine FILE`). An
  interval alone counts as missed.

Each prediction is the median of those from single runs. Its error is the median over the reruns,
and its floor the median difference between two reruns: nobody can foretell better than that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.whatif.at_scale import scaled
from hindmost.analysis.whatif.options import Named, changes_of
from hindmost.analysis.whatif.study import replay_run
from hindmost.analysis.whatif.targets import Scale, Scaling
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.harness.runfile.reader import Run
from hindmost.models.adaptive.machine import Machine

BIN = Path(sys.prefix) / "bin"
SOLVERS, RANKS = ("gmres", "pgmres"), (1, 2)
LAW = "exponential:mean=1ms"
LONGER = 3
ROUNDS, ITERATIONS = 5, 1000
QUICK_ROUNDS, QUICK_ITERATIONS = 3, 400
GOAL, GOAL_FLOOR = 0.04, 1.2
LATE_US = 200
LATE, NETWORK = "late", "machine.json"
PRELOADED = Path(__file__).with_name("late_reductions.c")
BUSY = 0.1
"""Difference of reruns from which on reaching the goal says little."""

Found = dict[tuple[str, int, str], list[Run]]
"""Runs by case, ranks and solver."""


def record(folder: Path, rounds: int, iterations: int) -> None:
    """Record all cases on 1 and 2 ranks, round after round."""
    cases = {
        "base": ["--iterations", str(iterations)],
        "noise": ["--iterations", str(iterations), "--inject", LAW],
        "longer": ["--iterations", str(LONGER * iterations)],
    }
    solvers = [word for solver in SOLVERS for word in ("--solver", solver)]
    preloaded = compiled(folder)
    on_ranks(RANKS[-1], "probe", "network", "--out", folder / NETWORK)
    for each in range(rounds):
        here = ["--seed", str(each), "--out"]
        for ranks in RANKS:
            for name, words in cases.items():
                on_ranks(ranks, "run", "laplacian-1d", *solvers, *words, *here, folder / name)
        words = [*cases["base"], "--solver", SOLVERS[0], *here, str(folder / LATE)]
        late = {"LD_PRELOAD": str(preloaded), "LATE_US": f"{LATE_US}"}
        on_ranks(RANKS[-1], "run", "laplacian-1d", *words, environment=late)


def compiled(folder: Path) -> Path:
    """Return the library that makes reductions late."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "late_reductions.so"
    mpicc = shutil.which("mpicc", path=f"{BIN}{os.pathsep}{os.environ['PATH']}")
    if mpicc is None:
        sys.exit("There is no mpicc to make reductions late with: install that of this MPI.")
    words = [mpicc, "-O1", "-shared", "-fPIC", "-o", library, PRELOADED, "-ldl"]
    subprocess.run([str(word) for word in words], check=True)
    return library


def on_ranks(ranks: int, *words: object, environment: Mapping[str, str] | None = None) -> None:
    """Run hindmost on ranks; variables of their environment come by ``env``, on every MPI."""
    variables = [f"{name}={value}" for name, value in (environment or {}).items()]
    command = [BIN / "mpiexec", "-n", ranks, "env", *variables, BIN / "hindmost", *words]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        shown = " ".join(str(word) for word in words)
        sys.exit(f"{done.stderr}\n'hindmost {shown}' on {ranks} ranks ended with an error")


def runs_of(folder: Path) -> Found:
    """Return what was recorded."""
    runs: Found = {}
    for case in sorted(path for path in folder.iterdir() if path.is_dir()):  # not the machine file
        for run in find_runs([case]):
            runs.setdefault((case.name, run.header.ranks, run.header.solver), []).append(run)
    return runs


def replayed(runs: list[Run], named: list[Named]) -> list[float]:
    """Predict runs with a change, one by one."""
    return [replay_run(run, named, None)[0].middle_s for run in runs]


def on_more_ranks(runs: list[Run], machine: Machine) -> tuple[list[float], str]:
    """Predict runs on more ranks, one by one; also return the widest interval, in words."""
    scale = Scale(ranks=(RANKS[-1],), per_node=RANKS[-1], scaling=Scaling.STRONG)
    found = [each for run in runs for (each,) in scaled([run], scale, changes_of(), machine)]
    low_s, high_s = (
        min(each.result.low_s for each in found),
        max(each.result.high_s for each in found),
    )
    known = [each.predicted_s for each in found if each.predicted_s is not None]
    return known if len(known) == len(found) else [], f"interval {low_s:.3f} to {high_s:.3f} s"


def print_line(name: str, solver: str, ranks: int, predicted: list[float], real: list[Run]) -> bool:
    """Print a prediction beside the reruns; return whether it reaches the goal."""
    measured = np.array([run.solve_time_s for run in real])
    said = float(np.median(predicted))
    error = float(np.median(np.abs(said / measured - 1.0)))
    first, second = np.triu_indices(measured.size, 1)
    floor = float(np.median(np.abs(measured[first] / measured[second] - 1.0)))
    verdict = "reached" if error <= max(GOAL, GOAL_FLOOR * floor) else "missed"
    if floor > BUSY and verdict == "reached":
        verdict = "reached, but reruns differ too much to tell: busy machine?"
    say(
        f"{name:12}{solver:8}{ranks:5}{said:11.3f} s{np.median(measured):11.3f} s"
        f"{said / np.median(measured) - 1.0:+10.1%}{error:10.1%}{floor:10.1%}"
        f"   {verdict}"
    )
    return verdict == "reached"


def compare(found: Found, folder: Path) -> None:
    """Print all predictions."""
    say(f"goal: an error of at most {GOAL:.0%}, or {GOAL_FLOOR} times the difference of reruns")
    say(
        f"{'':12}{'solver':8}{'ranks':>5}{'predicted':>13}{'measured':>13}{'medians':>10}{'error':>10}"
        f"{'reruns':>10}"
    )
    _, pipelined = SOLVERS
    reached = []
    for ranks in RANKS:
        for solver in SOLVERS:
            base = found["base", ranks, solver]
            longer = LONGER * base[0].header.iterations
            cases = {"noise": changes_of(noise=LAW), "longer": changes_of(iterations=longer)}
            for name, change in cases.items():
                real = found[name, ranks, solver]
                reached.append(print_line(name, solver, ranks, replayed(base, change), real))
    base, real = (found["base", RANKS[-1], solver] for solver in SOLVERS)
    partner = replayed(base, changes_of(solver=pipelined))
    reached.append(print_line("partner", pipelined, RANKS[-1], partner, real))
    late = changes_of(latency=f"+{LATE_US}us")
    base = found["base", RANKS[-1], SOLVERS[0]]
    real = found[LATE, RANKS[-1], SOLVERS[0]]
    reached.append(print_line("latency", SOLVERS[0], RANKS[-1], replayed(base, late), real))
    machine = read_machine(folder / NETWORK)
    for solver in SOLVERS:
        real = found["base", RANKS[-1], solver]
        predicted, interval = on_more_ranks(found["base", RANKS[0], solver], machine)
        if predicted:
            reached.append(print_line("ranks", solver, RANKS[-1], predicted, real))
        else:
            measured_s = np.median([run.solve_time_s for run in real])
            reached.append(False)
            say(f"{'ranks':12}{solver:8}{RANKS[-1]:5} no single time; {measured_s:.3f} s measured")
        say(f"{'':20}{interval}")
    say(f"{sum(reached)} of {len(reached)} reached the goal")


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def main(words: list[str]) -> None:
    """Record, and compare; with a folder that has runs, only compare."""
    quick = "--quick" in words
    folders = [Path(word) for word in words if word != "--quick"]
    rounds, iterations = (QUICK_ROUNDS, QUICK_ITERATIONS) if quick else (ROUNDS, ITERATIONS)
    with TemporaryDirectory() as name:
        folder = folders[0] if folders else Path(name)
        if not folder.exists() or not any(folder.iterdir()):
            record(folder, rounds, iterations)
        compare(runs_of(folder), folder)


if __name__ == "__main__":
    main(sys.argv[1:])
