"""Changes are grouped by night and commits, and a whole is explained by its parts."""

import re

import numpy as np
import pytest
from tests.analysis.history.planted import (
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

from hindmost.analysis.history.change_groups import (
    ancestors,
    full_commits,
    group_changes,
    group_lines,
)
from hindmost.analysis.history.headline import headline
from hindmost.analysis.history.page.data import history_sentences
from hindmost.analysis.history.study import judge_history


def test_a_total_is_explained_by_the_part_that_changed() -> None:
    (group,) = group_changes(judge_history(history(*hierarchy())))
    assert group.leading.date == day(STEP)
    assert group.commits == f"Albany a{STEP - 1:03d}..a{STEP:03d}, Trilinos t0"
    (finding,) = group.findings
    assert finding.judged.series.name.timer == TOTAL
    (part,) = finding.within
    assert part.judged.series.name.timer == SOLVE
    assert part.difference == pytest.approx(2.5, rel=0.03)
    assert part.difference / finding.difference == pytest.approx(1.0, abs=0.05)


def test_a_part_that_goes_the_other_way_stands_for_itself() -> None:
    fill = stepped(1, level=4.0, by=-0.3)
    solve = stepped(2, level=5.0, by=0.8)
    members = [
        series(fill + solve, timer=TOTAL),
        series(fill, timer=FILL),
        series(solve, timer=SOLVE),
    ]
    (group,) = group_changes(judge_history(history(*members)))
    assert sorted(finding.judged.series.name.timer for finding in group.findings) == [FILL, TOTAL]


def test_two_nights_are_two_causes_and_two_cases_one() -> None:
    members = [
        series(stepped(0), case="ice"),
        series(stepped(1), case="fire"),
        series(stepped(2, step=STEP - 4), case="water"),
    ]
    groups = group_changes(judge_history(history(*members)))
    assert [group.leading.date for group in groups] == [day(STEP), day(STEP - 4)]
    assert [len(group.findings) for group in groups] == [2, 1]


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


def test_a_group_says_that_its_changes_lie_between_different_commits() -> None:
    blurred = stepped(1)
    blurred[STEP - 1] *= 1.1
    members = [series(stepped(0), case="ice"), series(blurred, case="fire")]
    (group,) = group_changes(judge_history(history(*members)))
    ranges = {full_commits(finding) for finding in group.findings}
    assert len(ranges) == 2
    assert group.commits.endswith(" (the narrowest of 2 ranges)")


def test_the_drift_of_a_whole_is_explained_by_that_of_its_part() -> None:
    nights = 90
    solve = noise(2, nights, 5.0) * np.linspace(1.0, 1.5, nights)
    total = noise(1, nights, 4.0) + solve
    step = stepped(3, nights=nights, step=60)
    members = [
        series(solve, timer=SOLVE),
        series(total, timer=TOTAL),
        series(step, timer=FILL),
        series(solve, timer=SOLVE, case="sea"),
    ]
    study = judge_history(history(*members), last_days=40)
    groups = group_changes(study)
    drifts = [group for group in groups if group.leading.date == day(0)]
    assert [group.leading.date for group in groups] == [day(60), day(0), day(0)]
    assert headline(study).endswith("confirmed in 1 case, 3 drifts for the worse")
    finding = next(finding for group in drifts for finding in group.findings if finding.within)
    assert (finding.badge, finding.judged.series.name.timer) == ("warn", TOTAL)
    assert [each.judged.series.name.timer for each in finding.within] == [SOLVE]
    alone = judge_history(history(members[0], members[3]), last_days=40)
    said, *_ = history_sentences(alone)
    assert re.match(
        rf"blake, \w+, {SOLVE} is \d\d.\d % slower .* in a drift since {day(0)}\.", said
    )
    assert finding.within[0].difference / finding.difference == pytest.approx(1.0, abs=0.1)
    assert {finding.judged.series.name.case for group in drifts for finding in group.findings} == {
        "ice",
        "sea",
    }


def test_never_more_lines_than_a_person_wants() -> None:
    members = [series(stepped(seed), case=f"case {seed}") for seed in range(40)]
    study = judge_history(history(*members))
    lines = list(group_lines(group_changes(study)))
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
    (group,) = group_changes(judge_history(history(still)))
    assert group.commits == "the same commits before and after (Albany a0)"


def test_a_whole_that_came_back_is_not_told_as_failing() -> None:
    nights = NIGHTS + 10
    fill = noise(1, nights, 4.0)
    solve = noise(2, nights, 5.0)
    fill[STEP:] *= 1.3
    solve[STEP:] *= 1.3
    solve[STEP + 6 :] /= 1.9
    members = [
        series(fill, timer=FILL),
        series(solve, timer=SOLVE),
        series(fill + solve, timer=TOTAL),
    ]
    study = judge_history(history(*members), last_days=20)
    lines = list(group_lines(group_changes(study)))
    (at,) = [place for place, line in enumerate(lines) if f"{TOTAL}: 9" in line and "+2" in line]
    assert lines[at].startswith("  pass  ")
    assert "has recovered" in lines[at + 1]
    assert f"fail in its part {FILL}: +" in lines[at + 2]
