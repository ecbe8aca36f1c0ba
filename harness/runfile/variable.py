"""A variable of a run file: its name, shape, type and meaning."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable of the file."""

    name: str
    dimensions: tuple[str, ...]
    type: str
    units: str
    long_name: str
    optional: bool = False
