"""Figures show the numbers that they should, and list the same."""

import csv
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hindmost.analysis.runs.figures.compare_runs import samples_of
from hindmost.analysis.runs.figures.distributions import (
    ORDER,
    NamedLaw,
    NamedTimes,
    ecdf,
    fitted_laws,
    histogram,
    histograms,
    stacked_shares,
    time_in_cycle,
    time_per_rank,
)
from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.show.chart import Quantity, worth_showing
from hindmost.analysis.show.csv_file import write_csv
from hindmost.analysis.show.figure_style import new_figure
from hindmost.analysis.show.heat_map import heat_map, pool_maximum
from hindmost.analysis.show.matplotlib_charts import draw
from hindmost.analysis.show.palette import DARK_FILLS, DARK_LINES, FILLS, LINES
from hindmost.errors import UsageError
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.harness.runfile.writer import write_whole
from hindmost.text import unit_for

EXPONENTIAL = NamedLaw("mine", lambda x: np.exp(-x / 9e-5) / 9e-5)


@pytest.mark.parametrize("length", [1, 7, 100, 1001])
@pytest.mark.parametrize("most", [1, 10, 2000])
def test_pooling_keeps_every_maximum(length: int, most: int) -> None:
    times = np.random.default_rng(length).random((length, 3))
    pooled = pool_maximum(times, most, axis=0)
    assert pooled.shape[0] <= most or pooled.shape[0] == length <= most
    np.testing.assert_array_equal(pooled.max(axis=0), times.max(axis=0))
    factor = -(-length // most)
    expected = [times[i : i + factor].max(axis=0) for i in range(0, length, factor)]
    np.testing.assert_array_equal(pooled, expected)


def test_a_single_detour_stays_in_the_map() -> None:
    times = np.full((12_000, 5), 1e-4)
    times[7777, 3] = 1e-2
    with new_figure(3.0) as (_, axes):
        assert draw(heat_map(times, title="map"), axes) is axes
        drawn = axes.images[0].get_array()
        assert drawn is not None
        assert drawn.shape == (5, 1200)
        assert drawn[3].max() == pytest.approx(1e4)
        assert "slowest of 10" in axes.get_xlabel()
        assert axes.get_ylabel() == "rank"
        assert axes.get_xlim() == (-0.5, 11_999.5)


@pytest.mark.parametrize(("columns", "rows"), [(7, 3), (100, 100), (1, 1), (13, 2)])
def test_a_coarser_map_knows_which_bodies_it_pooled(columns: int, rows: int) -> None:
    times = np.random.default_rng(3).random((50, 11))
    bodies = np.arange(50) * 30 + 15
    coarse = heat_map(times, title="", bodies=bodies).coarser(25, 11).coarser(columns, rows)
    for column, (first, last) in enumerate(zip(coarse.first_body, coarse.last_body, strict=True)):
        chosen = times[(bodies >= first) & (bodies <= last)]
        for row in range(coarse.times.shape[1]):
            ranks = slice(row * coarse.ranks_a_row, (row + 1) * coarse.ranks_a_row)
            assert coarse.times[column, row] == chosen[:, ranks].max()
    table = coarse.columns()
    assert table["body"][0] == 15
    assert table["body_to"][-1] == 49 * 30 + 15


def test_histogram_counts_what_lies_beyond_its_axis() -> None:
    times = np.random.default_rng(0).gamma(9.0, 1e-5, 4000)
    times[:5] = 1.0
    laws = [*fitted_laws(times[5:]), EXPONENTIAL]
    with new_figure(3.0) as (_, axes):
        chart = histogram(times, laws, title="times")
        draw(chart, axes)
        assert "20 of 4,000 lie beyond, up to 1,000,000 µs" in axes.get_xlabel()
        steps = axes.patches[0].get_data()  # type: ignore[attr-defined]
        assert float(np.sum(steps.values * np.diff(steps.edges))) == pytest.approx(3980 / 4000)
        legend = axes.get_legend()
        assert legend is not None
        words = [text.get_text() for text in legend.get_texts()]
        assert words == ["recorded iterations", "Johnson SU", "normal", "mine"]
        x, y = np.asarray(axes.lines[2].get_xydata()).T
        np.testing.assert_allclose(y, np.exp(-x / 90.0) / 90.0)


def test_far_detours_do_not_squeeze_the_bulk() -> None:
    times = np.random.default_rng(1).normal(5e-5, 1e-6, 10_000)
    times[:200] = 5e-3
    low, high = worth_showing(times)
    assert 4.7e-5 < low < high < 6.5e-5
    assert "200 of 10,000 lie beyond, up to 5,000 µs" in histogram(times, [], title="").note


def test_equal_times_are_one_bar() -> None:
    chart = histogram(np.full(100, 5e-5), [], title="")
    assert np.count_nonzero(chart.series[0].y) == 1
    assert np.count_nonzero(histogram(np.zeros(9), [], title="").series[0].y) == 1


def test_histograms_share_their_bins_and_ecdf_its_shares() -> None:
    random = np.random.default_rng(2)
    samples = [NamedTimes(f"s{n}", random.uniform(n, n + 1.0, 5000)) for n in (1, 2)]
    over = histograms(samples, title="")
    assert over.series[0].x is over.series[1].x
    for series in over.series:
        assert float(np.sum(series.y * np.diff(series.x))) == pytest.approx(1.0, abs=0.01)
    curves = ecdf(samples, title="").series
    for curve, n in zip(curves, (1, 2), strict=True):
        np.testing.assert_allclose(curve.x, n + curve.y / 100.0, atol=0.05)
    with pytest.raises(UsageError, match=r"7 curves .* up to 6"):
        ecdf([samples[0]] * 7, title="")


def test_cycle_shows_medians_and_the_middle_of_every_place() -> None:
    position = np.tile(np.arange(10), 30).astype(np.int32)
    noise = np.linspace(-1e-6, 1e-6, 30).repeat(10)[:, None]
    times = 1e-5 * (1.0 + position)[:, None] + noise
    band, median, alone = time_in_cycle(times, times - 2e-6, position, title="").series
    np.testing.assert_allclose(median.y, 10.0 * np.arange(1, 11))
    np.testing.assert_allclose(alone.y, median.y - 2.0)
    assert band.base is not None
    np.testing.assert_allclose(band.y - band.base, 1.8, rtol=1e-3)


def test_rounding_does_not_look_like_a_difference() -> None:
    times = np.array([1e-3])
    chart = time_per_rank(times, times + 1e-12, title="", hosts=["a"])
    assert chart.y_limits[1] - chart.y_limits[0] > 0.01 * chart.y_limits[1]
    with new_figure(2.8) as (_, axes):
        draw(chart, axes)
        assert axes.get_xticks().tolist() == [0]


def test_stacked_shares_are_those_of_sums() -> None:
    random = np.random.default_rng(4)
    sums = {name: random.random(1500) for name in ("local", "post", "halo", "wait")}
    chart = stacked_shares(sums, title="", marks={})
    assert "3 together in a step" in chart.note
    top = chart.series[-1]
    np.testing.assert_allclose(top.y, 100.0)
    assert top.base is not None
    total = sum(values[:3].sum() for values in sums.values())
    assert 100.0 - top.base[0] == pytest.approx(100.0 * sums["wait"][:3].sum() / total)


def test_csv_holds_what_is_drawn(tmp_path: Path) -> None:
    times = np.random.default_rng(5).gamma(9.0, 1e-5, 1000)
    chart = histogram(times, [EXPONENTIAL], title="")
    with write_csv(tmp_path / "a.csv", chart.columns()).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "series",
        "time_of_an_iteration_us",
        "time_of_an_iteration_us_to",
        "density_per_us",
        "density_per_us_from",
    ]
    with new_figure(3.0) as (_, axes):
        draw(chart, axes)
        steps = axes.patches[0].get_data()  # type: ignore[attr-defined]
        line = np.asarray(axes.lines[0].get_xydata())
    bars = [row for row in rows if row["series"] == "recorded iterations"]
    assert [float(row["density_per_us"]) for row in bars] == list(steps.values)
    assert [float(row["time_of_an_iteration_us_to"]) for row in bars] == list(steps.edges[1:])
    curve = [row for row in rows if row["series"] == "mine"]
    assert [float(row["density_per_us"]) for row in curve] == list(line[:, 1])
    assert {row["time_of_an_iteration_us_to"] for row in curve} == {""}


