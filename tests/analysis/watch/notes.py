"""Notes of a program that runs, as the process that watches it writes them."""

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.harness.test_time_left import USE

from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.rank_windows import RankWindows
from hindmost.harness.runfile.time_left import NOTE, BandPoint, TimeUse
from hindmost.models.ranks.culprit import Culprit
from hindmost.output import strict_json
from hindmost.records import to_document

RUNNING = replace(USE, status=None, stop=None, at_s=600.0)
ITERATIONS = 100
"""Of each window."""


def note(
    folder: Path,
    use: TimeUse,
    *,
    age_s: float = 0.0,
    windows: RankWindows | None = None,
    name: str = "app-0",
) -> Path:
    raw = folder / f"{name}.raw"
    raw.mkdir(exist_ok=True)
    if windows is not None:
        windows.write(raw)
    part = raw / "part"
    part.write_text(strict_json(to_document(use)))
    os.utime(part, (time.time() - age_s,) * 2)
    part.replace(raw / NOTE)
    return raw


def windows_of(work: NDArray[np.float64], *, begin: int = 0) -> RankWindows:
    """Return windows of a second with own work as given, of shape (window, rank); else waits."""
    spent_s = np.zeros((*work.shape, len(PHASES)))
    spent_s[:, :, PHASES.index("local")] = work
    spent_s[:, :, PHASES.index("wait")] = 1.0 - work
    return RankWindows.of(begin, np.full(len(work), ITERATIONS), spent_s)


def watched_use(last: int, ranks: int, *, iterations: int = 12_000, total: int = 0) -> TimeUse:
    """Return a note that says which rank is last."""
    culprit = Culprit(
        rank=last,
        ranks=(last,),
        times=2.0,
        cost_s=1.0,
        share=0.25,
        saved_s=1.0,
        last=9,
        chance=None,
    )
    points = np.linspace(1, iterations, 5).astype(int).tolist()
    return TimeUse(
        began_utc_s=1.8e9,
        at_s=1e-2 * iterations,
        loop="cg",
        iterations=iterations,
        total=total,
        level_s=1e-2,
        bound_s=2e-2,
        culprit=culprit,
        ranks=ranks,
        band=tuple(
            BandPoint(iteration=point, at_s=1e-2 * point, level_s=1e-2, bound_s=2e-2)
            for point in points
        ),
    )
