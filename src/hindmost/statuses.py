"""Exit statuses that are no errors; those of errors are in `hindmost.errors`. Imports nothing."""

from __future__ import annotations

WORK_IS_LEFT = 75
"""Stopped in good order before all was done: start it again (``EX_TEMPFAIL`` of ``sysexits.h``)."""
INTERRUPTED = 128 + 2
"""By INT, as a shell says it."""
TERMINATED = 128 + 15
"""By TERM."""
