from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hindmost.errors import UsageError
from hindmost.harness.probes.checkpoint import (
    SIZES,
    latency_and_bandwidth,
    measure_checkpoint,
)


@pytest.mark.parametrize(("latency", "bandwidth"), [(0.01, 1e9), (0.0, 2e8), (0.5, 5e9)])
def test_a_known_disk_comes_back(latency: float, bandwidth: float) -> None:
    sizes = np.array(SIZES, float)
    found = latency_and_bandwidth(sizes, latency + sizes / bandwidth)
    assert found == pytest.approx((latency, bandwidth), abs=1e-9, rel=1e-6)


def test_neither_is_negative() -> None:
    sizes = np.array(SIZES, float)
    latency, bandwidth = latency_and_bandwidth(sizes, (sizes / 1e9) ** 1.2)
    assert latency == 0
    assert bandwidth > 0
    latency, bandwidth = latency_and_bandwidth(sizes, 1 / sizes)
    assert latency == 0
    assert bandwidth == pytest.approx(sizes[-1] ** 2)


def test_files_are_written_and_removed(tmp_path: Path) -> None:
    times = measure_checkpoint(tmp_path, (1000, 5000), repeats=3)
    assert {size: len(taken) for size, taken in times.items()} == {1000: 3, 5000: 3}
    assert min(min(taken) for taken in times.values()) > 0
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--dir"):
        measure_checkpoint(tmp_path / "absent", (1000,), repeats=1)
