"""Machine files: what ``hindmost probe`` measured of a machine, raw samples, and their provenance.

JSON: the fields of `Machine`, then ``samples`` and ``provenance``, each with a key for every probe.
A probe replaces its own section and keeps the others. The file is replaced atomically.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hindmost.errors import DataError, UsageError
from hindmost.files import read_text, write_atomically
from hindmost.models.adaptive.machine import Machine
from hindmost.parsing import parse_json

IDENTITY = ("host", "cpu_model", "cores")
"""The properties that identify a machine."""


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


def check_place(path: Path) -> None:
    """Refuse a path that cannot be written, before measuring.

    Raises
    ------
    UsageError
        The folder is missing or cannot be written, or the path is a folder.
    """
    folder = path.parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(
            f"{path}: cannot write the machine file there; name a file in a writable folder with "
            "--out."
        )


def check_same_machine(path: Path, document: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Refuse to mix measurements of different machines.

    Parameters
    ----------
    here : mapping
        This machine's ``host``, ``cpu_model`` and ``cores``.

    Raises
    ------
    UsageError
        A section of the file was measured elsewhere.
    """
    for section, origin in document.get("provenance", {}).items():
        there = origin.get("environment", {}).get("machine", {})
        unlike = [key for key in IDENTITY if key in there and there[key] != here.get(key)]
        if unlike:
            told = ", ".join(f"{key} {there[key]} (here {here.get(key)})" for key in unlike)
            raise UsageError(
                f"{path} is of another machine: its '{section}' was measured on {told}. Name "
                "another file with --out."
            )


def updated(
    document: Mapping[str, Any] | None,
    machine: Machine,
    outcomes: Mapping[str, Any],
    provenance: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a document with the measured sections replaced.

    Parameters
    ----------
    document : mapping or None
        Contents of the file.
    machine : Machine
        Name and ranks per node, if there is no file yet.
    outcomes : mapping
        Section -> what a probe returns: the fields of `Machine` that change, and samples.
    provenance : mapping
        Of these outcomes.
    """
    if document is not None:
        before = Machine.from_json(document)
        cores = max(before.ranks_per_node, machine.ranks_per_node)
        machine = replace(before, ranks_per_node=cores)
    for outcome in outcomes.values():
        machine = replace(machine, **outcome.changes)
    kept = dict(document or {})
    samples = {name: outcome.samples for name, outcome in outcomes.items()}
    return {
        **kept,
        **machine.to_json(),
        "provenance": {**kept.get("provenance", {}), **dict.fromkeys(outcomes, provenance)},
        "samples": {**kept.get("samples", {}), **samples},
    }


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    """Write the file completely, or keep the existing one.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    try:
        write_atomically(path, text_of(document))
    except OSError as error:
        raise DataError(
            f"{path} could not be written ({error.strerror}); what was there is as it was."
        ) from error


def text_of(document: Mapping[str, Any]) -> str:
    """Return JSON with one line for each list of samples, and the other parts indented."""
    lines = []
    for key, value in document.items():
        if key == "samples":
            parts = [
                f"{json.dumps(name)}: {json.dumps(shortened(each))}" for name, each in value.items()
            ]
            text = "{\n    " + ",\n    ".join(parts) + "\n  }" if parts else "{}"
        else:
            text = json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n  ")
        lines.append(f"  {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def shortened(value: Any) -> Any:
    """Return samples, with non-integers rounded to six digits: no clock is more precise."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {key: shortened(part) for key, part in value.items()}
    return [shortened(part) for part in value] if isinstance(value, list | tuple) else value
