"""Predictions before the run, against runs that were then done; prints the table of the docs.

    python -m benchmarks.predictions [--quick] [--rounds N] [FOLDER]

Run by ``make bench-predictions`` (about 10 min, wants an idle machine; ``--quick`` about 2).
Records six solvers on three problems: as they are, with three times the iterations, injected
noise, and on one rank; round after round, so that a
machine that drifts does so for all of them. Then predicts, from the runs as they are unless it says
otherwise:

- a: a later run, from those before it;
- b: the pipelined solver from the blocking one and the reverse, without and with injected noise;
- c: three times the iterations;
- d: two ranks from one;
- e: the law of noise that was injected, added; the injected noise, removed.

The error is that against the median of the runs that were done, *held* the share of these in the
90 % interval. Beside it stand the naive answer, the paper's simulation (section 6), and the median
difference of two repeats: nobody can foretell better than that. With a FOLDER that has such runs,
nothing is recorded.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np

from hindmost.analysis.runs.configuration import Group
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.whatif.baseline import NAIVE, PAPER
from hindmost.analysis.whatif.options import NOT_INJECTED, changes_of
from hindmost.analysis.whatif.prediction import predict_at_scale, predict_solves
from hindmost.analysis.whatif.targets import Scale, Scaling
from hindmost.errors import HindmostError
from hindmost.harness.runfile.machine_file import read_machine
from hindmost.harness.runfile.reader import Run
from hindmost.models.simulation.partner import RECIPES

BIN = Path(sys.prefix) / "bin"
SOLVERS = ("gmres", "pgmres", "bcgs", "pipebcgs", "cg", "pipecg")
SIZES = {"laplacian-1d": 50_000, "laplacian-3d": 25_000, "ice-flow": 10_000}
QUICK_SIZES = {"laplacian-1d": 20_000, "ice-flow": 6_000}
ITERATIONS, QUICK_ITERATIONS = 500, 300
ROUNDS, QUICK_ROUNDS = 5, 3
LONGER = 3
NOISE = 0.5
"""Mean of the injected detours, in iterations of the fastest solver of a problem."""
MACHINE = "machine.json"
RECORD_S = 420.0
"""No further round begins that would end later, if there are enough."""
EARLIEST = 2
"""Runs that must have been before one is predicted."""
GOALS = {
    "a": None, "b": 4.0, "b, noise": 5.0, "c, iterations": 4.0, "d, ranks": 7.0, "e, added": 5.0,
    "e, removed": 5.0,
}  # fmt: skip
"""Percent of the median over solvers and problems, by kind; of a: the difference of repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is recorded: a name, and what it adds to the command."""

    name: str
    words: tuple[str, ...]
    ranks: int = 2


@dataclass(slots=True, kw_only=True)
class Tally:
    """The predictions of a kind.

    Attributes
    ----------
    errors, naive, paper : list of float
        In percent of the median of the runs.
    floors : list of float
        Median difference of two repeats, in percent.
    inside, tried : int
        Runs within their interval, and all.
    """

    errors: list[float] = field(default_factory=list)
    naive: list[float] = field(default_factory=list)
    paper: list[float] = field(default_factory=list)
    floors: list[float] = field(default_factory=list)
    inside: int = 0
    tried: int = 0


def cases(iterations: int, unknowns: int, law: str) -> list[Case]:
    """Return what is recorded of a problem."""
    same = ("--iterations", str(iterations), "--unknowns", str(unknowns))
    return [
        Case(name="base", words=same),
        Case(
            name="longer",
            words=("--iterations", str(LONGER * iterations), "--unknowns", str(unknowns)),
        ),
        Case(name="noise", words=(*same, "--inject", law)),
        Case(name="alone", words=same, ranks=1),
    ]


def record(folder: Path, case: Case, problem: str, seed: int) -> None:
    """Record one round of a case: every solver once, after a warm-up."""
    solvers = [word for solver in SOLVERS for word in ("--solver", solver)]
    command = [BIN / "mpiexec", "-n", case.ranks, BIN / "hindmost", "run", problem, *solvers]
    command += [*case.words, "--seed", seed, "--out", folder / problem / case.name]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{done.stderr}\n{problem}, {case.name}: the run ended with an error")


def record_all(folder: Path, sizes: dict[str, int], iterations: int, rounds: int) -> None:
    """Record everything, round after round."""
    begin = time.perf_counter()
    words = (BIN / "mpiexec", "-n", 2, BIN / "hindmost", "probe", "network", "--quick")
    subprocess.run(
        [*map(str, words), "--out", str(folder / MACHINE)], check=True, capture_output=True
    )
    laws: dict[str, str] = {}
    for number in range(rounds):
        for problem, unknowns in sizes.items():
            base, *others = cases(iterations, unknowns, laws.get(problem, ""))
            record(folder, base, problem, number)
            if problem not in laws:
                laws[problem] = law_of(find_runs([folder / problem / base.name]))
                _, *others = cases(iterations, unknowns, laws[problem])
            for case in others:
                record(folder, case, problem, number)
        took = time.perf_counter() - begin
        print(f"round {number + 1} of {rounds}: {took:.0f} s", file=sys.stderr)  # noqa: T201
        enough = number >= EARLIEST
        if enough and took * (number + 2) / (number + 1) > RECORD_S:
            break


def law_of(runs: Sequence[Run]) -> str:
    """Return a law of noise in proportion to the iterations of the quickest solver."""
    each_s = min(run.solve_time_s / run.header.iterations for run in runs)
    return f"exponential:mean={max(round(1e6 * NOISE * each_s), 1)}us"


def runs_of(folder: Path, problem: str, case: str, solver: str) -> list[Run]:
    """Return the repeats of a solver in the order of time; none if it was not recorded."""
    found = [run for run in all_runs(folder / problem / case) if run.header.solver == solver]
    return sorted(found, key=lambda run: run.header.t0_utc)


@cache
def all_runs(place: Path) -> list[Run]:
    """Return the runs in a folder; none if there is no folder."""
    return find_runs([place]) if place.is_dir() else []


def floor_of(times_s: Sequence[float]) -> float:
    """Return the median difference of two repeats, in percent."""
    measured = np.array(times_s)
    if measured.size < 2:
        return float("nan")
    first, second = np.triu_indices(measured.size, 1)
    return 100.0 * float(np.median(np.abs(measured[first] / measured[second] - 1.0)))


def percent(predicted_s: float, measured_s: float) -> float:
    """Return an error in percent, without its sign."""
    return 100.0 * abs(predicted_s / measured_s - 1.0)


def judge(tally: Tally, base: Sequence[Run], later: Sequence[Run], **change: object) -> float:
    """Predict later runs from earlier ones, and note the errors; return the error with its sign."""
    measured = [run.solve_time_s for run in later]
    middle_s = float(np.median(measured))
    changes = changes_of(**change)  # type: ignore[arg-type]
    (found,) = predict_solves(Group(tuple(base)), changes)
    predicted = found.prediction
    said_s = predicted.seconds if predicted.known else 0.5 * (predicted.low_s + predicted.high_s)
    tally.errors.append(percent(said_s, middle_s))
    tally.floors.append(floor_of(measured))
    tally.inside += sum(predicted.low_s <= one <= predicted.high_s for one in measured)
    tally.tried += len(measured)
    for other in found.others:
        if other.prediction.known:
            errors = {NAIVE: tally.naive, PAPER: tally.paper}[other.name]
            errors.append(percent(other.prediction.seconds, middle_s))
    return 100.0 * (said_s / middle_s - 1.0)


def judge_later(tally: Tally, base: Sequence[Run]) -> float:
    """Predict every run from those before it."""
    errors, naive, paper = [], [], []
    for at in range(EARLIEST, len(base)):
        one = Tally()
        errors.append(judge(one, base[:at], base[at : at + 1]))
        naive += one.naive
        paper += one.paper
        tally.inside += one.inside
        tally.tried += one.tried
    tally.errors.append(float(np.median(np.abs(errors))))
    tally.naive.append(float(np.median(naive)))
    tally.paper += [float(np.median(paper))] if paper else []
    tally.floors.append(floor_of([run.solve_time_s for run in base]))
    return float(np.median(errors))


def judge_ranks(tally: Tally, alone: Sequence[Run], base: Sequence[Run], machine: Path) -> float:
    """Predict two ranks from one, with the probed network."""
    measured = [run.solve_time_s for run in base]
    middle_s = float(np.median(measured))
    scale = Scale(ranks=(2,), per_node=2, scaling=Scaling.STRONG)
    (found,) = predict_at_scale(list(alone), scale, changes_of(), read_machine(machine))
    predicted = found.prediction
    shown_s = float(np.median([one.middle_s for one in found.found]))
    said_s = predicted.seconds if predicted.known else shown_s
    tally.errors.append(percent(said_s, middle_s))
    tally.naive.append(percent(0.5 * float(np.median([r.solve_time_s for r in alone])), middle_s))
    tally.floors.append(floor_of(measured))
    tally.inside += sum(predicted.low_s <= one <= predicted.high_s for one in measured)
    tally.tried += len(measured)
    return 100.0 * (said_s / middle_s - 1.0)


Predict = Callable[[Tally], float]


def kinds(folder: Path, problem: str, solver: str) -> Iterator[tuple[str, Predict]]:
    """Yield what can be predicted of a solver on a problem."""

    def runs(case: str, of: str = solver) -> list[Run]:
        return runs_of(folder, problem, case, of)

    base, noise = runs("base"), runs("noise")
    partner = RECIPES[solver].partner
    law = str(noise[0].header.spec["injected"])
    iterations = LONGER * base[0].header.iterations
    yield "a", partial(judge_later, base=base)
    yield "b", partial(judge, base=runs("base", partner), later=base, solver=solver)
    yield "b, noise", partial(judge, base=runs("noise", partner), later=noise, solver=solver)
    longer = runs("longer")
    yield "c, iterations", partial(judge, base=base, later=longer, iterations=iterations)
    yield (
        "d, ranks",
        partial(judge_ranks, alone=runs("alone"), base=base, machine=folder / MACHINE),
    )
    yield "e, added", partial(judge, base=base, later=noise, noise=law)
    yield "e, removed", partial(judge, base=noise, later=base, noise=NOT_INJECTED)


def compare(folder: Path) -> None:
    """Print the errors of every solver and problem, and the table by kind."""
    tallies = {name: Tally() for name in GOALS}
    say("| problem | solver | " + " | ".join(GOALS) + " |")
    say("|---|---|" + "---|" * len(GOALS))
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        for solver in SOLVERS:
            signed, refused = dict[str, float](), dict[str, str]()
            for name, predict in kinds(folder, place.name, solver):
                try:
                    signed[name] = predict(tallies[name])
                except HindmostError as error:
                    refused[name] = str(error)
            cells = [f"{signed[name]:+.1f}" if name in signed else "-" for name in GOALS]
            say(f"| {place.name} | {solver} | " + " | ".join(cells) + " |")
            for name, reason in refused.items():
                print(f"{place.name}, {solver}, {name}: {reason}", file=sys.stderr)  # noqa: T201
    say("")
    say("| kind | error | worst | naive | paper | difference of repeats | goal | held |")
    say("|---|---|---|---|---|---|---|---|")
    for name, tally in tallies.items():
        if tally.errors:
            say(line_of(name, tally))


def line_of(name: str, tally: Tally) -> str:
    """Return the line of a kind."""
    error, floor = float(np.median(tally.errors)), float(np.median(tally.floors))
    goal = GOALS[name]
    wanted = floor if goal is None else goal
    words = "1.0 of the repeats" if goal is None else f"{goal:.0f} %"
    verdict = "reached" if error <= wanted else "missed"
    cells = [
        name,
        f"{error:.1f} %",
        f"{max(tally.errors):.1f} %",
        f"{np.median(tally.naive):.1f} %" if tally.naive else "-",
        f"{np.median(tally.paper):.1f} %" if tally.paper else "-",
        f"{floor:.1f} %",
        f"{words}: {verdict}",
        f"{100 * tally.inside / tally.tried:.0f} % of {tally.tried}",
    ]
    return "| " + " | ".join(cells) + " |"


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def main() -> None:
    """Record, unless there are runs, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int)
    arguments = parser.parse_args()
    sizes = QUICK_SIZES if arguments.quick else SIZES
    iterations = QUICK_ITERATIONS if arguments.quick else ITERATIONS
    rounds = arguments.rounds or (QUICK_ROUNDS if arguments.quick else ROUNDS)
    if rounds <= EARLIEST:
        sys.exit(f"--rounds {rounds}: a later run needs {EARLIEST} before it, so give 3 or more.")
    with tempfile.TemporaryDirectory(prefix="hindmost-") as name:
        folder = arguments.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            record_all(folder, sizes, iterations, rounds)
        compare(folder)


if __name__ == "__main__":
    main()
