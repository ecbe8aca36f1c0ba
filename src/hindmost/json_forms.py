"""What ``--json`` of each verb prints: ``hindmost doctor --schema VERB`` and the docs.

A class says with `JSON` which of its attributes are keys, see `hindmost.output.json_keys`. Their
types are those of its fields, of its properties, and what its methods return.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)  # fmt: skip
from typing import get_type_hints as hints_of

import msgspec
import numpy as np

from hindmost.analysis.fits.detours import RunDetours
from hindmost.analysis.fits.study import FittedRun
from hindmost.analysis.history.change_groups import NightChange
from hindmost.analysis.history.compare import ComparedSeries
from hindmost.analysis.history.exports import (
    Failure,
    RefusedSeries,
    SeriesEntry,
    SilentCase,
)
from hindmost.analysis.ranks.study import RankReport
from hindmost.analysis.runs.attached import AttachedProgram
from hindmost.analysis.runs.efficiency.of_run import RunEfficiencies
from hindmost.analysis.runs.efficiency.scaling import KernelEfficiencies
from hindmost.analysis.runs.finding import Finding
from hindmost.analysis.runs.sides import Case
from hindmost.analysis.runs.summary import RunSummary
from hindmost.analysis.scaling.expected_growth import UnexpectedGrowth
from hindmost.analysis.scaling.study_json import KernelEntry
from hindmost.analysis.show.facts import RepeatedCulprit
from hindmost.analysis.whatif.advice import Advice
from hindmost.analysis.whatif.balance import Rebalanced
from hindmost.analysis.whatif.gains import RunOutcome
from hindmost.analysis.whatif.prediction import SolvePrediction
from hindmost.analysis.whatif.within import JobForecast
from hindmost.harness.runfile.time_left import TimeUse
from hindmost.harness.verbs.doctor import Diagnosis
from hindmost.harness.verbs.predict_adaptive import MeshChoice
from hindmost.jobs.collection import Collected
from hindmost.jobs.core.plan import Plan
from hindmost.jobs.folder import Submitted
from hindmost.jobs.state import StudyState
from hindmost.models.adaptive.machine import SystemNoise
from hindmost.models.adaptive.offline import Application
from hindmost.output import json_keys
from hindmost.records import hints, parts_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"
UNSET = msgspec.UnsetType
UNIONS = (Union, UnionType)
CONTAINERS: dict[Any, Any] = {
    list: list, Sequence: list, tuple: tuple, frozenset: list, dict: dict, Mapping: dict,
}  # fmt: skip
"""Generic types, and what they are in JSON."""
FORMS: dict[str, type | dict[str, Any]] = {
    "show": {
        "programs": list[AttachedProgram] | UNSET,
        "repeats": list[RepeatedCulprit] | UNSET,
        "runs": list[RunSummary],
    },
    "check": {"findings": list[Finding]},
    "show --ranks": {"files": list[RankReport]},
    "watch": {
        "program": str,
        "time": TimeUse,
        "more": int | None,
        "trend": float | None,
    },
    "show --efficiency": {
        "runs": list[RunEfficiencies],
        "scaling": list[KernelEfficiencies],
    },
    "fit": {"runs": list[FittedRun]},
    "fit --detours": {"probe": SystemNoise | UNSET, "runs": list[RunDetours]},
    "whatif": {
        "runs": list[RunOutcome | Rebalanced],
        "predictions": list[SolvePrediction] | UNSET,
        "advice": Advice | UNSET,
        "jobs": list[JobForecast] | UNSET,
    },
    "scale": {
        "source": str,
        "parameters": list[str],
        "method": str,
        "space": str,
        "target": dict[str, float],
        "largest": dict[str, float],
        "level": float,
        "values_include_callees": dict[str, bool],
        "measure_next": list[dict[str, Any]],
        "models": list[KernelEntry],
        "held_out": list[dict[str, Any]],
        "findings": list[UnexpectedGrowth],
        "warnings": list[str],
        "run_findings": list[Finding],
    },
    "history": {
        "method": str,
        "status": str,
        "fails_on": list[str],
        "since": str,
        "until": str,
        "least_change_percent": float,
        "settings": dict[str, Any],
        "false_discovery_rate": float,
        "open": list[NightChange],
        "silent_cases": list[SilentCase],
        "silent_machines": dict[str, str],
        "series": list[SeriesEntry],
        "refused": list[RefusedSeries],
        "failures": list[Failure],
        "parents": dict[str, str],
        "warnings": list[str],
    },
    "compare": {
        "differ": tuple[str, str] | UNSET,
        "cases": list[Case] | UNSET,
        "first": str,
        "second": str,
        "level": float,
        "summary": str,
        "series": list[ComparedSeries],
        "only_first": list[str],
        "only_second": list[str],
        "other_units": list[str],
        "beyond": list[str],
        "unconfirmed": list[str],
        "not_judged": list[str],
        "findings": list[Finding],
    },
    "whatif --adaptive": {
        "deck": str,
        "ranks": int,
        "cycles": int,
        "budget_s": float,
        "application": Application,
        "growth": float,
        "remarks": list[str],
        "choices": list[MeshChoice],
    },
    "study plan": {
        "**": Plan,
        "core_hours": float,
        "scripts": list[str],
    },
    "study submit": {
        "study": str,
        "folder": str,
        "submitted": list[Submitted] | UNSET,
        "live": list[str] | UNSET,
        "runs": int | UNSET,
        "failed": int | UNSET,
        "scripts": dict[str, str] | UNSET,
    },
    "study status": {"study": str, "machine": str, "next": str, "**": StudyState},
    "study cancel": {"cancelled": list[str], "left": list[str]},
    "study collect": {"folder": str, "files": list[Collected], "missing": list[str]},
    "probe": {"probes": list[str], "machine": dict[str, Any]},
    "doctor": {"findings": list[Diagnosis]},
}


def schema_of_verb(verb: str, *, closed: bool = False) -> dict[str, Any]:
    """Return the JSON schema of what a verb prints with ``--json``; see `schema_of`."""
    return schema_of(FORMS[verb], f"hindmost {verb} --json, version 1", closed=closed)


def schema_of(form: type | dict[str, Any], title: str, *, closed: bool = False) -> dict[str, Any]:
    """Return the schema of a document.

    Parameters
    ----------
    form : type or dict of str to type
        A class whose JSON it is; or the keys beside ``version``.
    title : str
    closed : bool
        Whether keys that are not declared are refused. Published schemas allow them, as later
        versions may add keys; tests refuse them, so that no key stays undeclared.
    """
    if isinstance(form, dict):
        types: dict[str, Any] = {"version": int}
        for key, kind in form.items():
            types |= {key: kind} if key != "**" else members_of(kind) or {}
        whole = typed_dictionary("Document", "", types)
    else:
        whole = form_of(form)
    parts: dict[str, Any] = adapted(msgspec.json.schema(whole), closed=closed)["$defs"]
    outer = parts.pop(whole.__name__)
    return {"$schema": DIALECT, **outer, "title": title, **({"$defs": parts} if parts else {})}


def typed_dictionary(name: str, text: str, types: dict[str, Any], module: str = "") -> Any:
    """Return a typed dictionary; keys whose values may be `msgspec.UNSET` are optional."""
    members = {}
    for key, kind in types.items():
        parts = get_args(kind) if get_origin(kind) in UNIONS else (kind,)
        form = form_of(union(part for part in parts if part is not UNSET))
        members[key] = NotRequired[form] if UNSET in parts else form
    made: Any = TypedDict(name, members)  # type: ignore[misc]
    made.__doc__, made.__module__ = text, module
    return made


@cache
def form_of(kind: Any) -> Any:
    """Return a type as it is in JSON: records as typed dictionaries of their `JSON`."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return Annotated[(form_of(parts[0]), *kind.__metadata__)]
    if origin is np.ndarray:
        return list[Any]
    if origin in UNIONS:
        records = [part for part in parts if json_keys(part)]
        records = records if len(records) > 1 else []
        others = [form_of(part) for part in parts if part not in records]
        if float in others:  # may be null
            others = [other for other in others if other is not type(None)]
        return union([*others, *([merged(records)] if records else [])])
    if origin in CONTAINERS:
        return CONTAINERS[origin][tuple(part if part is ... else form_of(part) for part in parts)]
    if kind is Path:
        return str
    return kind if members_of(kind) is None and not json_keys(kind) else merged([kind])


