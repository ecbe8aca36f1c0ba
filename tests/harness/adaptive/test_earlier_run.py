"""What is known of a deck before it runs, and what an earlier run teaches of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.adaptive.application import OTHERS, USUAL, application_of
from hindmost.harness.adaptive.decks import DECKS
from hindmost.harness.adaptive.earlier_run import experience_of
from hindmost.harness.adaptive.kernel import Choices


class Recorded:
    """A run of timing-b, with the counts that a test gives it."""

    path = Path("run.h5")
    reduced = False

    def __init__(self, **counts: Any) -> None:
        self._counts = {name: np.array(values) for name, values in counts.items()}
        self.bodies, ranks = self._counts["cells"].shape
        spec = {
            "deck": DECKS["timing-b"].to_toml(),
            "choices": Choices().to_json(),
            "base": [5, 10],
        }
        self.header = SimpleNamespace(workload="adaptive", ranks=ranks, spec=spec)

    def variable(self, name: str) -> NDArray[np.int64]:
        return self._counts[name]


def learnt(**counts: Any) -> Any:
    return experience_of(Recorded(**counts)).application  # type: ignore[arg-type]


TWO = {
    # The first rank grows by 30 a cycle; what it has too much is moved after the second.
    "cells": [[100, 100], [130, 100], [130, 130]],
    "divided": [[10, 0], [10, 0], [12, 4]],
    "combined": [[0, 0], [0, 0], [2, 4]],
    "moved": [[0, 0], [30, 0], [0, 0]],
    "heat_iterations": [[200, 200], [300, 300], [280, 280]],
}


def test_shares_and_iterations_by_hand() -> None:
    found = learnt(**TWO)
    usual = application_of(DECKS["timing-b"])
    assert (found.exchanges, found.reductions, found.steps) == (
        usual.exchanges, usual.reductions, 400,
    )  # fmt: skip
    assert (found.iterations, found.solves) == (260.0, 40.0)
    assert found.moved_share == pytest.approx(30 / 360)
    # Before the moves: 0 to 130/115, 130/115 to 160/130, 1 to 160/145.
    added = (130 / 115 - 1) + (160 / 130 - 130 / 115) + (160 / 145 - 1)
    assert found.imbalance == pytest.approx(added / 3)


def test_one_rank_does_not_show_how_ranks_go_out_of_balance() -> None:
    alone = learnt(**{name: np.array(values)[:, :1] for name, values in TWO.items()})
    usual = application_of(DECKS["timing-b"])
    assert (alone.imbalance, alone.moved_share) == (usual.imbalance, usual.moved_share)


def test_a_run_that_teaches_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match=r"run\.h5 does not contain .* with 2 cycles or more"):
        learnt(**{name: values[:1] for name, values in TWO.items()})


@pytest.mark.parametrize("deck", tuple(DECKS), ids=lambda deck: deck.name)
def test_every_deck_has_what_is_usual_of_it(deck: Any) -> None:
    usual, found = USUAL[deck.name], application_of(deck)
    assert (found.iterations > 0) == (found.solves > 0) == deck.heat
    assert found.iterations == (usual.iterations * deck.heats if deck.heat else 0.0)
    assert 0.0 <= found.imbalance < 0.1


def test_a_deck_of_the_users_own_is_taken_to_be_like_the_others() -> None:
    own = application_of(replace(DECKS["timing-b"], name="own", heats=20))
    assert (own.iterations, own.imbalance) == (20 * OTHERS.iterations, OTHERS.imbalance)
    flat = application_of(replace(DECKS["timing-a"], name="own", levels=0))
    assert (flat.moved_share, flat.imbalance) == (0.0, 0.0)
