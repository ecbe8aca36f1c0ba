"""What most documents contain: intervals, text or null."""

from __future__ import annotations

Interval = tuple[float, float]
Text = str | None
