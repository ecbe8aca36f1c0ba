"""Cycles of an adaptive code with known truth: what they do, what they take, what is noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.models.adaptive.work import Spent, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleLaw:
    """How cycles are made.

    Attributes
    ----------
    cycles, steps : int
    cells, growth : float
        At the begin, and the factor to the end; cells change when the mesh is adapted.
    adapts_every : int
    iterations : tuple of float
        Of the heat solver, first and last; (0, 0) without heat.
    wobble : float
        Relative standard deviation of iterations beside the drift.
    hydro_s, heat_s, adaption_s : float
        Per cell and step, per cell and iteration, per cell.
    message_s : float
        Of an exchange and of a reduction, each; 0 on one rank.
    drift : float
        Relative change of the cost per cell from the first to the last cycle, as the data spread.
    wander : float
        Relative standard deviation of a step of a random walk in that cost.
    noise : float
        Relative standard deviation of a cycle, of every phase together.
    phase_noise : float
        The same of each phase by itself.
    correlation : float
        Of that of neighbouring cycles.
    spikes, spike : float
        Share of cycles that are disturbed, and the median of what that adds, relative to a cycle;
        it is lognormal with sigma 0.7.
    """

    cycles: int = 200
    steps: int = 20
    cells: float = 4096.0
    growth: float = 2.0
    adapts_every: int = 5
    iterations: tuple[float, float] = (17.0, 63.0)
    wobble: float = 0.02
    hydro_s: float = 33e-9
    heat_s: float = 10e-9
    adaption_s: float = 300e-9
    message_s: float = 0.0
    drift: float = 0.05
    wander: float = 0.002
    noise: float = 0.01
    phase_noise: float = 0.01
    correlation: float = 0.3
    spikes: float = 0.03
    spike: float = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycles:
    """A series of cycles.

    Attributes
    ----------
    work : tuple of Work
        As known before each cycle: its iterations are those of the one before.
    spent : tuple of Spent
    denoised : float64 array, shape (cycle,), seconds
        Without noise and spikes.
    """

    work: tuple[Work, ...]
    spent: tuple[Spent, ...]
    denoised: NDArray[np.float64]

    @property
    def seconds(self) -> NDArray[np.float64]:
        """What each cycle took, float64 array, shape (cycle,), seconds."""
        return np.array([each.seconds for each in self.spent])


def draw_cycles(law: CycleLaw, seed: int, *, slowdown: NDArray[np.float64] | None = None) -> Cycles:
    """Draw a series.

    Parameters
    ----------
    slowdown : float64 array, shape (cycle,), optional
        Factor on every phase of each cycle: 2 where a neighbour takes half of the machine.
    """
    random = np.random.default_rng(seed)
    n = law.cycles
    at = np.arange(n) / max(1, n - 1)
    adapts = (np.arange(n) + 1) % law.adapts_every == 0 if law.adapts_every else np.zeros(n, bool)
    epochs = np.concatenate([[0], np.cumsum(adapts)[:-1]])
    last = max(1, int(epochs[-1]))
    cells = np.round(
        law.cells * law.growth ** (epochs / last) * np.exp(0.003 * jitter(random, n, epochs))
    )
    trend = law.iterations[0] + (law.iterations[1] - law.iterations[0]) * at
    wobble = 1.0 + law.wobble * jitter(random, n, epochs)
    iterations = np.round(trend * wobble + (trend > 0) * random.normal(0.0, 0.4, n))
    cost = np.exp(law.drift * at + np.cumsum(law.wander * random.standard_normal(n)))
    phases = np.stack(
        [
            cells * law.steps * law.hydro_s * cost,
            law.message_s * (law.steps + iterations),
            cells * iterations * law.heat_s * cost,
            law.message_s * (law.steps + 2.0 * iterations),
            cells * law.adaption_s * adapts * np.exp(0.05 * random.standard_normal(n)),
            law.message_s * 10.0 * adapts,
        ],
        axis=1,
    )
    common = autoregressive(random, n, law.correlation) * law.noise
    own = law.phase_noise * random.standard_normal(phases.shape)
    own[:, [1, 3]] *= 5.0  # waiting is noisier than work
    spiked = random.random(n) < law.spikes
    extra = spiked * law.spike * np.exp(0.7 * random.standard_normal(n))
    slow = np.ones(n) if slowdown is None else np.asarray(slowdown, float)
    noisy = phases * np.exp(common[:, None] + own) * slow[:, None]
    where = random.integers(0, 2, n)
    noisy[np.arange(n), np.where(where, 2, 0) * (iterations > 0)] += extra * phases.sum(axis=1)
    known = np.concatenate([iterations[:1], iterations[:-1]])
    work = tuple(
        Work(
            cells=float(cells[k]),
            total=float(cells[k]),
            steps=law.steps,
            iterations=float(known[k]),
            adapts=bool(adapts[k]),
        )
        for k in range(n)
    )
    spent = tuple(
        Spent(
            seconds=float(noisy[k].sum()),
            phases_s=tuple(noisy[k].tolist()),
            iterations=float(iterations[k]),
        )
        for k in range(n)
    )
    return Cycles(work=work, spent=spent, denoised=(phases * slow[:, None]).sum(axis=1))


def jitter(random: np.random.Generator, n: int, epochs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return deviates that stay the same while the mesh does."""
    result: NDArray[np.float64] = random.standard_normal(n)[epochs]
    return result


def autoregressive(random: np.random.Generator, n: int, correlation: float) -> NDArray[np.float64]:
    """Return standard normal deviates, neighbours correlated."""
    fresh = np.sqrt(1.0 - correlation**2) * random.standard_normal(n)
    values = np.empty(n)
    state = random.standard_normal()
    for k in range(n):
        state = correlation * state + fresh[k]
        values[k] = state
    return values
