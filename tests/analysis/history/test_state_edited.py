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
    return record


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
    assert all(isinstance(line, str) for line in told)
    json.dumps(to_json(select_series(study)), allow_nan=False)
    group_changes(study)


def test_a_state_of_before_joint_changes_went_is_read(
    valid: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "state"
    path.write_text(json.dumps(valid))
    now = read_state(path)
    item = {"kind": "joint", "machine": "m", "first": 1e9, "last": 1e9, "mailed": 1e9}
    older = valid | {"joint": {"reviewed": 1, "panels": []}, "mailed": {"items": [item]}}
    path.write_text(json.dumps(older))
    assert read_state(path) == now


@pytest.mark.parametrize(
    ("way", "new", "told"),
    [
        (
            ("series", 0, "values", 3),
            -1,
            "series[0].values[3] is -1; allowed: a finite number above 0",
        ),
        (("series", 0, "times", 1), 0, "series[0].times[1] is 0.0; allowed: no earlier"),
        (("series", 0, "commits", 0), 99, "series[0].commits is"),
        (("series", 0, "unit"), 5, "series[0].unit is 5; allowed: text"),
        (("series", 0, "verdicts", 0, "index"), 999, "series[0].verdicts[0].index is 999"),
        (("series", 0, "log", 0, "kind"), "guess", 'log[0].kind is "guess"; choose seen, '),
        (("method",), "magic", 'method is "magic"; choose robust'),
        (("parents", "c"), "a", "is a part of itself"),
        (("version",), True, "version is true"),
        (("failures", 0, "time"), 1e300, "failures[0].time is 1e+300"),
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
