"""The guides to extending: what a page shows can be copied and does what its entry point names."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.conftest import ROOT

GUIDES = ("workload", "solver", "model", "reader", "scheduler")
INCLUDED = re.compile(r"```\{literalinclude\} (\S+)\n(.*?)```", re.DOTALL)
ENTRY = re.compile(r"^    [\w-]+ = \"([\w.]+):(\w+)\"$", re.MULTILINE)


def shown(page: Path) -> str:
    """Return the code that a page shows, put together, as Sphinx cuts it out."""
    code = []
    for file, text in INCLUDED.findall(page.read_text()):
        options = dict(re.findall(r"^:([\w-]+): (.+)$", text, re.MULTILINE))
        assert set(options) <= {"language", "start-at", "end-at", "end-before"}
        lines = (page.parent / file).read_text().splitlines()
        start, stop = 0, len(lines)
        if "start-at" in options:
            start = next(at for at, line in enumerate(lines) if options["start-at"] in line)
        for option, more in (("end-at", 1), ("end-before", 0)):
            if option in options:
                rest = enumerate(lines[start:], start)
                stop = more + next(at for at, line in rest if options[option] in line)
        code += lines[start:stop]
    return "\n".join(code)


@pytest.mark.parametrize("guide", GUIDES)
def test_the_code_of_a_guide_can_be_copied(guide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / f"docs/extending/{guide}.md"
    mine = ModuleType("mine")
    monkeypatch.setitem(sys.modules, "mine", mine)  # dataclasses look there
    names = vars(mine)
    exec(compile(shown(page), str(page), "exec", dont_inherit=True), names)
    entries = ENTRY.findall(page.read_text())
    assert entries
    for module, name in entries:
        there = ROOT / "tests/plugins/package" / f"{module.replace('.', '/')}.py"
        assert there.is_file()
        assert name in names, f"{guide}: {name} is not on the page"
