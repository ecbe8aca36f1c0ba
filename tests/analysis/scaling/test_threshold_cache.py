"""Thresholds that are kept between processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hindmost.analysis.scaling import threshold_cache
from hindmost.analysis.scaling.threshold_cache import KIND, cached_thresholds, made_of
from hindmost.cache import cache_file
from hindmost.models.pmnf.segments import thresholds as module
from hindmost.models.pmnf.segments.thresholds import simulate_thresholds, thresholds

POINTS = np.array([1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0])


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[object, object]:
    """Return the thresholds of a process that has none yet."""
    simulated: dict[object, object] = {}
    monkeypatch.setattr(module, "SIMULATED", simulated)
    monkeypatch.setattr(threshold_cache, "SIMULATED", simulated)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return simulated


def test_what_was_simulated_is_found_again(
    fresh: dict[object, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with cached_thresholds(POINTS):
        whole, part = thresholds(POINTS, 1.0), thresholds(POINTS[:6], 0.0)
    fresh.clear()
    monkeypatch.setattr(module, "simulate_thresholds", None)  # would not be called
    with cached_thresholds(POINTS):
        np.testing.assert_array_equal(thresholds(POINTS, 1.0), whole)
        np.testing.assert_array_equal(thresholds(POINTS[:6], 0.0), part)


def test_thresholds_of_another_version_are_not_taken(
    fresh: dict[object, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with cached_thresholds(POINTS):
        thresholds(POINTS[:6], 1.0)
    fresh.clear()
    monkeypatch.setattr(threshold_cache, "source_checksum", lambda: "another")
    with cached_thresholds(POINTS):
        assert not fresh


@pytest.mark.parametrize("content", [b"", b"PK\3\4 nothing", b"\x93NUMPY"])
def test_a_damaged_file_is_done_without(
    fresh: dict[object, object], content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_file(KIND, *made_of(POINTS)).write_bytes(content)
    with cached_thresholds(POINTS):
        found = thresholds(POINTS, 1.0)
    np.testing.assert_array_equal(found, simulate_thresholds(POINTS, 1.0))
    fresh.clear()
    monkeypatch.setattr(module, "simulate_thresholds", None)  # would not be called
    with cached_thresholds(POINTS):
        np.testing.assert_array_equal(thresholds(POINTS, 1.0), found)


def test_a_folder_that_cannot_be_written_is_done_without(
    fresh: dict[object, object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    with cached_thresholds(POINTS):
        assert np.isfinite(thresholds(POINTS, 1.0)).all()
    assert file.read_bytes() == b""
