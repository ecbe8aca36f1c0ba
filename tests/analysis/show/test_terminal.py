"""Names are cut in the middle where a terminal is narrow, and nothing is cut in a pipe."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from hindmost.analysis.show import terminal
from hindmost.analysis.show.table import NAME, RIGHT, WIDE, Column, Table
from hindmost.analysis.show.terminal import cut_middle, plain_lines, print_table, row_lines

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
def test_both_ends_of_a_name_are_seen_on_a_terminal(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    monkeypatch.setattr(terminal, "table_width", lambda: width)
    print_table(table())
    lines = capsys.readouterr().out.splitlines()
    (cut,) = [line for line in lines if "…" in line]
    assert cut.startswith("blake, test_sol")
    assert "Total Time" in cut
    assert "1.17x slower" in cut
    assert len(cut.rstrip()) <= width
    assert any("short" in line for line in lines)


def test_sentences_that_do_not_fit_follow_their_row() -> None:
    columns = (Column("kernel", NAME), Column("share", RIGHT), Column("model", WIDE))
    made = Table(columns=columns, rows=[("solve", "7 %", "words " * 12)])
    first, second, *more = row_lines(made, 60)
    assert [first, second] == ["kernel  share", "solve     7 %"]
    assert [line.split() for line in more] == [["words"] * 9, ["words"] * 3]
    assert row_lines(made, 120)[0] == "kernel  share  model"


@pytest.mark.parametrize("text", ["abcdefghij" * 5, "größe/α,β" * 9, "漢字" * 30])
@pytest.mark.parametrize("room", [10, 11, 24])
def test_a_text_is_cut_to_its_room(text: str, room: int) -> None:
    cut = cut_middle(text, room)
    assert room - 3 <= cell_len(cut) <= room
    begin, end = cut.split("…")
    assert text.startswith(begin)
    assert text.endswith(end)
    assert cut_middle(text[:5], room) == text[:5]
