"""A plan as a file: one run a line, the same text for the same plan, to the byte."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from hindmost.errors import DataError, UnknownSchemaError
from hindmost.jobs.plan.plan import Allocation, Plan, PlannedRun
from hindmost.jobs.study.machine import Machine

SCHEMA = "hindmost-plan"
VERSION = 1
_LISTS = {"runs": PlannedRun, "allocations": Allocation}
T = TypeVar("T")


def text_of(plan: Plan) -> str:
    """Return the text of a plan."""
    whole = asdict(plan)
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
    """Write a plan, whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text_of(plan))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def read(path: Path) -> Plan:
    """Read a plan.

    Raises
    ------
    DataError
        There is no plan in the file, or it was altered into something that is none.
    UnknownSchemaError
        A newer hindmost wrote it.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not the JSON of a plan: {error}.") from error
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
            raise ValueError(f"its version is {version!r}, not {VERSION}")
        for name, kind in _LISTS.items():
            members = document.get(name)
            if not isinstance(members, list):
                raise ValueError(f"'{name}' is not a list")
            hints = get_type_hints(kind)
            document[name] = tuple(
                built(kind, each, f"{name}[{at}]", hints) for at, each in enumerate(members)
            )
        machine = document.get("machine")
        document["machine"] = built(Machine, machine, "machine", get_type_hints(Machine))
        plan = built(Plan, document, "the plan", get_type_hints(Plan), checked=("machine", *_LISTS))
        check_whole(plan)
    except ValueError as error:
        raise DataError(
            f"{path}: not a whole plan: {error}. Plan the study again, or restore the file."
        ) from error
    return plan


def built(
    kind: type[T], value: Any, where: str, hints: Mapping[str, Any], checked: tuple[str, ...] = ()
) -> T:
    """Make a dataclass of a JSON object, all of whose fields are of their types."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} is not an object")
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for name in value:
        if name not in known:
            raise ValueError(f"{where} has '{name}', which is not known")
    for name, field in known.items():
        if name not in value and field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{where} lacks '{name}'")
    return kind(
        **{
            name: each if name in checked else typed(each, hints[name], f"{where}: '{name}'")
            for name, each in value.items()
        }
    )


def typed(value: Any, hint: Any, where: str) -> Any:
    """Return a value of JSON as the type of its field, or raise a ValueError."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is tuple and isinstance(value, list):
        return tuple(typed(each, inside[0], where) for each in value)
    if origin is dict and isinstance(value, dict):
        return {name: typed(each, inside[1], where) for name, each in value.items()}
    allowed = inside if origin in (Union, UnionType) else (hint,)
    if type(value) in allowed:
        return value
    if type(value) is int and float in allowed:
        return float(value)
    raise ValueError(f"{where} is {repr(value)[:40]}")


def check_whole(plan: Plan) -> None:
    """Raise a ValueError unless every run is in one allocation, and each is known."""
    ids = [run.id for run in plan.runs]
    listed = [(run, each.id) for each in plan.allocations for run in each.runs]
    if len(set(ids)) < len(ids):
        raise ValueError("two runs have one id")
    if sorted(listed) != sorted((run.id, run.allocation) for run in plan.runs):
        raise ValueError("runs and allocations do not name each other")
