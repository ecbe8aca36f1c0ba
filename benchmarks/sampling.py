"""More work put into a function, and what samples say of it: drawn ones, and those of real runs.

    python -m benchmarks.sampling [RUNS] [CLEAN]

Drawn: programs of 3 to 30 functions whose stretch between two calls has most of a step; one
function that takes a part s of a step has more in one line of three on one of two ranks. Samples
come at random times. *Right*: function and line named by four standard deviations; *wrong*: another
function is; else samples are missing. Without extra work the ranks differ by 1 % (their cores) and
each function by 0.5 %. *Thread*: an OpenMP region whose second thread has more.

Real: `tests/programs/sampled.c` on two ranks, as many steps as give the samples, RUNS of each row
and CLEAN without extra work, of which three in ten run beside two other jobs. *Shown* are runs in
which `show` names rank 1, the function and more work as its cause; *wrong* of them is any other.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.ablation import say

import hindmost
from hindmost.analysis.runs.run_facts import facts_of
from hindmost.analysis.runs.sampled import RunSamples, contexts_in, processor_times
from hindmost.analysis.runs.stretches import stretches_of
from hindmost.analysis.show.facts import UnequalThreads, UnequalWork
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.samples import SampleKind
from hindmost.harness.stack import current_stack
from hindmost.models.ranks.attribution import Attribution, Sampled, attribute
from hindmost.models.ranks.extrema import COSTS
from hindmost.models.ranks.teams import TeamWork

SOURCE = Path(__file__).parents[1] / "tests" / "programs" / "sampled.c"
BIN = Path(sys.executable).parent
ROWS = ((0.2, 800), (0.1, 1500), (0.05, 6000), (0.02, 30_000))
"""Extra work as a share of a step, and samples of a rank."""
TEAM = (0.1, 5000)
PARTS = (0.1, 1 / 3, 0.6)
"""Of a step that the function takes usually, in drawn programs; the second one in the real one."""
STRETCH = 0.7
"""Of a step that lies in the stretch of the function."""
LINES = 3
DRAWS = 1000
RATE = 1000
RUNS, CLEAN = 10, 100
BESIDE = 0.3
LIMIT_S = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """What is said of some runs."""

    right: int
    wrong: int
    runs: int

    def __str__(self) -> str:
        return f"{self.right / self.runs:7.1%} right {self.wrong:4d} wrong of {self.runs}"


def drawn(random: np.random.Generator, part: float, extra: float, samples: int) -> Attribution:
    """Attribute samples of one program; function 0 has the extra work, in its line 0.

    Nothing is attributed where the rank has no straggler's extra time.
    """
    others = int(random.integers(2, 30))
    usual = np.append(part, (STRETCH - part) * random.dirichlet(np.ones(others)))
    own = usual * (1.0 + 0.005 * random.standard_normal(usual.size))
    core = 1.0 if extra else 1.0 + 0.01 * abs(random.standard_normal())
    of_lines = random.dirichlet(np.ones(LINES), usual.size)
    theirs = usual[:, None] * of_lines
    mine = core * own[:, None] * of_lines
    mine[0, 0] += extra
    if mine.sum() - theirs.sum() <= COSTS:
        return Attribution()
    # Places: lines of functions, the lines of the step that call them, and one of main.
    count = usual.size
    lines = np.arange(count * LINES)
    callers, main_place = count * LINES + lines // LINES, np.full(lines.size, count * (LINES + 1))
    stacks = np.stack([lines, callers, main_place], axis=1)
    function = np.concatenate([lines // LINES, np.full(count, count), [count + 1]])
    return attribute(
        Sampled(
            own=random.poisson(mine.ravel() * samples),
            others=random.poisson(theirs.ravel() * samples),
            own_s=float(mine.sum()),
            others_s=float(theirs.sum()),
            ranks=1,
            end=3 * np.arange(1, lines.size + 1),
            place=stacks.ravel(),
            function=function,
            rest_s=(1.0 - STRETCH) * core * (1.0 + 0.005 * random.standard_normal()),
            others_rest_s=1.0 - STRETCH,
        )
    )


def is_named(answer: Attribution) -> bool:
    """Tell whether a function is named as the one with more work."""
    return answer.sure and not answer.is_alike and answer.same_core


def drawn_rows() -> None:
    """Print what is said of drawn samples."""
    random = np.random.default_rng(1)
    for extra, samples in ROWS:
        for part in PARTS:
            found = [drawn(random, part, extra, samples) for _ in range(DRAWS)]
            named = [answer for answer in found if is_named(answer)]
            right = sum((answer.function, answer.place) == (0, 0) for answer in named)
            wrong = sum(answer.function != 0 for answer in named)
            outcomes = Outcomes(right=right, wrong=wrong, runs=DRAWS)
            say(f"drawn {extra:5.0%} of a step in a part of {part:4.0%} {samples:7,}: {outcomes}")
    for samples in (1500, 6000, 30_000):
        found = [drawn(random, float(random.choice(PARTS)), 0.0, samples) for _ in range(DRAWS)]
        wrong = sum(map(is_named, found))
        say(f"drawn, clean {samples:7,}: {wrong} of {DRAWS} named")
    extra, samples = TEAM
    for more in (extra, 0.0):
        right = wrong = 0
        for _ in range(DRAWS):
            work = random.poisson(samples * np.array([[0.3, PARTS[1]], [0.3, PARTS[1] + more]]))
            team = TeamWork(threads=np.arange(2), work=work, serial=0)
            imbalance = team.imbalance(comparisons=2 * work.size)
            named_right = imbalance is not None and (imbalance.region, imbalance.thread) == (1, 1)
            right += more > 0.0 and named_right
            wrong += imbalance is not None and not (more > 0.0 and named_right)
        outcomes = Outcomes(right=right, wrong=wrong, runs=DRAWS)
        say(f"drawn thread, {more:4.0%} of a step {samples:7,}: {outcomes}")


def recorded(program: Path, folder: Path, *words: object) -> Run:
    """Record one run of the program."""
    attach = [str(BIN / "hindmost"), "attach", "--out", str(folder), "--sample", str(RATE)]
    subprocess.run(
        [str(BIN / "mpiexec"), "-n", "2", *attach, "--", str(program), *map(str, words)],
        check=True, capture_output=True, timeout=LIMIT_S,
    )  # fmt: skip
    (file,) = folder.glob("*.h5")
    return hindmost.open(file)


def steps_for(program: Path, folder: Path, samples: int) -> int:
    """Return the steps in which a rank has a number of samples of work."""
    steps = 300
    run = recorded(program, folder, steps, 1, "plain")
    of_work = run.variable("sample_kind") == SampleKind.WORK
    seen = int(run.variable("sample_count")[of_work].sum()) / run.header.ranks
    return max(round(samples * steps / seen), 20)


def judged(run: Run, line: int, *, is_team: bool) -> Counter[str]:
    """Return whether rank 1's extra work is attributed right, wrong, and shown."""
    samples, stretches = RunSamples.of(run), stretches_of(run)
    assert samples is not None
    facts = facts_of(run)
    if is_team:
        named = [fact for fact in facts if isinstance(fact, UnequalThreads) and fact.imbalance]
        right = any(
            fact.subject == "rank 1" and f"sampled.c:{line}" in fact.where for fact in named
        )
        return Counter(right=right, wrong=bool(named) and not right, shown=right)
    spent_s = np.array(processor_times(samples, stretches))
    more_s = spent_s[:, 1] - spent_s[:, 0]
    stretch = stretches[int(more_s.argmax())]
    answer = attribute(samples.in_stretch(1, stretch.contexts, contexts_in(stretches)))
    place = str(samples.places[answer.place]) if answer.place >= 0 else ""
    expected = f"heavy (sampled.c:{line})"
    shown = [
        (fact.culprit.rank, fact.extra.place)
        for fact in facts
        if isinstance(fact, UnequalWork) and fact.culprit is not None and fact.culprit.sure
        if fact.extra is not None and fact.extra.decides
    ]
    return Counter(
        right=is_named(answer) and place == expected,
        wrong=bool(shown) and shown != [(1, expected)],
        shown=shown == [(1, expected)],
    )


