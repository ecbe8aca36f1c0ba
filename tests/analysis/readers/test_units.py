"""Which metrics should be small and which large, by their names and units."""

from __future__ import annotations

import pytest

from hindmost.analysis.readers.units import smaller_is_better


@pytest.mark.parametrize(
    ("timer", "unit"),
    [
        ("throughput", ""),
        ("read", "MB/s"),
        ("items_per_second", "1/s"),
        ("GFLOP/s", ""),
        ("performance", "ns/day"),
        ("steps", "1/min"),
        ("SYPD", ""),
        ("rate", "Hz"),
        ("requests per minute", ""),
        ("transactions", "tps"),
        ("cache hit rate", "%"),
        ("HPL score", ""),
    ],
)
def test_rates_should_be_large(timer: str, unit: str) -> None:
    assert not smaller_is_better(timer, unit)


@pytest.mark.parametrize(
    ("timer", "unit"),
    [
        ("solve", "s"),
        ("speed test", "s"),
        ("wall time per simulated day", "s/day"),
        ("step", "s/step"),
        ("day", "h/day"),
        ("memory", "bytes"),
        ("cache miss rate", "%"),
        ("main/solve/d", ""),
        ("reduce/min", "calls"),
        ("error", ""),
    ],
)
def test_times_and_amounts_should_be_small(timer: str, unit: str) -> None:
    assert smaller_is_better(timer, unit)
