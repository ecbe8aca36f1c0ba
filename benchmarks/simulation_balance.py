"""Another load balance, predicted from recorded blocks, against reruns that had it.

    python -m benchmarks.simulation_balance [--quick] [FOLDER]

The adaptive kernel gives every rank one stretch of its curve of cells, so that it cannot run with
any map of blocks to ranks. One that it can run with is that of the first mesh, where cells never
move (`--threshold 1000`). Runs that move cells predict it (`hindmost whatif --balance none`). Both
are recorded on 2 ranks in turns, so that a machine that drifts does so for both.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from benchmarks.simulation_reruns import on_ranks, say

from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.whatif.balance import Rebalanced, read_balance, rebalance

RANKS, DECK, NEVER = 2, "timing-a", 1000
ROUNDS, CYCLES = 5, 100
QUICK_ROUNDS, QUICK_CYCLES = 2, 12
MOVED, STAYED = "moved", "stayed"


def record(folder: Path, rounds: int, cycles: int) -> None:
    """Record runs that move cells, and runs that do not."""
    words = ["run", "adaptive", "--deck", DECK, "--cycles", cycles, "--blocks", "--out"]
    for _ in range(rounds):
        on_ranks(RANKS, *words, folder / MOVED)
        on_ranks(RANKS, *words, folder / STAYED, "--threshold", NEVER)


def compare(folder: Path) -> None:
    """Print what runs that moved cells say of those that did not."""
    measured = np.array([run.solve_time_s for run in find_runs([folder / STAYED])])
    asked = read_balance("none")
    found = [each for run in find_runs([folder / MOVED]) for each in rebalance(run, asked)]
    say(f"{'recorded':>12}{'cells never moved: predicted':>32}{'interval':>24}")
    for each in found:
        low_s, high_s = each.interval_s
        ends = f"{low_s:12.3f} to {high_s:.3f} s"
        say(f"{each.run.solve_time_s:10.3f} s{predicted(each):30.3f} s{ends}")
    middle_s = float(np.median(measured))
    said_s = float(np.median([predicted(each) for each in found]))
    spread = float(measured.max() / measured.min() - 1.0)
    say(
        f"measured {middle_s:.3f} s (reruns differ by {spread:.1%}), predicted {said_s:.3f} s: "
        f"{said_s / middle_s - 1.0:+.1%}"
    )


def predicted(one: Rebalanced) -> float:
    """Return the time of a run with the other map, in seconds."""
    return one.result.seconds + one.outside_s


def main(words: list[str]) -> None:
    """Record, and compare; with a folder that has runs, only compare."""
    quick = "--quick" in words
    folders = [Path(word) for word in words if word != "--quick"]
    rounds, cycles = (QUICK_ROUNDS, QUICK_CYCLES) if quick else (ROUNDS, CYCLES)
    with TemporaryDirectory() as name:
        folder = folders[0] if folders else Path(name)
        if not (folder / MOVED).exists():
            record(folder, rounds, cycles)
        compare(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
