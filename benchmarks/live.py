"""What a live feed costs a solve, and how large it is.

Run by ``make bench-live`` on 1 and 2 ranks. *Counted*: processor time of reductions and feed, as
each rank's thread clock has it, and what an iteration adds by its measured cost, over the processor
time of the solve. *Measured*: recorded solves with and without a feed in one process, in pairs of
either order, and the same with a viewer attached. Goal: at most 0.3 %.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.recorder import Bench, interval, size_for

from hindmost.harness import petsc
from hindmost.harness.live.feed import LiveFeed, declared
from hindmost.harness.recorder.library import load
from hindmost.harness.runfile.bodies import PHASES

TARGETS_US = {20: 50_000, 100: 10_000, 1000: 1000}
"""Time of an iteration to aim at, and iterations of a solve at it: a second each."""
PAIRS = 20
GOAL = 1.003
RANKS = (2, 16, 256, 4096, 131_072)
FRAMES_A_SECOND = 2


class LiveBench:
    """One solver on one size, recorded with and without a feed."""

    def __init__(self, bench: Bench, iterations: int, parallel: petsc.Parallel) -> None:
        self._bench, self._iterations, self._comm = bench, iterations, parallel.communicator
        self._library = declared(load())
        self.counted: list[float] = []

    def without(self) -> float:
        """Return the seconds of the slowest rank for a recorded solve."""
        took = self._bench.recorded()[0].facts.seconds
        self._library.hindmost_live_finish(0)
        return float(max(self._comm.allgather(took)))

    def fed(self, feed: LiveFeed) -> float:
        """Return the same with a feed, and note what it cost this rank."""
        feed.begin("bench", 1, self._iterations)
        before = time.thread_time_ns()
        took = self.without()
        solve_ns = time.thread_time_ns() - before
        step_ns = self._library.hindmost_live_step_cost_ns(100_000)
        spent_ns = self._library.hindmost_live_spent_ns() + step_ns * self._iterations
        self.counted.append(spent_ns / (solve_ns - spent_ns))
        return took


def watched(feed: LiveFeed, comm: Any) -> list[subprocess.Popen[bytes]]:
    """Start a server on the feed and a client that asks it as the page does, on rank 0."""
    if comm.rank > 0 or feed.path is None:
        return []
    words = [sys.executable, "-m", "hindmost", "watch", str(feed.path), "--web"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert server.stdout is not None
    address = server.stdout.readline().decode().strip() + "news"
    read = (
        "import time\nfrom urllib.request import urlopen\n"
        f"while True:\n    urlopen({address!r}).read()\n    time.sleep(0.5)"
    )
    return [server, subprocess.Popen([sys.executable, "-c", read])]


def measure(name: str, parallel: petsc.Parallel, folder: Path) -> None:
    """Measure and print a line a size."""
    comm = parallel.communicator
    for target, iterations in TARGETS_US.items():
        bench = Bench(size_for(target, name, parallel), iterations, name, parallel)
        live = LiveBench(bench, iterations, parallel)
        times: dict[str, list[tuple[float, float]]] = {}
        with LiveFeed(folder, comm, "bench", 1, PHASES) as feed:
            for viewer in ("no viewer", "a viewer"):
                started = watched(feed, comm) if viewer == "a viewer" else []
                comm.Barrier()
                for pair in range(PAIRS):
                    if pair % 2:
                        off, on = live.without(), live.fed(feed)
                    else:
                        on, off = live.fed(feed), live.without()
                    times.setdefault(viewer, []).append((off, on))
                for process in reversed(started):
                    process.terminate()
                    process.wait()
        counted = comm.allgather(float(np.median(live.counted)))
        if comm.rank == 0:
            told = [f"{name:7}{comm.size} ranks {target:5} us/it aimed at"]
            told.append("counted by rank " + ", ".join(f"{1 + each:.5f}" for each in counted))
            told[-1] += f": {'reached' if 1 + max(counted) <= GOAL else 'missed'}"
            for viewer, pairs in times.items():
                ratios = np.array([on / off for off, on in pairs])
                low, high = interval(lambda values: float(np.median(values)), ratios)
                verdict = "reached" if high <= GOAL else "missed" if low > GOAL else "undecided"
                told.append(f"{viewer}: {np.median(ratios):.4f} [{low:.4f}, {high:.4f}]: {verdict}")
            print(" | ".join(told), flush=True)  # noqa: T201


def sizes() -> None:
    """Print bytes of the feed and the cost of joining against ranks, simulated."""
    library = declared(load())
    library.hindmost_live_join_cost_ns.restype = ctypes.c_double
    random = np.random.default_rng(0)
    for ranks in RANKS:
        columns = min(ranks, 256)
        window_ns = 0.5e9
        phases = np.zeros(16)
        phases[:4] = np.array([0.1, 0.3, 0.01, 0.59]) * ranks * window_ns
        bins = np.round(np.exp(-0.5 * ((np.arange(96) - 30) / 8) ** 2) * ranks * 3000)
        sums = [*phases, *bins, ranks * window_ns, 0.0, ranks * 3e4]
        extrema = [[random.uniform(0, window_ns), random.integers(ranks)] for _ in range(5)]
        heat = random.integers(0, 1000, 256)
        vector = np.array([*sums, *np.ravel(extrema), 1000.0, 0.0, *heat], np.float64)
        with tempfile.TemporaryFile() as file:
            for frame in range(100):
                library.hindmost_live_write_as(
                    file.fileno(), ranks, 4, ctypes.c_void_p(vector.ctypes.data),
                    ctypes.c_int64(10**6 + frame), ctypes.c_int64(10**12 + frame),
                )  # fmt: skip
            size = file.seek(0, 2) / 100
        levels = int(np.ceil(np.log2(ranks)))
        join_ns = float(library.hindmost_live_join_cost_ns(columns, 10_000))
        print(  # noqa: T201
            f"{ranks:7} ranks, simulated: {size:.0f} bytes a frame, "
            f"{size * FRAMES_A_SECOND:.0f} bytes a second; vector of "
            f"{8 * (len(sums) + 12 + columns)} bytes, {levels} joins of {join_ns:.0f} ns a rank",
            flush=True,
        )


def main() -> None:
    """Measure what the command line names: a solver, or ``sizes``."""
    if sys.argv[1] == "sizes":
        sizes()
        return
    parallel = petsc.start()
    with tempfile.TemporaryDirectory() as folder:
        shared = Path(parallel.communicator.bcast(folder))
        measure(sys.argv[1], parallel, shared)
        parallel.communicator.Barrier()


if __name__ == "__main__":
    main()
