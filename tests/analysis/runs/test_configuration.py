"""What tells runs apart: everything that was varied, and nothing else."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import run_values

import hindmost
from hindmost.analysis.fits.study import FittedGroup
from hindmost.analysis.readers.read import read_experiment, read_history
from hindmost.analysis.report.comparison import comparable
from hindmost.analysis.runs.configuration import command_of, configuration, group_runs, name_of
from hindmost.analysis.runs.efficiency.scaling import efficiencies_over_ranks
from hindmost.analysis.runs.figures.compare_runs import apart
from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.events import EventKind

Write = Callable[..., Run]
LOOP = {"mpi_seen": True, "pid": 7}
ENDING = {"asked": 90, "done": 40, "reason": "CONVERGED_RTOL", "rtol": 1e-6, "atol": 0.0}
SLOWER = {"cycle": 2, "kind": "slower", "words": "1.3 times as slow"}
DECK = 'name = "mine"\nsteps = 2\n[heat]\nsource = 1.0\n'


@pytest.fixture
def write(tmp_path: Path, header: Header) -> Write:
    """Return what writes a run and opens it."""

    def made(values: dict[str, Any] | None = None, **changes: Any) -> Run:
        number = len(list(tmp_path.glob("*.h5")))
        own = run_values(iterations=40, ranks=changes.get("ranks", 3), restart=10, seed=number)
        return open_run(
            write_whole(tmp_path, replace(header, **changes), {**own, **(values or {})})
        )

    return made


def environment(*words: str, **variables: str) -> dict[str, Any]:
    return {"petsc": "none", "command": list(words), "variables": variables}


APART: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "parameters of a loop": (
        {"spec": {**LOOP, "parameters": {"solver": "cg"}}},
        {"spec": {**LOOP, "parameters": {"solver": "pipecg"}}},
        "given solver pipecg",
    ),
    "a script": (
        {"spec": LOOP, "environment": environment("/a/cg.py")},
        {"spec": LOOP, "environment": environment("/a/pipecg.py")},
        "pipecg.py",
    ),
    "an argument": (
        {"spec": LOOP, "environment": environment("solve.py", "--size", "10")},
        {"spec": LOOP, "environment": environment("solve.py", "--size", "20")},
        "--size 20",
    ),
    "a sweep": (
        {"scheduler": {"HINDMOST_CONFIGURATION": '{"ranks": 3, "width": 1}'}},
        {"scheduler": {"HINDMOST_CONFIGURATION": '{"ranks": 3, "width": 2}'}},
        "width 2",
    ),
    "a deck": (
        {"spec": {"deck": DECK}},
        {"spec": {"deck": DECK.replace("1.0", "3.5")}},
        "deck.heat.source 3.5",
    ),
    "a choice": (
        {"spec": {"choices": {"threshold": 1.02}}},
        {"spec": {"choices": {"threshold": 1.3}}},
        "choices.threshold 1.3",
    ),
    "a size of a message": ({"spec": {"bytes": 8}}, {"spec": {"bytes": 64}}, "bytes 64"),
    "a tolerance": ({"spec": {"rtol": None}}, {"spec": {"rtol": 1e-6}}, "rtol 1e-06"),
    "an option": (
        {"spec": {}},
        {"spec": {"petsc_options": ["-pc_type", "gamg"]}},
        "-pc_type gamg",
    ),
    "a variable": (
        {"environment": environment(OMP_NUM_THREADS="1")},
        {"environment": environment(OMP_NUM_THREADS="4")},
        "OMP_NUM_THREADS 4",
    ),
    "a warm-up": ({"spec": {"warmup": 1}}, {"spec": {"warmup": 0}}, "warmup 0"),
}


@pytest.mark.parametrize("what", APART)
def test_what_was_varied_tells_runs_apart_everywhere(
    write: Write, tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, words = APART[what]
    runs = [write(**first), write(**second)]
    groups = group_runs(runs)
    assert [len(group.runs) for group in groups] == [1, 1]
    assert words in groups[1].title
    assert main(["check", str(tmp_path), "--json"]) == 1  # few bodies
    codes = {each["code"] for each in json.loads(capsys.readouterr().out)["findings"]}
    assert "repeats-differ" not in codes
    if what != "a warm-up":  # scale and history leave nothing out but what is usual
        assert len({name_of(run) for run in runs}) == 2
        assert len({each.name.case for each in read_history(tmp_path).series}) == 2
    kernels = {series.kernel for series in read_experiment(tmp_path).series}
    assert len(kernels) == 2
    assert any(words in kernel for kernel in kernels)
    assert len(efficiencies_over_ranks(runs)) == 2


ALIKE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "number and order": (
        {"spec": {"repeat": 0, "order": 1, "seed": 1}},
        {"spec": {"repeat": 1, "order": 5, "seed": 2}},
    ),
    "processes and their threads": (
        {"spec": {**LOOP, "pid": 1}},
        {"spec": {**LOOP, "pid": 2, "foreign_calls": 7}},
    ),
    "what came of it": (
        {"spec": {"speed_s": 1.0, "foresight_s": 0.1, "verdicts": []}},
        {"spec": {"speed_s": 1.1, "foresight_s": 0.2, "verdicts": [SLOWER]}},
    ),
    "options that an older file does not know": (
        {"spec": {}},
        {"spec": {"rtol": None, "events": []}},
    ),
    "entries that an older file does not know": (
        {"spec": {"unknowns": 40}},
        {"spec": {"unknowns": 40, "nonzeros": 118}},
    ),
    "iterations that a tolerance took": (
        {"iterations": 40, "spec": {"rtol": 1e-6, "ending": ENDING}},
        {"iterations": 39, "spec": {"rtol": 1e-6, "ending": {**ENDING, "done": 39}}},
    ),
    "names of results": (
        {"spec": LOOP, "environment": environment("s.py", "a/cg-1.h5", "--seed", "1", "-o", "x")},
        {"spec": LOOP, "environment": environment("s.py", "b/cg-2.h5", "--seed=2", "-o", "y")},
    ),
    "what a script says otherwise than its arguments": (
        {
            "spec": {**LOOP, "parameters": {"n": 3}},
            "environment": environment("s.py", "--night", "1"),
        },
        {
            "spec": {**LOOP, "parameters": {"n": 3}},
            "environment": environment("s.py", "--night", "2"),
        },
    ),
    "repeats of a study": (
        {
            "scheduler": {
                "HINDMOST_CONFIGURATION": '{"solver": "gmres"}',
                "HINDMOST_RUN_ID": "g-r00-aaaaaaaaaa",
            }
        },
        {"scheduler": {}},
    ),
}


@pytest.mark.parametrize("what", ALIKE)
def test_what_differs_between_repeats_does_not(write: Write, what: str) -> None:
    runs = [write(**changes) for changes in ALIKE[what]]
    assert [len(group.runs) for group in group_runs(runs)] == [2]


def test_loops_of_one_name_and_another_structure_are_apart(write: Write) -> None:
    usual = write(spec=LOOP)
    kinds = np.full((40, 1), EventKind.SEND, np.uint8)
    other = write({"event_kind": kinds}, spec=LOOP)
    groups = group_runs([usual, other])
    assert [group.remark for group in groups] == ["events reduce", "events send"]


def test_loops_that_name_their_solvers_stand_side_by_side(write: Write) -> None:
    kinds = np.full((40, 1), EventKind.SEND, np.uint8)
    first = write(spec={**LOOP, "parameters": {"solver": "cg", "n": 3}})
    second = write({"event_kind": kinds}, spec={**LOOP, "parameters": {"solver": "mine", "n": 3}})
    third = write(spec={**LOOP, "parameters": {"solver": "cg", "n": 4}})
    groups = [FittedGroup(group=group, runs=()) for group in group_runs([first, second, third])]
    (members,) = comparable(groups)
    assert apart([fitted.group for fitted in members]) == ["cg", "mine"]


def test_a_name_is_the_same_whatever_else_is_there(write: Write) -> None:
    plain = write(spec={"warmup": 1, "rtol": None}, environment=environment(OMP_NUM_THREADS="1"))
    assert name_of(plain) == ""
    deck = write(spec={"deck": DECK, "choices": {"threshold": 1.3}})
    assert name_of(deck).startswith("choices.threshold 1.3, deck ")
    assert configuration(deck)["deck.heat.source"] == "1.0"
    bad = write(spec={"deck": "no [ TOML"})
    assert name_of(bad) == "deck no [ TOML"


def test_a_solve_to_a_tolerance_is_named_by_it(write: Write) -> None:
    run = write(spec={"rtol": 1e-6, "ending": ENDING}, iterations=39)
    assert group_runs([run])[0].title == "gmres on laplacian-1d: 3 ranks, to rtol 1e-06, restart 10"
    assert name_of(run) == ""


def test_a_session_of_a_notebook_is_no_argument(write: Write) -> None:
    run = write(spec=LOOP, environment=environment("/x/ipykernel_launcher.py", "-f", "/tmp/k.json"))
    assert command_of(run) == ["ipykernel_launcher.py"]


def test_parameters_reach_the_file(tmp_path: Path) -> None:
    given = {"solver": "cg", "cells": np.int64(8), "tolerance": 1e-6, "overlap": False}
    recorder = hindmost.record(tmp_path / "mine.h5", name="mine", parameters=given)
    with recorder, recorder.iteration():
        pass
    run = hindmost.open(tmp_path / "mine.h5")
    assert run.header.spec["parameters"] == {**given, "cells": 8}
    assert name_of(run) == "cells 8, overlap False, given solver cg, tolerance 1e-06"


@pytest.mark.parametrize("given", [{"a": [1]}, {"a": float("nan")}, {"a": 10**20}])
def test_parameters_that_cannot_be_kept(tmp_path: Path, given: dict[Any, Any]) -> None:
    with pytest.raises(UsageError, match=r"parameters\.a is .*; allowed: text or"):
        hindmost.record(tmp_path / "mine.h5", parameters=given)


def test_an_unreadable_file_does_not_hide_the_others_in_its_folder(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, broken = write(), tmp_path / "broken.h5"
    broken.write_bytes(run.path.read_bytes()[:-9])
    for words in (["show"], ["fit"], ["show", "--efficiency"]):
        assert main([*words, str(tmp_path)]) == 0
        assert f"left out: {broken}" in capsys.readouterr().err
        with pytest.raises(DataError):  # it was asked for by name
            main([*words, str(broken)])
    assert main(["check", str(tmp_path), "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    (found,) = (finding for finding in findings if finding["code"] == "unreadable")
    assert (found["file"], found["severity"]) == (str(broken), "error")
    run.path.unlink()
    with pytest.raises(DataError, match="is HDF5 but"):
        main(["show", str(tmp_path)])
