"""Options of Extra-P's command get a hint what to type at hindmost scale."""

from __future__ import annotations

import re

import pytest

from hindmost.analysis.verbs.extrap_habits import HABITS
from hindmost.cli import main, parser_of_verb
from hindmost.errors import UsageError

OF_EXTRA_P = (
    *("--text", "--talpas", "--experiment", "--extra-p-3", "--cube", "--scaling", "--median"),
    *("--measure", "--keep-values", "--modeler", "--options", "--help-modeler", "--out"),
    *("--print", "--save-experiment", "--model-set-name", "--disable-progress", "--log"),
)
"""The options of Extra-P 4.2.5, but --help, --version and --json, which prints JSON here."""


@pytest.mark.parametrize("option", OF_EXTRA_P)
@pytest.mark.parametrize("value", ["", "=x"])
def test_every_option_has_its_hint(option: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        main(["scale", f"{option}{value}", "experiment.txt"])
    assert str(caught.value) == (
        f"Unknown option {option}: {HABITS[option]}. See: hindmost scale --help"
    )


def test_all_of_them_have_hints_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        main(["scale", "--text", "e.txt", "--print", "functions", "--median", "--print", "all"])
    said = str(caught.value)
    assert said.startswith("Unknown options --text: ")
    assert [said.count(f"{name}: ") for name in ("--text", "--print", "--median")] == [1, 1, 1]


def test_what_hints_name_can_be_typed() -> None:
    typed = parser_of_verb(["scale"])._option_string_actions
    named = {word for hint in HABITS.values() for word in re.findall(r"'(--[a-z-]+)", hint)}
    assert named
    assert named <= typed.keys()
    assert not typed.keys() & HABITS.keys()
    method = typed["--over-ranks"].choices
    assert method is not None
    assert {"mean", "sum"} <= set(method)
