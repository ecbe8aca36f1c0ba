"""Changes are grouped by night and commits, and a whole is explained by its parts."""

from __future__ import annotations

import numpy as np
import pytest
from tests.analysis.history.planted import (
    EXPORT,
    FILL,
    NIGHTS,
    SOLVE,
    STEP,
    TOTAL,
    day,
    hierarchy,
    history,
    noise,
    series,
    stepped,
)

from hindmost.analysis.history.causes import ancestors, group_changes
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.history.words import cause_lines, finding_words, headline


def test_a_total_is_explained_by_the_part_that_changed() -> None:
    (cause,) = group_changes(judge_history(history(*hierarchy())))
    assert cause.leading.date == day(STEP)
    assert cause.commits == f"Albany a{STEP - 1:03d}..a{STEP:03d}, Trilinos t0"
    (finding,) = cause.findings
    assert finding.judged.series.name.timer == TOTAL
    (part,) = finding.parts
    assert part.timer == SOLVE
    assert part.difference == pytest.approx(2.5, rel=0.03)
    assert part.share == pytest.approx(1.0, abs=0.05)
    assert [each.judged.series.name.timer for each in finding.within] == [SOLVE]


def test_parts_are_followed_down_while_they_hold_half() -> None:
    fill = stepped(1, level=4.0, by=0.5)
    members = [
        series(fill + noise(2, NIGHTS, 5.0), timer=TOTAL),
        series(fill, timer=FILL),
        series(fill - noise(3, NIGHTS, 1.0), timer=EXPORT),
        series(noise(2, NIGHTS, 5.0), timer=SOLVE),
    ]
    (cause,) = group_changes(judge_history(history(*members)))
    assert [part.timer for part in cause.findings[0].parts] == [FILL, EXPORT]


def test_a_part_that_goes_the_other_way_stands_for_itself() -> None:
    fill = stepped(1, level=4.0, by=-0.3)
    solve = stepped(2, level=5.0, by=0.8)
    members = [
        series(fill + solve, timer=TOTAL),
        series(fill, timer=FILL),
        series(solve, timer=SOLVE),
    ]
    (cause,) = group_changes(judge_history(history(*members)))
    assert sorted(each.judged.series.name.timer for each in cause.findings) == [FILL, TOTAL]


def test_two_nights_are_two_causes_and_two_cases_one() -> None:
    members = [
        series(stepped(0), case="ice"),
        series(stepped(1), case="fire"),
        series(stepped(2, step=STEP - 4), case="water"),
    ]
    causes = group_changes(judge_history(history(*members)))
    assert [cause.leading.date for cause in causes] == [day(STEP), day(STEP - 4)]
    assert [len(cause.findings) for cause in causes] == [2, 1]


def test_machines_share_a_cause_only_next_to_the_same_commits() -> None:
    here, there = series(stepped(0)), series(stepped(1), machine="waterman")
    assert len(group_changes(judge_history(history(here, there)))) == 1
    other = tuple({"Albany": f"b{night}"} for night in range(NIGHTS))
    there = there.__class__(
        name=there.name,
        unit="s",
        smaller_is_better=True,
        times=there.times,
        values=there.values,
        commits=tuple(part["Albany"] for part in other),
        commit_parts=other,
        spread=None,
    )
    assert len(group_changes(judge_history(history(here, there)))) == 2


def test_the_words_say_everything_that_is_promised() -> None:
    study = judge_history(history(*hierarchy()))
    (cause,) = group_changes(study)
    words = finding_words(cause.findings[0])
    change = cause.findings[0].change
    assert words.startswith("blake, ice, Total: ")
    assert f"{100 * change.effect:+.1f} %" in words
    assert f"on {day(STEP)}" in words
    assert headline(study).startswith("fail: 2 slowdowns confirmed in 1 case")
    text = "\n".join(cause_lines([cause]))
    assert "in Solve" in text
    assert f"with it: {SOLVE} +" in text


def test_never_more_lines_than_a_person_wants() -> None:
    members = [series(stepped(seed), case=f"case {seed}") for seed in range(40)]
    study = judge_history(history(*members))
    lines = list(cause_lines(group_changes(study)))
    assert len([line for line in lines if line.lstrip().startswith("fail")]) == 30
    assert lines[-1].strip() == "and 10 more"


def test_a_ring_of_timers_ends() -> None:
    assert list(ancestors("a", {"a": "b", "b": "c", "c": "a"})) == ["b", "c"]


def test_same_commits_on_both_sides_are_said() -> None:
    values = stepped(0)
    plain = series(values)
    same = tuple({"Albany": "a0"} for _ in values)
    still = plain.__class__(
        name=plain.name,
        unit="s",
        smaller_is_better=True,
        times=plain.times,
        values=np.asarray(values),
        commits=("Albany a0",) * values.size,
        commit_parts=same,
        spread=None,
    )
    (cause,) = group_changes(judge_history(history(still)))
    assert cause.commits == "the same commits before and after (Albany a0)"
