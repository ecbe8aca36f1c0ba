"""A state goes on night by night, keeps what was confirmed, and no revision is silent."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.history.planted import (
    NIGHTS,
    SOLVE,
    STEP,
    history,
    noise,
    series,
    stepped,
)

from hindmost.analysis.history.state import HistoryState, MailRecord
from hindmost.analysis.history.state_file import VERSION, read_state, write_state
from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.readers.history import FailedRun, NightlySeries
from hindmost.errors import DamagedFileError, DataError, UnknownSchemaError, UsageError


def kept(study: HistoryStudy) -> HistoryState:
    assert study.state is not None
    return study.state


def after(values: NightlySeries, path: Path) -> HistoryStudy:
    study = judge_history(history(values), state=read_state(path))
    write_state(path, kept(study))
    return study


def spiked() -> NDArray[np.float64]:
    """Return three slow nights between equal levels: seen as a step first, and then withdrawn."""
    values = noise(5, NIGHTS)
    values[25:28] *= 1.15
    return values


@pytest.mark.parametrize("whole", [True, False])
def test_night_by_night_every_revision_is_logged(tmp_path: Path, whole: bool) -> None:
    values, begin = spiked(), 20
    path = tmp_path / "state"
    study = after(series(values[:begin]), path)
    for night in range(begin, NIGHTS):
        tonight = values[: night + 1] if whole else values[night : night + 1]
        study = after(series(tonight, first=0 if whole else night), path)
    (judged,) = study.judged
    assert [event.kind for event in judged.log] == ["seen", "withdrawn"]
    assert not judged.detection.changes
    assert np.array_equal(judged.series.values, values)
    assert judged.series.commits == series(values).commits


def noisy_later() -> NDArray[np.float64]:
    """Return a step of 28 % after which the noise becomes ten times as large."""
    random = np.random.default_rng(3)
    logs = random.normal(0.0, 0.03, 120)
    logs[30:] += 0.25
    logs[50:] += random.normal(0.0, 0.3, 70) - 0.15
    return np.asarray(np.exp(logs))


def test_a_confirmed_change_stays_until_later_nights_refute_it(tmp_path: Path) -> None:
    path, values = tmp_path / "state", noisy_later()
    alone = missing = 0
    for size in range(40, 121):
        study = after(series(values[:size]), path)
        found = [change.index for change in study.judged[0].detection.changes]
        missing += not any(abs(place - 30) <= 2 for place in found)
        once = judge_history(history(series(values[:size]))).judged[0].detection.changes
        alone += not any(abs(change.index - 30) <= 2 for change in once)
    assert missing == 0 < alone
    refuted = np.append(values[:60], np.exp(np.random.default_rng(4).normal(0.0, 0.03, 200)))
    refuted[30:60] = np.exp(np.random.default_rng(5).normal(0.0, 0.03, 30))
    study = after(series(refuted), path)
    assert not study.judged[0].detection.changes
    assert study.judged[0].log[-1].kind == "withdrawn"


def test_the_same_nights_again_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state"
    after(series(stepped(0)), path)
    before = path.read_text()
    study = after(series(stepped(0)), path)
    assert path.read_text() == before
    assert (
        study.judged[0].detection == judge_history(history(series(stepped(0)))).judged[0].detection
    )


def test_earlier_nights_alone_take_no_later_ones_away(tmp_path: Path) -> None:
    path = tmp_path / "state"
    values = stepped(0)
    after(series(values), path)
    before = path.read_text()
    after(series(values[:1]), path)
    assert path.read_text() == before
    after(series(values[: NIGHTS // 2]), path)
    assert path.read_text() == before


def test_a_late_night_moves_the_places_of_what_was_told(tmp_path: Path) -> None:
    path = tmp_path / "state"
    values = stepped(0)
    full = series(values)
    left = [night for night in range(NIGHTS) if night != 10]
    gap = NightlySeries(
        name=full.name,
        unit="s",
        smaller_is_better=True,
        times=full.times[left],
        values=full.values[left],
        commits=tuple(full.commits[night] for night in left),
        commit_parts=tuple(full.commit_parts[night] for night in left),
        spread=None,
    )
    first = after(gap, path)
    assert first.judged[0].detection.changes[0].index == STEP - 1
    study = after(full, path)
    assert study.judged[0].log[0].changed == full.times[STEP]
    assert [event.kind for event in study.judged[0].log] == ["seen", "confirmed"]


def test_a_case_that_did_not_run_tonight_stays(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_state(
        path,
        kept(
            judge_history(
                history(series(stepped(0)), series(noise(1, NIGHTS), timer=SOLVE)),
                state=read_state(path),
            )
        ),
    )
    study = after(series(noise(1, NIGHTS + 1)[NIGHTS:], timer=SOLVE, first=NIGHTS), path)
    assert {each.series.name.timer: each.detection.observations for each in study.judged} == {
        "Total": NIGHTS,
        SOLVE: NIGHTS + 1,
    }
    assert study.status() == "fail"


def test_failures_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "state"
    full = series(stepped(0))
    failure = FailedRun(
        time=full.times[-1], machine="blake", case="fire", reason="failed", file="f"
    )
    study = judge_history(history(full, failures=(failure,)), state=HistoryState())
    write_state(path, kept(study))
    state = read_state(path)
    write_state(tmp_path / "again", state)
    assert (tmp_path / "again").read_text() == path.read_text()
    assert state.failures == (failure,)
    read = state.series[full.name].series
    np.testing.assert_array_equal(read.values, full.values)


def test_another_method_does_not_go_on_with_a_state(tmp_path: Path) -> None:
    path = tmp_path / "state"
    after(series(stepped(0)), path)
    with pytest.raises(UsageError, match="another state file"):
        judge_history(history(series(stepped(0))), state=read_state(path), method="report")


def test_states_that_are_none_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "state"
    after(series(stepped(0)), path)
    text = path.read_text()
    record = json.loads(text)
    without = {key: value for key, value in record.items() if key != "commits"}
    places = np.linspace(1, len(text) - 2, 40).astype(int)
    changed = [f"{text[:at]}{'8' if text[at] != '8' else '9'}{text[at + 1 :]}" for at in places]
    for wrong in (*changed, text[: len(text) // 2], json.dumps(without), "\udcff", "[" * 100_000):
        path.write_bytes(wrong.encode("utf-8", "surrogateescape"))
        with pytest.raises(DamagedFileError, match=str(path)):
            read_state(path)
    for version, words in ((VERSION + 1, "reads up to"), (VERSION - 1, "name a new file")):
        path.write_text(json.dumps({**record, "version": version}))
        with pytest.raises(UnknownSchemaError, match=f"version {version}.*{words}"):
            read_state(path)
    path.write_text("[1, 2]")
    with pytest.raises(DataError, match="no state"):
        read_state(path)


def test_a_state_that_cannot_be_replaced_stays(tmp_path: Path) -> None:
    path = tmp_path / "state"
    study = after(series(stepped(0)), path)
    before = path.read_text()
    broken = replace(kept(study), mailed=MailRecord(digest=math.inf))
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_state(path, broken)
    assert path.read_text() == before
    with pytest.raises(DataError, match="cannot be written"):
        write_state(tmp_path / "missing" / "state", kept(study))
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
