"""Plans as files: one run per line, byte for byte the same text for the same plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hindmost.errors import DataError, UnknownSchemaError
from hindmost.files import read_text, write_atomically
from hindmost.jobs.core.plan import Plan
from hindmost.parsing import is_plain_name, parse_json, shown
from hindmost.records import RecordError, from_document, to_document

SCHEMA = "hindmost-plan"
VERSION = 1
_LISTS = ("runs", "allocations")
"""Lists whose members have a line each."""


def text_of(plan: Plan) -> str:
    """Return the text of a plan."""
    whole = to_document(plan)
    head = {"schema": SCHEMA, "version": VERSION}
    rest = {name: value for name, value in whole.items() if name not in _LISTS}
    lines = [f" {dumped(name)}: {dumped(value)}" for name, value in {**head, **rest}.items()]
    for name in _LISTS:
        members = ",\n".join(f"  {dumped(each)}" for each in whole[name])
        lines.append(f" {dumped(name)}: [\n{members}\n ]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def dumped(value: Any) -> str:
    """Return JSON on one line."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def write(plan: Plan, path: Path) -> None:
    """Write a plan."""
    write_atomically(path, text_of(plan))


def read(path: Path) -> Plan:
    """Read a plan.

    Raises
    ------
    DataError
        The file is not a plan, or was altered.
    UnknownSchemaError
        A newer hindmost wrote it.
    """
    try:
        document = parse_json(read_text(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise DataError(f"{path}: not a plan in JSON: {error}.") from error
    if not isinstance(document, dict) or document.pop("schema", None) != SCHEMA:
        raise DataError(f"{path}: JSON, but not a plan of hindmost (schema '{SCHEMA}').")
    version = document.pop("version", None)
    if type(version) is int and version > VERSION:
        raise UnknownSchemaError(
            f"{path}: version {version} of '{SCHEMA}'; this hindmost reads up to {VERSION}. "
            "Install a newer one."
        )
    try:
        if type(version) is not int or version != VERSION:
            raise RecordError(f"allowed: {VERSION}", "version", found=version)
        plan = from_document(Plan, document)
        check_whole(plan)
    except DataError as error:
        raise DataError(
            f"{path}: not a whole plan: {error} Plan the study again, or restore the file."
        ) from error
    return plan


def check_whole(plan: Plan) -> None:
    """Raise a DataError unless every run is in one allocation, and each is known."""
    for name in (*(run.id for run in plan.runs), *(each.id for each in plan.allocations)):
        if not is_plain_name(name):
            raise DataError(f"the id {shown(name)} cannot be the name of a folder.")
    ids = [run.id for run in plan.runs]
    listed = [(run, each.id) for each in plan.allocations for run in each.runs]
    if len(set(ids)) < len(ids):
        raise DataError("two runs have one id.")
    if sorted(listed) != sorted((run.id, run.allocation) for run in plan.runs):
        raise DataError("runs and allocations do not name each other.")
