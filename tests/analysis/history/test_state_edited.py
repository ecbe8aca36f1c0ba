"""A state that was edited by hand: it is read, or refused by the name of the field."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.analysis.history.planted import history, series, stepped

from hindmost.analysis.history.change_groups import group_changes
from hindmost.analysis.history.change_sentences import drift_lines, revision_lines
from hindmost.analysis.history.headline import failure_line, headline
from hindmost.analysis.history.history_json import to_json
from hindmost.analysis.history.joint_findings import joint_lines, open_joint_lines
from hindmost.analysis.history.joint_withdrawn import withdrawn_joint_lines
from hindmost.analysis.history.selection import select_series
from hindmost.analysis.history.state import HistoryState
from hindmost.analysis.history.state_file import read_state, write_state
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.readers.history import FailedRun
from hindmost.errors import DamagedFileError, HindmostError, UsageError

STRANGE = [
    *(None, True, -1, 0, 1, 10**9, 10**400, 0.5, -0.5, 1e308, float("nan"), float("inf")),
    *("", "step", "robust", [], [1], ["a"], [None], [2, 1], [0.0, 0.0], {}, {"a": 1}, {"a": "a"}),
]
HELD = ("joint", "panels", 0, "held", 0)


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    values = stepped(0)
    path = tmp_path_factory.mktemp("valid") / "state"
    first = series(values[:-2], spread=0.01 * values[:-2])
    state: HistoryState | None = HistoryState()
    failed = FailedRun(time=float(first.times[-1]), machine="m", case="c", reason="r", file="f")
    for each in (first, series(values, spread=0.01 * values)):
        assert state is not None
        state = judge_history(history(each, failures=(failed,)), state=state).state
    assert state is not None
    write_state(path, state)
    record: dict[str, Any] = json.loads(path.read_text())
    record["parents"] = {"a": "b", "b": "c"}
    record["series"][0]["freedom"] = [2.0] * len(values)
    assert record["series"][0]["verdicts"]
    assert record["series"][0]["log"]
    newest = int(first.times[-1] // 86400.0)
    record["joint"] = joint_document(newest, case=record["series"][0]["case"])
    return record


def joint_document(newest: int, case: str) -> dict[str, Any]:
    """Return joint changes that a state holds and has withdrawn, as plain data."""
    held = {
        "night": newest - 9,
        "interval": [newest - 10, newest - 8],
        "effect": 0.02,
        "effect_interval": [0.01, 0.03],
        "p_value": 1e-9,
        "measured": 7,
        "shift": 0.03,
        "members": [case],
        "since": newest - 1,
    }
    gone = {"change": {**held, "since": newest - 4}, "at": newest - 1, "reason": "it is noise"}
    panel = {"machine": "blake", "timer": "Total", "held": [held], "withdrawn": [gone]}
    return {"reviewed": newest - 1, "panels": [panel]}


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the way to everything in plain data."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(inside):
        yield (key,)
        if isinstance(each, dict | list):
            yield from ((key, *rest) for rest in places(each))


def altered(record: dict[str, Any], way: tuple[Any, ...], new: Any, kind: str) -> dict[str, Any]:
    """Return a state in which one thing is another, is missing, or is there twice."""
    record = copy.deepcopy(record)
    at: Any = record
    for key in way[:-1]:
        at = at[key]
    if kind == "another":
        at[way[-1]] = new
    elif kind == "missing":
        del at[way[-1]]
    elif isinstance(at, list):
        at.append(copy.deepcopy(at[way[-1]]))
    else:
        at[f"{way[-1]}-more"] = new
    return record


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_state_is_read_or_refused(
    valid: dict[str, Any], data: st.DataObject, tmp_path: Path
) -> None:
    ways = list(places(valid))
    # The long lists of numbers are most of the places, and no more than a few of the kinds.
    short = [way for way in ways if not (isinstance(way[-1], int) and way[-1] > 1)]
    way = data.draw(st.sampled_from(short))
    kind = data.draw(st.sampled_from(["another", "missing", "more"]))
    record = altered(valid, way, data.draw(st.sampled_from(STRANGE)), kind)
    path = tmp_path / "state"
    path.write_text(json.dumps(record))
    try:
        state = read_state(path)
        study = judge_history(history(series(stepped(0), first=2)), state=state)
        assert study.state is not None
        write_state(path, study.state)
        assert read_state(path) == study.state
    except HindmostError:
        return
    told = [headline(study), failure_line(study), *drift_lines(study), *revision_lines(study, 9)]
    told += [*joint_lines(study.joint, 0.0), *open_joint_lines(study.joint, study.until)]
    told += withdrawn_joint_lines(study.joint_withdrawn, 0.0)
    assert all(isinstance(line, str) for line in told)
    json.dumps(to_json(select_series(study)), allow_nan=False)
    group_changes(study)


def test_a_panel_twice_is_refused(valid: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text(json.dumps(altered(valid, ("joint", "panels", 0), None, "more")))
    with pytest.raises(DamagedFileError, match=re.escape("joint.panels[1] is ")):
        read_state(path)


@pytest.mark.parametrize(
    ("way", "new", "told"),
    [
        (
            ("series", 0, "values", 3),
            -1,
            "series[0].values[3] is -1.0; allowed: above zero",
        ),
        (("series", 0, "times", 1), 0, "series[0].times[1] is 0.0; allowed: no earlier"),
        (("series", 0, "commits", 0), 99, "series[0].commits is"),
        (("series", 0, "unit"), 5, "series[0].unit is 5; allowed: text"),
        (("series", 0, "verdicts", 0, "index"), 999, "series[0].verdicts[0].index is 999"),
        (("series", 0, "log", 0, "kind"), "guess", 'log[0].kind is "guess"; choose seen, '),
        (("series", 0, "machine"), "\ud800", "series[0].machine is"),
        (("method",), "magic", 'method is "magic"; allowed: empty, robust'),
        (("parents", "c"), "a", "is a part of itself"),
        (("version",), True, "version is true"),
        (("failures", 0, "time"), 1e300, "failures[0].time is 1e+300"),
        (("joint", "reviewed"), 10**9, "joint.reviewed is 1000000000; allowed: a day since 1970"),
        (("joint", "reviewed"), 30000, "joint.reviewed is 30000; allowed: at most 20"),
        (("joint", "reviewed"), None, "joint.reviewed is null; allowed: the day of a reading"),
        ((*HELD, "members"), [], "held[0].members is []; allowed: names of series"),
        ((*HELD, "members", 0), "unknown", 'held[0].members[0] is "unknown"; allowed: each case'),
        ((*HELD, "members"), ["ice", "ice"], 'held[0].members[1] is "ice"; allowed: each case'),
        ((*HELD, "shift"), float("nan"), "held[0].shift is NaN; allowed: a difference of"),
        ((*HELD, "shift"), 0.0, "held[0].shift is 0.0; allowed: a shift, not zero"),
        ((*HELD, "effect"), 1e999, "held[0].effect is Infinity; allowed: a finite number"),
        ((*HELD, "effect_interval"), [0.1], "held[0].effect_interval is [0.1]; allowed"),
        ((*HELD, "effect_interval"), [0.1, 0.0], "held[0].effect_interval is [0.1, 0.0]"),
        ((*HELD, "interval"), [5, 4], "held[0].interval is [5, 4]; allowed: two days around"),
        ((*HELD, "since"), 5, "held[0].since is 5; allowed: from"),
        ((*HELD, "measured"), 0, "held[0].measured is 0"),
        (("joint", "panels", 0, "withdrawn", 0, "at"), 5, "withdrawn[0].at is 5; allowed: from"),
        (("joint", "panels", 0, "timer"), "Other", 'members[0] is "ice"; allowed: each case'),
    ],
)
def test_the_field_is_named(
    valid: dict[str, Any], tmp_path: Path, way: tuple[Any, ...], new: Any, told: str
) -> None:
    path = tmp_path / "state"
    path.write_text(json.dumps(altered(valid, way, new, "another")))
    with pytest.raises(DamagedFileError, match=re.escape(told)) as caught:
        read_state(path)
    assert str(path) in str(caught.value)
    assert "remove it to begin anew" in str(caught.value)


def test_the_same_series_twice_is_refused(valid: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text(json.dumps(altered(valid, ("series", 0), None, "more")))
    with pytest.raises(DamagedFileError, match=re.escape("series[1] is ")):
        read_state(path)


def test_lists_in_lists_without_end_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text("[" * 100_000)
    with pytest.raises(DamagedFileError):
        read_state(path)


def test_a_choice_without_a_series_names_some_that_there_are() -> None:
    study = judge_history(history(series(stepped(0))))
    name = study.judged[0].series.name
    with pytest.raises(UsageError, match=re.escape(f"There are {name}.")):
        select_series(study, case="-1")
    assert select_series(study) is study