def members_of_one(kinds: Sequence[Any]) -> dict[str, Any] | None:
    """Return the types of the keys of records of which one stands in a place; see `members_of`."""
    found = [members_of(kind) for kind in kinds]
    every = [each for each in found if each is not None]
    if len(every) < len(found):
        return None
    keys = dict.fromkeys(key for each in every for key in each)
    return {key: union(each.get(key, UNSET) for each in every) for key in keys}


def merged(kinds: Sequence[Any]) -> Any:
    """Return the typed dictionary of records of which one stands in a place."""
    types = members_of_one(kinds)
    if types is None:
        return dict[str, Any]
    first = kinds[0]
    return typed_dictionary(first.__name__, first.__doc__ or "", types, first.__module__)


def members_of(kind: Any) -> dict[str, Any] | None:
    """Return the types of the keys of a record's JSON; None if they depend on the data."""
    if is_typeddict(kind):
        required = kind.__required_keys__
        return {k: each if k in required else each | UNSET for k, each in hints(kind).items()}
    if not json_keys(kind):
        return None
    types: dict[str, Any] = {}
    for key, path, nullable in json_keys(kind):
        found = type_at(kind, path)
        if key:
            types[key] = found | None if nullable else found
            continue
        parts = [part for part in parts_of(found) if part is not type(None)]
        inside = members_of_one(parts)
        if inside is None:
            return None
        always = len(parts) == len(parts_of(found))
        types |= inside if always else {name: k | UNSET for name, k in inside.items()}
    return types


