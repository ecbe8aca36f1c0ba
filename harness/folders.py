"""Folders that run files go to."""

from __future__ import annotations

import time
from pathlib import Path

from hindmost.errors import UsageError


def prepare_folder(folder: Path) -> None:
    """Make the folder for the run files, and see that it can be written to."""
    probe = folder / f".hindmost-{time.time_ns()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(
            f"--out {folder}: run files cannot be written there ({error.strerror}); "
            "choose a folder that can be made and written to."
        ) from error
