"""Runs of ranks with equal work, or more work of one of them, on cores with disturbances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.ranks.culprit import Culprit, QuickestWork, find_culprit
from hindmost.models.ranks.lateness import lateness

Times = NDArray[np.float64]
KINDS = ("quiet", "slow part", "daemons", "frequency", "other job")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A run: work of shape (iteration, rank), the culprit that was put in, and the rest."""

    work: Times
    culprit: int
    latency_s: float
    core_wait_s: Times | None


def draw(kind: str, seed: int, more: float) -> Drawn:
    """Draw a run of equal work on cores with disturbances of a kind, and more work of one rank."""
    random = np.random.default_rng((KINDS.index(kind), seed))
    bodies, ranks = int(random.choice([120, 300, 600])), int(random.choice([2, 2, 3, 4, 8, 16]))
    body_s = float(np.exp(random.uniform(np.log(1e-4), np.log(2e-2))))
    slower, added = np.ones((bodies, ranks)), np.zeros((bodies, ranks))
    struck, core_wait_s = int(random.integers(ranks)), None
    if kind == "slow part":
        size = int(bodies * random.uniform(0.05, 0.93))
        begin = int(random.integers(bodies - size))
        slower[begin : begin + size, struck] = random.uniform(1.05, 1.6)
    if kind == "daemons":
        for rank in np.flatnonzero(random.random(ranks) < 0.6):
            period = random.uniform(3.0, 40.0)
            ticks = np.floor((np.arange(bodies + 1) + random.uniform(0.0, period)) / period)
            added[:, rank] = np.diff(ticks) * random.exponential(body_s, bodies)
    if kind == "frequency":
        steps = random.normal(0.0, random.uniform(0.01, 0.1) / np.sqrt(bodies), (bodies, ranks))
        slower = np.exp(np.abs(np.cumsum(steps, axis=0)))
    if kind == "other job":  # takes turns with a rank on its core, from the begin up to some time
        turn_s = random.uniform(0.5e-3, 6e-3)
        turns = np.diff(np.floor(np.arange(bodies + 1) * body_s / turn_s))
        added[: int(bodies * random.uniform(0.1, 1.0)), struck] = turn_s
        added[:, struck] *= turns
        core_wait_s = added.sum(axis=0)
    work = body_s * slower * random.lognormal(0.0, random.uniform(0.003, 0.04), (bodies, ranks))
    culprit = int(random.integers(ranks))
    work[:, culprit] *= 1.0 + more
    latency_s = body_s * float(np.exp(random.uniform(np.log(0.01), np.log(0.5))))
    return Drawn(work=work + added, culprit=culprit, latency_s=latency_s, core_wait_s=core_wait_s)


def judged(drawn: Drawn) -> Culprit | None:
    """Find the culprit as of a recorded run."""
    work = drawn.work
    late = lateness(work, ["n"] * work.shape[1])
    whole_s = late.total_s + drawn.latency_s * len(work)
    quickest = QuickestWork.of(work)
    return find_culprit(late, work.sum(axis=0), whole_s, quickest, drawn.core_wait_s)
