"""Extra-P's JSON lines, and TaLPas lines, which differ in a key and in their separators.

One measurement per line, or several at the same point::

    {"params": {"p": 4, "n": 1000}, "callpath": "main->compute", "metric": "time", "value": 6.0}
    {"params": {"p": 4, "n": 1000}, "value": [6.0, 6.1]}
    {"parameters":{"p":4};"metric":"time";"callpath":"main";"value":6.0}          TaLPas

Lines at the same point are repetitions. ``callpath`` and ``metric`` may be missing from JSON lines.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

from hindmost.analysis.readers.format import ExperimentFormat, ExperimentRequest
from hindmost.analysis.readers.gather_experiment import DEFAULT, ROOT, ExperimentGathering
from hindmost.analysis.readers.json_values import load, to_number, to_numbers
from hindmost.analysis.readers.text_files import first_line, read_text, split_lines
from hindmost.errors import DataError
from hindmost.parsing import once_each

_STRING_OR_SEMICOLON = re.compile(r'"(?:\\.|[^"\\])*"|;')


def _with_commas(line: str) -> str:
    """Turn the semicolons of TaLPas that stand outside of texts into commas."""
    return _STRING_OR_SEMICOLON.sub(lambda found: "," if found[0] == ";" else found[0], line)


def _text(data: dict[str, Any], name: str, instead: str, where: str) -> str:
    value = data.get(name, instead)
    if not isinstance(value, str):
        raise DataError(f"{where}: {name} is {str(value)[:40]!r}; it should be a text.")
    return value


def _read_file(path: Path, into: ExperimentGathering, key: str) -> None:
    names: list[str] = []
    known: set[str] = set()
    for number, line in enumerate(split_lines(read_text(path)), 1):
        line = line.strip()
        if not line:
            continue
        where = f"{path}, line {number}"
        if key == "parameters":
            line = _with_commas(line)
        try:
            data = json.loads(line, object_pairs_hook=once_each)
        except (ValueError, RecursionError):
            data = load(line, str(path), number)  # says what is wrong
        if not isinstance(data, dict) or not isinstance(data.get(key), dict) or "value" not in data:
            raise DataError(
                f'{where}: a line is an object with at least "{key}" (an object) and "value".'
            )
        point = data[key]
        if not names:
            names, known = list(point), set(point)
            into.declare(names, where)
        if point.keys() != known:
            raise DataError(
                f"{where}: the parameters are {', '.join(point) or 'none'}; the first line has "
                f"{', '.join(names)}, and every line needs the same."
            )
        into.add(
            (_text(data, "callpath", ROOT, where), _text(data, "metric", DEFAULT, where)),
            tuple([to_number(point[name], where) for name in names]),
            to_numbers(data["value"], where),
            where,
        )


def _recognises(path: Path, head: bytes, key: str) -> bool:
    line = first_line(head)
    if not line.startswith("{") or re.search(r'"measurements"\s*:', line):
        return False
    return re.search(rf'"{key}"\s*:\s*\{{', line) is not None


def _read(
    paths: tuple[Path, ...], request: ExperimentRequest, into: ExperimentGathering, key: str
) -> None:
    for path in paths:
        _read_file(path, into, key)


EXTRAP_JSON_LINES = ExperimentFormat(
    name="json-lines",
    looks_like='one object a line with "params" and "value" (Extra-P)',
    recognises=partial(_recognises, key="params"),
    read=partial(_read, key="params"),
)
TALPAS = ExperimentFormat(
    name="talpas",
    looks_like='one object a line with "parameters" and "value" (TaLPas, for Extra-P)',
    recognises=partial(_recognises, key="parameters"),
    read=partial(_read, key="parameters"),
)
