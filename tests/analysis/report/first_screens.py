"""Runs of known faults, and the first screens of their reports."""

import re
from html import unescape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.conftest import LOCAL, run_values

from hindmost.cli import main
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

ITERATIONS, RANKS, LATENCY_S = 400, 4, 1e-6


def of_work(work: NDArray[np.float64], latency_s: float = LATENCY_S) -> dict[str, object]:
    """Return a run without restarts whose ranks meet at the end of every iteration.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank), seconds
    latency_s : float
        Of the reduction.
    """
    iterations, ranks = work.shape
    values = run_values(iterations=iterations, ranks=ranks, restart=iterations, seed=0)
    duration = np.repeat(work.max(axis=1, keepdims=True) + latency_s, ranks, axis=1)
    phases = np.zeros((iterations, ranks, len(PHASES)))
    phases[:, :, LOCAL] = work
    phases[:, :, PHASES.index("wait")] = duration - work
    lead = np.asarray(values["lead_in"])
    return values | {
        "duration": duration,
        "start": lead + np.cumsum(duration, axis=0) - duration,
        "phase_duration": phases,
        "position": np.arange(iterations) % iterations,
        "solve_time": 2 * lead + duration.sum(axis=0),
        "event_work": work[:, :, None].astype(np.float32),
        "event_duration": (duration - work)[:, :, None].astype(np.float32),
        "instructions": duration * 2e9,
        "cycles": duration * 1e9,
    }


def page_of(folder: Path, header: Header, *values: dict[str, object]) -> str:
    """Return the page on runs."""
    runs = folder / "runs"
    runs.mkdir()
    for value in values:
        write_whole(runs, header, value)
    assert main(["report", str(runs), "--out", str(folder / "page.html")]) == 0
    return (folder / "page.html").read_text().replace("\u00a0", " ")


def words(html: str) -> str:
    """Return the text of the first screen."""
    screen = html.split('<section id="overview"')[1].split("</section>")[0]
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", screen.partition(">")[2]))).strip()
