"""The interval between checkpoints, and the time that checkpoints and failures waste.

delta is the time of a checkpoint, M the mean time between failures, R the time of a restart, tau
the time computed between two checkpoints, all in seconds. Times between failures are exponential.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from hindmost.errors import UsageError


def young_s(checkpoint_s: float, mtbf_s: float, restart_s: float = 0.0) -> float:
    """Return tau = sqrt(2 delta M): the paper's equation (1), independent of R."""
    check(checkpoint_s, mtbf_s, restart_s)
    return math.sqrt(2.0 * checkpoint_s * mtbf_s)


def daly_first_s(checkpoint_s: float, mtbf_s: float, restart_s: float = 0.0) -> float:
    """Return tau = sqrt(2 delta (M + R)) - delta, Daly's first order; at least delta."""
    check(checkpoint_s, mtbf_s, restart_s)
    return max(checkpoint_s, math.sqrt(2.0 * checkpoint_s * (mtbf_s + restart_s)) - checkpoint_s)


def daly_s(checkpoint_s: float, mtbf_s: float, restart_s: float = 0.0) -> float:
    """Return Daly's higher order, independent of R; M for delta >= 2 M.

    tau = sqrt(2 delta M) (1 + sqrt(delta / 2 M) / 3 + (delta / 2 M) / 9) - delta.
    """
    check(checkpoint_s, mtbf_s, restart_s)
    if checkpoint_s >= 2.0 * mtbf_s:
        return mtbf_s
    part = checkpoint_s / (2.0 * mtbf_s)
    factor = 1.0 + math.sqrt(part) / 3.0 + part / 9.0
    return math.sqrt(2.0 * checkpoint_s * mtbf_s) * factor - checkpoint_s


def optimum_s(checkpoint_s: float, mtbf_s: float, restart_s: float = 0.0) -> float:
    """Return the tau of least waste: tau / M = 1 + W(-exp(-1 - delta / M)), W Lambert's.

    It solves exp((tau + delta) / M) (1 - tau / M) = 1, independent of R. Newton's method is used
    because this runs in every cycle.
    """
    check(checkpoint_s, mtbf_s, restart_s)
    delta = checkpoint_s / mtbf_s
    if delta == 0.0:
        return 0.0
    if delta > 0.01:  # y = 1 - tau / M solves y = exp(y - 1 - delta), and is small
        y = math.exp(-1.0 - delta)
        for _ in range(60):
            image = math.exp(y - 1.0 - delta)
            step = (y - image) / (1.0 - image)
            y -= step
            if abs(step) <= 1e-15:
                break
        return mtbf_s * (1.0 - y)
    x = math.sqrt(2.0 * delta)  # x = tau / M solves ln(1 - x) + x + delta = 0, and is small
    for _ in range(60):
        step = -(math.log1p(-x) + x + delta) * (1.0 - x) / x
        x -= step
        if abs(step) <= 1e-12 * x:
            break
    return mtbf_s * x


def waste(tau_s: float, checkpoint_s: float, mtbf_s: float, restart_s: float = 0.0) -> float:
    """Return E[T_wall] / T_solve - 1 = M e^(R / M) (e^((tau + delta) / M) - 1) / tau - 1."""
    check(checkpoint_s, mtbf_s, restart_s)
    if tau_s <= 0.0:
        raise UsageError(f"{tau_s:g} s between checkpoints; the time must be above 0.")
    return segment_s(tau_s + checkpoint_s, mtbf_s, restart_s) / tau_s - 1.0


def segment_s(length_s: float, mtbf_s: float, restart_s: float = 0.0) -> float:
    """Return the expected wall time of a segment that a failure throws back to its begin."""
    return mtbf_s * math.exp(restart_s / mtbf_s) * math.expm1(length_s / mtbf_s)


def check(checkpoint_s: float, mtbf_s: float, restart_s: float) -> None:
    """Refuse invalid times."""
    if not (math.isfinite(mtbf_s) and mtbf_s > 0.0):
        raise UsageError(f"A mean time between failures of {mtbf_s:g} s; it must be above 0.")
    for name, value in (("checkpoint", checkpoint_s), ("restart", restart_s)):
        if not (math.isfinite(value) and value >= 0.0):
            raise UsageError(f"A {name} of {value:g} s; it must take a finite time, at least 0.")


INTERVALS: dict[str, Callable[[float, float, float], float]] = {
    "young": young_s,
    "daly-1": daly_first_s,
    "daly": daly_s,
    "optimum": optimum_s,
}
"""Rules for tau of (checkpoint_s, mtbf_s, restart_s), by name."""
