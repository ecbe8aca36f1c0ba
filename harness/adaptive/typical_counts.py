"""Typical counts of the built-in decks, for a first cycle and for choices before any run.

Found by `hindmost.harness.adaptive.earlier_run.experience_of` in runs of 20 cycles on 2 ranks with
the built-in sizes: ``mpiexec -n 2 hindmost run adaptive --deck NAME --cycles 20``. All are counts,
which do not depend on the machine. An earlier run of the deck is more accurate.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """Means over cycles.

    Attributes
    ----------
    iterations : float
        Of the heat solver, a solve.
    moved_share : float
        Of the cells of a rank, in a cycle.
    imbalance : float
        What an adaption adds to max / mean - 1 of cells a rank.
    """

    iterations: float = 0.0
    moved_share: float = 0.0
    imbalance: float = 0.0


USUAL = {
    "timing-a": Usual(moved_share=0.016, imbalance=0.017),
    "timing-b": Usual(
        iterations=8.4,
        moved_share=0.025,
        imbalance=0.024,
    ),
    "timing-c": Usual(
        iterations=8.0,
        moved_share=0.0011,
        imbalance=0.0019,
    ),
    "sod": Usual(moved_share=0.024, imbalance=0.024),
    "sedov": Usual(),
    "gaussian": Usual(iterations=7.2),
}
"""Built-in decks by name. Of timing-b the first cycle needs half as many iterations as the mean."""

OTHERS = Usual(
    iterations=8.0,
    moved_share=0.015,
    imbalance=0.015,
)
"""Decks of the user's own: a guess in the middle of those of the built-in ones."""
