"""What converting raw files takes: time and memory, by ranks, and by entries of a loop on one.

    make bench-attach-ranks

The files are made: a solve of 500 iterations by CG on each rank, 64 ranks on a node, with the names
of as many calls as the recorder has, and with call contexts; then loops of one rank with 11 million
records, in which an inner loop is entered often or seldom; then such loops of 16 ranks, converted
by one process and by two. Each is converted in processes of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.harness.attach.raw_files import CALLS, US, Raw, cg, entered, framed

RANKS = (192, 2_000, 4_096, 10_000)
ENTRIES = (4_000, 40_000, 400_000)
RECORDS = 11_000_000
MPIEXEC = str(Path(sys.executable).with_name("mpiexec"))
PROCESSES, SHARED_RANKS = (1, 2), 16
ITERATIONS, OF_NODE = 500, 64
OTHERS = [f"MPI_Other_call_{number}" for number in range(170)]
PROGRAM = {
    "call_names": [*CALLS, *OTHERS],
    "call_classes": [*CALLS.values(), *["SEND"] * len(OTHERS)],
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


def write(folder: Path, what: str, number: int) -> int:
    """Write raw files of so many ranks, or entries, and return their records."""
    if what == "ranks":
        return write_program(folder, number)
    ranks, entries = (SHARED_RANKS, ENTRIES[0]) if what == "processes" else (1, number)
    trips = RECORDS // entries // ranks // 2
    entered(folder, entries, trips, ranks=ranks)
    return ranks * entries * (1 + 2 * trips)


def measure(what: str, number: int) -> str:
    """Convert a program of so many ranks, or entries, and return a row."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "app-0.raw"
        command = [sys.executable, "-m", __spec__.name, "write", what, str(number), str(folder)]
        written = subprocess.run(command, check=True, capture_output=True, text=True)
        records = int(written.stdout)
        raw_mb = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        files = len(list(folder.iterdir()))
        begin = time.perf_counter()
        launched = [MPIEXEC, "-n", str(number)] if what == "processes" else []
        verb = [sys.executable, "-m", "hindmost", "attach", "--convert", str(folder)]
        child = subprocess.Popen([*launched, *verb], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0, "the conversion failed"
        wall_s, spent_s = time.perf_counter() - begin, usage.ru_utime + usage.ru_stime
    peak_mb = usage.ru_maxrss / 1e3  # of the largest process
    return (
        f"{number:>9,}{files:>8,}{records:>14,}{raw_mb:>10.0f}{wall_s:>10.1f}{spent_s:>10.1f}"
        f"{1e6 * spent_s / records:>12.2f}{peak_mb:>12.0f}"
    )


def main() -> None:
    """Print a row for each number of ranks, and of entries."""
    head = "   files       records    raw MB    wall s     CPU s   us/record     peak MB"
    for what, numbers in (("ranks", RANKS), ("entries", ENTRIES), ("processes", PROCESSES)):
        print(f"{what:>9}{head}")  # noqa: T201
        for number in numbers:
            command = [sys.executable, "-m", __spec__.name, "measure", what, str(number)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", what, number, folder]:
            print(write(Path(folder), what, int(number)))  # noqa: T201
        case ["measure", what, number]:
            print(measure(what, int(number)), flush=True)  # noqa: T201
        case _:
            main()
