"""A terminal breaks what has no room, a pipe nothing, and neither loses a letter."""

from dataclasses import replace

import pytest

from hindmost.analysis.show import terminal
from hindmost.analysis.show.table import NAME, RIGHT, Column, Table
from hindmost.analysis.show.terminal import plain_lines, print_table

LONG = "blake, test_solve[" + "x" * 300 + "-ilu], Total Time"


def table() -> Table:
    return Table(
        columns=(Column("series", NAME), Column("nights", RIGHT), Column("words")),
        rows=[(LONG, "7", "1.17x slower"), ("short", "7", "the same")],
    )


def test_a_table_is_plain_text_with_its_title_and_notes() -> None:
    lines = plain_lines(replace(table(), rows=[("short", "7", "the same")], notes=("a " * 80,)))
    assert lines[:2] == ["series  nights  words", "short        7  the same"]
    assert lines[2:] == [("a " * 50).strip(), ("a " * 30).strip()]
    assert plain_lines(table().under("title", "more"))[:2] == ["title", "more"]


def test_nothing_is_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(table())
    lines = capsys.readouterr().out.splitlines()
    assert any(LONG in line for line in lines)
    assert max(map(len, lines)) < len(LONG) + 40


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_breaks_names_and_loses_nothing(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(table().under("a title"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a title"
    assert max(map(len, lines)) <= width
    assert sum("1.17x slower" in line for line in lines) == 1
    assert "".join(lines).count("x") == LONG.count("x") + 1
    assert any(line.startswith("blake,") for line in lines)
    assert sum("Total" in line for line in lines) == sum("short" in line for line in lines) == 1
