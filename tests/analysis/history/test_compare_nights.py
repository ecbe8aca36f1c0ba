"""What two histories say of a ratio that moves: small shifts, drifts, last nights, and the gate."""

import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.history.planted import (
    TOTAL,
    day,
    history,
    noise,
    series,
    stepped,
)

from hindmost.analysis.history.compare import compare_histories
from hindmost.analysis.history.ratio_history import pair_series, ratio_history
from hindmost.cli import main
from hindmost.errors import DataError
from hindmost.models.inference import paired_ratio
from hindmost.records import to_document

LAST = date(2026, 11, 20)
NIGHTS = np.arange(40)
STEADY = 10.0 + 0.01 * (NIGHTS % 3)


def write(folder: Path, values: NDArray[np.float64], timer: str = "time") -> str:
    folder.mkdir(exist_ok=True)
    first = LAST - timedelta(days=values.size - 1)
    rows = [f"{first + timedelta(days=at)},m,c,{timer},{value}" for at, value in enumerate(values)]
    (folder / f"{timer}.csv").write_text("date,machine,case,timer,value\n" + "\n".join(rows) + "\n")
    return str(folder)


def compared(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    factor: NDArray[np.float64],
    limit: str,
    timer: str = "time",
) -> tuple[int, str]:
    a = write(tmp_path / "a", STEADY, timer)
    b = write(tmp_path / "b", STEADY * factor, timer)
    status = main(["compare", a, b, "--fail-above", limit])
    return status, capsys.readouterr().out


def test_a_change_of_the_last_three_nights_only_warns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = compared(tmp_path, capsys, np.where(NIGHTS >= 37, 1.3, 1.0), "5%")
    assert "since 2026-11-18, the same before; not yet confirmed" in text
    assert "1.30x larger" in text
    assert "warning: worse but not yet confirmed, so no failure: m, c, time" in text
    assert status == 0


def test_a_last_night_that_is_left_out_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, text = compared(tmp_path, capsys, np.where(NIGHTS == 39, 2.0, 1.0), "5%")
    assert "1 outlier left out, the last on 2026-11-20" in text


def test_units_that_do_not_match_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, unit in (("a", "GB/s"), ("b", "MB/s")):
        folder = Path(write(tmp_path / name, STEADY))
        rows = [f"{LAST},m,c,read,{value},{unit}" for value in (1.0, 2.0)]
        table = "\n".join(["date,machine,case,timer,value,unit", *rows])
        (folder / "read.csv").write_text(table)
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    said = "m, c, read is not compared: it is in GB/s in A and in MB/s in B."
    assert main(["compare", a, b]) == 0
    out, err = capsys.readouterr()
    assert said in err
    assert "only in" not in out
    with pytest.raises(DataError, match=f"no timer in common: .* {said}"):
        main(["compare", a, b, "--timer", "read"])


def test_an_unconfirmed_change_does_not_hide_what_was_worse_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factor = np.select([NIGHTS >= 37, NIGHTS >= 20], [1.6, 1.3], 1.0)
    status, text = compared(tmp_path, capsys, factor, "5%")
    assert status == 1
    assert "1.30x larger from 2026-11-01 until then; not yet confirmed" in text


@pytest.mark.parametrize(
    ("slow", "words", "status"),
    [
        (NIGHTS >= 25, "1.020x larger (1.020 to 1.020), p < 1e-15; since 2026-11-06, the same", 1),
        (
            NIGHTS < 25,
            "the same (1.000 to 1.000), p = 1; since 2026-11-06, 1.020x larger before",
            0,
        ),
    ],
)
def test_a_small_shift_is_seen(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    slow: NDArray[np.bool_],
    words: str,
    status: int,
) -> None:
    found, text = compared(tmp_path, capsys, np.where(slow, 1.02, 1.0), "1%")
    assert words in text
    assert found == status


