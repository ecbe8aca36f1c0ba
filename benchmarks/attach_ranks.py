"""What converting the raw files of many ranks takes: time and memory, by ranks.

    make bench-attach-ranks

The files are made: a solve of 500 iterations by CG on each rank, 64 ranks on a node, with the names
of as many calls as the recorder has, and with call contexts. Each size is converted in a process of
its own.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.harness.attach.raw_files import CALLS, US, Raw, cg, framed

from hindmost.harness.attach.convert import convert

RANKS = (192, 2_000, 4_096, 10_000)
ITERATIONS, OF_NODE = 500, 64
OTHERS = [f"MPI_Other_call_{number}" for number in range(170)]
PROGRAM = {
    "call_names": [*CALLS, *OTHERS],
    "call_classes": [name.upper() for name in (*CALLS.values(), *OTHERS)],
}


def write_program(folder: Path, ranks: int) -> int:
    """Write the raw files of a program, and return its records."""
    folder.mkdir()
    stream = cg(0, ITERATIONS, work=5 * US, step=9 * US)
    for first in range(0, ranks, OF_NODE):
        with (folder / f"node-{first:07d}.raw").open("wb") as file:
            for rank in range(first, min(first + OF_NODE, ranks)):
                raw = Raw(rank, ranks, program=PROGRAM)
                raw.section(stream, type="cg", iterations=ITERATIONS).contexts(len(stream.records))
                file.write(b"".join(framed(raw.end().parts, rank)))
    return ranks * len(stream.records)


def measure(ranks: int) -> str:
    """Convert a program of so many ranks, and return a row."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "app-0.raw"
        records = write_program(folder, ranks)
        raw_mb = sum(each.stat().st_size for each in folder.iterdir()) / 1e6
        files = len(list(folder.iterdir()))
        begin = time.process_time()
        convert(folder, Path(scratch))
        spent_s = time.process_time() - begin
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return (
        f"{ranks:>8,}{files:>8,}{records:>14,}{raw_mb:>10.0f}{spent_s:>10.1f}"
        f"{1e6 * spent_s / records:>12.2f}{peak_mb:>12.0f}"
    )


def main() -> None:
    """Print a row for each number of ranks."""
    print("   ranks   files       records    raw MB     CPU s   us/record     peak MB")  # noqa: T201
    for ranks in RANKS:
        subprocess.run([sys.executable, "-m", __spec__.name, str(ranks)], check=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(measure(int(sys.argv[1])), flush=True)  # noqa: T201
    else:
        main()
