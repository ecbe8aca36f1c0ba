"""Everything that leaves through stdout and stderr: hostile names, streams that fail, defects."""

import csv
import dataclasses
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.conftest import BIN, ROOT, run_values

from hindmost import __main__ as command
from hindmost import cli, output
from hindmost.analysis.show.figure_style import name_places, new_figure, put_words, save
from hindmost.analysis.show.table import RIGHT, Column, Table
from hindmost.analysis.show.terminal import print_table
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.printable import escape, one_line, page_json, printable, shell_word

FORGED = "forged: all is well"
HOSTILE = (
    "solve[ilu][/data/mesh.h5]:smile:$x^ <script>"
    "\x1b[31m\x1b]0;title\x07\u202ebidi\u2066\x9b2J\x7f\x00\r\t"
    f"\x0b\x85\u2028\n{FORGED}\nhindmost: {FORGED}"
)
IN_FILES = HOSTILE.replace("\x00", "")
"""HDF5 and CSV have no NUL."""
ROOMS = ("analysis", "harness", "jobs", "models", "src/hindmost")


def test_nothing_else_writes_to_the_streams() -> None:
    door = {ROOT / "src/hindmost/output.py", ROOT / "src/hindmost/__main__.py"}
    console = ROOT / "analysis/show/terminal.py"
    wrong = []
    for room in ROOMS:
        files = (ROOT / room).rglob("*.py") if room != ROOMS[-1] else (ROOT / room).glob("*.py")
        for path in sorted(files):
            text = path.read_text(encoding="utf-8")
            if path not in door and re.search(r"\bsys\.std(out|err)\b|(?<![.\w])print\(", text):
                wrong.append(path)
            if path != console and re.search(
                r"rich\.console import .*\bConsole\b|rich import", text
            ):
                wrong.append(path)
    assert wrong == []


def is_clean(text: str) -> bool:
    """Tell whether a terminal only shows this: it has letters, and lines that nobody forged."""
    return all(c.isprintable() or c in "\n\xa0" for c in text) and not re.search(
        rf"^(hindmost: )?{FORGED}", text, re.MULTILINE
    )


def test_what_is_hostile_is_seen_as_such() -> None:
    assert not is_clean(HOSTILE)
    assert is_clean(one_line(HOSTILE))
    assert "[ilu][/data/mesh.h5]:smile:$x^ <script>\\x1b[31m" in one_line(HOSTILE)
    assert one_line("a\udcffb") == "a\\udcffb"
    assert printable("tab\tand\nend\x1b") == "tab\tand\nend\\x1b"
    assert one_line("büro × 2 µs") == "büro × 2 µs"


def test_json_is_strict(capsys: pytest.CaptureFixture[str]) -> None:
    value = {HOSTILE: [HOSTILE + "\udcff", float("nan"), float("inf"), 1.5, None]}
    output.write_json(**value)
    said = capsys.readouterr().out
    assert said.isascii()
    assert is_clean(said)
    assert json.loads(said) == {"version": 1, HOSTILE: [HOSTILE + "\udcff", None, None, 1.5, None]}


def test_a_message_has_lines_that_nobody_takes_for_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.warn(f"{HOSTILE} is not known")
    said = capsys.readouterr().err
    assert is_clean(said)
    assert said.startswith("hindmost: solve[ilu]")


