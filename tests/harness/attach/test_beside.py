"""The process that follows the ranks of a node where nobody waits for them."""

import json
import time
from pathlib import Path
from typing import Any

from hindmost.harness.attach.beside import follow_node
from hindmost.harness.attach.pairs import PairsPage

PATIENCE_S = 60.0


def test_a_process_tells_of_the_ranks_of_its_node_until_it_is_ended(tmp_path: Path) -> None:
    pages, file = tmp_path / "pages", tmp_path / "node-0000002.raw"
    beside = follow_node(pages)
    assert beside is not None
    assert follow_node(pages) is None  # somebody does
    page = PairsPage(pages / "2")
    page.begin(file)
    work, deadline = file.with_suffix(".work"), time.monotonic() + PATIENCE_S
    told: dict[str, Any] = {}
    while time.monotonic() < deadline and not any(map(any, told.get("shares", []))):
        page["last_end_ns"] += 1_000_000
        page.head["phase_ns"][0, 1] += 250_000
        time.sleep(0.02)
        if work.exists():
            told = json.loads(work.read_text())
    assert told["ranks"] == [2]
    assert 0.2 < told["shares"][0][1] < 0.3
    assert 0.7 < told["shares"][0][4] < 0.8
    beside.end()
    assert not pages.exists()
