"""Which ranks of a run are outliers, and whether any can be blamed for the wait time of others."""

from __future__ import annotations

from dataclasses import replace

from hindmost.analysis.ranks.read import RanksOfRun
from hindmost.harness.runfile.bodies import WHO_WAITS_IS_NOT_KNOWN
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.extrema import (
    MATTERS,
    Extreme,
    extrema_of,
    extreme,
    unlike_the_rest,
)
from hindmost.models.ranks.kmeans import Clustering

MOST_NAMED = 5
"""Ranks that are named by one criterion."""
LEAST_WAITED = 0.5
"""Least part of the differences of own work that ranks must wait for, to blame any of them."""


def why_withheld(run: Run, found: RanksOfRun) -> str:
    """Say why no rank can be blamed for the wait time of others; empty if ranks can."""
    late = found.lateness
    if late is None or late.waiting_share < MATTERS:
        return ""
    reason = str(run.header.spec.get("events_left_out") or "")
    if reason.startswith(WHO_WAITS_IS_NOT_KNOWN):
        return f"It is unknown which rank waits for which: {reason}."
    if found.waited_part < LEAST_WAITED:
        return "The ranks hardly wait for the last rank of an iteration, so no rank is blamed."
    return ""


def without_blame(extrema: list[Extreme]) -> list[Extreme]:
    """Drop outliers by cost to others."""
    blames = ("most often last", "costs the others most")
    return [replace(each, standing_out=0) if each.criterion in blames else each for each in extrema]


def extrema_of_run(found: RanksOfRun, clustering: Clustering) -> list[Extreme]:
    """Return the first ranks by every criterion that the run allows."""
    matters = MATTERS * float(found.time_s.mean())
    waiting = extreme("least waiting", found.waiting_s, MOST_NAMED, least=True, matters=matters)
    if found.lateness is None:
        return [waiting, unlike_the_rest(clustering, MOST_NAMED)]
    extrema = [
        waiting if each.criterion == "least waiting" else each
        for each in extrema_of(found.lateness, clustering, MOST_NAMED)
    ]
    if found.transfers and found.lateness.transfer_s.any():
        slow = extreme(
            "slowest transfers",
            found.lateness.transfer_s,
            MOST_NAMED,
            matters=matters,
            skewed=True,
        )
        extrema.insert(2, slow)
    return extrema
