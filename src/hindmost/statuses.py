"""Exit statuses that no `hindmost.errors` has; `hindmost --help` lists all. Imports nothing."""

from __future__ import annotations

A_FINDING = 1
DEFECT = 70
"""An exception that hindmost does not expect (``EX_SOFTWARE`` of ``sysexits.h``)."""
WORK_IS_LEFT = 75
"""Stopped in good order with work left: start it again (``EX_TEMPFAIL`` of ``sysexits.h``)."""
INTERRUPTED = 128 + 2
"""By INT, as in a shell."""
BROKEN_PIPE = 128 + 13
"""By PIPE, as in a shell: the reader does not know what was found."""
TERMINATED = 128 + 15
"""By TERM."""
