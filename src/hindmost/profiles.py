"""The file of a user's own machines, for all studies."""

from __future__ import annotations

from pathlib import Path

from hindmost.errors import DataError
from hindmost.files import read_text, reason, user_folder
from hindmost.parsing import parse_toml


def profiles_path() -> Path:
    """Return the path of the file of machines, which need not exist.

    ``hindmost/machines.toml`` in ``XDG_CONFIG_HOME``, by default ``~/.config``.
    """
    folder = user_folder("XDG_CONFIG_HOME", ".config")
    return folder / "hindmost" / "machines.toml"


def profile_names(path: Path) -> tuple[str, ...]:
    """Return the names of the machines in a file; empty if it does not exist.

    Raises
    ------
    DataError
        It cannot be read, or is not TOML with tables ``[machine.NAME]``.
    """
    if not path.exists():
        return ()
    try:
        machines = parse_toml(read_text(path)).get("machine", {})
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as TOML: {reason(error)}.") from error
    if not isinstance(machines, dict):
        raise DataError(f"{path}: write machines as tables [machine.NAME].")
    return tuple(machines)