@contextmanager
def other_jobs(count: int) -> Iterator[None]:
    """Keep cores busy."""
    jobs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for job in jobs:
            job.kill()
            job.wait()


def real_rows(runs: int, clean: int) -> None:
    """Print what is said of samples of real runs."""
    text = SOURCE.read_text().splitlines()
    line = next(number for number, words in enumerate(text, 1) if "HEAVY" in words)
    with tempfile.TemporaryDirectory() as scratch:
        folder, program = Path(scratch), Path(scratch) / "sampled"
        options = ["-O1", "-g", "-pthread", "-fopenmp", "-o", str(program), str(SOURCE)]
        subprocess.run([current_stack().mpicc, *options], check=True)
        steps = steps_for(program, folder / "first", 1500)
        cases = [(extra, samples, "plain", runs, 0) for extra, samples in ROWS[1:]]
        cases.append((*TEAM, "team", runs, 0))
        beside = round(BESIDE * clean)
        cases += [(0.0, 1500, "plain", clean - beside, 0), (0.0, 1500, "plain", beside, 2)]
        for number, (extra, samples, how, count, jobs) in enumerate(cases):
            outcome: Counter[str] = Counter()
            with other_jobs(jobs):
                for at in range(count):
                    words = (steps * samples // 1500, f"{1.0 + extra / PARTS[1]:.4f}", how)
                    run = recorded(program, folder / f"{number}-{at}", *words)
                    outcome += judged(run, line, is_team=how == "team")
            if count:
                outcomes = Outcomes(right=outcome["right"], wrong=outcome["wrong"], runs=count)
                what = f"{how}, {extra:.0%} of a step, {samples:,} samples, {jobs} jobs beside"
                say(f"real {what}: {outcomes}; shown in {outcome['shown']}")


def main() -> None:
    """Run all cases and print what was said."""
    given = [int(word) for word in sys.argv[1:]]
    runs, clean = (*given, *(RUNS, CLEAN)[len(given) :])
    drawn_rows()
    if runs or clean:
        real_rows(runs, clean)


if __name__ == "__main__":
    main()
