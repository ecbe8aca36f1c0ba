"""Flags of jumps that are put there by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.harness.adaptive.meshes import no_ghosts, two_levels, uniform

from hindmost.harness.adaptive.decks import DECKS, Deck
from hindmost.harness.adaptive.mesh.patch import Patch
from hindmost.harness.adaptive.physics.flow import refinement_flags

GAMMA = 1.4


def state_of(rho: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([rho, 3 * rho, -rho, p / (GAMMA - 1) + 5 * rho])


DECK = replace(
    DECKS["timing-b"], heat=False, divide=0.1, combine=0.02, levels=1, buffer=0, gamma=GAMMA
)


def criterion(**changed: Any) -> Deck:
    return replace(DECK, **changed)


def flags(mesh: Patch, state: NDArray[np.float64], deck: Deck) -> list[int]:
    result: list[int] = refinement_flags(deck, mesh, state, fill=no_ghosts).tolist()
    return result


@pytest.mark.parametrize("quantity", ["density", "pressure"])
@pytest.mark.parametrize("sign", [1, -1])
def test_both_sides_of_a_jump_divide(quantity: str, sign: int) -> None:
    mesh = uniform(6, 1)
    jumping = np.array([1, 1, 1, 1.2, 1.2, 1.2])[::sign]
    one = np.ones(6)
    state = state_of(jumping, one) if quantity == "density" else state_of(one, jumping)
    assert flags(mesh, state, criterion()) == [0, 0, 1, 1, 0, 0]
    assert flags(mesh, state, criterion(divide=0.2001)) == [0] * 6
    assert flags(mesh, state, criterion(levels=0)) == [0] * 6
    assert flags(mesh, state, criterion(buffer=1)) == [0, 1, 1, 1, 1, 0]


def test_where_nothing_jumps_fine_cells_combine() -> None:
    mesh = two_levels(3, 1, lambda i, j: i < 2)
    rho = np.ones(mesh.owned)
    rho[mesh.i + 2 * (1 - mesh.level) > 2] = 1.05  # between the thresholds: these cells keep
    assert mesh.level.tolist() == [1] * 8 + [0]
    assert flags(mesh, state_of(rho, rho**0), criterion()) == [-1, -1, -1, -1, 0, 0, 0, 0, 0]


def test_temperature_counts_only_if_asked() -> None:
    mesh = uniform(4, 1)
    rho, p = np.array([1, 1, 1.06, 1.06]), np.array([1, 1, 0.95, 0.95])
    state = state_of(rho, p)  # jumps: density 0.06, pressure 0.053, temperature 0.116
    assert flags(mesh, state, criterion()) == [0] * 4
    assert flags(mesh, state, criterion(heat=True)) == [0, 1, 1, 0]
