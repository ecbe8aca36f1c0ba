"""Notes on known changes survive a file, whatever they say."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hindmost.analysis.history.judged_series import (
    Acknowledgement,
    about,
    add_acknowledgement,
    read_acknowledgements,
    suggested,
)
from hindmost.analysis.readers.history import SeriesName
from hindmost.errors import DataError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


def note(**others: str) -> Acknowledgement:
    return Acknowledgement(**{"date": "2026-02-03", "reason": "new compiler", **others})


@given(machine=TEXT, case=TEXT, timer=TEXT, reason=TEXT)
@settings(deadline=None, suppress_health_check=list(HealthCheck))
def test_any_text_is_valid_toml(
    tmp_path: Path, machine: str, case: str, timer: str, reason: str
) -> None:
    told = note(machine=machine, case=case, timer=timer, reason=reason)
    path = tmp_path / "known.toml"
    assert add_acknowledgement(path, told)[-1] == told
    path.unlink()


def test_a_file_stays_as_it_is_and_the_last_entry_counts(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    add_acknowledgement(path, note(date="2026-03-01", case="b"))
    path.write_text("# ours\n" + path.read_text() + "# theirs\n")
    before = path.read_text()
    everything = add_acknowledgement(path, note(date="2026-03-01", case="b", reason="again"))
    assert path.read_text().startswith(before)
    assert [each.reason for each in everything] == ["new compiler", "again"]
    assert read_acknowledgements(path) == everything
    assert about(everything, SeriesName(machine="m", case="b", timer="t"))[0].reason == "again"
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


NAMES = ["ant-2-20km_ml_ls_np384", "green-1-7km_pop_np384", "humboldt-1-10km_cop_fro_wdg_np384"]


@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        ("humbolt*", NAMES[2]),
        ("gren-1*", NAMES[1]),
        ("ant-2-20km_ml_ls_np38", NAMES[0]),
        ("ANT-2-20KM_ML_LS_NP384", NAMES[0]),
        ("*cop_fro*", NAMES[2]),
    ],
)
def test_the_nearest_comes_first(pattern: str, near: str) -> None:
    assert suggested(pattern, NAMES).startswith(f"The nearest are: {near!r}")
