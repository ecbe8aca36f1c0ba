"""Values with their units, as the probes' tables show them."""

from __future__ import annotations


def seconds(value: float) -> str:
    """Write a time in three digits."""
    return with_unit(value, (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)))


def size(value: float) -> str:
    """Write a number of bytes."""
    return with_unit(value, (("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0)))


def rate(bytes_per_s: float) -> str:
    """Write a bandwidth."""
    return with_unit(bytes_per_s, (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)))


def with_unit(value: float, units: tuple[tuple[str, float], ...]) -> str:
    """Write a value in three digits in the first unit of which there is at least one."""
    unit, one = next((each for each in units if abs(value) >= each[1]), units[-1])
    return f"{value / one:.3g} {unit}" if abs(value / one) < 1000 else f"{value / one:.0f} {unit}"
