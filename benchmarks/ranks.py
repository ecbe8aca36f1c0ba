"""What the analysis of many ranks takes, and whether it agrees with plainer ways.

Run by ``make bench-ranks``: 4 GB of durations of 100,000 ranks streamed from disk; a whole run file
of as many ranks; 131,072 vectors of 32 metrics put into groups on 2 ranks, beside scikit-learn's
KMeans if the environment variable ``SKLEARN`` names a Python that has it. Timings are for whoever
runs it, on an idle machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np
from benchmarks import large_file
from numpy.typing import NDArray

from hindmost.harness.runfile.writer import write_whole
from hindmost.models.ranks.kmeans import cluster
from hindmost.models.ranks.lateness import LatenessSum

ITERATIONS, RANKS = 5000, 100_000
FILE_ITERATIONS = 1000
BLOCK_BYTES = 64 << 20
VECTORS, METRICS, GROUPS, STARTS = 131_072, 32, 8, 5

ON_RANKS = """
import sys, time
import numpy as np
from mpi4py import MPI
sys.path.insert(0, sys.argv[1])
from benchmarks.ranks import GROUPS, STARTS, vectors
from hindmost.harness.reduction.decide import RankReductions
from hindmost.models.ranks.kmeans import cluster
world = MPI.COMM_WORLD
mine = np.array_split(np.arange(len(vectors())), world.size)[world.rank]
points = vectors()[mine]
times = []
for _ in range(3):
    reductions = RankReductions(world)
    world.Barrier()
    began = time.perf_counter()
    found = cluster(points, GROUPS, starts=STARTS, reductions=reductions)
    world.Barrier()
    times.append(time.perf_counter() - began)
if world.rank == 0:
    print(sorted(times)[1], found.inertia, reductions.calls, reductions.sent_bytes)
"""

# What the system counts as most memory would be that of the parent: the kernel's own of this life.
LOOK = """
import re, sys
from pathlib import Path
from hindmost.cli import main
assert main(["show", "--ranks", sys.argv[1]]) == 0
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""

OF_SKLEARN = """
import sys, time
import numpy as np
from sklearn.cluster import KMeans
points = np.load(sys.argv[1])
began = time.perf_counter()
found = KMeans(int(sys.argv[2]), n_init=int(sys.argv[3]), random_state=0).fit(points)
print(time.perf_counter() - began, found.inertia_)
"""


def vectors() -> NDArray[np.float64]:
    """Return vectors of ranks of eight kinds that overlap."""
    random = np.random.default_rng(0)
    centres = random.random((GROUPS, METRICS))
    kinds = random.integers(0, GROUPS, VECTORS)
    made: NDArray[np.float64] = centres[kinds] + 0.15 * random.standard_normal((VECTORS, METRICS))
    return made


def write_durations(path: Path) -> None:
    """Write 4 GB as run files have them; every seventh rank of one node is late now and then."""
    random = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        data = file.create_dataset(
            "duration", (ITERATIONS, RANKS), "f8", chunks=(256, 1024), fillvalue=np.nan
        )
        base = 1e-3 * (1.0 + 0.1 * random.random(RANKS))
        for first in range(0, ITERATIONS, 256):
            rows = min(256, ITERATIONS - first)
            block = base + 1e-5 * random.random((rows, 1))
            block = np.broadcast_to(block, (rows, RANKS)).copy()
            late = random.integers(0, RANKS, rows)
            block[np.arange(rows), late] += 1e-3
            data[first : first + rows] = block


