"""A report on a file of 41 million bodies: time and memory to make, size, first paint.

Run by ``make bench-report``. The file, 1.5 GB in a temporary folder, holds 5000 iterations of 8192
ranks and lies in the page cache. A single iteration of one rank is a detour, which the maps of the
page must show. Without chromium the first paint is not measured.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from benchmarks.large_file import ITERATIONS, RANKS, header, values

from hindmost.files import cache_folder
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.writer import write_whole

REPEATS = 3
PAINTS = 5
DETOUR_S, SLOW_ITERATION, SLOW_RANK = 5e-3, ITERATIONS // 3, RANKS // 5
MAX_S, MAX_GIB, MAX_MB, MAX_PAINT_S = 10.0, 1.0, 4.0, 1.0
WINDOW = (1600, 900)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What it took to make a page.

    Attributes
    ----------
    seconds, processor_s : float
    memory_gib : float
        Largest resident memory of the process.
    """

    seconds: float
    processor_s: float
    memory_gib: float


def write_file(folder: Path, iterations: int, ranks: int) -> Path:
    """Write the file with its detour."""
    contents = values(iterations, ranks)
    iteration, rank = min(SLOW_ITERATION, iterations - 1), min(SLOW_RANK, ranks - 1)
    duration = np.asarray(contents["duration"])
    phases = np.asarray(contents["phase_duration"])
    duration[iteration, rank] += DETOUR_S
    phases[iteration, rank, PHASES.index("local")] = duration[iteration, rank]
    lead = np.asarray(contents["lead_in"])
    contents["start"] = np.cumsum(duration, axis=0) - duration + lead
    contents["solve_time"] = 2 * lead + duration.sum(axis=0)
    return write_whole(folder, header(iterations, ranks), contents)


def make_page(file: Path, page: Path) -> Made:
    """Make the page in a process of its own, with nothing cached of the run."""
    command = [sys.executable, "-m", "hindmost", "report", str(file), "--out", str(page)]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as empty:
        environment = {
            **os.environ,
            "XDG_CACHE_HOME": empty,
            "NUMBA_CACHE_DIR": str(cache_folder("loops")),
        }
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
        _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"hindmost report ended with status {process.returncode}.")
    return Made(
        seconds=seconds,
        processor_s=used.ru_utime + used.ru_stime,
        memory_gib=used.ru_maxrss * 1024 / 2**30,
    )


def first_paints(page: Path) -> list[float]:
    """Return when a browser first paints the page, in seconds since it asks for it.

    Returns
    -------
    list of float
        Of several visits; empty without a browser.
    """
    from shutil import which

    from tests.analysis.browser import NAMES, Browser

    program = next(filter(None, map(which, NAMES)), None)
    if program is None:
        return []
    paint = "performance.getEntriesByName('first-contentful-paint')[0]"
    found = []
    with tempfile.TemporaryDirectory() as profile, Browser(program, Path(profile)) as browser:
        browser.window(*WINDOW)
        for _ in range(PAINTS):
            browser.open(page.as_uri(), paint)
            found.append(1e-3 * float(browser.evaluate(f"{paint}.startTime")))
    return found


def shows_detour(page: Path) -> bool:
    """Tell whether the longest time of the first map is the detour, a hundred times the others."""
    import base64
    import json
    import zlib

    html = page.read_text(encoding="utf-8")
    figure = html.split('<figure class="chart" data-kind="map"')[1]
    data = json.loads(figure.split('<script type="application/json">')[1].split("</script>")[0])
    codes = np.frombuffer(zlib.decompress(base64.b64decode(data["times"])), "<u2")
    cells = codes[: data["matrices"] * data["columns"] * data["rows"]]
    longest = data["least"] * np.exp((int(cells.max()) - 1) * data["log_step"])
    per_second = {"s": 1.0, "ms": 1e3, "µs": 1e6}[data["unit"]]
    return bool(longest > 0.99 * DETOUR_S * per_second)


def line(what: str, value: str, goal: str, reached: bool) -> str:
    """Return a line of the result."""
    return f"{what:<28}{value:<44}goal {goal:<12}{'reached' if reached else 'MISSED'}"


def main() -> None:
    """Write the file, make the page several times, and print what it took, with the goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    parser.add_argument("--ranks", type=int, default=RANKS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--keep", type=Path, help="keep the page here")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hindmost-") as folder:
        # In another process: memory that this one ever had counts for those that it starts.
        with ProcessPoolExecutor(1, get_context("spawn")) as other:
            job = other.submit(write_file, Path(folder), chosen.iterations, chosen.ranks)
            file = job.result()
        page = Path(folder) / "page.html"
        made = [make_page(file, page) for _ in range(chosen.repeats)]
        paints = first_paints(page)
        size_mb, detour = page.stat().st_size / 1e6, shows_detour(page)
        bytes_gb = file.stat().st_size / 1e9
        if chosen.keep:
            chosen.keep.write_bytes(page.read_bytes())
    taken = [each.seconds for each in made]
    middle, memory = statistics.median(taken), max(each.memory_gib for each in made)
    processor = statistics.median(each.processor_s for each in made)
    bodies = chosen.iterations * chosen.ranks / 1e6
    lines = [
        f"hindmost report, {bodies:.1f} million bodies, {bytes_gb:.2f} GB, nothing cached",
        line(
            "time to make",
            f"{middle:.1f} s (median of {len(taken)}; processor {processor:.1f} s)",
            f"{MAX_S:g} s",
            middle <= MAX_S,
        ),
        line("memory", f"{memory:.2f} GiB", f"{MAX_GIB:g} GiB", memory <= MAX_GIB),
        line("size of the page", f"{size_mb:.2f} MB", f"{MAX_MB:g} MB", size_mb <= MAX_MB),
        "first paint: no chromium here"
        if not paints
        else line(
            "first paint",
            f"{statistics.median(paints):.2f} s (median of {len(paints)})",
            f"{MAX_PAINT_S:g} s",
            statistics.median(paints) <= MAX_PAINT_S,
        ),
        line(
            "a detour of one body", "is in the map" if detour else "is lost", "in the map", detour
        ),
    ]
    print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    main()
