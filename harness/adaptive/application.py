"""A deck as the models of run time see it: how often it exchanges, reduces and adapts."""

from __future__ import annotations

from dataclasses import dataclass

from hindmost.harness.adaptive.decks import Deck
from hindmost.models.adaptive.application import Application, Count, Exchange

DOUBLE = 8
STATE_BYTES = 4 * DOUBLE
PLACE_BYTES = 9
"""Of a cell's place in the mesh: two indices and a level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """Typical counts of a deck, for a first cycle and for choices before any run.

    Means over cycles, found by `hindmost.harness.adaptive.earlier_run.experience_of` in runs of 20
    cycles on 2 ranks with the built-in sizes. An earlier run of the deck is more accurate.

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
}
"""Built-in decks by name. Of timing-b the first cycle needs half as many iterations as the mean."""

OTHERS = Usual(
    iterations=8.0,
    moved_share=0.015,
    imbalance=0.015,
)
"""Decks of the user's own: a guess in the middle of those of the built-in ones."""


def application_of(deck: Deck) -> Application:
    """Return the counts of a deck, known from how the kernel is written.

    Every step fills the ghosts of the state and finds the largest rate; every iteration of the heat
    solver fills one column and reduces twice at once; adaption fills the state once more. How many
    iterations heat needs and what adaption changes is as usual for the deck (`USUAL`); a run of it
    knows better, see `hindmost.harness.adaptive.earlier_run.experience_of`.
    """
    rings = float(deck.buffer)
    heat = 1.0 if deck.heat else 0.0
    solves = deck.heats * heat
    exchanges = (
        Exchange(count=Count(per_cycle=1.0, per_step=1.0), bytes_per_cell=STATE_BYTES),
        Exchange(
            count=Count(per_cycle=rings + 3.0 * solves, per_iteration=heat), bytes_per_cell=DOUBLE
        ),
    )
    usual = USUAL.get(deck.name, OTHERS)
    adapts = deck.levels > 0
    return Application(
        name=deck.name,
        exchanges=exchanges,
        reductions=Count(per_cycle=2.0 * solves, per_step=1.0, per_iteration=heat),
        steps=deck.steps,
        iterations=usual.iterations * solves,
        solves=solves,
        adapts_every=1,
        moved_share=usual.moved_share * adapts,
        imbalance=usual.imbalance * adapts,
        bytes_moved=STATE_BYTES + PLACE_BYTES,
        bytes_kept=STATE_BYTES + PLACE_BYTES,
    )