@pytest.mark.parametrize(
    ("expected_s", "about"), [(1.9, ""), (2.4, "2 s"), (47.0, "50 s"), (310.0, "5 min")]
)
def test_work_that_takes_some_seconds_is_announced(
    expected_s: float, about: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output.announce_work("Fitting 3 runs", expected_s)
    said = f"hindmost: Fitting 3 runs; this takes about {about} ...\n" if about else ""
    assert capsys.readouterr() == ("", said)


ERASE = "\x1b[K"


class Terminal(io.StringIO):
    """What a person sees."""

    def isatty(self) -> bool:
        """Return that a person does."""
        return True


@pytest.mark.parametrize(("stream", "seen"), [(Terminal, True), (io.StringIO, False)])
def test_only_a_person_who_waits_sees_progress(
    stream: type[io.StringIO], seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    written = stream()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setenv("COLUMNS", "90")
    with output.ProgressLine(f"app-0.raw{HOSTILE}") as line:
        for now in (0.5, output.QUIETLY_S - 0.1):
            line.show("reading", now / 10)
        assert written.getvalue() == ""
        for now in (2.5, 2.6, 5.0):
            line.show("reading", now / 10)
    said = written.getvalue()
    assert said.endswith(f"\r{ERASE}") == seen  # the line is taken away
    shown = said.removesuffix(f"\r{ERASE}").replace(ERASE, "").split("\r")[1:]
    assert [each[-5:] for each in shown] == [" 25 %", " 50 %"][: 2 * seen]
    assert [each.count("#") for each in shown] == [7, 15][: 2 * seen]
    assert all(is_clean(each) and len(each) == 89 for each in shown)
    assert all(each.startswith("hindmost: app-0.raw") for each in shown)


def test_tables_show_brackets_and_escapes_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(
        title=("title [bold]", HOSTILE),
        columns=(Column(HOSTILE), Column("n", RIGHT)),
        rows=[("test_solve[ilu]", HOSTILE), ("test_solve[/data/mesh.h5]", "[red]1[/red]")],
    )
    print_table(table)
    said = capsys.readouterr().out
    assert is_clean(said)
    assert len(said.splitlines()) == 5
    for name in ("title [bold]", "test_solve[ilu]", "test_solve[/data/mesh.h5]", "[red]1[/red]"):
        assert name in said


Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    """Return what runs the command here, and its status, output and messages."""

    def run(*words: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hindmost", *map(str, words)])
        status = command.main()
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def hostile_run(tmp_path: Path, header: Header) -> Path:
    """Return a run file in which every name that a person chooses is hostile."""
    values = run_values(iterations=40, ranks=3, restart=10, seed=1)
    hostile = dataclasses.replace(
        header,
        solver=IN_FILES,
        workload=IN_FILES,
        mpi_library=IN_FILES,
        environment={"petsc": IN_FILES, "machine": {"host": IN_FILES, "cpu": IN_FILES, "cores": 3}},
        spec={"unknowns": 300, "repeat": 0, "petsc_options": [IN_FILES]},
        scheduler={"job": IN_FILES},
    )
    values |= {"host": [IN_FILES, "a", "b"], "cpuset": [IN_FILES] * 3}
    path = write_whole(tmp_path, dataclasses.replace(hostile, solver="s", workload="w"), values)
    path.unlink()
    return renamed(write_whole(tmp_path, safe_named(hostile), values), hostile)


def safe_named(header: Header) -> Header:
    """Return a header whose names a file name can have."""
    return dataclasses.replace(header, solver="s", workload="w")


def renamed(path: Path, header: Header) -> Path:
    """Return a file with other names of solver and workload, under a name that is no UTF-8."""
    import h5py

    from hindmost.harness.runfile.checksum import TRAILER_LENGTH, append_checksum

    os.truncate(path, path.stat().st_size - TRAILER_LENGTH)
    with h5py.File(path, "r+") as file:
        file.attrs["solver"], file.attrs["workload"] = header.solver, header.workload
    append_checksum(path)
    return path.rename(path.with_name("run\udcff\x1b[31m[ilu].h5"))


VERBS_OF_RUNS = [
    ["show"],
    ["show", "--ranks"],
    ["check"],
    ["show", "--efficiency"],
    ["scale", "--metric", "wait"],
    ["history"],
    ["plot", "--csv", "--format", "svg", "--figure", "work"],
]


@pytest.mark.parametrize("words", VERBS_OF_RUNS, ids=" ".join)
def test_names_in_run_files_do_nothing_to_a_terminal(
    words: list[str], hostile_run: Path, say: Say
) -> None:
    verb, *others = words
    status, out, errors = say(verb, hostile_run, *others)
    assert status in (0, 1, 2, 3), errors
    assert is_clean(out)
    assert is_clean(errors)
    if verb in ("plot", "history") or status > 1:
        return
    status, out, errors = say(verb, hostile_run, *others, "--json")
    assert status in (0, 1)
    assert out.isascii()
    json.loads(out)


def history_table(path: Path, *, shift: float = 1.0) -> Path:
    """Write nights with a step, under hostile names."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["date", "machine", "case", "timer", "value", "commit"])
    for day in range(1, 31):
        for name in (IN_FILES, "test_solve[ilu]", "test_solve[/data/mesh.h5]"):
            value = shift * (1.0 if day < 20 else 1.5) + 0.01 * (day % 3)
            table.writerow([f"2026-01-{day:02d}", IN_FILES, name, name, value, IN_FILES])
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return path


def test_names_in_nightly_results_do_nothing_to_a_terminal(tmp_path: Path, say: Say) -> None:
    before = history_table(tmp_path / "before\udcff[bold].csv")
    after = history_table(tmp_path / "after.csv", shift=1.3)
    for words in (
        ["history", before, "--since", "20"],
        ["history", before, "--since", "20", "--mail", "-"],
        ["compare", before, after],
        ["history", "ack", before, "--date", "2026-01-20", "--reason", HOSTILE],
    ):
        status, out, errors = say(*words)
        assert status in (0, 1), errors
        assert is_clean(errors)
        if "--mail" not in words:
            assert is_clean(out)
            assert "test_solve[ilu]" in out
            assert "test_solve[/data/mesh.h5]" in out


def test_names_in_scaling_tables_do_nothing_to_a_terminal(tmp_path: Path, say: Say) -> None:
    lines = [
        json.dumps({"params": {"p": p}, "callpath": name, "metric": IN_FILES, "value": 0.1 * p})
        for p in (2, 4, 8, 16, 32, 64)
        for name in (IN_FILES, "test_solve[ilu]")
    ]
    path = tmp_path / "experiment.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    for form in ([], ["--json"], ["--expect", "1"]):
        status, out, errors = say("scale", path, *form)
        assert status in (0, 1), errors
        assert is_clean(out)
        assert is_clean(errors)
        if not form:
            assert "test_solve[ilu]" in out


def test_names_do_nothing_to_pages(hostile_run: Path, tmp_path: Path, say: Say) -> None:
    nights = history_table(tmp_path / "nights\udcff.csv")
    for words in (
        ["show", "--ranks", hostile_run, "--out", tmp_path / "ranks.html"],
        ["history", nights, "--report", tmp_path / "history.html"],
    ):
        status, _, errors = say(*words)
        assert status in (0, 1), errors
        page = Path(str(words[-1])).read_text(encoding="utf-8")
        assert {c for c in page if not c.isprintable()} <= set("\n\t\xa0")
        assert r"\u202ebidi" in page or "history" in words
        assert "<script>\\x1b" not in page


def test_names_in_figures_are_no_formulas(tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    with new_figure(2.0) as (figure, axes):
        axes.plot([1, 2], [1, 2], label=f"{HOSTILE} $\\frac{{1}}{{")
        axes.legend()
        axes.set_xscale("log")
        put_words(axes, title=f"{HOSTILE} $x^$", x_label="$", y_label="a $x^2$ b")
        name_places(axes.yaxis, ["$x^", "a $b$ c"], 2)
        save(figure, path)
    words = "".join(ElementTree.parse(path).getroot().itertext())
    for name in ("$x^ <script>", r"\x1b[31m", "a $x^2$ b", "a $b$ c"):
        assert name in words


def test_names_on_pages_and_in_their_data_are_shown() -> None:
    assert escape("a\u202e<b>\x1b") == "a\\u202e&lt;b&gt;\\x1b"
    text = page_json({"a": "ü\u202e\x1b\udcff\xa0"})
    assert json.loads(text) == {"a": "ü\\u202e\x1b\\udcff\xa0"}
    assert all(c.isprintable() or c == "\xa0" for c in text)


def test_paths_in_suggested_command_lines_are_one_word() -> None:
    for path in ("a b", "it's", "$(reboot)", "a;b", "-rf", "x\ny"):
        assert shlex.split(f"hindmost show {shell_word(Path(path))}")[2:] in ([path], [f"./{path}"])


def test_the_names_of_files_do_nothing_to_a_terminal(tmp_path: Path, say: Say) -> None:
    for verb in ("show", "history", "scale", "study status", "watch", "study plan"):
        status, out, errors = say(*verb.split(), tmp_path / f"{IN_FILES}\udcff")
        assert status in (2, 3)
        assert not out
        assert is_clean(errors)


def failing(error: BaseException) -> Callable[..., int]:
    """Return a command that fails."""

    def run(words: Any = None) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (KeyError("x"), 70, "internal error"),
        (MemoryError(), 70, "out of memory"),
        (RecursionError("maximum"), 70, "RecursionError: maximum"),
        (AssertionError(HOSTILE), 70, "AssertionError"),
        (OSError(28, "No space left on device", "x\udcff\n"), 3, r"x\\udcff"),
        (OSError("HDF5 cannot read"), 3, "HDF5 cannot read"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_any_failure_is_one_message(
    error: BaseException, status: int, said: str, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "main", failing(error))
    monkeypatch.setattr(command, "drop_output", lambda: None)
    found, out, errors = say()
    assert found == status
    assert not out
    assert is_clean(errors)
    assert re.match(rf"hindmost: .*{said}", errors)
    assert len(errors.splitlines()) == 1


def test_the_traceback_of_a_defect_is_shown_on_request(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "main", failing(KeyError(HOSTILE)))
    assert "HINDMOST_TRACEBACK=1" in say()[2]
    monkeypatch.setenv("HINDMOST_TRACEBACK", "1")
    shown = say()[2]
    assert "Traceback (most recent call last):" in shown
    assert is_clean(shown)


def shell(line: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell with the command and a file as $0 and $1."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line, BIN / "hindmost", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ('"$0" show "$1" >&-', 3, "hindmost: output: No space left on device\n"),
        ('"$0" show "$1" > /dev/full', 3, "hindmost: output: No space left on device\n"),
        ('"$0" --help > /dev/full', 3, "hindmost: output: No space left on device\n"),
        (
            '"$0" show --efficiency "$1" > /dev/full',
            3,
            "hindmost: output: No space left on device\n",
        ),
        ('"$0" show --efficiency "$1" | true', 141, ""),
        ('"$0" show nothing.h5 2>&-', 2, ""),
        ('PYTHONIOENCODING=ascii "$0" show "$1"; exec "$0" --version <&-', 0, ""),
    ],
)
def test_streams_that_fail(line: str, status: int, said: str, run_file: Path) -> None:
    done = shell(line, run_file)
    assert done.stderr == said
    assert done.returncode == status
