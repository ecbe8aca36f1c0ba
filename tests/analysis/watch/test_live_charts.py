"""The data of the live charts, against windows of known contents."""

from pathlib import Path

import numpy as np
import pytest
from tests.analysis.watch.notes import ITERATIONS, windows_of

from hindmost.analysis.watch.live_charts import (
    EMPTY,
    MAX_COLUMNS,
    phase_chart,
    rank_map,
    time_chart,
)
from hindmost.harness.runfile.rank_windows import FILE, MAX_ROWS, RankWindows, read_windows
from hindmost.harness.runfile.time_left import BandPoint


def test_a_map_has_the_share_of_each_rank_in_each_window() -> None:
    work = np.linspace(0.1, 0.9, 12).reshape(4, 3)
    drawn = rank_map("mine", windows_of(work, begin=50), "local")
    assert (drawn.ranks, drawn.bodies[0], drawn.bodies.size) == (3, 50, 200)  # of 2 iterations
    np.testing.assert_allclose(drawn.times[::50], work, rtol=1e-6)
    waits = rank_map("mine", windows_of(work), "wait").times
    np.testing.assert_allclose(waits[-1], 1.0 - work[-1], rtol=1e-6)
    many = rank_map("mine", windows_of(np.full((1000, 2), 0.5)), "local")
    assert 0.9 * MAX_COLUMNS < many.times.shape[0] <= MAX_COLUMNS
    assert many.bodies[-1] < 1000 * ITERATIONS


def test_ranks_that_share_a_row_have_its_largest_share() -> None:
    work = np.full((1, 3 * MAX_ROWS), 0.4)
    work[0, 100] = 0.8
    (row,) = rank_map("mine", windows_of(work), "local").times[:1]
    assert np.flatnonzero(row > 0.5).tolist() == [99, 100, 101]


def test_phases_add_up_to_the_time_of_all_ranks() -> None:
    chart = phase_chart("mine", windows_of(np.array([[0.2, 0.4], [0.6, 0.6]])))
    local = next(series for series in chart.series if series.name == "local")
    assert local.x.tolist() == [0.0, ITERATIONS, 2 * ITERATIONS]
    assert local.base is not None
    np.testing.assert_allclose(local.y - local.base, [30.0, 60.0])


def test_charts_are_drawn_before_anything_is_known() -> None:
    assert rank_map("mine", EMPTY, "halo").times.shape == (1, 1)
    assert phase_chart("mine", EMPTY).series
    assert time_chart("mine", ()).series[0].y.tolist() == [0.0]
    point = BandPoint(iteration=4, at_s=1.0, level_s=1e-3, bound_s=2e-3)
    assert time_chart("mine", (point,)).series[0].y.tolist() == [2.0]


def same(one: RankWindows, other: RankWindows) -> bool:
    return (one.ranks, one.begin) == (other.ranks, other.begin) and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("ends", "shares", "totals")
    )


def test_what_was_written_is_read_and_what_is_damaged_is_not(tmp_path: Path) -> None:
    windows = windows_of(np.array([[0.25, 0.5], [0.75, 0.5]]), begin=7)
    assert read_windows(tmp_path) is None
    windows.write(tmp_path)
    found = read_windows(tmp_path)
    assert found is not None
    assert same(found, windows)
    whole = (tmp_path / FILE).read_bytes()
    for damaged in (b"", whole[:-30], whole[:50], b"x" * 100, whole.replace(b"shares", b"sharex")):
        (tmp_path / FILE).write_bytes(damaged)
        assert read_windows(tmp_path) is None


@pytest.mark.parametrize("at", range(60, 600, 45))
def test_one_byte_that_is_wrong_is_no_error(tmp_path: Path, at: int) -> None:
    windows_of(np.full((3, 2), 0.5)).write(tmp_path)
    data = bytearray((tmp_path / FILE).read_bytes())
    data[at] ^= 0xFF
    (tmp_path / FILE).write_bytes(bytes(data))
    read_windows(tmp_path)
