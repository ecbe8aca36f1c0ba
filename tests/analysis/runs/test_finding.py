"""Findings stand wherever the numbers that they put in doubt are shown."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import ROOT, alone_values, run_values

from hindmost.analysis.runs import check
from hindmost.analysis.runs.finding import Finding, Topic, cautions, text_of_all
from hindmost.analysis.runs.first_screen import doubted, headline_of, judge_data
from hindmost.analysis.show.facts import Certainty, Stated, ordered
from hindmost.cli import main
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.harness.runfile.writer import write_whole

Told = Callable[..., str]
EIGHT_CORES = {"petsc": "none", "machine": {"host": "node-0", "cores": 8}}
LOOP = {"mpi_seen": True, "pid": 1}


def with_outlier(seed: int) -> dict[str, Any]:
    """Return a run of which one body takes most of the time."""
    values: dict[str, Any] = run_values(iterations=120, ranks=2, restart=30, seed=seed)
    before = values["duration"].sum(axis=0)
    factor = np.where(np.arange(120) == 55, 900.0, 1.0)
    for name, shape in (
        ("duration", (-1, 1)),
        ("phase_duration", (-1, 1, 1)),
        ("event_work", (-1, 1, 1)),
        ("event_duration", (-1, 1, 1)),
    ):
        values[name] = values[name] * factor.reshape(shape)
    values["start"] = values["start"] + np.where(np.arange(120) > 55, 0.06, 0.0)[:, None]
    values["solve_time"] = values["solve_time"] + values["duration"].sum(axis=0) - before
    return values


def with_unclassified(share: float) -> dict[str, Any]:
    """Return a run in which ranks are in unclassified MPI calls for a share of their time."""
    values: dict[str, Any] = run_values(iterations=120, ranks=2, restart=30, seed=3)
    local, unclassified = PHASES.index("local"), PHASES.index("unclassified")
    moved = share * values["duration"]
    values["phase_duration"][:, :, unclassified] = moved
    values["phase_duration"][:, :, local] -= moved
    values["event_work"] = values["event_work"] - moved[:, :, None]
    values["mpi_other"] = share * values["solve_time"]
    return values


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    """Return what a verb prints."""

    def run(*words: str | Path, status: int = 0) -> str:
        assert main([str(word) for word in words]) == status
        out, err = capsys.readouterr()
        return " ".join((out + err).split())

    return run


@pytest.fixture
def doubtful(tmp_path: Path, header: Header) -> Path:
    """Return a folder with a run of which one body takes most of the time."""
    folder = tmp_path / "runs"
    folder.mkdir()
    made = replace(header, ranks=2, iterations=120, restart=30, environment=EIGHT_CORES)
    write_whole(folder, made, with_outlier(1))
    return folder


WORDS = "error: 1 iteration lasts over 3 times the median; what exceeds the median is 8"
VERBS = {
    "show": ("times", "runs"),
    "fit": ("models", "runs"),
    "show --efficiency": ("times", "runs"),
    "show --ranks": ("times", "files"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_table_says_what_puts_it_in_doubt(doubtful: Path, told: Told, verb: str) -> None:
    topic, where = VERBS[verb]
    text = told(*verb.split(), doubtful)
    assert WORDS in text
    assert topic in text[text.index("In doubt:") :].split(".")[0]
    answer = json.loads(told(*verb.split(), doubtful, "--json"))
    (finding,) = answer[where][0]["findings"]
    assert (finding["code"], finding["severity"]) == ("outliers", "error")
    assert topic in finding["doubts"]


def test_a_scaling_study_says_it(doubtful: Path, header: Header, told: Told) -> None:
    for ranks in (1, 3, 4, 5):
        values = run_values(iterations=120, ranks=ranks, restart=30, seed=ranks)
        made = replace(header, ranks=ranks, iterations=120, restart=30, environment=EIGHT_CORES)
        write_whole(doubtful, made, values)
    assert WORDS in told("scale", doubtful)
    answer = json.loads(told("scale", doubtful, "--json"))
    assert [each["code"] for each in answer["run_findings"]] == ["outliers"]
    assert answer["findings"] == []


def test_two_folders_that_are_compared_say_it(doubtful: Path, told: Told) -> None:
    assert WORDS in told("compare", doubtful, doubtful)
    answer = json.loads(told("compare", doubtful, doubtful, "--json"))
    assert {each["code"] for each in answer["findings"]} == {"outliers"}


def test_pages_and_figures_say_it(doubtful: Path, told: Told, tmp_path: Path) -> None:
    told("report", doubtful, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count('class="caution"') >= 2
    assert page.count("1 iteration lasts over 3 times the median") >= 2
    told("show", "--ranks", doubtful, "--out", tmp_path / "ranks.html")
    assert "1 iteration lasts over 3 times the median" in (tmp_path / "ranks.html").read_text()
    assert WORDS in told("plot", doubtful, "--figure", "map", "--out", tmp_path)


def test_a_run_without_findings_has_no_cautions(tmp_path: Path, header: Header, told: Told) -> None:
    values = run_values(iterations=120, ranks=3, restart=30, seed=4)
    write_whole(tmp_path, replace(header, iterations=120, restart=30), values)
    for verb in VERBS:
        assert "doubt" not in told(*verb.split(), tmp_path)


def test_a_large_file_is_not_read_for_a_glance(
    doubtful: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "MAX_IN_MEMORY", 10)
    monkeypatch.setattr(check, "read_body_times", lambda *_, **__: pytest.fail("it was read"))
    text = told("show", doubtful)
    assert "the slowest iteration alone takes 8" in text
    assert "(outliers)" in text
    assert "In doubt: times, models, comparisons. 'hindmost check' has advice." in text


SHARES = {
    "a little": (0.05, "5.0 % of a rank's time is in unclassified MPI calls", False),
    "too much": (0.30, "30.0 % of a rank's time is in unclassified MPI calls", True),
}


@pytest.mark.parametrize("amount", SHARES)
def test_unclassified_time_is_said_and_above_a_tenth_no_efficiency_is_given(
    tmp_path: Path, header: Header, told: Told, amount: str
) -> None:
    share, words, withheld = SHARES[amount]
    made = replace(header, ranks=2, iterations=120, restart=30, spec=LOOP, solver="loop")
    write_whole(tmp_path, made, with_unclassified(share))
    for verb in VERBS:
        assert words in told(*verb.split(), tmp_path)
    assert f"unclassified {100 * share:.1f} %" in told("show", tmp_path)
    shown = json.loads(told("show", tmp_path, "--json"))["runs"][0]
    answer = json.loads(told("show", "--efficiency", tmp_path, "--json"))
    run, column = answer["runs"][0], answer["scaling"][0]["columns"][0]
    assert (shown["efficiency"] is None) is withheld
    assert (run["whole"] is None) is withheld
    assert (column["parallel"] is None) is withheld
    if not withheld:  # unclassified time is no work
        local = open_run(next(tmp_path.glob("*.h5"))).phase("local")
        assert run["whole"]["mean_local_s"] == pytest.approx(local.sum(axis=0).mean(), rel=1e-5)
    assert (column["global"] is None) is withheld
    text = told("show", "--efficiency", tmp_path)
    assert ("No efficiency is given: 30 % of a rank's time" in text) is withheld
    assert ("load balance" in text) is not withheld
    told("report", tmp_path, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text().replace("\u00a0", " ")
    assert words.replace("'", "&#39;") in page
    assert ("No efficiency is given" in page) is withheld
    assert ('class="grade' in page) is not withheld


def test_a_loop_whose_waiting_nobody_saw_has_no_efficiency(
    tmp_path: Path, header: Header, told: Told
) -> None:
    values = run_values(iterations=120, ranks=2, restart=30, seed=3)
    phases = np.asarray(values["phase_duration"])
    phases[:, :, PHASES.index("local")] += phases[:, :, PHASES.index("wait")]
    phases[:, :, PHASES.index("wait")] = 0.0
    values = {name: each for name, each in values.items() if not name.startswith("event_")}
    made = replace(
        header, ranks=2, iterations=120, restart=30, solver="loop", spec={**LOOP, "mpi_seen": False}
    )
    write_whole(tmp_path, made, values)
    assert "efficiency not given: MPI calls were not seen" in told("show", tmp_path)
    text = told("show", "--ranks", tmp_path)
    assert "(mpi-unseen)" in text
    assert "In doubt: phases." in text


def finding(code: str, file: str, *doubts: Topic) -> Finding:
    return Finding(file=file, code=code, severity="note", text="t", advice="a", doubts=doubts)


def test_only_what_a_table_depends_on_is_said_and_each_once() -> None:
    found = [
        finding("a", "x/1.h5", Topic.TIMES),
        finding("a", "x/2.h5", Topic.TIMES),
        finding("b", "x/1.h5", Topic.ORDER),
    ]
    assert cautions(found, [Topic.PHASES]) == []
    lines = cautions(found, [Topic.TIMES, Topic.MODELS])
    assert lines[0] == "note: 1.h5: t; in 2 files (a)"
    assert len(lines) == 2


def test_below_an_error_notes_are_only_counted() -> None:
    note = finding("a", "1.h5", Topic.TIMES)
    error = replace(finding("b", "1.h5", Topic.MODELS), severity="error")
    assert cautions([note, error], tuple(Topic)) == [
        "error: t (b)",
        "In doubt: times, models. 'hindmost check' has 1 more finding and advice.",
    ]


def test_every_code_is_documented() -> None:
    sources = (ROOT / "analysis").rglob("*.py")
    codes = {
        code for source in sources for code in re.findall(r'code="([a-z-]+)"', source.read_text())
    }
    table, _ = (ROOT / "docs" / "findings.md").read_text().split("## If nothing was recorded")
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert {code for row in rows for code in re.findall(r"`([a-z-]+)`", row)} == codes
    assert len(codes) > 20


@pytest.fixture
def apart(tmp_path: Path, header: Header) -> Path:
    """Return a run whose ranks never wait for each other."""
    made = replace(header, ranks=2, iterations=120, restart=0, environment=EIGHT_CORES)
    return write_whole(tmp_path, made, alone_values((5.0, 10.0), 120))


def test_a_run_whose_ranks_do_not_meet_is_predicted_from_its_slowest(
    apart: Path, told: Told
) -> None:
    [said] = json.loads(told("whatif", "--json", apart))["predictions"]
    assert said["predicted_s"] == pytest.approx(1.2, rel=1e-3)
    assert said["own_miss"] is None
    assert "With 1 iteration: predicted" in told("whatif", "--iterations", "1", apart)


def test_models_that_a_run_contradicts_are_marked(apart: Path, told: Told) -> None:
    words = told("fit", apart)
    assert "identity !" in words
    assert "the iterations of the ranks differ in sum by over 1 %" in words
    [run] = json.loads(told("fit", "--json", apart))["runs"]
    marked = {each["name"]: each["contradicted"] for each in run["models"]}
    assert "differ in sum" in marked["mean-work"]
    assert "below the measured time" in marked["cramer"]


def test_a_disturbance_takes_nothing_from_what_the_quickest_iterations_show() -> None:
    taken = "ranks waited for a core 87 % of the time"
    found = [replace(finding("cores-taken", "x.h5", Topic.TIMES), severity="error", text=taken)]
    lost = Stated(
        quantity="Noise",
        text="",
        brief="iterations differ",
        cost_s=9.0,
        share=0.9,
        topics=(Topic.TIMES,),
        files=("x.h5",),
    )
    own = replace(lost, quantity="Unequal work", cost_s=2.0, share=0.2, steady=True, leads=True)
    first, second = (doubted(fact, found) for fact in ordered([lost, own]))
    assert (first.quantity, first.certainty) == ("Unequal work", Certainty.MEASURED)
    assert (second.quantity, second.certainty) == ("Noise", Certainty.DOUBTFUL)
    costs = "unequal work costs 20 % of the time (2.00 s): iterations differ."
    assert headline_of([first, second], None, found) == costs
    assert headline_of([second], None, found).startswith("at face value, noise costs 90 %")


def test_findings_of_several_files_are_one_text() -> None:
    texts = ["9 bodies last over 3 times the median, 4.2 % of the time", "8 bodies last over 3 "
             "times the median, 6.6 % of the time"]  # fmt: skip
    found = [
        replace(finding("outliers", f"x/p2-{at}.h5", Topic.TIMES), text=text)
        for at, text in enumerate(texts)
    ]
    of_all = f"{texts[0]} (p2-0.h5; other files differ)"
    assert text_of_all(found) == of_all
    assert judge_data(found, 2).text.endswith(f": {of_all}.")
    assert f"{of_all} (in 2 of 3 files)" in judge_data(found, 3).text
    assert cautions(found, [Topic.TIMES])[0].startswith(f"note: {of_all}; in 2 files")
