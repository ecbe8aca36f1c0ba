"""The environment in which the dynamic loader puts the recorder before a program's MPI."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from hindmost.errors import MissingError

SETTINGS = "HINDMOST_ATTACH"
"""Names the file of settings; without it a preloaded recorder does nothing."""
STATUS = "HINDMOST_STATUS"
"""Names the file to which the recorder of the first rank appends what became of it."""
PRELOAD = "LD_PRELOAD"
SEPARATORS = (" ", ":")
LINKED = ("-rdynamic", "-ldl", "-lpthread")
"""Beside the recorder: libraries of the program call its wrappers; older systems' own libraries."""


def variables(
    library: Path, settings: Path, environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the variables to set.

    Parameters
    ----------
    library : Path
        The compiled recorder.
    settings : Path
        See `hindmost.harness.attach.settings`.

    Raises
    ------
    MissingError
        The loader cannot be given the library's path.
    """
    if any(separator in str(library) for separator in SEPARATORS):
        raise MissingError(
            f"The recorder {library} cannot be preloaded: its path has a blank or a colon. Name "
            "another folder in XDG_CACHE_HOME."
        )
    others = environment.get(PRELOAD, "")
    return {PRELOAD: f"{library}:{others}" if others else str(library), SETTINGS: str(settings)}


def link_words(recorder: Path) -> list[str]:
    """Return what a compiler is given to link the recorder into a program.

    Raises
    ------
    MissingError
        A shell would take the recorder's path apart.
    """
    if any(blank in str(recorder) for blank in (" ", "\t")):
        raise MissingError(
            f"The recorder {recorder} cannot be linked: its path has a blank. Name another folder "
            "in XDG_CACHE_HOME."
        )
    return [str(recorder), *LINKED]


def export_lines(library: Path, settings: Path) -> list[str]:
    """Return lines for a shell script that set the variables.

    What the script preloads already stays.
    """
    own = variables(library, settings, {})
    return [
        f'export {PRELOAD}={shlex.quote(own[PRELOAD])}"${{{PRELOAD}:+:${PRELOAD}}}"',
        f"export {SETTINGS}={shlex.quote(own[SETTINGS])}",
    ]