def test_names_of_columns_are_plain() -> None:
    assert Quantity("share of the time of bodies", "%").column.endswith("bodies_percent")
    assert Quantity("density", "1/µs").column == "density_per_us"
    assert Quantity("rank").column == "rank"


@pytest.mark.parametrize(("median_s", "sign"), [(3.0, "s"), (2e-3, "ms"), (5e-5, "µs"), (0, "µs")])
def test_units(median_s: float, sign: str) -> None:
    assert unit_for(np.full(3, median_s)).sign == sign


def lightness(colour: str) -> float:
    """Return L* of CIE Lab, 0 (black) to 100 (white): what is left of a colour in grey."""
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.where(channels > 0.04045, ((channels + 0.055) / 1.055) ** 2.4, channels / 12.92)
    return float(116.0 * np.cbrt(linear @ (0.2126, 0.7152, 0.0722)) - 16.0)


@pytest.mark.parametrize("fills", [FILLS, DARK_FILLS])
def test_fills_are_told_apart_in_grey(fills: tuple[str, ...]) -> None:
    steps = np.diff(sorted(lightness(colour) for colour in fills))
    assert steps.min() > 12


@pytest.mark.parametrize(("lines", "paper"), [(LINES, 100.0), (DARK_LINES, 10.0)])
def test_lines_stand_out_and_neighbours_differ_in_grey(
    lines: tuple[str, ...], paper: float
) -> None:
    greys = [lightness(colour) for colour in lines]
    assert min(abs(grey - paper) for grey in greys) > 35
    assert min(abs(a - b) for a, b in pairwise(greys[:3])) > 7


