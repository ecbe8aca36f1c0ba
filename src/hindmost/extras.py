"""Libraries that only some users need: imported when they are asked for, named when they lack."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hindmost.errors import MissingError


def imported(module: str, *, what: str, extra: str, package: str = "") -> Any:
    """Import a library that hindmost can do without.

    Parameters
    ----------
    module : str
    what : str
        What needs it: the beginning of the message, in the plural.
    extra : str
        The extra of hindmost that installs it.
    package : str
        Its name on the package index, if that is another one.

    Raises
    ------
    MissingError
        It is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingError(
            f"{what} need {package or module}, which is not installed: "
            f"pip install 'hindmost[{extra}]'."
        ) from error
