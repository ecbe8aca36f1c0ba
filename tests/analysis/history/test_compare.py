"""Two results side by side, against scipy and planted ratios."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, special, stats
from tests.analysis.history.planted import NIGHTS, history, noise, series, write_nights
from tests.conftest import run_values

from hindmost.analysis.history.compare import compare_histories
from hindmost.analysis.history.ratio_history import pair_series
from hindmost.analysis.readers.format import OF_FEW, summarise
from hindmost.analysis.readers.read import read_history
from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.inference import (
    Estimate,
    Ratio,
    holm,
    mean_of,
    paired_ratio,
    ratio_of,
    welch_freedom,
)
from hindmost.records import to_document


def sample(seed: int, size: int, level: float = 10.0, spread: float = 0.03) -> NDArray[np.float64]:
    logs = np.random.default_rng(seed).normal(0.0, spread, size)
    return np.asarray(level * np.exp(logs), np.float64)


def unpaired_ratio(first: NDArray[np.float64], second: NDArray[np.float64]) -> Ratio:
    return ratio_of(mean_of(np.log(first)), mean_of(np.log(second)))


@pytest.mark.parametrize(("m", "n"), [(2, 2), (3, 7), (9, 5)])
def test_unpaired_is_welch_of_the_logarithms(m: int, n: int) -> None:
    first, second = sample(0, m), sample(1, n, 11.7, 0.1)
    ratio = unpaired_ratio(first, second)
    truth = stats.ttest_ind(np.log(second), np.log(first), equal_var=False)
    low, high = np.exp(truth.confidence_interval(0.90))
    assert ratio.p_value == pytest.approx(truth.pvalue)
    assert ratio.interval == pytest.approx((low, high))
    assert ratio.value == pytest.approx(stats.gmean(second) / stats.gmean(first))


@pytest.mark.parametrize("size", [2, 5, 9])
def test_paired_is_student_of_the_log_ratios(size: int) -> None:
    first = sample(0, size, spread=0.5)
    second = first * sample(1, size, 1.17, 0.02)
    ratio = paired_ratio(first, second)
    truth = stats.ttest_rel(np.log(second), np.log(first))
    low, high = np.exp(truth.confidence_interval(0.90))
    assert ratio.p_value == pytest.approx(truth.pvalue)
    assert ratio.interval == pytest.approx((low, high))


def test_correlation_in_time_is_not_taken_for_certainty() -> None:
    false = {True: 0, False: 0}
    for seed in range(200):
        random = np.random.default_rng(seed)
        noise_of = [random.normal(size=60), random.normal(size=60)]
        for each in noise_of:
            for night in range(1, 60):
                each[night] += 0.7 * each[night - 1]
        logs = [0.02 * each for each in noise_of]
        p_value = unpaired_ratio(np.exp(logs[0]), np.exp(logs[1])).p_value
        assert p_value is not None
        false[True] += p_value < 0.05
        false[False] += stats.ttest_ind(*logs, equal_var=False).pvalue < 0.05
    assert false[False] / 200 > 0.25
    assert false[True] / 200 < 0.12


def test_p_values_are_adjusted_as_holm_does() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_the_same_nights_are_paired() -> None:
    common = noise(0, NIGHTS) * np.exp(np.random.default_rng(9).normal(0, 1.0, NIGHTS))
    first = series(common)
    second = series(common[5:] * sample(1, NIGHTS - 5, 1.17, 0.01), first=5)
    (each,) = compare_histories(history(first), history(second)).series
    assert (each.paired_by, each.pairs) == ("nights", (NIGHTS - 5, NIGHTS - 5))
    assert each.ratio.value == pytest.approx(1.17, rel=0.01)
    assert each.words().startswith("1.17x slower (1.1")
    # Unpaired, the nights' own ups and downs hide it.
    apart = replace(second, times=second.times + 1e8, commits=("",) * (NIGHTS - 5))
    (blind,) = compare_histories(history(first), history(apart)).series
    assert not blind.is_significant
    assert blind.words().startswith("no significant difference: ")


def test_the_same_commits_are_paired_across_nights() -> None:
    first = series(sample(0, 8))
    second = series(sample(1, 8), first=100)
    later = second.__class__(
        name=second.name,
        unit="s",
        smaller_is_better=True,
        times=second.times,
        values=second.values,
        commits=first.commits,
        commit_parts=first.commit_parts,
        spread=None,
    )
    assert pair_series(first, later).by == "commits"
    assert pair_series(first, second).by == "none"


def test_repeats_that_took_turns_are_paired_in_order() -> None:
    first, second = series(sample(0, 5)), series(sample(1, 5))
    alone = {"name": first.name, "unit": "s", "smaller_is_better": True, "spread": None}
    none = {"commits": ("",) * 5, "commit_parts": ({},) * 5}
    times = first.times[0] + np.arange(10.0)
    a = first.__class__(times=times[0::2], values=first.values, **alone, **none)  # type: ignore[arg-type]
    b = first.__class__(times=times[1::2], values=second.values, **alone, **none)  # type: ignore[arg-type]
    after = first.__class__(times=times[5:], values=second.values, **alone, **none)  # type: ignore[arg-type]
    before = first.__class__(times=times[:5], values=first.values, **alone, **none)  # type: ignore[arg-type]
    assert pair_series(a, b).by == "order"
    assert pair_series(before, after).by == "none"


def test_few_data_are_said() -> None:
    (one,) = compare_histories(
        history(series(sample(0, 1))), history(series(sample(1, 1), first=9))
    ).series
    assert one.words().endswith("too few data for an interval: add repetitions")
    assert one.ratio.p_value is None
    (two,) = compare_histories(
        history(series(sample(0, 2))), history(series(sample(1, 2), first=9))
    ).series
    assert two.words().endswith("few data (2 and 2)")


def test_single_results_are_held_against_their_own_standard_errors() -> None:
    first = series(np.array([10.0]), spread=np.array([0.1]))
    second = series(np.array([11.0]), first=9, spread=np.array([0.11]))
    (each,) = compare_histories(history(first), history(second)).series
    z = np.log(1.1) / np.hypot(0.01, 0.01)
    assert each.ratio.p_value == pytest.approx(2.0 * stats.norm.sf(z))


def test_the_summary_says_when_it_rests_on_single_results() -> None:
    one, other = (
        history(series(np.array([value]), first=at, spread=np.array([0.01])))
        for at, value in enumerate((10.0, 11.0))
    )
    assert "whose repeats may differ by more" in compare_histories(one, other).summary()
    assert "whose repeats" not in compare_histories(one, one).summary()
    nights = [history(series(sample(seed, 20, level))) for seed, level in ((1, 10.0), (2, 20.0))]
    assert "whose repeats" not in compare_histories(*nights).summary()


def test_an_interval_without_1_is_not_told_as_no_difference() -> None:
    near, far = np.array([1.0, 1.1, 1.0]), np.array([1.2, 30.0, 1.3])
    found = compare_histories(
        history(series(near * np.array([1.0, 60.0, 2.0]))), history(series(far * 150.0, first=9))
    )
    (each,) = found.series
    assert found.summary() == "1 timer compared: 1 undecided"
    assert each.ratio.p_value is not None
    assert each.ratio.interval is not None
    assert each.ratio.p_value > 0.05
    assert each.ratio.interval[0] > 1.0
    assert each.words().startswith("undecided: ")


def test_times_of_unlike_work_are_not_judged() -> None:
    works = ((20.0, "400 iterations"), (10.0, "200 iterations"))
    one, other = (
        history(series(sample(seed, 5, level), first=9 * seed, work=frozenset({work})))
        for seed, (level, work) in enumerate(works)
    )
    found = compare_histories(one, other)
    (each,) = found.series
    assert each.ratio.p_value is None
    assert "faster for 400 iterations and 200 iterations: not judged" in each.words()
    assert found.summary().endswith("1 of different work")


def test_counts_that_never_differ_are_certain() -> None:
    same = series(np.full(4, 1024.0), unit="bytes")
    more = series(np.full(4, 2048.0), unit="bytes", first=9)
    (each,) = compare_histories(history(same), history(more)).series
    assert each.words() == "2.00x larger (2.00 to 2.00), p < 1e-15"
    (each,) = compare_histories(history(same), history(same)).series
    assert each.words().startswith("no significant difference: the same")


def test_ratios_that_no_number_can_hold_stay_numbers() -> None:
    first = history(series(np.array([1e-300, 1e300])))
    second = history(series(np.array([1e300, 1e-300]), first=9))
    (each,) = compare_histories(first, second).series
    assert json.dumps(to_document(each), allow_nan=False)


def test_names_that_one_side_has_alone_may_differ() -> None:
    first = history(series(sample(0, 5), machine="blake", case="gmres"))
    second = history(series(sample(1, 5), machine="waterman", case="pgmres", first=9))
    (each,) = compare_histories(first, second).series
    assert each.name == "blake | waterman, gmres | pgmres, Total"
    many = history(series(sample(1, 5), case="a"), series(sample(1, 5), case="b"))
    with pytest.raises(DataError, match="no timer in common"):
        compare_histories(first, many)


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    timers = {"Albany Total Time:": noise(0, NIGHTS), "Albany: Setup Time:": noise(1, NIGHTS)}
    slower = {**timers, "Albany Total Time:": 1.17 * noise(2, NIGHTS)}
    a, b = tmp_path / "a", tmp_path / "b"
    write_nights(a, {"ice_np4": timers}, range(NIGHTS))
    write_nights(b, {"ice_np4": slower}, range(NIGHTS))
    assert main(["compare", str(a), str(b)]) == 0
    assert "1.17x slower (1.1" in capsys.readouterr().out
    assert main(["compare", str(a), str(b), "--fail-above", "5%"]) == 1
    assert main(["compare", str(a), str(b), "--fail-above", "0.2"]) == 0
    assert main(["compare", str(b), str(a), "--fail-above", "5%"]) == 0
    assert main(["compare", str(a), str(b), "--timer", "*Setup*", "--fail-above", "0"]) == 0
    capsys.readouterr()
    assert main(["compare", str(a), str(b), "--json", "--fail-above", "5%"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["version"] == 1
    total = next(each for each in answer["series"] if "Total" in each["timer"])
    assert total["paired_by"] == "nights"
    assert total["interval"][0] < 1.17 < total["interval"][1]
    assert total["significant"]
    assert len(answer["beyond"]) == 1


def test_run_files_of_two_solvers(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, solver, seeds in (("a", "gmres", range(4)), ("b", "pgmres", range(4, 8))):
        (tmp_path / folder).mkdir()
        for seed in seeds:
            values = run_values(iterations=40, ranks=3, restart=10, seed=seed)
            spec = {"unknowns": 300, "repeat": seed}
            at = f"2026-01-01T0{seed}:00:00+00:00"
            made = replace(header, solver=solver, spec=spec, t0_utc=at)
            write_whole(tmp_path / folder, made, values)
    words = ["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json"]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["series"]
    for each in answer["series"]:
        assert each["observations"] == [4, 4]
        low, high = each["interval"]
        assert low <= each["ratio"] <= high
        # The runs have as many cycles as they have instructions, and all as many iterations.
        assert (low < high) == (each["timer"] not in ("iterations", "instructions per cycle"))


@pytest.mark.parametrize(
    "words", [["--fail-above", "much"], ["--fail-above", "-1"], ["--case", "no"]]
)
def test_requests_that_mean_nothing_are_refused(tmp_path: Path, words: list[str]) -> None:
    (path,) = write_nights(tmp_path / "a", {"ice": {"t": noise(0, 1)}}, range(1))
    with pytest.raises(UsageError):
        main(["compare", str(path), str(path), *words])


def test_the_most_significant_comes_first_after_a_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factors = {"a same": 1.0, "b small": 1.01, "c large": 1.4, "d faster": 0.8}
    folders = [tmp_path / name for name in ("A", "B")]
    for folder, seed in zip(folders, (0, 50), strict=True):
        timers = {
            timer: noise(seed + place, NIGHTS) * (factor if seed else 1.0)
            for place, (timer, factor) in enumerate(factors.items())
        }
        write_nights(folder, {"ice": timers}, range(NIGHTS))
    assert main(["compare", *map(str, folders)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("4 timers compared: 2 significantly slower in B (most 1.4")
    assert "1 significantly faster in B (most 1.2" in lines[1]
    assert lines[1].endswith("1 without a significant difference")
    assert lines[3] == "ice:"  # what all have in common, once
    order = [line.split(" ")[0] for line in lines[5:9]]
    assert order == ["c", "d", "b", "a"]
    assert main(["compare", *map(str, folders), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    p_values = [each["p_value"] for each in answer["series"]]
    assert p_values == sorted(p_values)
    assert answer["summary"] == lines[1]


def test_rates_are_worse_and_better_in_the_summary() -> None:
    first = history(series(noise(0, 30), unit="MB/s", smaller_is_better=False))
    second = history(series(0.7 * noise(1, 30), unit="MB/s", smaller_is_better=False))
    assert "1 significantly worse in B (most 1.4" in compare_histories(first, second).summary()
    assert "1 significantly better in B" in compare_histories(second, first).summary()


TRIALS = 3000
NOISE = 0.02
LEVEL = "hindmost.models.inference.LEVEL"


def covered(repeats: tuple[int, int], noises: tuple[float, float], level: float) -> float:
    """Return how often the interval holds the ratio of 1.1 of lognormal repeats."""
    draw = np.random.default_rng([*repeats, round(1000 * level)])
    held = 0
    for _ in range(TRIALS):
        each = [
            summarise(np.exp(draw.normal(middle, noise, count)).tolist())
            for middle, noise, count in zip((0.0, math.log(1.1)), noises, repeats, strict=True)
        ]
        (first, one), (second, other) = each
        assert one is not None
        assert other is not None
        sides = ((first, one), (second, other))
        ratio = ratio_of(
            *(Estimate(math.log(at), each.error / at, each.freedom) for at, each in sides)
        )
        assert ratio.interval is not None
        held += ratio.interval[0] <= 1.1 <= ratio.interval[1]
    return held / TRIALS


@pytest.mark.parametrize("level", [0.95, 0.99])
@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_intervals_of_few_repeats_cover_as_often_as_they_say(
    repeats: int, level: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LEVEL, level)
    tolerance = 3.0 * math.sqrt(level * (1.0 - level) / TRIALS)
    share = covered((repeats, repeats), (NOISE, NOISE), level)
    assert share >= level - tolerance
    # Welch's test is careful where both sides are as noisy (Wang, JASA 66 (1971)): by 2.6 % of 95.
    assert share <= level + 0.03 + tolerance


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_one_certain_side_leaves_the_law_of_the_other(
    level: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LEVEL, level)
    # Two repeats against what is known well: exactly Student's law of one degree of freedom.
    tolerance = 3.0 * math.sqrt(level * (1.0 - level) / TRIALS)
    assert abs(covered((2, 2), (NOISE, 1e-9), level) - level) < tolerance


@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_the_error_of_a_median_of_few_is_that_of_its_order_statistic(count: int) -> None:
    def joint(y: float, x: float, low: int) -> float:  # of two order statistics next to each other
        log = (
            math.lgamma(count + 1)
            - math.lgamma(low)
            - math.lgamma(count - low)
            + (low - 1) * special.log_ndtr(x)
            + (count - low - 1) * special.log_ndtr(-y)
        )
        density = math.exp(log - 0.5 * (x**2 + y**2)) / (2.0 * math.pi)
        return float(0.25 * (x + y) ** 2 * density)

    if count % 2:
        middle = (count + 1) // 2
        law = stats.beta(middle, middle)
        variance = integrate.quad(lambda u: stats.norm.ppf(u) ** 2 * law.pdf(u), 0.0, 1.0)[0]
    else:
        low = count // 2
        variance = integrate.dblquad(joint, -8, 8, lambda x: x, 8, args=(low,), epsabs=1e-6)[0]
    assert OF_FEW[count - 1] == pytest.approx(math.sqrt(count * variance), abs=1e-4)


def test_freedom_is_welchs() -> None:
    first, second = np.array([10.0, 10.4, 9.9]), np.array([11.0, 11.9, 10.2, 11.1])
    errors = [float(each.std(ddof=1) / math.sqrt(each.size)) for each in (first, second)]
    expected = stats.ttest_ind(first, second, equal_var=False).df

    def freedom(errors: list[float], freedoms: tuple[float, float]) -> float:
        pairs = zip(errors, freedoms, strict=True)
        return welch_freedom([Estimate(0.0, *pair) for pair in pairs])

    assert freedom(errors, (2.0, 3.0)) == pytest.approx(expected)
    assert freedom([1.0, 1.0], (math.inf, math.inf)) == math.inf
    assert freedom([1e-90, 0.0], (2.0, 3.0)) == pytest.approx(2.0)


def test_two_runs_of_a_command_are_no_certainty(tmp_path: Path) -> None:
    for name, times in (("a", [1.00, 1.02]), ("b", [1.10, 1.13])):
        result = {"command": "solve", "median": sum(times) / 2, "times": times}
        (tmp_path / f"{name}-2021-01-24.json").write_text(json.dumps({"results": [result]}))
    histories = [read_history(tmp_path / f"{name}-2021-01-24.json") for name in "ab"]
    (each,) = compare_histories(histories[0], histories[1]).series
    test = stats.ttest_ind(np.log([1.10, 1.13]), np.log([1.00, 1.02]), equal_var=False)
    assert each.ratio.freedom == pytest.approx(test.df, rel=1e-3)
    assert each.ratio.p_value == pytest.approx(test.pvalue, rel=1e-2)
    assert each.words().endswith("few repetitions")
