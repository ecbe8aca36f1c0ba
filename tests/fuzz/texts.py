"""Hostile files of text: JSON, lines of JSON, TOML, tables."""

import json
from collections.abc import Mapping
from pathlib import Path

from numpy.random import Generator
from tests.fuzz.values import hostile_json, hostile_lines


def change_one(whole: Mapping[Path, str], random: Generator) -> str:
    """Write all files as they were, but one changed somewhere; returns what was changed."""
    for path, text in whole.items():
        path.write_text(text, encoding="utf-8")
    path = list(whole)[random.integers(len(whole))]
    text, said = whole[path], []
    for _ in range(random.integers(1, 4)):
        text, change = changed(text, path, random)
        said.append(change)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return f"{path.name}: {'; '.join(said)}"


def changed(text: str, path: Path, random: Generator) -> tuple[str, str]:
    """Return a text that was changed somewhere, and where."""
    if random.random() < 0.3:
        return hostile_lines(text, random)
    if path.suffix == ".jsonl":
        lines = text.splitlines()
        at = int(random.integers(len(lines) or 1))
        lines[at : at + 1], said = [changed_json(lines[at], random)[0]], f"line {at + 1}"
        return "\n".join(lines) + "\n", said
    return changed_json(text, random)


def changed_json(text: str, random: Generator) -> tuple[str, str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return hostile_lines(text, random)
    value, said = hostile_json(value, random)
    return value if isinstance(value, str) else json.dumps(value, indent=1), said
