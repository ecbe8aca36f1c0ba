"""Runs with one thing wrong each, and whether it is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.conftest import run_values

from hindmost.analysis.runs.check_bodies import (
    BodyTimes,
    WorkCourse,
    change_of,
    check_bodies,
    check_work,
    read_body_times,
    relative_to_place,
)
from hindmost.cli import main
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.checksum import TRAILER_LENGTH, append_checksum
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.recurring import find_recurring

Values = dict[str, Any]


def slowed(values: Values, factor: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    """Make bodies longer by a factor each, books closed."""
    before = values["duration"].sum(axis=0)
    for name, shape in (("duration", (-1, 1)), ("phase_duration", (-1, 1, 1))):
        values[name] = values[name] * factor.reshape(shape)
    values["solve_time"] = values["solve_time"] + values["duration"].sum(axis=0) - before


def drift(values: Values) -> None:
    slowed(values, np.linspace(1.0, 1.12, 600))


def outliers(values: Values) -> None:
    slowed(values, np.where(np.isin(np.arange(600), (50, 131, 290, 305, 450, 513)), 6.0, 1.0))


def recurring(values: Values) -> None:
    slowed(values, np.where(np.arange(600) % 100 == 50, 6.0, 1.0))


def slow_stretch(values: Values) -> None:
    slowed(values, np.where((np.arange(600) >= 200) & (np.arange(600) < 380), 1.5, 1.0))


def unattributed(values: Values) -> None:
    values["mpi_other"] = 0.02 * values["solve_time"]


def mostly_unattributed(values: Values) -> None:
    values["mpi_other"] = 0.2 * values["solve_time"]


def dominated(values: Values) -> None:
    slowed(values, np.where(np.arange(600) == 300, 2000.0, 1.0))


def dominated_at_first(values: Values) -> None:
    slowed(values, np.where(np.arange(600) == 0, 2000.0, 1.0))


def nothing_waits(values: Values) -> None:
    phases = values["phase_duration"]
    phases[:, :, PHASES.index("local")] += phases[:, :, PHASES.index("wait")]
    phases[:, :, PHASES.index("wait")] = 0.0


def fell_apart(values: Values) -> None:
    slowed(values, np.linspace(1.0, 1.7, 600))


def bound_together(values: Values) -> None:
    values["cpuset"] = ["0"] * 3


def waited(values: Values) -> None:
    values["core_wait"] = np.array([0.0, 0.02, 0.05]) * values["solve_time"]


def waited_long(values: Values) -> None:
    values["core_wait"] = np.array([0.0, 0.1, 0.4]) * values["solve_time"]


def shared_a_core(values: Values) -> None:
    bound_together(values)
    waited_long(values)


def uncertain(values: Values) -> None:
    values["clock_uncertainty"] = np.array([0, 0, 4e-5])


def books_open(values: Values) -> None:
    values["lead_in"] = values["lead_in"] + 1e-3


SPOILT: dict[str, tuple[Callable[[Values], None], str]] = {
    "drift": (drift, "note"),
    "outliers": (outliers, "note"),
    "recurring": (recurring, "note"),
    "slow-stretch": (slow_stretch, "note"),
    "unattributed-mpi": (unattributed, "note"),
    "cores-taken": (waited, "note"),
    "clock": (uncertain, "note"),
    "books-open": (books_open, "error"),
}
WORSE: dict[str, tuple[Callable[[Values], None], str]] = {
    "unattributed-mpi": (mostly_unattributed, "20.0 % of a rank's time"),
    "outliers": (dominated, "over 3 times the median; what exceeds the median is 7"),
    "outliers at first": (dominated_at_first, "one-time work at first"),
    "drift": (fell_apart, "of the last quarter"),
    "crowded": (bound_together, "3 ranks were bound to core 0"),
    "crowded and known": (
        shared_a_core,
        "core 0: ranks waited for a core 17 % of the",
    ),
    "cores-taken": (waited_long, "ranks waited for a core 17 % of the time, rank 2 40 %"),
}
HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "incomplete": ({"complete": False, "records_lost": 7}, "error"),
    "load": ({"environment": {"machine": {"cores": 3, "load_before": 2.5}}}, "note"),
    "crowded": ({"environment": {"machine": {"cores": 2, "load_before": 0.0}}}, "error"),
}


def check(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, str]]:
    status = main(["check", "--json", str(path)])
    answer = json.loads(capsys.readouterr().out)
    assert answer["version"] == 1
    for finding in answer["findings"]:
        assert finding.keys() == {"file", "code", "severity", "text", "advice", "doubts"}
        assert finding["doubts"]
    return status, {finding["code"]: finding["severity"] for finding in answer["findings"]}


@pytest.fixture
def good() -> Values:
    return run_values(iterations=600, ranks=3, restart=30, seed=4)


def test_a_good_run_has_no_findings(
    tmp_path: Path, header: Header, good: Values, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_whole(tmp_path, header, good)
    assert check(file, capsys) == (0, {})
    assert main(["check", str(file)]) == 0
    assert "no findings" in capsys.readouterr().out


@pytest.mark.parametrize("code", [*SPOILT, *HEADERS])
def test_what_is_wrong_is_found_and_nothing_else(
    tmp_path: Path,
    header: Header,
    good: Values,
    capsys: pytest.CaptureFixture[str],
    code: str,
) -> None:
    if code in SPOILT:
        spoil, severity = SPOILT[code]
        spoil(good)
    else:
        change, severity = HEADERS[code]
        header = replace(header, **change)
    status, found = check(write_whole(tmp_path, header, good), capsys)
    assert found == {code: severity}
    assert status == (1 if severity == "error" else 0)


@pytest.mark.parametrize(
    ("share", "found"), [(0.005, {}), (0.05, {"polling": "note"}), (0.15, {"polling": "error"})]
)
def test_time_between_polls_is_a_share_of_that_of_all_ranks(
    tmp_path: Path,
    header: Header,
    good: Values,
    capsys: pytest.CaptureFixture[str],
    share: float,
    found: dict[str, str],
) -> None:
    spec = {**header.spec, "between_polls_s": share * float(good["solve_time"].sum())}
    file = write_whole(tmp_path, replace(header, spec=spec), good)
    assert check(file, capsys)[1] == found


def test_show_says_once_that_ranks_waited_for_cores(
    tmp_path: Path, header: Header, good: Values, capsys: pytest.CaptureFixture[str]
) -> None:
    waited_long(good)
    assert main(["show", str(write_whole(tmp_path, header, good))]) == 0
    printed = capsys.readouterr().out
    assert printed.count("waited for a core") == 1
    assert "In doubt: times, models, comparisons." in printed
    assert len(printed.splitlines()) <= 12


@pytest.mark.parametrize("what", WORSE)
def test_what_leaves_no_conclusion_is_an_error(
    tmp_path: Path,
    header: Header,
    good: Values,
    capsys: pytest.CaptureFixture[str],
    what: str,
) -> None:
    spoil, words = WORSE[what]
    spoil(good)
    file = write_whole(tmp_path, header, good)
    assert check(file, capsys)[1][what.split()[0]] == "error"
    assert main(["check", str(file)]) == 1
    assert words.lower() in " ".join(capsys.readouterr().out.lower().split())


LOOPS: dict[str, tuple[Callable[[Values], None], dict[str, Any], str]] = {
    "a slow stretch": (  # from 200 on, told by blocks of 90
        slow_stretch,
        {},
        "180 iterations, at least 90 in a row, are over 1.25 times as slow, the first of them "
        "from iteration 180 on",
    ),
    "unclassified calls": (mostly_unattributed, {}, "recorder.phase('halo')"),
    "unseen MPI": (nothing_waits, {"mpi_seen": False}, "call hindmost.listen() before mpi4py"),
}


@pytest.mark.parametrize("what", LOOPS)
def test_advice_is_for_the_loop_that_was_recorded(
    tmp_path: Path,
    header: Header,
    good: Values,
    capsys: pytest.CaptureFixture[str],
    what: str,
) -> None:
    spoil, spec, words = LOOPS[what]
    spoil(good)
    made = replace(header, spec={"mpi_seen": True, "pid": 1, **spec}, solver="loop")
    main(["check", str(write_whole(tmp_path, made, good))])
    told = " ".join(capsys.readouterr().out.split())
    assert words.lower() in told.lower()
    assert told.count(".h5") == 1
    assert "PETSc" not in told
    assert "--warmup" not in told


def test_the_balance_of_time_is_added_up_and_not_believed(
    tmp_path: Path, header: Header, good: Values, capsys: pytest.CaptureFixture[str]
) -> None:
    books_open(good)
    file = write_whole(tmp_path, header, good)
    seal(file, lambda attributes: attributes.update(summary=balanced(attributes["summary"])))
    assert json.loads(main_json(["show", "--json", str(file)], capsys))["runs"][0]["balance_s"] == 0
    assert check(file, capsys)[1] == {"books-open": "error"}


def seal(file: Path, change: Callable[[Any], None]) -> None:
    """Change the attributes of a run file, and make its checksum right again."""
    file.write_bytes(file.read_bytes()[:-TRAILER_LENGTH])
    with h5py.File(file, "r+") as opened:
        change(opened.attrs)
    append_checksum(file)


def balanced(summary: str) -> str:
    return json.dumps({**json.loads(summary), "balance_s": 0.0})


def main_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    main(words)
    return capsys.readouterr().out


def test_places_that_never_come_again_are_held_against_all(
    tmp_path: Path, header: Header, good: Values
) -> None:
    good["position"] = np.arange(600)
    run = open_run(write_whole(tmp_path, header, good))
    relative = relative_to_place(run.durations.max(axis=1), run.position)
    assert np.median(relative) == pytest.approx(1)
    assert np.unique(relative).size > 1


def test_the_ranks_whose_work_grows_or_recurs_are_named() -> None:
    random = np.random.default_rng(1)
    work = 1e-3 * (1.0 + 0.01 * random.random((1200, 2)))
    work[:, 1] *= np.linspace(1.0, 1.5, 1200)
    work[97::100, 0] += 20e-3
    place = np.zeros(1200, np.int32)
    course = WorkCourse(
        ranks=np.arange(2),
        change=change_of(work, place),
        recurring=find_recurring(work, place),
    )
    times = BodyTimes(
        slowest=work.max(axis=1),
        relative=work.max(axis=1) / np.median(work.max(axis=1)),
        rank_s=work.sum(axis=0),
        rank_quarters=np.array([[0.8, 0.85], [0.8, 1.15]]),
    )
    assert check_work(times)
    found = {finding.code: finding for finding in check_bodies(times, course)}
    assert found.keys() == {"recurring", "drift"}
    assert "every 100th iteration (97, 197, … 1197) is 20.0 ms longer on rank 0: 240 ms" in (
        found["recurring"].text
    )
    assert "own work grew on rank 1 by 3" in found["drift"].text
    assert found["drift"].text.endswith("of 2 ranks")
    assert "outliers" in {finding.code for finding in check_bodies(times)}  # if work is not known


def test_few_bodies_and_repeats_that_differ(
    tmp_path: Path,
    header: Header,
    values: Values,
    good: Values,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "few").mkdir()
    assert check(write_whole(tmp_path / "few", header, values), capsys)[1] == {
        "few-bodies": "error"
    }
    write_whole(tmp_path, header, good)
    slowed(good, np.full(600, 1.2))
    write_whole(tmp_path, header, good)
    assert check(tmp_path, capsys) == (1, {"repeats-differ": "error"})
    assert main(["check", str(tmp_path)]) == 1
    assert "differ by 20 %" in capsys.readouterr().out
    assert main(["show", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.count("repeats differ by 20 %") == 2  # under both


def test_slow_bodies_of_one_rank_or_the_other_are_no_drift(
    tmp_path: Path, header: Header, good: Values
) -> None:
    random = np.random.default_rng(3)
    duration = np.full((600, 3), 60e-6)
    early = random.random((150, 3)) < 0.3  # most bodies have a slow rank, no rank most of them
    duration[:150] *= np.where(early, 2.0, 1.0)
    made = {**good, "duration": duration}
    course = read_body_times(open_run(write_whole(tmp_path, header, made)))
    assert abs(course.drift) < 0.01
    assert not [finding for finding in check_bodies(course) if finding.code == "drift"]


def test_drift_says_how_much_more_or_less() -> None:
    course = BodyTimes(
        slowest=np.ones(400),
        relative=np.repeat([1.0, 0.7], 200),
        rank_s=np.ones(1),
        rank_quarters=np.array([[1.0], [0.7]]),
    )
    assert "30 % less time than" in next(iter(check_bodies(course))).text


def test_a_load_that_took_no_core_is_no_finding(
    tmp_path: Path, header: Header, good: Values, capsys: pytest.CaptureFixture[str]
) -> None:
    busy = replace(header, environment={"machine": {"cores": 2, "load_before": 6.0}})
    bound_together(good)
    good["core_wait"] = np.zeros(3)
    file = write_whole(tmp_path, busy, good)
    assert check(file, capsys) == (0, {})
    assert main(["show", str(file)]) == 0
    assert "every rank had a core for over 99 % of the time" in capsys.readouterr().out
    good["core_wait"] = np.array([0.0, np.nan, 0.0])  # a node's kernel does not tell
    assert set(check(write_whole(tmp_path, busy, good), capsys)[1]) == {"crowded"}