def test_a_drift_is_told_by_both_ends_and_gated_by_the_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factor = 1.0 + 0.2 * NIGHTS / 40
    status, text = compared(tmp_path, capsys, factor, "15%")
    assert "it drifts from 1.003x to 1.20x" in text
    assert status == 1


@pytest.mark.parametrize(
    ("factor", "words", "status"),
    [
        (
            1.0 + 0.3 * np.minimum(np.arange(90), 50) / 50,
            "1.30x larger (1.30 to 1.30), p < 1e-15; it drifted until 2026-10-08",
            1,
        ),
        (
            np.where(np.arange(30) < 4, 1.0, 1.5),
            "1.50x larger (1.50 to 1.50), p < 1e-15; 4 outliers left out",
            1,
        ),
    ],
)
def test_the_ratio_is_that_of_the_level_now(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    factor: NDArray[np.float64],
    words: str,
    status: int,
) -> None:
    steady = np.full(factor.size, 10.0)
    a, b = write(tmp_path / "a", steady), write(tmp_path / "b", steady * factor)
    assert main(["compare", a, b, "--fail-above", "25%"]) == status
    assert words in capsys.readouterr().out


def test_a_gate_that_judges_nothing_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = write(tmp_path / "a", np.array([10.0]))
    b = write(tmp_path / "b", np.array([20.0]))
    assert main(["compare", a, b]) == 0
    with pytest.raises(DataError, match="could not judge any timer"):
        main(["compare", a, b, "--fail-above", "5%"])
    assert "not judged, too few data: m, c, time" in capsys.readouterr().out


def test_one_of_several_comparisons_is_not_called_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in range(7):
        ratio = np.array([1.02, 1.10, 1.02, 1.10, 1.12]) if not place else np.array([1.1, 0.9] * 2)
        write(tmp_path / "a", np.full(ratio.size, 10.0), f"t{place}")
        write(tmp_path / "b", 10.0 * ratio, f"t{place}")
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    text = capsys.readouterr().out
    assert "not significant among 7 comparisons (p = 0.02" in text
    assert "adjusted): 1.07x larger (1.0" in text


def test_the_gate_says_what_its_percent_means_for_a_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = compared(tmp_path, capsys, np.full(40, 0.9), "10.5%", "throughput")
    assert status == 1
    assert "worse by more than 10.5 % (ratio of times above 1.105x; of rates, A over B)" in text


def test_json_says_what_the_gate_left_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = write(tmp_path / "a", STEADY)
    b = write(tmp_path / "b", STEADY * np.where(NIGHTS >= 37, 1.3, 1.0))
    assert main(["compare", a, b, "--fail-above", "5%", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["unconfirmed"] == ["m, c, time"]
    assert answer["not_judged"] == []
    (change,) = answer["series"][0]["ratio_changes"]
    assert not change["confirmed"]


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
    before, after = found.ratios
    assert after.value / before.value == pytest.approx(1.0 + BY, abs=0.01)
    plain = found.plain[STEP:]
    expected = paired_ratio(first.values[STEP:][plain], second.values[STEP:][plain])
    assert expected.interval is not None
    assert found.ratios[-1].interval == pytest.approx(expected.interval)
    assert found.ratios[-1].p_value == pytest.approx(expected.p_value)


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
        assert there.ratios[-1].value == pytest.approx(1.0 / back.ratios[-1].value, rel=2e-3)


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
    assert each.ratio == each.history.ratios[-1]
    assert f"; since {day(STEP)}, 1.2" in each.words()
    record = to_document(each)
    assert record["since"] == day(STEP)
    (change,) = record["ratio_changes"]
    assert change["date"] == day(STEP)
    assert change["after"] == record["ratio"]
    assert len(compare_histories(history(quick), history(slow)).beyond(0.28)) == 1
    over_all = paired_ratio(quick.values, slow.values).value
    assert over_all < 1.28 < each.ratio.value
