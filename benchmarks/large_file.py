"""How long ``hindmost show`` takes on a file of 41 million bodies, beside reading it plainly.

Run by ``make bench-show``. The file, 1.3 GB in a temporary folder, holds 5000 iterations of 8192
ranks and lies in the page cache.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

ITERATIONS, RANKS = 5000, 8192
REPEATS = 5
BLOCK_BYTES = 16 << 20


def header(iterations: int, ranks: int) -> Header:
    """Describe the synthetic run."""
    return Header(
        workload="synthetic",
        solver="gmres",
        ranks=ranks,
        iterations=iterations,
        restart=iterations,
        synchronisation="blocking",
        lag=0,
        complete=True,
        records_lost=0,
        origin="synthetic",
        t0_utc="2026-01-01T00:00:00.000000+00:00",
        mpi_library="none",
        spec={},
        environment={},
        petsc_options={},
        scheduler={},
        git={},
    )


def values(iterations: int, ranks: int) -> dict[str, object]:
    """Return the variables of a run whose bodies last 50 to 60 us."""
    random = np.random.default_rng(0)
    duration = random.uniform(50e-6, 60e-6, (iterations, ranks))
    phases = np.zeros((iterations, ranks, len(PHASES)), np.float32)
    phases[:, :, PHASES.index("local")] = duration
    none, lead = np.zeros(ranks), np.full(ranks, 1e-5)
    edges = np.empty(0, np.int64)
    return {
        "duration": duration,
        "start": np.cumsum(duration, axis=0) - duration + lead,
        "phase_duration": phases,
        "body": np.zeros(iterations, np.uint8),
        "position": np.arange(iterations),
        "residual_norm": np.ones(iterations),
        "restart_duration": np.empty((0, ranks)),
        "lead_in": lead,
        "lead_out": lead,
        "solve_time": 2 * lead + duration.sum(axis=0),
        "mpi_other": none,
        "context_switches": none,
        "cpu": none,
        "clock_offset": none,
        "clock_uncertainty": none,
        "edge_source": edges,
        "edge_target": edges,
        "edge_bytes": edges,
        "host": ["node"] * ranks,
    }


def read_plainly(path: Path) -> None:
    """Read a file to its end and look at nothing."""
    with path.open("rb", buffering=0) as file:
        while file.read(BLOCK_BYTES):
            pass


def main() -> None:
    """Write the file, show it several times, print one line."""
    with tempfile.TemporaryDirectory(prefix="hindmost-") as folder:
        began = time.perf_counter()
        path = write_whole(Path(folder), header(ITERATIONS, RANKS), values(ITERATIONS, RANKS))
        written = time.perf_counter() - began
        command = [sys.executable, "-m", "hindmost", "show", str(path)]
        shown, plain = [], []
        for _ in range(REPEATS):
            began = time.perf_counter()
            read_plainly(path)
            plain.append(time.perf_counter() - began)
            began = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            shown.append(time.perf_counter() - began)
        least, middle = min(shown), float(np.median(shown))
        print(  # noqa: T201
            f"hindmost show, {ITERATIONS * RANKS / 1e6:.0f} million bodies, "
            f"{path.stat().st_size / 1e9:.2f} GB: {middle:.2f} s (median of {REPEATS}, least "
            f"{least:.2f} s, goal 1 s); reading the file plainly {np.median(plain):.2f} s, ratio "
            f"{middle / float(np.median(plain)):.1f}; made and written in {written:.1f} s"
        )


if __name__ == "__main__":
    main()
