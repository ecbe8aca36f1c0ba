"""The page on JSON names keys that are there."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ROOT

from hindmost.cli import main

ROWS = dict(
    re.findall(r"^\| `(\w+)` \| (.+) \|$", (ROOT / "docs/json.md").read_text(), re.MULTILINE)
)


def keys_of(document: Any) -> Iterator[str]:
    """Yield all keys of a document."""
    if isinstance(document, dict):
        yield from document
    parts = document.values() if isinstance(document, dict) else document
    if isinstance(document, dict | list):
        for part in parts:
            yield from keys_of(part)


@pytest.fixture
def nightly(tmp_path: Path) -> Path:
    """Return a folder of 24 nights, slower from the 13th on."""
    folder = tmp_path / "nightly"
    folder.mkdir()
    for night in range(24):
        date = datetime.date(2026, 11, 1) + datetime.timedelta(night)
        seconds = (1.0 if night < 12 else 1.5) * (1.0 + 0.001 * (night % 3))
        (folder / f"{date}.xml").write_text(
            f'<testsuite name="s" timestamp="{date}T02:00:00" hostname="a">'
            f'<testcase classname="c" name="solve" time="{seconds}"/></testsuite>'
        )
    return folder


@pytest.mark.parametrize("verb", ["show", "check", "fit", "scale", "history", "compare"])
def test_the_keys_of_the_page_are_there(
    verb: str, run_file: Path, nightly: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words: dict[str, list[str | Path]] = {
        "fit": [run_file],
        "scale": [ROOT / "examples/scaling/data/homme.txt"],
        "history": [nightly],
        "compare": [nightly, nightly],
    }
    main([verb, *map(str, words.get(verb, [run_file])), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == 1
    assert set(re.findall(r"`(\w+)`", ROWS[verb])) - set(keys_of(document)) == set()
