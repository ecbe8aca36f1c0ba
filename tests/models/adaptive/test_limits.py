"""Stopping before a limit where cycles are short against it."""

from __future__ import annotations

import math

import numpy as np

from hindmost.models.adaptive.limits import Ratios, TimeLimit


def test_many_short_noisy_cycles_do_not_use_up_the_risk() -> None:
    random = np.random.default_rng(5)
    limit, ratios, elapsed = TimeLimit(10.0), Ratios(), 0.0
    while limit.decide(elapsed_s=elapsed, predicted_s=1e-3, ratios=ratios):
        took = 1e-3 * math.exp(0.8 * random.standard_normal())
        ratios.observe(took / 1e-3)
        elapsed += took
    assert 9.9 < elapsed < 10.0
