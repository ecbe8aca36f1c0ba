"""Reading machine files, in which ``hindmost probe`` writes what it measured of a machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hindmost.errors import DataError
from hindmost.files import read_text
from hindmost.models.adaptive.machine import Machine
from hindmost.parsing import parse_json


def read_machine(path: Path) -> Machine:
    """Read a machine file.

    Raises
    ------
    DataError
        The file does not exist, cannot be read, or is not a machine file.
    """
    document = read_document(path)
    if document is None:
        raise DataError(f"{path} does not exist; 'hindmost probe all --out {path}' writes it.")
    return machine_in(path, document)


def read_document(path: Path) -> dict[str, Any] | None:
    """Return the contents of a machine file, with samples and provenance; None if there is none.

    Raises
    ------
    DataError
        The file cannot be read, or is not a machine file.
    """
    try:
        document = parse_json(read_text(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise DataError(
            f"{path} is not a machine file: not JSON ({error}). 'hindmost probe all --out FILE' "
            "writes one."
        ) from error
    machine_in(path, document)
    return document  # type: ignore[no-any-return]  # an object, or it would be no machine


def machine_in(path: Path, document: Any) -> Machine:
    """Return the machine of a document; errors name the path."""
    try:
        return Machine.from_json(document)
    except DataError as error:
        raise type(error)(f"{path}: {error}") from error
