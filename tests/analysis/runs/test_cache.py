"""A kept result counts as long as everything that shapes it is the same."""

import os
from dataclasses import dataclass
from pathlib import Path
from shutil import copy

import pytest

import hindmost
from hindmost import cache
from hindmost.analysis.runs.read import cached, is_cached


@dataclass(frozen=True, kw_only=True)
class Result:
    value: int


def test_a_result_is_kept_for_a_run_a_question_and_a_source(
    run_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = hindmost.open(run_file)
    computed: list[int] = []

    def ask(alpha: float) -> int:
        def compute() -> Result:
            computed.append(1)
            return Result(value=len(computed))

        return cached(run, "test", {"alpha": alpha}, Result, compute).value

    assert (ask(0.5), ask(0.5), ask(0.1)) == (1, 1, 2)
    moved = Path(copy(run_file, tmp_path / "moved.h5"))
    assert is_cached(hindmost.open(moved), "test", {"alpha": 0.5})
    [first, _] = sorted((tmp_path / "cache/hindmost/test").iterdir(), key=os.path.getmtime)
    for damaged in (b"", b"[]", b"{", b"\xff"):
        first.write_bytes(damaged)
        assert ask(0.5) == len(computed)
        assert len(computed) > 2
        assert ask(0.5) == len(computed), "kept again"
    monkeypatch.setattr("hindmost.analysis.runs.read.source_checksum", lambda: "other")
    assert not is_cached(run, "test", {"alpha": 0.5})
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    monkeypatch.setattr("tempfile.tempdir", "/dev/null")
    before = len(computed)
    assert (ask(0.5), ask(0.5)) == (before + 1, before + 2), "computed where nothing can be kept"


def test_the_checksum_is_of_every_module_and_changes_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {path.name for path in cache.source_files()}
    assert {"cache.py", "of_run.py", "reader.py", "fit.py"} <= names
    source = tmp_path / "source.py"
    found = []
    for text in ("a = 1", "a = 2"):
        source.write_text(text)
        monkeypatch.setattr(cache, "source_files", lambda: iter([source]))
        found.append(cache.source_checksum.__wrapped__())
    assert found[0] != found[1]
