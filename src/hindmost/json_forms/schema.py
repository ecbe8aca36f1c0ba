"""JSON schemas (draft 2020-12) of documents that are declared as types.

A document is a `typing.TypedDict` or a dataclass (`hindmost.json_forms`). Floats are numbers or, as
NaN and infinity have no other form in JSON, null.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": ["number", "null"]},
    NoneType: {"type": "null"},
    Any: {},
}


def schema_of(form: type, title: str, *, closed: bool = False) -> dict[str, Any]:
    """Return the schema of a document.

    Parameters
    ----------
    form : type
        A typed dictionary.
    title : str
    closed : bool
        Whether keys that are not declared are refused. Published schemas allow them, as later
        versions may add keys; tests refuse them, so that no key stays undeclared.
    """
    parts: dict[str, Any] = {}
    whole = _object(form, parts, closed=closed)
    return {"$schema": DIALECT, "title": title, **whole, **({"$defs": parts} if parts else {})}


def _object(form: type, parts: dict[str, Any], *, closed: bool) -> dict[str, Any]:
    """Return the schema of a typed dictionary; those below it are put into ``parts``."""
    hints = get_type_hints(form, include_extras=True)
    if is_dataclass(form):
        needed = [each.name for each in fields(form)]
    else:
        needed = [name for name, hint in hints.items() if get_origin(hint) is not NotRequired]
    said = (form.__doc__ or "").partition("\n")[0]
    return {
        "type": "object",
        **({"description": said} if said and not said.startswith("dict(") else {}),
        "properties": {name: _value(hint, parts, closed=closed) for name, hint in hints.items()},
        "required": needed,
        **({"additionalProperties": False} if closed else {}),
    }


def _value(hint: Any, parts: dict[str, Any], *, closed: bool) -> dict[str, Any]:
    """Return the schema of a value of a type."""
    if hint in SCALARS:
        return dict(SCALARS[hint])
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Required, NotRequired):
        return _value(inner[0], parts, closed=closed)
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, UnionType):
        return {"anyOf": [_value(each, parts, closed=closed) for each in inner]}
    if origin is list:
        return {"type": "array", "items": _value(inner[0], parts, closed=closed)}
    if origin is tuple:
        if inner[-1] is Ellipsis:
            return {"type": "array", "items": _value(inner[0], parts, closed=closed)}
        items = [_value(each, parts, closed=closed) for each in inner]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _value(inner[1], parts, closed=closed)}
    if is_typeddict(hint) or is_dataclass(hint):
        if hint.__name__ not in parts:
            parts[hint.__name__] = {}  # a form may contain itself
            parts[hint.__name__] = _object(hint, parts, closed=closed)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    raise TypeError(f"{hint} is no type of a JSON document.")
