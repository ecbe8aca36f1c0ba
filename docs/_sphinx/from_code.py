"""Directives that write pages from the code: the help of each verb, the example of a study."""

from __future__ import annotations

import os
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from hindmost import cli
from hindmost.jobs.study.read import example

COLUMNS = "90"


class Verbs(Directive):
    """Write a section for each verb, with what its --help prints."""

    def run(self) -> list[nodes.Node]:
        """Return the sections, verbs of two words after the verb of one."""
        os.environ["COLUMNS"] = COLUMNS
        verbs = [[verb] for verb in cli.VERBS] + [list(branch) for branch in cli.BRANCHES]
        sections: list[nodes.Node] = []
        for words in sorted(verbs, key=lambda each: list(cli.VERBS).index(each[0])):
            name = " ".join(words)
            section = nodes.section(ids=["-".join(words)], names=[name])
            section += nodes.title("", name)
            text = cli.help_of(words)
            section += nodes.literal_block(text, text, language="none")
            sections.append(section)
        return sections


class ExampleStudy(Directive):
    """Write the study that ``hindmost plan --example`` prints."""

    def run(self) -> list[nodes.Node]:
        """Return the study."""
        text = example(None)
        return [nodes.literal_block(text, text, language="toml")]


def setup(app: Any) -> dict[str, bool]:
    """Let Sphinx know the directives."""
    app.add_directive("verbs", Verbs)
    app.add_directive("example-study", ExampleStudy)
    return {"parallel_read_safe": True}
