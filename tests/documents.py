"""JSON documents held to their declared forms, wherever a test has one at hand."""

import importlib.util
import json
from typing import Any

from hindmost.json_forms import schema_of_verb


def as_declared(verb: str, text: str) -> Any:
    """Return a document that a verb printed, after checking it against its form.

    Without jsonschema, which `tests/test_json_forms.py` reports as skipped, nothing is checked.
    """
    document = json.loads(text)
    if importlib.util.find_spec("jsonschema"):
        validate = importlib.import_module("jsonschema").validate
        validate(document, schema_of_verb(verb, closed=True))
    return document
