"""``hindmost whatif --adaptive``: what it takes from decks, and what it answers."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.analysis.adaptive.files import write_machine
from tests.documents import as_declared

from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.adaptive.decks import DECKS


def test_a_deck_is_chosen_for_by_what_the_machine_does_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = write_machine(tmp_path / "machine.json")
    words = ["whatif", "--adaptive", "--machine", str(machine), "--deck", "timing-a"]
    words += ["--ranks", "1", "--cycles", "100"]
    # By hand, on one rank: cells x (steps x 33 ns + a look at the mesh of 300 ns) a cycle.
    a_cell_s = 100 * (DECKS["timing-a"].steps * 33e-9 + 300e-9)
    words += ["--budget", f"{1.01 * 4000 * a_cell_s:.4f}s"]
    assert main([*words, "--json"]) == 0
    answer = as_declared("whatif --adaptive", capsys.readouterr().out)
    best, *others = answer["choices"]
    assert (best["cells"], best["fits"]) == (4000, True)
    assert best["seconds"] == pytest.approx(4000 * a_cell_s)
    assert best["base"] == [64, 64]  # the even number next to the root of 4000
    assert {other["cells"] for other in others if other["fits"]} == {1000, 2000}
    assert sum(best["cycle_s"].values()) == pytest.approx(best["seconds"] / 100)
    # A mesh of 2.56 times its base cells has as many with 1 / 1.6 of the base along either axis.
    assert main([*words, "--growth", "2.56"]) == 0
    first, *_, last, assumed = capsys.readouterr().out.splitlines()
    assert first.startswith("timing-a on 1 rank of drawn, 100 cycles in ")
    assert last == (
        "Take the first: hindmost run adaptive --deck timing-a --cycles 100 --base 40x40 "
        "--threshold 1.02"
    )
    assert assumed.startswith(
        "Assumed: the mesh has on average 2.56 times its base cells (--growth)"
    )
    assert main([*words[:-1], "0.001s"]) == 0
    assert "Nothing fits the budget" in capsys.readouterr().out


def test_heat_is_as_long_as_its_iterations_and_thresholds_differ_on_two_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine, own = write_machine(tmp_path / "machine.json"), tmp_path / "own.toml"
    own.write_text(replace(DECKS["timing-b"], name="own", heats=1).to_toml())
    words = ["whatif", "--adaptive", "--machine", str(machine), "--deck", str(own), "--json"]
    words += ["--ranks", "2", "--cycles", "10", "--budget", "1h"]
    found = {}
    for options in ((), ("--iterations", "16")):
        assert main([*words, *options]) == 0
        answer = as_declared("whatif --adaptive", capsys.readouterr().out)
        choices = [each for each in answer["choices"] if each["cells"] == 4000]
        found[options] = {choice["threshold"]: choice for choice in choices}
        assert len({choice["seconds"] for choice in choices}) > 2
    usual, twice = (choices[0.02]["cycle_s"]["heat"] for choices in found.values())
    assert twice == pytest.approx(2 * usual)  # a solve takes 8 if nothing else is said
    assert "heat takes 16 iterations per cycle" in answer["remarks"][0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--budget", "10"), "--budget 10: a duration is"),
        (("--cycles", "1" + 400 * "0"), "--cycles 1000.*at least 1, at most 2,000,000,000"),
        (("--growth", "0.5"), "--growth 0.5: it must be from 1 to 3.5"),
        (("--growth", "nan"), "--growth nan"),
        (("--iterations", "8"), "'timing-a' has no heat: omit --iterations"),
        (("--deck", "timing-b", "--iterations", "-1"), "--iterations -1: it must be"),
        (("--ranks", "0"), "--ranks 0: it must be at least 1"),
        (("--deck", "timing"), "Unknown deck 'timing'"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    machine = write_machine(tmp_path / "machine.json")
    words = ["whatif", "--adaptive", "--machine", str(machine), "--ranks", "2", "--cycles", "9"]
    words += ["--budget", "9s", "--deck", "timing-a"]
    with pytest.raises(UsageError, match=said):
        main([*words, *options])


def test_it_needs_a_machine() -> None:
    with pytest.raises(UsageError, match="required: --machine"):
        main(["whatif", "--adaptive", "--deck", "timing-a"])
