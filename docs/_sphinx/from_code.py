"""Directives that write pages from the code: help of verbs, JSON schemas, a study, papers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from hindmost import cli
from hindmost.analysis.report.papers import PAPERS, papers_table
from hindmost.jobs.study.read import example
from hindmost.json_forms import FORMS, schema_of_verb

COLUMNS = "90"
SCHEMAS = "schemas"
"""Folder of the built pages with a file for each verb."""


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
    """Write the study that ``hindmost study plan --example`` prints."""

    def run(self) -> list[nodes.Node]:
        """Return the study."""
        text = example()
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
            # What is typed is literal: prose turns its dashes into others.
            typed = "--" in cell or cell.startswith("docs/")
            text = nodes.literal("", cell) if typed else nodes.Text(cell)
            entry += nodes.paragraph("", "", text)
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


class JsonSchemas(Directive):
    """Write a link to the schema of each verb."""

    def run(self) -> list[nodes.Node]:
        """Return the list of links."""
        links = nodes.bullet_list()
        for verb in FORMS:
            file = schema_file(verb)
            link = nodes.reference("", "", nodes.literal("", verb), refuri=f"{SCHEMAS}/{file}")
            item = nodes.list_item("", nodes.paragraph("", "", link))
            links += item
        return [links]


def schema_file(verb: str) -> str:
    """Return the name of a verb's schema."""
    return f"{verb.replace(' ', '-')}.schema.json"


def write_schemas(app: Any, error: Exception | None) -> None:
    """Write the schemas next to the pages."""
    folder = Path(app.outdir) / SCHEMAS
    folder.mkdir(exist_ok=True)
    for verb in FORMS:
        text = json.dumps(schema_of_verb(verb), indent=2)
        (folder / schema_file(verb)).write_text(f"{text}\n")


def setup(app: Any) -> dict[str, bool]:
    """Let Sphinx know the directives."""
    app.add_directive("verbs", Verbs)
    app.add_directive("example-study", ExampleStudy)
    app.add_directive("paper-figures", PaperFigures)
    app.add_directive("json-schemas", JsonSchemas)
    app.connect("build-finished", write_schemas)
    return {"parallel_read_safe": True}
