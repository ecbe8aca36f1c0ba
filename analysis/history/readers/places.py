"""Machines in the names of folders, for formats whose files do not name theirs."""

from __future__ import annotations

import re

_RESULTS = re.compile(
    r"[-_. ]+(?:nightly|nightlies|results?|data|performance|perf|history|timings?|runs?).*",
    re.IGNORECASE,
)


def machine_in(folder: str) -> str:
    """Return the machine that a folder of results is of, empty if its name does not say it.

    ``blake_nightly_data`` and ``blake-results`` are of ``blake``.
    """
    match = _RESULTS.search(folder)
    return folder[: match.start()] if match is not None else ""
