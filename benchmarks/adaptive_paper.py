"""What the paper on dynamic prediction measured, to stand beside what is measured here.

M. M. Mathis, D. J. Kerbyson, Dynamic Performance Prediction of an Adaptive Mesh Application:
tables 3 (AlphaServer ES40) and 4 (Itanium-2), average errors of the online and the
offline model in percent, by deck and processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hindmost.analysis.adaptive.study import NOTHING, Replays, percent
from hindmost.analysis.show.table import RIGHT, Column, Table


class Pair(NamedTuple):
    """Average errors of the two models, in percent."""

    online: float
    offline: float


DECKS = ("timing-a", "timing-b", "timing-c")

ALPHASERVER = {
    1: (Pair(5.6, 5.0), Pair(3.4, 4.2), Pair(3.6, 4.8)),
    2: (Pair(5.5, 3.4), Pair(4.9, 3.0), Pair(4.3, 4.6)),
    4: (Pair(5.4, 3.4), Pair(4.6, 3.7), Pair(6.4, 5.1)),
    8: (Pair(4.7, 4.7), Pair(3.9, 5.5), Pair(5.65, 6.6)),
    16: (Pair(4.5, 9.1), Pair(3.9, 7.7), Pair(5.4, 10.6)),
}
"""Table 3: processors -> a pair a deck."""

ITANIUM = {
    1: (Pair(5.9, 11.0), Pair(3.8, 5.9), Pair(4.9, 5.0)),
    2: (Pair(8.0, 9.6), Pair(6.7, 7.2), Pair(5.7, 5.9)),
    4: (Pair(8.3, 5.3), Pair(6.8, 3.5), Pair(8.3, 6.2)),
    8: (Pair(8.1, 4.7), Pair(6.0, 3.3), Pair(7.45, 7.6)),
    16: (Pair(8.4, 8.6), Pair(5.8, 6.0), Pair(10.2, 8.4)),
}
"""Table 4: processors -> a pair a deck."""

TABLES = {"AlphaServer ES40 (table 3)": ALPHASERVER, "Itanium-2 (table 4)": ITANIUM}

ONLINE = "online-all"
"""The paper's online model, with all cycles before in its window."""


def mean(most: int | None = None) -> Pair:
    """Return the average over both tables, of up to so many processors."""
    pairs = [
        pair
        for table in TABLES.values()
        for ranks, row in table.items()
        if most is None or ranks <= most
        for pair in row
    ]
    return Pair(
        sum(pair.online for pair in pairs) / len(pairs),
        sum(pair.offline for pair in pairs) / len(pairs),
    )


def mean_error(errors: Replays, name: str) -> str:
    """Write the mean error of a predictor over the runs; nothing for one that they lack."""
    return percent(float(np.mean(errors.raw.get(name, np.nan))))


def paper_table(errors: Sequence[Replays]) -> Table:
    """Return tables 3 and 4 of the paper with what was measured here above them.

    ``online`` is the paper's model: time per cell over all cycles before; a, b and c are the decks
    timing-a, timing-b and timing-c.
    """
    here = {(error.deck, error.ranks): error for error in reversed(errors)}
    rows = [
        (
            "here",
            str(ranks),
            *(
                mean_error(here[deck, ranks], name) if (deck, ranks) in here else NOTHING
                for deck in DECKS
                for name in (ONLINE, "offline")
            ),
        )
        for ranks in sorted({ranks for _, ranks in here})
    ]
    rows += [
        (name, str(ranks), *(printed(value) for pair in pairs for value in pair))
        for name, table in TABLES.items()
        for ranks, pairs in table.items()
    ]
    return Table(
        columns=(
            Column("machine"),
            Column("PEs", RIGHT),
            *(
                Column(f"{deck[-1]} {model}", RIGHT)
                for deck in DECKS
                for model in ("online", "offline")
            ),
        ),
        rows=rows,
    )


def printed(value: float) -> str:
    """Write an error as the paper prints it: mostly with one digit."""
    return f"{value:.1f}" if round(value, 1) == value else f"{value:.2f}"
