"""What ``--json`` of each verb prints, by verb: ``hindmost doctor --schema VERB`` and the docs."""

from __future__ import annotations

from typing import Any

from hindmost.json_forms import nights, predictions, ranks, runs, scaling, studies
from hindmost.json_forms.schema import schema_of

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
