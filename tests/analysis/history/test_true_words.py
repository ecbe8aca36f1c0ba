"""What is said of a series does not contradict its values."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.history.planted import (
    FIRST,
    NIGHTS,
    day,
    history,
    noise,
    series,
    stepped,
    write_nights,
)

from hindmost.analysis.history.change_groups import group_changes, group_lines, open_lines
from hindmost.analysis.history.exports import history_json
from hindmost.analysis.history.headline import age_line, headline, newest_line, silence_lines
from hindmost.analysis.history.judged_series import Acknowledgement
from hindmost.analysis.history.mail_message import compose, plan_mail
from hindmost.analysis.history.page.data import no_change
from hindmost.analysis.history.page.history_page import still_open, summary
from hindmost.analysis.history.state import MailRecord
from hindmost.analysis.history.study import FAIL, PASS, UNKNOWN, WARN, HistoryStudy, judge_history
from hindmost.analysis.show.html_renderer import part_html
from hindmost.analysis.verbs.history import renamed_cases
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.models.changepoint.detection import OPEN
from hindmost.output import plain

NEWEST = datetime(2026, 11, 20, tzinfo=UTC)


def nights(count: int, value: Callable[[int], float]) -> NDArray[np.float64]:
    return np.array([value(night) for night in range(count)], np.float64)


def study_of(values: NDArray[np.float64], **others: object) -> HistoryStudy:
    return judge_history(history(series(values)), **others)  # type: ignore[arg-type]


def ripple(night: int) -> float:
    return 10.0 + 0.01 * (night % 3)


def write_rows(folder: Path, rows: list[tuple[str, float]]) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [f"{date},m,c,time,{value}" for date, value in rows]
    (folder / "a.csv").write_text("\n".join(["date,machine,case,timer,value", *lines]) + "\n")
    return folder


@pytest.mark.parametrize(("high", "words"), [(1, "newest: the last result of 1 series"), (0, "")])
def test_a_last_night_that_stands_out_is_named_before_it_is_a_change(high: int, words: str) -> None:
    study = study_of(nights(60, lambda night: ripple(night) / (2.0 if night >= 60 - high else 1.0)))
    assert headline(study) == (
        "pass: no change found in the last 10 days in 1 series (a step below about 2.8 % could not "
        "be seen)"
    )
    said = newest_line(study)
    assert said.startswith(words)
    if words:
        assert f"Total: 5.01 s on {day(59)}, -49.9 % from its level of 10.0 s" in said
        assert "is an outlier so far" in no_change(study)


def test_a_fall_is_for_the_worse_where_larger_is_said_to_be_better(tmp_path: Path) -> None:
    values = nights(40, lambda night: ripple(night) * (0.7 if night >= 32 else 1.0))
    rows = [(day(night), float(value)) for night, value in enumerate(values)]
    folder = str(write_rows(tmp_path / "a", rows))
    table = tmp_path / "a" / "a.csv"
    table.write_text(table.read_text().replace(",time,", ",quality,"))
    assert main(["history", folder]) == 0
    assert main(["history", folder, "--larger-is-better", "qual*"]) == 1
    with pytest.raises(UsageError, match="No timer 'speed' in the results; choose quality"):
        main(["history", folder, "--larger-is-better", "speed"])


def test_one_slow_night_of_many_runs_is_one_night(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def rows(slow: int) -> list[tuple[str, float]]:
        return [
            (
                f"{NEWEST - timedelta(days=59 - night):%Y-%m-%d}T03:0{run}:00",
                (11.0 if night >= 60 - slow else 10.0) + 0.01 * run,
            )
            for night in range(60)
            for run in range(5)
        ]

    one = write_rows(tmp_path / "one", rows(1))
    assert main(["history", str(one), "--json"]) == 0
    (series,) = json.loads(capsys.readouterr().out)["series"]
    assert (series["status"], series["nights"]) == ("warn", 60)
    assert (series["jump"]["nights"], series["jump"]["confirmed"]) == (1, False)
    assert series["level_now"] == pytest.approx(10.02)
    assert series["changes"] == []
    assert len({each[:10] for each in series["outliers"]}) == 1
    three = write_rows(tmp_path / "three", rows(3))
    assert main(["history", str(three)]) == 0
    text = capsys.readouterr().out
    assert "warn: 1 change for the worse seen, not confirmed" in text
    assert "not confirmed yet: found on 1 of 3 consecutive nights" in text
    assert main(["history", str(write_rows(tmp_path / "five", rows(5)))]) == 1


@pytest.mark.parametrize(("count", "first"), [(9, 4), (8, 4), (10, 4)])
def test_too_few_nights_on_either_side_are_not_judged(count: int, first: int) -> None:
    study = study_of(nights(count, lambda night: ripple(night) * (1.0 if night < first else 1.5)))
    assert study.status() == UNKNOWN
    assert headline(study) == "unknown: 1 series with too few nights or too many outliers to judge"
    assert plain(history_json(study))["series"][0]["status"] == UNKNOWN


def ended_drift(night: int) -> float:
    return ripple(night) * (1.0 + 0.3 * min(night, 50) / 50)


def test_a_drift_that_ended_at_a_worse_level_is_open() -> None:
    values = nights(90, ended_drift)
    study = study_of(values)
    assert study.status() == OPEN
    head, line = open_lines(study)
    assert "1 older slowdown in 1 case" in head
    assert "in a drift from" in line
    (record,) = plain(history_json(study))["open"]
    assert record["verdict"] == "trend"
    assert record["dates"][0] == day(0)
    assert record["effect_percent"] == pytest.approx(29.0, abs=3.0)
    whole = study_of(values, last_days=88.0)
    assert whole.status() == WARN
    assert "1 drift for the worse" in headline(whole)
    assert f"in a drift from {day(0)} to" in "".join(group_lines(group_changes(whole)))
    (news,) = plan_mail(whole, MailRecord(digest=0.0), NEWEST.timestamp()).news
    assert news.badge == WARN
    note = Acknowledgement(date=day(25), case="ice", reason="grows with the data")
    assert not list(open_lines(study_of(values, acknowledged=[note])))
    assert not list(open_lines(study_of(1.0 / values)))
    back = np.append(values, nights(20, ripple))
    assert not list(open_lines(study_of(back)))


def test_a_known_drift_is_marked() -> None:
    values = noise(3, 90) * np.exp(np.linspace(0.0, 0.26, 90))
    note = Acknowledgement(date=day(45), case="ice", reason="grows with the data")
    study = study_of(values, acknowledged=[note])
    assert headline(study) == "pass: 1 acknowledged drift"
    _, sentence, detail = group_lines(group_changes(study))
    assert sentence.startswith("  pass ")
    assert sentence.endswith(f"in a drift since {day(0)}")
    assert detail.strip() == "acknowledged: grows with the data"


def test_the_largest_open_changes_are_listed() -> None:
    members = [
        series(
            stepped(seed, nights=90, step=20 + 5 * seed, by=1.3 if seed == 0 else 0.1), case=case
        )
        for seed, case in enumerate("abcdefg")
    ]
    head, first, *rest, last = open_lines(judge_history(history(*members)))
    assert "7 older slowdowns" in head
    assert "blake, a, Total" in first
    assert len(rest) == 4
    assert last.startswith("  and 2 more, smaller")
    earliest = min(line.split(", on ")[1][:10] for line in (first, *rest))
    assert f"--since {earliest} " in head


LONG = 70
OLD = LONG - 18
SIZES = {"ice": 0.06, "sea": 0.07, "fire": 0.08}


def three_old_slowdowns(**others: object) -> HistoryStudy:
    members = [
        series(stepped(seed, nights=LONG, step=OLD, by=by), case=case)
        for seed, (case, by) in enumerate(SIZES.items())
    ]
    return judge_history(history(*members), **others)  # type: ignore[arg-type]


def test_older_open_slowdowns_are_named_everywhere() -> None:
    study = three_old_slowdowns()
    assert study.status() == OPEN
    first, *rest = open_lines(study)
    assert "3 older slowdowns in 3 cases" in first
    assert f"--since {day(OLD)}"[:-1] in first
    for case in SIZES:
        assert any(f"blake, {case}, Total" in line for line in rest)
    assert {each["case"] for each in plain(history_json(study))["open"]} == set(SIZES)
    for each in plain(history_json(study))["series"]:
        change = each["changes"][0]
        assert change["open"]
        assert change["date"] == day(OLD)
        assert change["dates"][0] <= day(OLD) <= change["dates"][1]
    body = compose(study, group_changes(study)).get_body(("plain",))
    assert body is not None
    assert "3 older slowdowns" in str(body.get_content())
    page = "".join(part_html(part) for part in (*summary(study), *still_open(study)))
    assert "3 older slowdowns" in page
    assert page.count(">Total</a>") == 3


def test_an_older_slowdown_that_is_known_or_undone_is_not_open() -> None:
    notes = [Acknowledgement(date=day(OLD), case=case, reason="r") for case in SIZES]
    assert not list(open_lines(three_old_slowdowns(acknowledged=notes)))
    back = stepped(0, nights=LONG, step=20)
    back[40:] /= 1.2
    assert not list(open_lines(judge_history(history(series(back)))))
    faster = series(stepped(0, nights=LONG, step=OLD, by=-0.2))
    assert not list(open_lines(judge_history(history(faster))))


def test_a_drift_undoes_a_slowdown() -> None:
    nights = 160
    values = stepped(1, nights=nights, step=30, by=0.15)
    values[60:] *= np.exp(np.linspace(0.0, -0.15, nights - 60))
    (judged,) = judge_history(history(series(values))).judged
    assert judged.detection.trends[-1].stop == nights
    (change, *_) = judged.detection.changes
    assert judged.is_undone(change)
    assert judged.detection.level_now == pytest.approx(values[-15:].mean(), rel=0.02)


def test_the_exit_status_stays_while_a_slowdown_is_open_unless_older_ones_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = stepped(0, nights=LONG, step=OLD, by=0.08)
    write_nights(tmp_path / "nights", {"ice": {"t": values}}, range(LONG))
    assert main(["history", str(tmp_path / "nights")]) == 1
    assert main(["history", str(tmp_path / "nights"), "--fail-on", "new"]) == 0
    capsys.readouterr()
    assert main(["history", str(tmp_path / "nights"), "--fail-on", "confirmed"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("open: 1 older slowdown still open, no change found in the last 10 ")
    assert lines[-1] != "1 series passes"
    assert lines[2].startswith("open: 1 older slowdown in 1 case")
    date = lines[2].split("--since ")[1].split()[0]
    assert main(["history", str(tmp_path / "nights"), "--since", date]) == 1
    with pytest.raises(UsageError, match="newest result"):
        main(["history", str(tmp_path / "nights"), "--since", "2030-01-01"])


def test_what_was_not_judged_is_no_pass() -> None:
    short = judge_history(history(series(noise(0, 4))))
    assert short.status() == UNKNOWN
    assert headline(short) == "unknown: 1 series with too few nights or too many outliers to judge"
    ended = judge_history(
        history(series(noise(0, NIGHTS)), series(noise(1, NIGHTS - 15), case="sea"))
    )
    assert ended.status() == PASS
    assert ended.by_case()["blake", "sea"] == UNKNOWN
    assert headline(ended) == (
        "pass: no change found in the last 10 days in 1 series (a step below about 2.8 % could not "
        "be seen), 1 series without a result in the last 10 days"
    )
    silent = f"silent: blake, sea has no result since {day(NIGHTS - 16)}"
    assert list(silence_lines(ended)) == [silent]
    assert plain(history_json(ended))["silent_cases"] == [
        {"machine": "blake", "case": "sea", "last": day(NIGHTS - 16)}
    ]
    records = {each["case"]: each for each in plain(history_json(ended))["series"]}
    assert records["sea"]["status"] == UNKNOWN
    assert records["sea"]["last"] == day(NIGHTS - 16)


def test_a_renamed_case_and_a_new_one_are_named() -> None:
    study = judge_history(
        history(
            series(noise(0, NIGHTS)),
            series(noise(1, NIGHTS - 15), case="sea"),
            series(noise(2, 14), case="sea_tiny", first=NIGHTS - 14),
            series(noise(3, 5, level=30.0), case="lake", first=NIGHTS - 5),
        )
    )
    assert list(silence_lines(study)) == [
        f"silent: blake, sea has no result since {day(NIGHTS - 16)}; perhaps renamed to sea_tiny: "
        "same level (--renamed sea=sea_tiny makes them one)",
        f"new: blake, lake began on {day(NIGHTS - 5)}",
    ]


def test_a_renamed_case_goes_on_as_one_series() -> None:
    nights = history(
        series(noise(0, NIGHTS)),
        series(noise(1, NIGHTS - 14), case="sea"),
        series(1.2 * noise(2, 14), case="sea_tiny", first=NIGHTS - 14),
    )
    study = judge_history(nights, renamed={"sea": "sea_tiny"})
    joined = {each.series.name.case: each for each in study.judged}
    assert "sea" not in joined
    assert joined["sea_tiny"].nights == NIGHTS
    (change,) = joined["sea_tiny"].detection.changes
    assert change.index == NIGHTS - 14
    assert not list(silence_lines(study))


def test_a_renaming_has_two_names() -> None:
    for wrong in ("sea", "=sea", "sea="):
        with pytest.raises(UsageError, match="OLD=NEW"):
            renamed_cases([wrong])
    assert renamed_cases(["a=b=c"]) == {"a": "b=c"}


def test_a_machine_that_went_silent_warns() -> None:
    gone = series(noise(1, NIGHTS - 15), machine="weaver")
    study = judge_history(history(series(noise(0, NIGHTS)), gone))
    assert study.status() == WARN
    assert list(silence_lines(study)) == [f"silent: weaver has no result since {day(NIGHTS - 16)}"]
    assert plain(history_json(study))["silent_machines"] == {"weaver": day(NIGHTS - 16)}
    retired = series(noise(1, 10), machine="weaver")
    assert judge_history(history(series(noise(0, 100)), retired)).status() == PASS


def test_the_age_of_the_newest_night_is_told() -> None:
    study = judge_history(history(series(noise(0, NIGHTS))))
    newest = FIRST.timestamp() + (NIGHTS - 1) * 86400.0
    assert not age_line(study, newest + 86400.0)
    assert "21 days old" in age_line(study, newest + 21 * 86400.0)
    assert "in the future" in age_line(study, newest - 3 * 86400.0)


def test_one_night_far_in_the_future_does_not_push_a_slowdown_out_of_the_last_days() -> None:
    slower = series(stepped(0))
    times = slower.times.copy()
    now = float(times[-2]) + 86400.0
    times[-1] = now + 9000 * 86400.0
    nights = history(replace(slower, times=times))
    assert judge_history(nights).status() == OPEN
    study = judge_history(nights, now=now)
    assert (study.status(), study.until) == (FAIL, times[-2])
    said = f"Correct its date: the last 10 days are counted back from {day(NIGHTS - 2)}"
    assert said in age_line(study, now)
    # Where all nights are in the future, the clock is wrong.
    assert judge_history(history(slower), now=0.0).until == slower.times[-1]


def test_json_of_series_that_cannot_be_judged_is_strict() -> None:
    json.dumps(plain(history_json(judge_history(history(series(noise(0, 2)))))), allow_nan=False)
