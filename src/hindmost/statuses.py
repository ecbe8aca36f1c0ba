"""Exit statuses that no `hindmost.errors` has; the table of all of them. Imports nothing.

======  ===========================================================================
status  meaning
======  ===========================================================================
0       done, and nothing found
1       a finding: a slowdown, unsound data, a failed run, worse growth than expected
2       the request cannot be carried out as written
3       a file is invalid, cannot be read or written, or does not have what the answer needs
4       something is missing on the machine or in the environment
70      a defect of hindmost, or not enough memory
75      stopped in good order with work left: start it again
130     interrupted (Ctrl-C)
141     the reader of the output went away, as in ``| head``
143     terminated (TERM)
======  ===========================================================================
"""

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
