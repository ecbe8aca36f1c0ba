"""``hindmost whatif --adaptive``: what it takes from decks and runs, and what it answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.adaptive.files import APPLICATION, write_adaptive, write_machine
from tests.documents import as_declared

from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.harness.adaptive.application import application_of
from hindmost.harness.adaptive.decks import DECKS
from hindmost.harness.adaptive.earlier_run import experience_of
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.models.adaptive.application import Application
from hindmost.models.synthetic.cycles import CycleLaw, draw_cycles

LAW = CycleLaw(cycles=30, adapts_every=1, iterations=(20.0, 20.0), wobble=0.0, growth=1.0)


def recorded(folder: Path, header: Header) -> Path:
    cycles = draw_cycles(LAW, 1)
    deck = replace(DECKS["timing-b"], steps=20, heats=1)
    return write_adaptive(
        folder, header, cycles, predicted={"offline": cycles.seconds},
        spec={"deck": deck.to_toml(), "base": [64, 32]},
    )  # fmt: skip


def test_a_deck_is_chosen_for_by_what_the_machine_does_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = write_machine(tmp_path / "machine.json")
    words = ["whatif", "--adaptive", "--machine", str(machine), "--deck", "timing-a", "--json"]
    words += ["--ranks", "1", "--cycles", "100", "--cells", "1000,4000,64000"]
    # By hand, on one rank: cells x (steps x 33 ns + a look at the mesh of 300 ns) a cycle.
    a_cell_s = 100 * (DECKS["timing-a"].steps * 33e-9 + 300e-9)
    assert main([*words, "--budget", f"{1.01 * 4000 * a_cell_s:.4f}s"]) == 0
    answer = as_declared("whatif --adaptive", capsys.readouterr().out)
    best, *others = answer["choices"]
    assert (best["cells"], best["fits"]) == (4000, True)
    assert best["seconds"] == pytest.approx(4000 * a_cell_s)
    assert best["base"] == [64, 64]  # the even number next to the root of 4000
    assert {each["cells"] for each in others if each["fits"]} == {1000, 4000}
    assert sum(best["cycle_s"].values()) == pytest.approx(best["seconds"] / 100)
    assert main([*words[:-7], *words[-6:], "--budget", "1s"]) == 0
    printed = capsys.readouterr().out
    assert "cells per rank" in printed
    assert "Without an earlier run (--run) the mesh is assumed not to grow" in printed


def test_an_earlier_run_tells_what_a_deck_does_not(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = write_machine(tmp_path / "machine.json")
    words = ["whatif", "--adaptive", "--machine", str(machine)]
    later = ["--ranks", "2", "--cycles", "10", "--budget", "1h"]
    own = tmp_path / "own.toml"
    own.write_text(replace(DECKS["timing-b"], name="own").to_toml())
    with pytest.raises(UsageError, match=r"'own' does not say how many .* with --run"):
        main([*words, "--deck", str(own), *later])
    # Of a built-in deck it is known from a run, and thresholds make a difference.
    assert main([*words, "--deck", "timing-b", *later, "--cells", "4000", "--json"]) == 0
    choices = json.loads(capsys.readouterr().out)["choices"]
    assert min(each["cycle_s"]["heat"] for each in choices) > 0.0
    assert len({each["seconds"] for each in choices}) > 2
    file = recorded(tmp_path, header)
    known = experience_of(open_run(file))
    cells = np.array([each.cells for each in draw_cycles(LAW, 1).work])
    assert known.application.iterations == pytest.approx(20.0, abs=0.5)
    assert known.growth == pytest.approx(cells.mean() / (64 * 32))
    # One rank is never out of balance: what is usual for the deck stands in.
    usual = application_of(DECKS["timing-b"])
    assert known.application.imbalance == usual.imbalance
    assert main([*words, "--run", str(file), *later]) == 0
    printed = capsys.readouterr().out
    assert "Take the first: hindmost run adaptive --deck timing-b --cycles 10 --base " in printed
    assert " --steps 20 --threshold " in printed


def test_imbalance_is_what_adaptions_add(tmp_path: Path, header: Header) -> None:
    run = open_run(recorded(tmp_path, header))
    cells = np.stack([np.full(30, 1000), np.full(30, 1000)], axis=1)
    cells[:, 0] += np.arange(30) * 21  # the fuller rank grows by 21 in a cycle
    none = np.zeros((30, 2), np.int64)
    counts = {"cells": cells, "divided": none + np.array([7, 0])}

    class Unbalanced:
        header, path, bodies, reduced = run.header, run.path, 30, False

        @staticmethod
        def variable(name: str) -> NDArray[np.int64]:
            found: NDArray[np.int64] = counts.get(name, none)
            return found

    known = experience_of(Unbalanced)  # type: ignore[arg-type]
    full = 1000 + 21 * np.array([0, 30])  # before the first cycle, and after the last
    over = full / (0.5 * (full + 1000)) - 1.0
    assert known.application.imbalance == pytest.approx((over[1] - over[0]) / 30)


def test_what_cannot_be_answered_is_refused(tmp_path: Path, run_file: Path, header: Header) -> None:
    machine = write_machine(tmp_path / "machine.json")
    words = ["whatif", "--adaptive", "--machine", str(machine), "--ranks", "2", "--cycles", "9"]
    with pytest.raises(UsageError, match="does not contain the counts of a deck"):
        main([*words, "--budget", "9s", "--run", str(run_file)])
    with pytest.raises(UsageError, match="--budget 10: a duration is"):
        main([*words, "--budget", "10", "--deck", "timing-a"])
    with pytest.raises(UsageError, match="--cells few: give numbers"):
        main([*words, "--budget", "9s", "--deck", "timing-a", "--cells", "few"])
    with pytest.raises(UsageError, match="required: --machine"):
        main(["whatif", "--adaptive", "--deck", "timing-a"])


@pytest.mark.parametrize("name", ["timing-a", "timing-b"])
def test_counts_of_a_deck_come_back_from_json(name: str) -> None:
    application = application_of(DECKS[name])
    assert Application.from_json(json.loads(json.dumps(application.to_json()))) == application
    assert Application.from_json(APPLICATION.to_json()) == APPLICATION
    with pytest.raises(DataError, match="are invalid"):
        Application.from_json({"name": "timing-a"})
