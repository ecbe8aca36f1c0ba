"""Directives that write pages from the code: help of verbs, a study, the papers' figures."""

from __future__ import annotations

import os
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from hindmost import cli
from hindmost.analysis.report.papers import PAPERS, papers_table
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


class PaperFigures(Directive):
    """Write a section for each paper: its figures and tables, and what shows each."""

    def run(self) -> list[nodes.Node]:
        """Return the sections, in the order of the papers."""
        table = papers_table()
        sections: list[nodes.Node] = []
        for short, title in PAPERS.items():
            section = nodes.section(ids=[short.lower()], names=[short])
            section += nodes.title("", short)
            section += nodes.paragraph("", f"{title}.")
            rows = [row[1:] for row in table.rows if row[0] == short]
            section += table_of([column.head for column in table.columns[1:]], rows)
            sections.append(section)
        return sections


def table_of(heads: list[str], rows: list[tuple[str, ...]]) -> nodes.table:
    """Return a table of plain text."""

    def row_of(cells: Any) -> nodes.row:
        row = nodes.row()
        for cell in cells:
            entry = nodes.entry()
            entry += nodes.paragraph("", cell)
            row += entry
        return row

    group = nodes.tgroup(cols=len(heads))
    for _ in heads:
        group += nodes.colspec(colwidth=1)
    head, body = nodes.thead(), nodes.tbody()
    head += row_of(heads)
    for cells in rows:
        body += row_of(cells)
    group += head
    group += body
    table = nodes.table()
    table += group
    return table


def setup(app: Any) -> dict[str, bool]:
    """Let Sphinx know the directives."""
    app.add_directive("verbs", Verbs)
    app.add_directive("example-study", ExampleStudy)
    app.add_directive("paper-figures", PaperFigures)
    return {"parallel_read_safe": True}
