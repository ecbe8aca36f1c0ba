"""Where a user's own machines stand: one file for all studies."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from hindmost.errors import DataError


def profiles_path() -> Path:
    """Return the path of the file of machines, whether it is there or not.

    ``hindmost/machines.toml`` in ``XDG_CONFIG_HOME``, which is ``~/.config`` where it is not set.
    """
    home = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(home) if Path(home).is_absolute() else Path.home() / ".config"
    return folder / "hindmost" / "machines.toml"


def profile_names(path: Path) -> tuple[str, ...]:
    """Return the names of the machines in a file; none if it is not there.

    Raises
    ------
    DataError
        It cannot be read, or is not TOML with tables ``[machine.NAME]``.
    """
    if not path.exists():
        return ()
    try:
        machines = tomllib.loads(path.read_text(encoding="utf-8")).get("machine", {})
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as TOML: {error}.") from error
    if not isinstance(machines, dict):
        raise DataError(f"{path}: 'machine' has to be tables: [machine.NAME].")
    return tuple(machines)
