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
    divided_share, combined_share, moved_share : float
        Of the cells of a rank, in a cycle.
    changed_share : float
        Of the cycles, those that change the mesh.
    imbalance : float
        What an adaption adds to max / mean - 1 of cells a rank.
    """

    iterations: float = 0.0
    divided_share: float = 0.0
    combined_share: float = 0.0
    moved_share: float = 0.0
    changed_share: float = 1.0
    imbalance: float = 0.0


USUAL = {
    "timing-a": Usual(
        divided_share=0.034, combined_share=0.036, moved_share=0.016, imbalance=0.017
    ),
    "timing-b": Usual(
        iterations=8.4,
        divided_share=0.039,
        combined_share=0.031,
        moved_share=0.025,
        imbalance=0.024,
    ),
    "timing-c": Usual(
        iterations=8.0,
        divided_share=0.0034,
        combined_share=0.0011,
        moved_share=0.0011,
        imbalance=0.0019,
    ),
    "sod": Usual(divided_share=0.067, combined_share=0.058, moved_share=0.024, imbalance=0.024),
    "sedov": Usual(divided_share=0.023, combined_share=0.0063),
    "gaussian": Usual(iterations=7.2, changed_share=0.0),
}
"""Built-in decks by name. Of timing-b the first cycle needs half as many iterations as the mean."""

OTHERS = Usual(
    iterations=8.0,
    divided_share=0.03,
    combined_share=0.02,
    moved_share=0.015,
    imbalance=0.015,
)
"""Decks of the user's own: a guess in the middle of those of the built-in ones."""
