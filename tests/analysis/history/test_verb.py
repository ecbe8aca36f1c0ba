"""What ``hindmost history`` prints, writes and returns."""

import email
import email.policy
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.history.planted import (
    NIGHTS,
    STEP,
    TOTAL,
    day,
    noise,
    stepped,
    write_nights,
)

from hindmost.cli import main
from hindmost.errors import DamagedFileError, DataError, UsageError

SERIES_KEYS = {"file", "machine", "case", "timer", "observations", "changes", "outliers", "trend"}
CHANGE_KEYS = {"date", "dates", "before", "after", "effect_percent", "p_value", "verdict"}
CASES = {
    "ice_np4": {"Albany Total Time:": stepped(0)},
    "fire_np4": {"Albany Total Time:": noise(1, NIGHTS)},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_nights(tmp_path / "nights", CASES, range(NIGHTS))
    return tmp_path / "nights"


def test_a_slowdown_is_told_and_is_a_finding(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["history", str(folder)]) == 1
    printed = capsys.readouterr().out
    assert f"2 series of 2 cases, {NIGHTS} nights from {day(0)} to {day(NIGHTS - 1)}" in printed
    assert "fail: 1 slowdown confirmed in 1 case" in printed
    assert f"{day(STEP)}: Albany a{STEP - 1:03d}..a{STEP:03d}" in printed
    assert "  fail  " in printed
    # Of the series that pass, only their number is printed.
    assert not [line for line in printed.splitlines() if line.startswith("pass ")]
    assert printed.rstrip().endswith("1 series passes")


def test_since_says_what_is_a_finding(folder: Path) -> None:
    gate = ("--fail-on", "confirmed")
    assert main(["history", str(folder), "--since", "3"]) == 1
    assert main(["history", str(folder), "--since", "3", *gate]) == 0
    assert main(["history", str(folder), "--since", day(STEP), *gate]) == 1
    assert main(["history", str(folder), "--since", day(STEP + 1), *gate]) == 0
    assert main(["history", str(folder), "--since", day(STEP + 1).replace("-", ""), *gate]) == 0
    assert main(["history", str(folder), "--case", "fire*"]) == 0


def test_json_is_what_the_design_promises(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", str(folder), "--json"]) == 1

    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is no JSON")

    answer = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert answer["version"] == 1
    assert len(answer["series"]) == 2
    for each in answer["series"]:
        assert each.keys() >= SERIES_KEYS
        for change in each["changes"]:
            assert change.keys() >= CHANGE_KEYS
            assert change["verdict"] == "step"
            assert change["dates"][0] <= change["date"] <= change["dates"][1]
    slow = next(each for each in answer["series"] if each["case"].startswith("ice"))
    (change,) = slow["changes"]
    assert change["date"] == day(STEP)
    assert change["effect_percent"] == pytest.approx(20.0, abs=2.0)
    assert change["after"] / change["before"] == pytest.approx(1 + change["effect_percent"] / 100)


def test_a_noted_change_does_not_fail(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["history", "ack", str(folder), "--date", day(STEP), "--reason", 'a "new" node']
    with pytest.raises(UsageError, match="No change was found in the 1 matching series"):
        main([*words, "--case", "fire*"])
    assert not (folder / "hindmost-acknowledged.toml").exists()
    assert main([*words, "--case", "ice*"]) == 0
    assert "+" in capsys.readouterr().out.split("acknowledged: ")[1]
    assert main(["history", str(folder)]) == 0
    assert 'acknowledged: a "new" node' in capsys.readouterr().out
    elsewhere = folder.parent / "notes.toml"
    (folder / "hindmost-acknowledged.toml").rename(elsewhere)
    assert main(["history", str(folder)]) == 1
    assert main(["history", str(folder), "--ack", str(elsewhere)]) == 0
    kept = ["--ack", str(elsewhere), "--list"]
    capsys.readouterr()
    assert main(["history", "ack", str(folder), *kept]) == 0
    assert 'a "new" node' in capsys.readouterr().out


def test_a_huge_change_has_few_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = np.where(np.arange(NIGHTS) < STEP, 1e-100, 1e100)
    write_nights(tmp_path / "nights", {"ice": {"t": values}}, range(NIGHTS))
    words = ["history", "ack", str(tmp_path / "nights"), "--date", day(STEP), "--reason", "r"]
    assert main(words) == 0
    assert ", x1e+200 (" in capsys.readouterr().out


def test_a_drift_that_has_ended_can_be_acknowledged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nights, end = 120, 60
    values = noise(3, nights) * np.exp(np.log(1.3) * np.minimum(np.arange(nights) / end, 1.0))
    folder = tmp_path / "nights"
    write_nights(folder, {"ice": {"t": values}}, range(nights))
    words = ["history", "ack", str(folder), "--reason", "grows with the data"]
    with pytest.raises(UsageError, match=r"The nearest .*in a drift from"):
        main([*words, "--date", day(nights - 1)])
    assert main([*words, "--date", day(end // 2)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "in a drift" in line]
    assert f"from {day(0)} to 2026-0" in line
    assert main(["history", str(folder)]) == 0
    assert "open:" not in capsys.readouterr().out
    assert main([*words[:3], "--list"]) == 0
    assert "in a drift from" in capsys.readouterr().out


def test_one_night_more_with_a_state(folder: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    nights = sorted(folder.iterdir())
    early = [str(path) for path in nights[: STEP + 1]]
    assert main(["history", *early, "--state", str(state)]) == 0
    results = [main(["history", str(path), "--state", str(state)]) for path in nights[STEP + 1 :]]
    assert results[0] == 0
    assert results[-1] == 1
    log = json.loads(state.read_text())["series"]
    told = next(each for each in log if each["name"]["case"].startswith("ice"))["log"]
    assert [event["kind"] for event in told] == ["seen", "confirmed"]
    # The filter is of what is told, not of what is kept.
    assert main(["history", str(nights[-1]), "--state", str(state), "--case", "fire*"]) == 0
    assert main(["history", str(nights[-1]), "--state", str(state)]) == 1
    state.write_text(state.read_text()[:-100])
    with pytest.raises(DamagedFileError, match="state"):
        main(["history", str(folder), "--state", str(state)])


def test_a_revised_verdict_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = noise(5, NIGHTS)
    values[30:33] *= 1.15
    nights = write_nights(tmp_path / "nights", {"ice": {"t": values}}, range(NIGHTS))
    state = tmp_path / "state"
    assert main(["history", *map(str, nights[:33]), "--state", str(state)]) == 0
    assert "seen, not confirmed" in capsys.readouterr().out
    assert main(["history", *map(str, nights), "--state", str(state)]) == 0
    revised = [line for line in capsys.readouterr().out.splitlines() if line.startswith("revised")]
    assert len(revised) == 1
    assert "withdrawn" in revised[0]
    assert day(30) in revised[0]


def test_the_mail_on_stdout_is_all_that_is_there(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["history", str(folder), "--mail", "-", "--to", "team@example.org"]) == 1
    message = email.message_from_bytes(capfdbinary.readouterr().out, policy=email.policy.default)
    assert message["To"] == "team@example.org"
    assert message["Subject"].startswith("hindmost: fail: 1 slowdown")
    assert message.get_content_type() == "multipart/alternative"


@pytest.mark.parametrize(
    "words",
    [
        ["--method", "guess"],
        ["--since", "yesterday"],
        ["--since", "-3"],
        ["--case", "nothing"],
        ["--reason", "because"],
        ["--json", "--mail", "-"],
        ["--mail", "-", "--to", "nobody at all"],
    ],
)
def test_requests_that_mean_nothing_are_refused(folder: Path, words: list[str]) -> None:
    with pytest.raises(UsageError):
        main(["history", str(folder), *words])


def test_a_note_that_matches_nothing_is_refused_with_the_nearest(folder: Path) -> None:
    words = ["history", "ack", str(folder), "--reason", "r"]
    with pytest.raises(UsageError, match=r"No case matches 'icy_np4'.*'ice_np4'"):
        main([*words, "--date", day(STEP), "--case", "icy_np4"])
    with pytest.raises(UsageError, match=r"No timer matches.*'Albany Total Time:'"):
        main([*words, "--date", day(STEP), "--timer", "albany total"])
    with pytest.raises(UsageError, match=rf"may lie on {day(5)}.*ice_np4.*on {day(STEP)}"):
        main([*words, "--date", day(5), "--case", "ice*"])
    assert not (folder / "hindmost-acknowledged.toml").exists()


def test_notes_are_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["history", "ack", str(folder)]
    noted = [*words, "--date", day(STEP), "--case", "ice*"]
    assert main([*noted, "--reason", "compiler"]) == 0
    notes = folder / "hindmost-acknowledged.toml"
    other = '\n[[known]]\nmachine = "*"\ncase = "sea"\ntimer = "*"\n'
    notes.write_text(notes.read_text() + other + f'date = "{day(STEP)}"\nreason = "gone"\n')
    capsys.readouterr()
    assert main([*words, "--list"]) == 0
    printed = capsys.readouterr().out
    assert "2 acknowledgements" in printed
    assert f"--date {day(STEP)} --case 'ice*': compiler\n  ice_np4, Albany Total Time: " in printed
    assert "gone\n  No detected change matches this acknowledgement." in printed


@pytest.mark.parametrize(
    "words",
    [
        ["ack"],
        ["ack", "{folder}"],
        ["ack", "{folder}", "--date", "2026-01-01"],
        ["ack", "{folder}", "--date", "soon", "--reason", "r"],
        ["ack", "{folder}/none/at/all", "--date", "2026-01-01", "--reason", "r"],
        ["ack", "{folder}", "{folder}", "--date", "2026-01-01", "--reason", "r"],
        ["ack", "{folder}", "--list", "--date", "2026-01-01"],
        ["{folder}", "--list"],
    ],
)
def test_notes_that_say_too_little_are_refused(folder: Path, words: list[str]) -> None:
    with pytest.raises(UsageError):
        main(["history", *(word.format(folder=folder) for word in words)])
    assert not (folder / "hindmost-acknowledged.toml").exists()


def test_bad_notes_and_bad_data_are_told(folder: Path, tmp_path: Path) -> None:
    (folder / "hindmost-acknowledged.toml").write_text("known = [")
    with pytest.raises(DataError, match="hindmost-acknowledged"):
        main(["history", str(folder)])
    with pytest.raises(UsageError, match="does not exist"):
        main(["history", str(tmp_path / "none")])


def test_the_settings_of_the_report_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["history", str(folder), "--json", "--method", "report"])
    assert json.loads(capsys.readouterr().out)["settings"] == {
        "algorithm": 3,
        "alpha": 0.005,
        "k": 10,
        "confirmations": 3,
        "window": 30,
        "level": 0.95,
    }


def test_help_shows_both_forms(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["history", "--help-all"])
    printed = capsys.readouterr().out
    assert "hindmost history ack FILE-OR-DIR" in printed
    assert np.all([name in printed for name in ("--state", "--mail", "--since", "--ack")])


def told(
    tmp_path: Path, values: NDArray[np.float64], capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str]:
    """Write a file for each night, and return the exit status and what is printed."""
    write_nights(tmp_path / "nights", {"ice_np4": {TOTAL: values}}, range(values.size))
    status = main(["history", str(tmp_path / "nights"), *words])
    return status, capsys.readouterr().out


def test_a_slowdown_after_a_spike_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = np.repeat([1.0, 9.0, 1.8], [60, 4, 8])
    status, printed = told(tmp_path, noise(0, 72, 1.0) * levels, capsys)
    assert status == 1
    assert "fail: 1 slowdown confirmed in 1 case" in printed


@pytest.mark.parametrize("first", [39, 20])
def test_weeks_of_slow_nights_leave_a_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], first: int
) -> None:
    values = noise(0, 60)
    values[first : first + 21] *= np.random.default_rng(1).uniform(2.0, 10.0, 21)
    _, printed = told(tmp_path, values, capsys, "--since", "60")
    _, found = printed.split(f"{day(first)}: ")
    assert " -> 54." in found


@pytest.mark.parametrize("other", [".", "newer"])
def test_a_subfolder_is_a_machine_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: str
) -> None:
    cases = {"ice_np4": {TOTAL: noise(0, NIGHTS)}}
    write_nights(tmp_path / "old", cases, range(20))
    write_nights(tmp_path / other, cases, range(20, NIGHTS))
    assert main(["history", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "warn: " in printed.out
    assert f"silent: old has no result since {day(19)}" in printed.out
    assert "old, ice_np4" in printed.out
    said = printed.out.splitlines()[0].split(": ")[0]
    assert said == ("old, the unnamed machine" if other == "." else "newer, old")