def test_the_distributions_matplotlib_beside_that_of_pip_is_no_matter(tmp_path: Path) -> None:
    """Its mpl_toolkits, which belong to another version, come first then."""
    for name, text in {"": "", "mplot3d": "raise ImportError('of another version')\n"}.items():
        package = tmp_path / "mpl_toolkits" / name
        package.mkdir()
        (package / "__init__.py").write_text(text)
    draw_one = (
        "import sys; from pathlib import Path\n"
        "from hindmost.analysis.show.figure_style import new_figure, save\n"
        "with new_figure(2.0) as (figure, axes): axes.plot([1, 2]); save(figure, Path('one.png'))\n"
        "import mpl_toolkits; print(mpl_toolkits.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", draw_one],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout.strip() == str(tmp_path / "mpl_toolkits" / "__init__.py")
    assert done.stderr == ""
    assert (tmp_path / "one.png").exists()


def test_choices_that_a_run_has_not_are_refused(run_file: Path) -> None:
    run = open_run(run_file)
    assert FigureChoice().place_of(run) == 5
    assert FigureChoice(position="all").place_of(run) is None
    assert FigureChoice().body_of(run) == 20
    assert len(FigureChoice().ranks_of(run)) == 3
    assert FigureChoice(ranks=(2, 2, 0)).ranks_of(run) == {2: "rank 2", 0: "rank 0"}
    with pytest.raises(UsageError, match="no rank 3; it has ranks 0 to 2"):
        FigureChoice(ranks=(3,)).ranks_of(run)
    with pytest.raises(UsageError, match="no iteration 40; it has iterations 0 to 39"):
        FigureChoice(body=40).body_of(run)
    with pytest.raises(UsageError, match=r"place 10 .* 0 to 9"):
        FigureChoice(position=10).place_of(run)


def test_several_runs_are_named_by_what_sets_them_apart(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    files = [
        write_whole(tmp_path, header, values),
        write_whole(tmp_path, replace(header, solver="bcgs", restart=0), values),
        write_whole(tmp_path, header, values),
    ]
    samples = samples_of([open_run(file) for file in files])
    assert [sample.name for sample in samples] == ["gmres", "bcgs"]
    assert [sample.times.size for sample in samples] == [240, 120]
    repeats = samples_of([open_run(file) for file in files[::2]])
    assert [sample.name for sample in repeats] == [files[0].stem, files[2].stem]
    elsewhere = write_whole(tmp_path, header, {**values, "host": ["node-9"] * 3})
    machines = samples_of([open_run(file) for file in (files[0], elsewhere)])
    assert [sample.name for sample in machines] == ["node-0", "node-9"]


def test_phases_of_ones_own_stand_above_the_others() -> None:
    sums = {name: np.array([1.0, 2.0]) for name in (*PHASES, "hydro", "io")}
    chart = stacked_shares(sums, title="", marks={})
    assert [series.name for series in chart.series] == [*ORDER, "hydro, io"]
    np.testing.assert_allclose(chart.series[-1].y, 100.0)
    base = chart.series[-1].base
    assert base is not None
    np.testing.assert_allclose(base, 100.0 * len(PHASES) / (len(PHASES) + 2))
