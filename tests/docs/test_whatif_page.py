"""The page on what-if questions: its study can be planned, its options exist."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from tests.conftest import ROOT

from hindmost.cli import help_of, main

PAGE = (ROOT / "docs/whatif.md").read_text()


def test_the_study_of_the_page_can_be_planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = re.search(r"^    \[study\]\n(?:    .*\n|\n)+", PAGE, re.MULTILINE)
    assert found is not None
    study = tmp_path / "study.toml"
    study.write_text(textwrap.dedent(found[0]))
    assert main(["study", "plan", str(study), "--machine", "local", "--set", "ranks=1"]) == 0
    assert "3 runs" in capsys.readouterr().out


def test_options_of_the_page_exist() -> None:
    known = "".join(help_of([verb]) for verb in ("whatif", "show"))
    blocks = re.findall(r"^    hindmost (?:whatif|show) .*$", PAGE, re.MULTILINE)
    asked = {word for line in blocks for word in re.findall(r"--[a-z][a-z-]*", line.split("#")[0])}
    assert len(asked) > 10
    assert {word for word in asked if f"{word} " not in known} == set()
