"""Times of iterations under known laws, for rules that decide when a job stops before its limit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.float64]
Law = Callable[[Times, np.random.Generator], Times]
"""From times of about 1 s with a spread of 1 %, shape (iteration,), to times under the law."""


def every(times: Times, period: int, extra_s: float) -> Times:
    """Return the times with so much more in every n-th iteration."""
    longer = times.copy()
    longer[period - 1 :: period] += extra_s
    return longer


def growing_dump(times: Times, random: np.random.Generator) -> Times:
    """Return work that doubles, with output every 50 iterations that triples."""
    longer = times * np.linspace(1.0, 2.0, times.size)
    longer[49::50] += np.linspace(4.0, 12.0, times.size)[49::50]
    return longer


def neighbour(times: Times, random: np.random.Generator) -> Times:
    """Return times that another job doubles, now and then, for some 40 iterations."""
    busy, begin = np.zeros(times.size, bool), 0
    while begin < times.size:
        begin += int(random.exponential(120))
        end = begin + int(random.exponential(40))
        busy[begin:end] = True
        begin = end + 1
    spread = np.where(busy, 0.1, 0.02) * random.standard_normal(times.size)
    return np.asarray(times * np.where(busy, 2.0, 1.0) * np.exp(spread))


def correlated(times: Times, random: np.random.Generator) -> Times:
    """Return times whose logarithms are an autoregression with 0.95."""
    noise, level = 0.08 * random.standard_normal(times.size), np.zeros(times.size)
    level[0] = noise[0]
    for place in range(1, times.size):
        level[place] = 0.95 * level[place - 1] + noise[place]
    return np.exp(level)


def dump_by_the_clock(times: Times, random: np.random.Generator) -> Times:
    """Return times with output of 6 s every 61 s."""
    longer = times.copy()
    longer[1:] += 6.0 * (np.diff(np.floor(np.cumsum(times) / 61.0)) > 0)
    return longer


def mesh_steps(times: Times, random: np.random.Generator) -> Times:
    """Return times whose level takes a random step every 20 iterations, as adaption does."""
    steps = 0.06 * random.standard_normal(times.size)
    steps[np.arange(times.size) % 20 > 0] = 0.0
    return np.asarray(times * np.exp(np.cumsum(steps)))


LAWS: dict[str, Law] = {
    "constant": lambda times, random: times,
    "threefold drift": lambda times, random: times * np.linspace(1.0, 3.0, times.size),
    "output every 10th": lambda times, random: every(times, 10, 2.0),
    "regridding 5, dump 50": lambda times, random: every(every(times, 5, 0.5), 50, 8.0),
    "growing dump": growing_dump,
    "bimodal": lambda times, random: times * np.where(random.random(times.size) < 0.3, 2.5, 1.0),
    "tail of power 2.5": lambda times, random: times * random.random(times.size) ** (-1 / 2.5),
    "mesh steps": mesh_steps,
    "neighbour": neighbour,
}
"""Laws on which the constants of the rule were chosen."""
HELD_OUT: dict[str, Law] = {
    "lognormal 0.3": lambda times, random: np.exp(0.3 * random.standard_normal(times.size)),
    "correlated 0.95": correlated,
    "sawtooth of 40": lambda times, random: times * (1.0 + 1.5 * (np.arange(times.size) % 40) / 40),
    "dump by the clock": dump_by_the_clock,
    "rare stalls": lambda times, random: (
        times + np.where(random.random(times.size) < 0.01, random.uniform(4, 20, times.size), 0.0)
    ),
    "stages 1 2 5": lambda times, random: (
        times * np.array([1.0, 2.0, 5.0])[np.arange(times.size) % 3]
    ),
    "slower from one on": lambda times, random: (
        times * np.where(np.arange(times.size) >= random.integers(50, times.size), 1.6, 1.0)
    ),
    "solver": lambda times, random: (
        times
        * (1.0 + 0.6 * np.sin(np.arange(times.size) / 20.0))
        * random.integers(8, 13, times.size)
        / 10
    ),
}
"""Laws that were written after the rule."""


def draw(law: Law, count: int, random: np.random.Generator) -> Times:
    """Return the times of so many iterations under a law, shape (iteration,), seconds."""
    return law(np.exp(0.01 * random.standard_normal(count)), random)
