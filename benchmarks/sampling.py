"""More work put into a function, and what `hindmost attach --sample` says of it.

    python -m benchmarks.sampling [RUNS] [STEPS]

A program whose step has a third of its work in `heavy` runs on two ranks, rank 1 with more of it.
Each extra, a share of a step, has some runs, and as many have none. *Right* are runs in which the
function is named, with its line, by four standard deviations; *wrong* those in which another is;
else samples are missing. *Shown* are those in which `show` names rank 1 as the straggler as well.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from benchmarks.ablation import say

import hindmost
from hindmost.analysis.runs.run_facts import facts_of
from hindmost.analysis.runs.sampled import RunSamples
from hindmost.analysis.runs.stretches import stretches_of
from hindmost.analysis.show.facts import UnequalWork
from hindmost.harness.runfile.reader import Run
from hindmost.harness.stack import current_stack
from hindmost.models.ranks.attribution import Attribution, attribute

SOURCE = Path(__file__).parents[1] / "tests" / "programs" / "sampled.c"
BIN = Path(sys.executable).parent
EXTRA = (0.2, 0.1, 0.05, 0.0)
"""Of a step."""
PART = 1 / 3
"""Of a step that `heavy` takes usually."""
RATE = 1000
RUNS, STEPS = 4, 2000
LIMIT_S = 600.0


def recorded(program: Path, folder: Path, extra: float, steps: int) -> Run:
    """Record one run of the program."""
    words = [str(steps), f"{1.0 + extra / PART:.4f}", "plain"]
    attach = [str(BIN / "hindmost"), "attach", "--out", str(folder), "--sample", str(RATE)]
    subprocess.run(
        [str(BIN / "mpiexec"), "-n", "2", *attach, "--", str(program), *words],
        check=True, capture_output=True, timeout=LIMIT_S,
    )  # fmt: skip
    (file,) = folder.glob("*.h5")
    return hindmost.open(file)


def attributed(run: Run) -> tuple[Attribution, str, float]:
    """Return where rank 1's extra processor time is, and how much of a step it is."""
    samples, stretches = RunSamples.of(run), stretches_of(run)
    assert samples is not None
    spent_s = np.array([samples.time_in(each.contexts) for each in stretches])
    at = int((spent_s[:, 1] - spent_s[:, 0]).argmax())
    found = attribute(samples.in_stretch(1, stretches[at].contexts))
    extra = float((spent_s[:, 1] - spent_s[:, 0]).sum() / spent_s[:, 0].sum())
    return found, str(samples.places[found.place]) if found.place >= 0 else "", extra


def main() -> None:
    """Run all cases and print the table."""
    given = [int(word) for word in sys.argv[1:]]
    runs, steps = (*given, *(RUNS, STEPS)[len(given) :])
    line = next(
        number for number, text in enumerate(SOURCE.read_text().splitlines(), 1) if "HEAVY" in text
    )
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "sampled"
        compiler = [current_stack().mpicc, "-O1", "-g", "-pthread", "-o", str(program)]
        subprocess.run([*compiler, str(SOURCE)], check=True)
        for extra in EXTRA:
            right = wrong = shown = 0
            samples, measured, shares = [], [], []
            for number in range(runs):
                run = recorded(program, Path(scratch) / f"{extra}-{number}", extra, steps)
                found, place, more = attributed(run)
                is_right = place == f"heavy (sampled.c:{line})"
                right += found.sure and is_right
                wrong += found.sure and not found.is_alike and not is_right
                facts = [each for each in facts_of(run) if isinstance(each, UnequalWork)]
                culprits = [each.culprit for each in facts if each.culprit is not None]
                shown += any(each.sure and each.rank == 1 for each in culprits)
                samples.append(found.samples)
                measured.append(more)
                shares.append(found.share)
            rows.append(
                [
                    f"{extra:.0%}",
                    f"{np.mean(measured):.1%}",
                    f"{np.mean(samples):.0f}",
                    f"{right}/{runs}",
                    f"{wrong}/{runs}",
                    f"{shown}/{runs}",
                    f"{np.mean(shares):.2f}",
                ]
            )
    for row in (("extra", "measured", "samples", "right", "wrong", "shown", "share"), *rows):
        say("".join(f"{cell:>10}" for cell in row))


if __name__ == "__main__":
    main()