def type_at(kind: Any, path: tuple[str, ...]) -> Any:
    """Return the type of an attribute of an attribute ... of a class, or what a method returns."""
    may_lack = False
    for name in path:
        parts = [part for part in parts_of(kind) if part is not type(None)]
        may_lack |= len(parts) < len(parts_of(kind))
        (owner,) = parts
        member = inspect.getattr_static(owner, name, None)
        method = getattr(member, "fget", None) or getattr(member, "func", None) or member
        if callable(method):
            kind = hints_of(method, include_extras=True)["return"]
        else:
            kind = hint_at(owner, name)
    return kind | None if may_lack else kind


def hint_at(owner: Any, name: str) -> Any:
    """Return the type of a field; others of the class may be imported for type checkers only."""
    for base in owner.__mro__:
        if name in (text := vars(base).get("__annotations__", {})):
            holder = SimpleNamespace(__annotations__={name: text[name]})
            return hints_of(holder, vars(sys.modules[base.__module__]), include_extras=True)[name]
    raise AssertionError(f"{owner.__name__} has no {name}")


def union(kinds: Iterable[Any]) -> Any:
    """Return the union of types."""
    return Union[tuple(kinds)]  # noqa: UP007


def adapted(schema: Any, *, closed: bool) -> Any:
    """Return a schema whose numbers may be null, as JSON has no NaN, and that is closed or not."""
    if isinstance(schema, list):
        return [adapted(each, closed=closed) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: adapted(each, closed=closed) for key, each in schema.items() if key != "default"}
    if found.get("type") == "number":
        found["type"] = ["number", "null"]
    if isinstance(description := found.get("description"), str):
        found["description"] = description.partition("\n")[0]
    if "properties" in found and closed:
        found["additionalProperties"] = False
    return found