def stream(path: Path) -> None:
    """Go through the file in a process of its own, and say what that took."""
    began = time.perf_counter()
    sweep = LatenessSum([f"node{rank // 64}" for rank in range(RANKS)], ITERATIONS)
    with h5py.File(path, "r", rdcc_nbytes=0) as file:
        data = file["duration"]
        # as many rows of all columns at a time as a chunk is high
        rows = max(1, min(256, BLOCK_BYTES * 4 // (8 * RANKS)))
        for first in range(0, ITERATIONS, rows):
            sweep.add(data[first : first + rows])
    found = sweep.result()
    spent = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{spent} {peak} {found.last.sum()} {found.total_s}")  # noqa: T201


def bench_streaming(folder: Path) -> None:
    """Write, drop nothing, stream; hold a few columns against numpy."""
    path = folder / "durations.h5"
    write_durations(path)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.ranks", "--stream", str(path)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    spent, peak, last, total = map(float, done.stdout.split())
    with h5py.File(path, "r") as file:
        longest = sum(file["duration"][row].max() for row in range(ITERATIONS))
    print(  # noqa: T201
        f"{ITERATIONS} bodies of {RANKS:,} ranks, {path.stat().st_size / 1e9:.1f} GB: "
        f"{spent:.1f} s (goal 60), {peak / 2**30:.2f} GiB (goal 1); every body has one last rank: "
        f"{last == ITERATIONS}; total off numpy's by {abs(total / longest - 1):.1e}"
    )


def bench_file(folder: Path) -> None:
    """Write a whole run file of as many ranks, phases and starts with it, and look at it all."""
    made = large_file.values(FILE_ITERATIONS, RANKS)
    path = write_whole(folder, large_file.header(FILE_ITERATIONS, RANKS), made)
    del made
    size = path.stat().st_size
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(path)], capture_output=True, text=True, check=True
    )
    spent = time.perf_counter() - began
    print(  # noqa: T201
        f"hindmost show --ranks on a run file of {FILE_ITERATIONS} bodies of {RANKS:,} ranks, "
        f"{size / 1e9:.1f} GB, groups, profile and critical path included: {spent:.1f} s, "
        f"{int(done.stdout.splitlines()[-1]) / 2**20:.2f} GiB"
    )
    path.unlink()


def bench_kmeans(folder: Path) -> None:
    """Put vectors into groups on 2 ranks and on one process, and by scikit-learn."""
    script = folder / "on_ranks.py"
    script.write_text(ON_RANKS)
    mpiexec = Path(sys.prefix) / "bin" / "mpiexec"
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [str(mpiexec), "-n", "2", sys.executable, str(script), str(root)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    spent, inertia, calls, sent = map(float, done.stdout.split())
    serial = cluster(vectors(), GROUPS, starts=STARTS)
    print(  # noqa: T201
        f"{VECTORS:,} vectors of {METRICS} metrics, k = {GROUPS}, {STARTS} starts, 2 ranks: "
        f"{spent:.2f} s (median of 3, goal 2), {calls:.0f} reductions of {sent:.0f} bytes in all "
        f"per rank; one process finds the same: {np.isclose(serial.inertia, inertia, rtol=1e-9)}"
    )
    python = os.environ.get("SKLEARN")
    if python:
        np.save(folder / "points.npy", vectors())
        done = subprocess.run(
            [python, "-c", OF_SKLEARN, str(folder / "points.npy"), str(GROUPS), str(STARTS)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        theirs, of_theirs = map(float, done.stdout.split())
        print(  # noqa: T201
            f"scikit-learn, one process: {theirs:.2f} s; its inertia is "
            f"{of_theirs / inertia:.6f} of ours"
        )


def main() -> None:
    """Bench all, or one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--stream", type=Path)
    parser.add_argument("--only", choices=("streaming", "file", "kmeans"))
    arguments = parser.parse_args()
    if arguments.stream is not None:
        stream(arguments.stream)
        return
    with tempfile.TemporaryDirectory(prefix="hindmost-") as folder:
        benches = {"kmeans": bench_kmeans, "streaming": bench_streaming, "file": bench_file}
        for name, bench in benches.items():
            if arguments.only in (None, name):
                bench(Path(folder))


if __name__ == "__main__":
    main()
