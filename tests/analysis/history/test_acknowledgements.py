"""Notes on known changes survive a file, whatever they say."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hindmost.analysis.history.acknowledgements import (
    Acknowledgement,
    add_acknowledgement,
    read_acknowledgements,
    to_toml,
)
from hindmost.analysis.readers.history import SeriesName
from hindmost.errors import DataError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


def note(**others: str) -> Acknowledgement:
    return Acknowledgement(**{"date": "2026-02-03", "reason": "new compiler", **others})


@given(machine=TEXT, case=TEXT, timer=TEXT, reason=TEXT)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_is_valid_toml(machine: str, case: str, timer: str, reason: str) -> None:
    told = note(machine=machine, case=case, timer=timer, reason=reason)
    (entry,) = tomllib.loads(to_toml([told]))["known"]
    assert Acknowledgement(**entry) == told


def test_a_file_is_kept_in_order_with_its_comments(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    add_acknowledgement(path, note(date="2026-03-01", case="b"))
    path.write_text("# ours\n" + path.read_text())
    add_acknowledgement(path, note(date="2026-01-01", case="c"))
    everything = add_acknowledgement(path, note(date="2026-03-01", case="b", reason="again"))
    assert path.read_text().startswith("# ours\n#")
    assert [each.date for each in everything] == ["2026-01-01", "2026-03-01"]
    assert everything[1].reason == "again"
    assert read_acknowledgements(path) == everything
    assert list(tmp_path.iterdir()) == [path]


def test_dates_of_toml_and_missing_names_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text('[[known]]\ndate = 2026-02-03\nreason = "r"\n')
    (told,) = read_acknowledgements(path)
    assert told == Acknowledgement(date="2026-02-03", reason="r")
    assert told.concerns(SeriesName(machine="m", case="c", timer="t"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("known = 3", "known is 3; allowed: a list"),
        ("foo = 3", "foo"),
        ("[[known]]\ndate = 'x'\nreason = 'r'", "no date"),
        ("[[known]]\ndate = '2026-02-03'", "reason is missing; allowed: text that says why"),
        ("[[known]]\nreason = 'r'", "date is missing; allowed: text"),
        ("[[known]]\ndate = '2026-02-03'\nreason = 'r'\ncsae = 'x'", "csae"),
        ("[[known]]\ndate = '2026-02-03'\nreason = 'r'\ncase = 3", "case is 3; allowed: text"),
        ("version = 2", "version 2"),
        ("[[known", "not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        read_acknowledgements(path)
    before = path.read_text()
    with pytest.raises(DataError):
        add_acknowledgement(path, note())
    assert path.read_text() == before


def test_names_with_signs_of_patterns_mean_themselves() -> None:
    name = SeriesName(machine="m", case="bench[4]", timer="t")
    assert note(case="bench[4]").concerns(name)
    assert note(case="bench*").concerns(name)
    assert not note(case="other*").concerns(name)
