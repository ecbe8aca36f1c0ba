"""The options of the page on what-if questions exist."""

from __future__ import annotations

import re

from tests.conftest import ROOT

from hindmost.cli import help_of

PAGE = (ROOT / "docs/whatif.md").read_text()


def test_options_of_the_page_exist() -> None:
    known = "".join(help_of([verb]) for verb in ("whatif", "show"))
    blocks = re.findall(r"^    hindmost (?:whatif|show) .*$", PAGE, re.MULTILINE)
    asked = {word for line in blocks for word in re.findall(r"--[a-z][a-z-]*", line.split("#")[0])}
    assert len(asked) > 10
    assert {word for word in asked if f"{word} " not in known} == set()
