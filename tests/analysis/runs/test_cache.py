"""A cached result counts as long as everything that shapes it is the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from types import ModuleType

import pytest

import hindmost.analysis
import hindmost.harness.runfile
import hindmost.models
from hindmost.analysis.runs import cache

ROOMS = (hindmost.models, hindmost.analysis, hindmost.harness.runfile)
WRITERS = ("fits.study", "runs.efficiency.of_run")
"""What caches results, of the analysis."""


@pytest.fixture
def fresh() -> Iterator[None]:
    """Let the checksum of the source be computed in this test."""
    cache.source_checksum.cache_clear()
    yield
    cache.source_checksum.cache_clear()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_other_source_of_a_room_is_another_key(
    room: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cache.source_checksum()
    copy = copytree(next(iter(room.__path__)), tmp_path / "copy")
    monkeypatch.setattr(room, "__path__", [str(copy)])
    cache.source_checksum.cache_clear()
    assert cache.source_checksum() == before
    changed = sorted(copy.rglob("*.py"))[-1]
    changed.write_text(f"{changed.read_text()}\nCHANGED = 1\n")
    cache.source_checksum.cache_clear()
    assert cache.source_checksum() != before


@pytest.mark.parametrize("writer", WRITERS)
def test_the_key_covers_every_module_that_is_imported_to_compute_a_result(writer: str) -> None:
    code = (
        f"import sys, hindmost.analysis.{writer}\n"
        "for name, module in sorted(sys.modules.items()):\n"
        "    if name.split('.')[0] == 'hindmost' and getattr(module, '__file__', None):\n"
        "        print(module.__file__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = {Path(line).resolve() for line in done.stdout.splitlines()}
    hashed = {path.resolve() for path in cache.result_sources()}
    assert len(loaded) > 40
    assert sorted(loaded - hashed) == []
