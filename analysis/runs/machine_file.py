"""Machine files, as analyses read them: what the probes measured of a machine."""

from __future__ import annotations

from pathlib import Path

from hindmost.errors import DataError
from hindmost.files import read_text
from hindmost.models.adaptive.machine import Machine
from hindmost.parsing import parse_json


def read_machine(path: Path) -> Machine:
    """Read a machine file.

    Raises
    ------
    DataError
        There is no such file, or it is not a machine file.
    """
    try:
        document = parse_json(read_text(path))
    except OSError as error:
        raise DataError(
            f"{path} cannot be read: {error.strerror}; 'hindmost probe all --out {path}' writes it."
        ) from error
    except ValueError as error:
        raise DataError(f"{path} is not a machine file: {error}.") from error
    try:
        return Machine.from_json(document)
    except DataError as error:
        raise type(error)(f"{path}: {error}") from error
