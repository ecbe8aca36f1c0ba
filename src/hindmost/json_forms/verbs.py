"""What ``--json`` of each verb prints, by verb: ``hindmost doctor --schema VERB`` and the docs."""

from __future__ import annotations

from typing import Any

import msgspec

from hindmost.json_forms import nights, predictions, ranks, runs, scaling, studies

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FORMS: dict[str, type] = {
    "show": runs.Show,
    "check": runs.Check,
    "show --ranks": ranks.Ranks,
    "watch": ranks.Watch,
    "show --efficiency": ranks.Efficiency,
    "fit": runs.Fit,
    "whatif": predictions.Whatif,
    "scale": scaling.Scale,
    "history": nights.History,
    "compare": nights.Compare,
    "whatif --adaptive": studies.PredictAdaptive,
    "study plan": studies.StudyPlan,
    "study submit": studies.Submit,
    "study status": studies.Status,
    "study cancel": studies.Cancel,
    "study collect": studies.Collect,
    "probe": studies.Probe,
    "doctor": studies.Doctor,
}


def schema_of_verb(verb: str, *, closed: bool = False) -> dict[str, Any]:
    """Return the JSON schema of what a verb prints with ``--json``; see `schema_of`."""
    return schema_of(FORMS[verb], f"hindmost {verb} --json, version 1", closed=closed)


def schema_of(form: type, title: str, *, closed: bool = False) -> dict[str, Any]:
    """Return the schema of a document.

    Parameters
    ----------
    form : type
        A typed dictionary or a dataclass.
    title : str
    closed : bool
        Whether keys that are not declared are refused. Published schemas allow them, as later
        versions may add keys; tests refuse them, so that no key stays undeclared.
    """
    parts: dict[str, Any] = adapted(msgspec.json.schema(form), closed=closed)["$defs"]
    whole = parts.pop(form.__name__)
    return {"$schema": DIALECT, **whole, "title": title, **({"$defs": parts} if parts else {})}


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
