"""What most documents contain: findings, intervals, text or null."""

from __future__ import annotations

from typing import TypedDict

Interval = tuple[float, float]
Text = str | None


class Finding(TypedDict):
    """What puts numbers in doubt."""

    file: str
    code: str
    severity: str
    text: str
    advice: str
    doubts: list[str]
