"""Ratios of paired series: found by the library, the same in the command, JSON, gate and page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.history.planted import (
    NIGHTS,
    TOTAL,
    day,
    history,
    noise,
    series,
    stepped,
    write_nights,
)

from hindmost.analysis.history.compare import compare_histories
from hindmost.analysis.history.pairing import pair_series
from hindmost.analysis.history.ratio import paired_ratio
from hindmost.analysis.history.ratio_history import ratio_history
from hindmost.analysis.history.study import judge_history
from hindmost.cli import main
from hindmost.errors import UsageError

LONG, STEP, BY = 90, 60, 0.05


def weather() -> NDArray[np.float64]:
    """Return noise that two cases share: it hides small changes of either."""
    steps = np.random.default_rng(3).normal(0.0, 0.06, LONG)
    return np.asarray(np.exp(np.cumsum(steps)), np.float64)


def cases() -> dict[str, dict[str, NDArray[np.float64]]]:
    return {
        "gmres": {TOTAL: stepped(1, nights=LONG, step=STEP, by=BY) * weather()},
        "pgmres": {TOTAL: noise(2, LONG, 8.0) * weather()},
    }


def test_a_change_of_the_ratio_alone_is_found() -> None:
    first, second = (series(values[TOTAL], case=case) for case, values in reversed(cases().items()))
    found = ratio_history(pair_series(first, second))
    assert found.since == day(STEP)
    assert [regime.start for regime in found.regimes] == [0, STEP]
    before, after = (regime.ratio.value for regime in found.regimes)
    assert after / before == pytest.approx(1.0 + BY, abs=0.01)
    plain = found.plain[STEP:]
    expected = paired_ratio(first.values[STEP:][plain], second.values[STEP:][plain])
    assert expected.interval is not None
    assert found.now.ratio.interval == pytest.approx(expected.interval)
    assert found.now.ratio.p_value == pytest.approx(expected.p_value)


def test_both_directions_have_the_same_changes() -> None:
    for seed in range(10):
        values = stepped(seed, nights=LONG, step=STEP, by=0.04) * weather()
        values[[7, 40]] *= 2.0
        first, second = series(values), series(noise(seed + 50, LONG) * weather(), case="b")
        there, back = (
            ratio_history(pair_series(*pair)) for pair in ((first, second), (second, first))
        )
        (one,), (other,) = there.changes, back.changes
        assert abs(one.index - other.index) <= 1
        assert there.plain.tolist() == back.plain.tolist()
        assert there.now.ratio.value == pytest.approx(1.0 / back.now.ratio.value, rel=2e-3)


def test_ratios_of_noise_alone_hardly_ever_change() -> None:
    changed = 0
    for seed in range(40):
        first, second = series(noise(seed, LONG)), series(noise(seed + 100, LONG), case="b")
        changed += bool(ratio_history(pair_series(first, second)).changes)
    assert changed <= 1


def test_compare_gives_the_ratio_since_its_last_change() -> None:
    (slow, quick) = (series(values[TOTAL]) for values in cases().values())
    (each,) = compare_histories(history(quick), history(slow)).series
    assert each.history is not None
    assert each.ratio == each.history.now.ratio
    assert f"; since {day(STEP)}, 1.2" in each.words()
    record = each.to_json()
    assert record["since"] == day(STEP)
    (change,) = record["ratio_changes"]
    assert change["date"] == day(STEP)
    assert change["after"] == record["ratio"]
    assert len(compare_histories(history(quick), history(slow)).beyond(0.28)) == 1
    over_all = paired_ratio(quick.values, slow.values).value
    assert over_all < 1.28 < each.ratio.value


def test_the_verb_judges_ratios_as_series(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "blake-nightly"
    write_nights(folder, cases(), range(STEP + 8))
    words = ["history", str(folder)]
    assert main(words) == 0
    assert "(ratio)" not in capsys.readouterr().out
    assert main([*words, "--ratio", "gmres", "pgmres"]) == 1
    printed = capsys.readouterr().out
    assert "fail  blake, gmres / pgmres, Total (ratio): 1.2" in printed
    assert main([*words, "--ratio", "gmres", "pgmres", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    (ratio,) = [each for each in answer["series"] if each["timer"].endswith("(ratio)")]
    assert ratio["changes"][0]["date"] == day(STEP)
    assert ratio["status"] == "fail"
    # The other way round, the same change is one for the better.
    assert main([*words, "--ratio", "pgmres", "gmres"]) == 0
    chosen = [*words, "--ratio", "gmres", "pgmres", "--case", "gmres*", "--json"]
    capsys.readouterr()
    assert main(chosen) == 1
    told = [each["case"] for each in json.loads(capsys.readouterr().out)["series"]]
    assert told == ["gmres", "gmres / pgmres"]
    note = ["--case", "gmres / pgmres", "--date", day(STEP), "--reason", "r"]
    assert main(["history", "ack", str(folder), *note, "--ratio", "gmres", "pgmres"]) == 0
    assert main([*words, "--ratio", "gmres", "pgmres"]) == 0


def test_a_state_keeps_ratios_that_are_asked_for(tmp_path: Path) -> None:
    nights = write_nights(tmp_path / "blake-nightly", cases(), range(STEP + 8))
    state = tmp_path / "state"
    ratio = ["--ratio", "gmres", "pgmres", "--state", str(state)]
    assert main(["history", *map(str, nights[: STEP + 2]), *ratio]) == 0
    results = [main(["history", str(night), *ratio]) for night in nights[STEP + 2 :]]
    assert results[-1] == 1
    told = [each for each in json.loads(state.read_text())["series"] if "/" in each["case"]]
    kinds = [event["kind"] for event in told[0]["log"]]
    assert kinds[0] == "seen"
    assert kinds[-1] == "confirmed"
    assert main(["history", str(nights[-1]), "--state", str(state)]) == 0
    assert all("/" not in each["case"] for each in json.loads(state.read_text())["series"])


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        (("gmres", "pgmras"), r"'pgmras'.*nearest are: 'pgmres'"),
        (("gmres", "Total"), "name two cases"),
        (("gmres", "gmres"), "share 3 nights"),
    ],
)
def test_pairs_that_there_are_not_are_refused(pair: tuple[str, str], said: str) -> None:
    members = [series(values[TOTAL], case=case) for case, values in cases().items()]
    with pytest.raises(UsageError, match=said):
        judge_history(history(*members), ratios=[pair])


def test_machines_timers_and_whole_names_are_paired() -> None:
    members = [
        series(noise(seed, NIGHTS), case="ice", machine=machine, timer=timer)
        for seed, (machine, timer) in enumerate(
            [("blake", "Fill"), ("blake", "Solve"), ("weaver", "Fill"), ("weaver", "Solve")]
        )
    ]
    names = {
        ("blake", "weaver"): ["ice, Fill (ratio)", "ice, Solve (ratio)"],
        ("Fill", "Solve"): ["ice, Fill / Solve (ratio)"] * 2,
        ("blake, ice, Fill", "weaver, ice, Solve"): ["ice, Fill / Solve (ratio)"],
    }
    for pair, expected in names.items():
        study = judge_history(history(*members), ratios=[pair])
        told = [each.series.name for each in study.judged if each.series.name.is_ratio]
        assert [f"{name.case}, {name.timer}" for name in told] == expected
