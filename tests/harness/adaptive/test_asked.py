"""What is asked of ``hindmost run adaptive``, before there are ranks."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from hindmost.errors import DataError, UsageError
from hindmost.harness.cycles.experiment import AdaptiveExperiment
from hindmost.harness.verbs.run_adaptive import add_arguments, experiment_of


def asked(*words: str) -> AdaptiveExperiment:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    arguments = parser.parse_args([*words, "--cycles", "3", "--out", "runs"])
    arguments.petsc_options = ()
    experiment = experiment_of(arguments)
    experiment.check()
    return experiment


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--threshold", "0.5"), "at least 1"),
        (("--steps", "0"), "--steps 0: it must be at least 1"),
        (("--base", "99999x99999"), "at most 134,217,728 base cells"),
        (("--base", "12"), "give two sizes"),
        (("--repeats", "0"), "--repeats 0: it must be at least 1"),
        (("--time-limit", "soon"), "--time-limit soon: give a time above zero, as 90s"),
        (("--mtbf", "1h"), "name their file with --checkpoint"),
        (("--interfere", "x"), "is not a range of cycles"),
        (("--interfere", "9-3"), "ends before it begins"),
        (("--interfere", "1-@²"), "is not a list of cores"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        asked("--deck", "timing-a", *words)
    assert said in str(refused.value)


def test_a_deck_or_a_checkpoint_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Give either --deck, to begin, or --restart"):
        asked()
    with pytest.raises(DataError, match="cannot be read: No such file"):
        asked("--restart", str(tmp_path / "none.h5"))


def test_heat_follows_the_steps() -> None:
    assert (asked("--deck", "timing-b").deck.steps, asked("--deck", "timing-b").deck.heats) == (
        400,
        40,
    )
    deck = asked("--deck", "timing-b", "--steps", "12").deck
    assert (deck.steps, deck.heats) == (12, 4)
