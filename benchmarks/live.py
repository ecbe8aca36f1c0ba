"""What it costs a solve that ``hindmost watch`` can follow it.

Run by ``make bench-live`` on 1 and 2 ranks: recorded solves with and without the process that looks
on, in one process, in pairs of random order. That process needs a core of its own, or takes its
time from the ranks.
"""

from __future__ import annotations

import sys

import numpy as np
from benchmarks.recorder import Bench, size_for

from hindmost.harness import petsc
from hindmost.harness.runfile.time_left import WatchedPart
from hindmost.output import write_lines

TARGETS_US = {50: 20_000, 500: 2_000, 2000: 500}
"""Times of an iteration, and iterations of a solve."""
PAIRS = 20


def main() -> int:
    """Print a line a size."""
    parallel = petsc.start(())
    comm, name = parallel.communicator, sys.argv[1] if len(sys.argv) > 1 else "gmres"
    for target, iterations in TARGETS_US.items():
        bench = Bench(size_for(target, name, parallel), iterations, name, parallel)
        part = WatchedPart(title=name, total=iterations)
        ratios = []
        for pair in range(PAIRS):
            took = {}
            for watched in (None, part) if pair % 2 else (part, None):
                own_s = bench.recorded(watched)[0].facts.seconds
                took[watched] = max(comm.allgather(own_s))
            ratios.append(took[part] / took[None])
        low, middle, high = np.percentile(ratios, [25, 50, 75])
        if comm.rank == 0:
            write_lines(
                f"{name:7}{comm.size} ranks {target:5} us an iteration aimed at: "
                f"{middle:.4f} times as long (half of the pairs: {low:.4f} to {high:.4f})",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
