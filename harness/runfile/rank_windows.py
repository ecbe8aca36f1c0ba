"""What the ranks of a watched program spent their time on, window by window, while it runs.

The process that watches a program writes it into its raw folder, beside the note of
`hindmost.harness.runfile.time_left`.
"""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.files import read_bytes

FILE = "windows.npz"
"""In a raw folder."""
MAX_ROWS = 256
"""More ranks share rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWindows:
    """Windows of iterations of a loop.

    Attributes
    ----------
    ranks : int
    ends : int64 array, shape (window,)
        Iterations that had ended at the end of each window.
    begin : int
        That had ended at the begin of the first one.
    shares : float32 array, shape (window, row, phase)
        The largest share of each phase, see `hindmost.harness.runfile.bodies.PHASES`, in the time
        of a rank of the row.
    totals : float64 array, shape (window, phase), seconds
        Of all ranks.
    """

    ranks: int
    ends: NDArray[np.int64]
    begin: int
    shares: NDArray[np.float32]
    totals: NDArray[np.float64]

    @classmethod
    def of(cls, begin: int, counts: NDArray[np.int64], spent_s: NDArray[np.float64]) -> RankWindows:
        """Return them from the iterations in windows, and times of shape (window, rank, phase)."""
        ranks = spent_s.shape[1]
        shares = spent_s / np.maximum(spent_s.sum(axis=2, keepdims=True), 1e-300)
        first = first_ranks(ranks)
        return cls(
            ranks=ranks,
            ends=begin + np.cumsum(counts),
            begin=begin,
            shares=np.maximum.reduceat(shares, first, axis=1).astype(np.float32),
            totals=spent_s.sum(axis=1),
        )

    def by_rank(self, phase: int) -> NDArray[np.float64]:
        """Return the share of a phase by window and rank; ranks that share a row have its own."""
        rows = np.searchsorted(first_ranks(self.ranks), np.arange(self.ranks), "right")
        return self.shares[:, rows - 1, phase].astype(np.float64)

    def write(self, folder: Path) -> None:
        """Write them into a raw folder, if that can be written."""
        part = folder / f".{FILE}"
        with suppress(OSError):  # a folder that is gone, a disk that is full
            with part.open("wb") as file:
                np.savez_compressed(
                    file,
                    head=np.array([self.ranks, self.begin], np.int64),
                    ends=self.ends,
                    shares=self.shares,
                    totals=self.totals,
                )
            part.replace(folder / FILE)


def first_ranks(ranks: int) -> NDArray[np.int64]:
    """Return the first rank of each row."""
    rows = min(ranks, MAX_ROWS)
    return np.arange(rows, dtype=np.int64) * ranks // rows


def read_windows(folder: Path) -> RankWindows | None:
    """Read those in a raw folder; None if there are none, or they are damaged."""
    with suppress(Exception):  # whatever is raised of an archive that is damaged
        with np.load(io.BytesIO(read_bytes(folder / FILE)), allow_pickle=False) as file:
            ranks, begin = map(int, file["head"])
            found = RankWindows(
                ranks=ranks,
                ends=file["ends"].astype(np.int64),
                begin=begin,
                shares=file["shares"].astype(np.float32),
                totals=file["totals"].astype(np.float64),
            )
        windows, rows, phases = found.shares.shape
        fits = found.ends.shape == (windows,) and found.totals.shape == (windows, phases)
        if fits and windows and rows == min(ranks, MAX_ROWS):
            return found
    return None
