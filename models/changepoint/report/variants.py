"""Where the report's text, its pseudocode and its published results differ.

Kyle Shan, Performance Variation of the Albany Land-Ice Code (2020), section 3. The published page
follows neither the text nor the pseudocode to the letter; "published" reproduces its regimes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One reading of algorithms 1 and 3.

    Attributes
    ----------
    name : str
    tested : str
        "k": the k largest first differences are candidates; "all": every place is.
    divisor : str
        Divisor of the level, in addition to 2 for its two sides: "k", "tested" (the number of
        candidates) or "larger" (the larger one of n and k).
    trims_from : int
        Sides with fewer observations have no outliers.
    share_of : str
        "side": at most a tenth of a side is trimmed; "both": a tenth of both sides together.
    keeps_count : bool
        Whether the t statistic counts the trimmed observations too.
    less : int
        1 for the sample variance, 0 for that of a population.
    extra : int
        Observations in the window in addition to w.
    """

    name: str
    tested: str
    divisor: str
    trims_from: int
    share_of: str
    keeps_count: bool
    less: int
    extra: int


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            name="published",
            tested="k",
            divisor="k",
            trims_from=10,
            share_of="side",
            keeps_count=True,
            less=0,
            extra=0,
        ),
        Variant(
            name="text",
            tested="k",
            divisor="tested",
            trims_from=3,
            share_of="both",
            keeps_count=False,
            less=1,
            extra=0,
        ),
        Variant(
            name="pseudocode",
            tested="all",
            divisor="larger",
            trims_from=3,
            share_of="both",
            keeps_count=False,
            less=1,
            extra=1,
        ),
    )
}
"""By the name that `detect` takes as ``variant``."""
