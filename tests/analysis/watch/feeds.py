"""Feeds with known contents, written as a run writes them."""

import json
import os
from pathlib import Path
from typing import Any

from hindmost.harness.live.feed import FeedWriter
from hindmost.harness.runfile.feed import FeedHead

RANKS = 4
PHASES = ("halo", "wait", "post", "local")
MS = 1_000_000


def head(ranks: int = RANKS, columns: int = RANKS) -> FeedHead:
    return FeedHead(
        workload="laplacian-1d",
        ranks=ranks,
        columns=columns,
        runs=2,
        phases=PHASES,
        metrics=("work", *PHASES),
        began_utc="2026-01-02T03:04:05+00:00",
        host="</script><b>büro",
        hosts=1,
    )


def frame(
    number: int, *, last: int = 2, ranks: int = RANKS, columns: int = RANKS
) -> dict[str, Any]:
    """Return a frame of 10 ms and 100 iterations: rank `last` works 8 ms, the others 4."""
    window = 10 * MS * ranks
    work = (8 + 4 * (ranks - 1)) * MS
    return {
        "kind": "frame",
        "frame": number,
        "t_ns": (number + 1) * 10 * MS,
        "iteration": (number + 1) * 100,
        "remaining_ns": 0,
        "window_ns": window,
        "phase_ns": [0, window - work, 0, work],
        "first_bin": 35,
        "bins": [100 * ranks],
        "extrema": [[last, 8 * MS], [last, 2 * MS], [0, 6 * MS], [0, 0], [1, MS // 10]],
        "period": 0,
        "metric": 0,
        "heat": [800 if column == last else 400 for column in range(columns)],
        "late": 0,
        "cost_ns": 50_000,
    }


class Feed:
    """A feed in a folder that a test adds to."""

    def __init__(self, folder: Path, about: FeedHead | None = None) -> None:
        self.writer = FeedWriter.in_folder(folder, about or head())
        self.path = self.writer.path
        self.count = 0

    def solve(self, iterations: int = 100_000) -> None:
        self.count = 0
        self.writer.add(
            {"kind": "solve", "solver": "cg", "number": 1, "iterations": iterations, "done": 0}
        )

    def frames(self, count: int, **options: Any) -> None:
        text = ""
        for _ in range(count):
            text += json.dumps(frame(self.count, **options)) + "\n"
            self.count += 1
        os.write(self.writer.handle, text.encode())

    def end(self, status: str = "done", failure: str = "") -> None:
        self.writer.add({"kind": "end", "status": status, "failure": failure})
        self.writer.close()

    def die(self) -> None:
        os.close(self.writer.handle)
