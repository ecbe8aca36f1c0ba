"""Pages, the README and CI recipes: their links lead somewhere, their commands can be typed."""

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from matplotlib.figure import Figure
from tests.conftest import ROOT

import hindmost
from hindmost import cli
from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.show.matplotlib_charts import draw
from hindmost.cli import help_of
from hindmost.errors import UsageError

# Records say what was, also of files and commands that have gone.
DOCS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "records"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
WITH_COMMANDS = [*PAGES, *sorted((ROOT / "examples").rglob("*.yml"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMAND = re.compile(r"^(?:- |run: )?(?:[^#`]*?[\s/\"(])?hindmost ((?:[a-z]+|--?\w[\w-]*)\b.*)$")
PLACEHOLDERS = {"VERB", "..."}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    words = [re.sub(r"[^\w\- ]", "", heading).strip().lower() for heading in headings]
    return {word.replace(" ", "-") for word in words}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for target in LINK.findall(page.read_text()):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        if not there.exists() or (anchor and anchor not in anchors_of(there)):
            wrong.append(target)
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_are_named_are_there(page: Path) -> None:
    rooms = "harness|models|analysis|jobs|tests|examples|src|setup|benchmarks|docs"
    named = re.findall(rf"`((?:{rooms})/[\w./-]+)`", page.read_text())
    assert [each for each in named if not (ROOT / each).exists()] == []


def test_every_page_is_in_the_contents() -> None:
    contents = (ROOT / "docs/index.md").read_text()
    contents += (ROOT / "docs/extending.md").read_text()
    contents += (ROOT / "docs/decisions.md").read_text()
    named = set(re.findall(r"^([\w/-]+)$", contents, re.MULTILINE))
    pages = {str(page.relative_to(ROOT / "docs"))[:-3] for page in PAGES[2:]}
    assert pages - named == {"index"}


def test_the_api_has_every_public_package() -> None:
    listed = re.findall(r"^## `(hindmost[.\w]*)`", (ROOT / "docs/python.md").read_text(), re.M)
    shown = re.findall(r"automodule:: (\S+)", (ROOT / "docs/api.md").read_text())
    assert [*listed, "hindmost.errors"] == shown


def test_the_figure_of_the_guide_is_drawn(run_file: Path) -> None:
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs/extending/figure.md").read_text(), re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(code, names)
    drawn = draw(
        names["SLOWEST"].make(hindmost.open(run_file), FigureChoice()), Figure().subplots()
    )
    assert drawn.get_ylabel() == "time of an iteration, ms"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def commands_of(page: Path) -> Iterator[list[str]]:
    """Yield the words of each command line of hindmost in the code of a page."""
    text = page.read_text()
    if page.suffix == ".md":
        code = re.findall(r"^(?: {4,}|```(?:bash|console)\n)(?s:.*?)(?=^\S|^```|\Z)", text, re.M)
        text = "\n".join(code)
    for line in text.replace("\\\n", " ").splitlines():
        found = COMMAND.match(line.strip())
        if not found:
            continue
        command = found[1].partition(")")[0] if "$(hindmost" in line else found[1]
        try:
            words = shlex.split(command, comments=True)
        except ValueError:
            continue  # prose with an apostrophe
        end = next(
            (i for i, word in enumerate(words) if re.fullmatch(r"[|&;<>)]+|\d?>.*|do", word)), None
        )
        words = [word.rstrip(";)") for word in words[:end]]
        verb = next((word for word in words if not word.startswith("-")), "")
        if verb in cli.VERBS and not PLACEHOLDERS & set(words):
            yield words


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_commands_can_be_typed(page: Path) -> None:
    wrong = []
    for words in commands_of(page):
        given, _ = cli.split_petsc_options(words)
        try:
            parser, _, rest = cli.parser_of(given)
            parser.parse_args(rest)
        except (UsageError, SystemExit) as error:
            if "--help" not in given:
                wrong.append(f"hindmost {shlex.join(words)}: {error}")
    assert wrong == []


def test_commands_are_found() -> None:
    found = [words for page in WITH_COMMANDS for words in commands_of(page)]
    assert len(found) > 60
    assert ["history", "results/nightly", "--report", "history.html"] in found


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


PAGE = (ROOT / "docs/whatif.md").read_text()


def test_options_of_the_page_exist() -> None:
    known = "".join(help_of([verb]) for verb in ("whatif", "show"))
    blocks = re.findall(r"^    hindmost (?:whatif|show) .*$", PAGE, re.MULTILINE)
    asked = {word for line in blocks for word in re.findall(r"--[a-z][a-z-]*", line.split("#")[0])}
    assert len(asked) > 10
    assert {word for word in asked if f"{word} " not in known} == set()
