"""Delays put into a program, and what hindmost says of them.

    python -m benchmarks.injected_delays [RUNS] [SEED]

A program of four stretches of work, each up to another call of MPI, runs under ``hindmost attach``
on two ranks. In each run one rank has a delay in one stretch, drawn with the kind and the size:
more work in each step, more in each 50th, or ever more. It is *found* if the first screen names the
rank, the kind and the calls at both ends of the stretch. As many runs have no delay: a straggler,
growth or recurring work named there is a false one.

The program rests where others work, so that the load, which is printed, disturbs it less. At the
end the same runs are judged without the rule that looks at the quickest iterations: on an idle
machine it has nothing to do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.ablation import Case, Mechanism, Scores, print_table

from hindmost.analysis.runs.attached import AttachedRun, attached_programs
from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.show.facts import GrowingWork, RecurringWork, UnequalWork
from hindmost.analysis.show.phrases import text
from hindmost.harness.stack import current_stack
from hindmost.models.ranks.culprit import QuickestWork

SOURCE = Path(__file__).with_name("peers") / "injected_delays.c"
BIN = Path(sys.executable).parent
RUNS, SEED = 20, 31
STEPS = 400
STEP_S = 10e-3
"""Work of a step."""
LEAST, MOST = 0.1, 0.3
"""Delay of a step, as a share of its work; of each 50th step as a number of steps times ten."""
OF_EVERY = 10.0
CALLS = ("pass_left", "pass_right", "add_up", "largest")
"""At the ends of the stretches."""
KINDS = ("constant", "every", "growing")
LIMIT_S = 300.0
RULE = Mechanism(
    name="quickest iterations",
    patches=((QuickestWork, "shows_more", lambda each: np.ones(each.whole_s.size, np.bool_)),),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """What is put into a run.

    Attributes
    ----------
    kind : str
        Of `KINDS`, or "none".
    stretch, rank : int
    seconds : float
        Of a step: see the program.
    """

    kind: str
    stretch: int
    rank: int
    seconds: float

    def __str__(self) -> str:
        """Write it for a line."""
        if self.kind == "none":
            return "none"
        size = f"{self.seconds * 1e3:.2f} ms"
        return f"{self.kind} {size} before {CALLS[self.stretch]}, rank {self.rank}"


def drawn(random: np.random.Generator) -> Delay:
    """Draw a delay."""
    kind = str(random.choice(KINDS))
    share = float(random.uniform(LEAST, MOST)) * (OF_EVERY if kind == "every" else 1.0)
    return Delay(
        kind=kind,
        stretch=int(random.integers(len(CALLS))),
        rank=int(random.integers(2)),
        seconds=share * STEP_S,
    )


def recorded(program: Path, folder: Path, delay: Delay) -> AttachedRun:
    """Run the program under attach; return its only run."""
    words = [str(STEPS), delay.kind, str(delay.stretch), str(delay.rank), f"{delay.seconds:.9f}"]
    start = [str(BIN / "mpiexec"), "-n", "2", str(BIN / "hindmost"), "attach", "--out", str(folder)]
    subprocess.run(
        [*start, "--", str(program), *words], check=True, capture_output=True, timeout=LIMIT_S
    )
    runs = find_runs([folder])
    (found,) = attached_programs(runs, findings_of(group_runs(runs), read_large=False))
    return found.runs[0]


def names(run: AttachedRun) -> dict[str, str]:
    """Return what the first screen says is delayed, by kind."""
    kinds = {GrowingWork: "growing", RecurringWork: "every", UnequalWork: "constant"}
    return {
        kinds[type(fact)]: text(fact)
        for fact in run.facts
        if type(fact) in kinds and not (isinstance(fact, UnequalWork) and not fact.steady)
    }


def tells(said: dict[str, str], delay: Delay) -> bool:
    """Tell whether what is said names the kind, the rank and both ends of the stretch."""
    text = said.get(delay.kind, "")
    after, before = CALLS[delay.stretch - 1], CALLS[delay.stretch]
    ends = f"between {after} in main (injected_delays.c:", f"and {before} in main ("
    known = all(end in text for end in ends) and f"ank {delay.rank}" in text
    return known and (delay.kind != "every" or "every 50th" in text)


def case_of(run: AttachedRun, delay: Delay) -> Case:
    """Return whether a delay is missed, and whether one is named where none is, in %."""

    def case() -> Scores:
        said = names(run)
        if delay.kind == "none":
            return {"missed": np.nan, "in vain": 100.0 * bool(said)}
        return {"missed": 100.0 * (not tells(said, delay)), "in vain": np.nan}

    return case


def main(runs: int, seed: int) -> None:
    """Print a line for each run, and how many are right."""
    random = np.random.default_rng(seed)
    right = false = 0
    cases: list[Case] = []
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "injected_delays"
        subprocess.run([current_stack().mpicc, "-g", "-O2", "-o", program, SOURCE], check=True)
        for number in range(runs):
            delayed = drawn(random)
            for delay in (delayed, Delay(kind="none", stretch=0, rank=0, seconds=0.0)):
                load = os.getloadavg()[0]
                run = recorded(program, Path(scratch) / f"{number}-{delay.kind}", delay)
                cases.append(case_of(run, delay))
                said = names(run)
                found = tells(said, delay)
                right += found
                false += delay.kind == "none" and bool(said)
                verdict = ("found" if found else "missed") if delay.kind != "none" else ""
                verdict = verdict or ("named" if said else "quiet")
                print(f"{verdict:7}{delay}; load {load:.1f}", flush=True)  # noqa: T201
                if verdict in ("missed", "named"):
                    print("       " + run.text(), flush=True)  # noqa: T201
        print(f"{right} of {runs} delays found; named in {false} of {runs} runs without any")  # noqa: T201
        print_table("Delays", cases, (RULE,))


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*given, *(RUNS, SEED)[len(given) :])
