"""In which step of an iteration injected detours were taken."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.models.simulation.injected import step_of_detours

Times = NDArray[np.float64]
BODIES, RANKS = 200, 2


def steps(*typical_s: float) -> Times:
    """Return work of steps that varies by a fifth: float64, shape (iteration, rank, step)."""
    random = np.random.default_rng(3)
    return np.asarray(typical_s * random.uniform(0.9, 1.1, (BODIES, RANKS, len(typical_s))))


LAWS = pytest.mark.parametrize("law", ["exponential", "some"])


def detours(law: str) -> Times:
    """Return detours of 50 us in the mean: float64, shape (iteration, rank), seconds."""
    random = np.random.default_rng(4)
    if law == "exponential":
        return random.exponential(50e-6, (BODIES, RANKS))
    return np.where(random.random((BODIES, RANKS)) < 0.1, 500e-6, 0.0)


@LAWS
@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_the_step_is_found_among_longer_ones(law: str, step: int) -> None:
    work = steps(2e-6, 40e-6, 300e-6, 100e-6)
    work[:, :, step] += detours(law)
    assert step_of_detours(work, detours(law)) == step


def test_a_rank_that_lost_its_core_does_not_decide() -> None:
    work = steps(2e-6, 40e-6, 300e-6)
    work[:, :, 0] += detours("exponential")
    longest = int(detours("exponential")[:, 0].argmax())
    work[longest, 0, 2] += 20e-3
    assert step_of_detours(work, detours("exponential")) == 0


def test_of_one_body_it_is_the_first_step_that_is_long_enough() -> None:
    work = np.array([[[2e-6, 90e-6, 300e-6]]])
    assert step_of_detours(work, np.array([[50e-6]])) == 1
