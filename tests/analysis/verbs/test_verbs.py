"""What the verbs that read files print and write."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import LOCAL, run_values

from hindmost.cache import source_checksum
from hindmost.cli import main
from hindmost.errors import DamagedFileError, DataError, NotARunFileError, UsageError
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole

FEW_FAMILIES = ["gamma", "genextreme", "lognorm", "norm", "weibull_min"]


@pytest.fixture
def folder(tmp_path: Path, header: Header) -> Path:
    """Return a folder with two GMRES runs and a pipelined one."""
    for seed in range(2):
        values = run_values(iterations=40, ranks=3, restart=10, seed=seed)
        write_whole(tmp_path / "runs", header, values) if seed else first(tmp_path, header, values)
    pipelined = replace(header, solver="pgmres", synchronisation="pipelined", lag=1)
    write_whole(
        tmp_path / "runs", pipelined, run_values(iterations=40, ranks=3, restart=10, seed=9)
    )
    return tmp_path / "runs"


def first(tmp_path: Path, header: Header, values: dict[str, object]) -> Path:
    (tmp_path / "runs").mkdir()
    return write_whole(tmp_path / "runs", header, values)


def test_fit_prints_a_table_a_configuration(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # nothing is kept of these runs
    monkeypatch.setattr("hindmost.analysis.fits.study.QUICK_S", 10.0)
    assert main(["fit", str(folder)]) == 0
    printed, announced = capsys.readouterr()
    assert "Fitting noise models to 3 runs; this takes about 30 s ..." in announced
    assert "gmres on laplacian-1d: 300 unknowns, 3 ranks, 40 iterations, restart 10\n" in printed
    assert "(2 runs" in printed
    assert "(1 run)" in printed
    assert len(re.findall(r"^max-plus +explains", printed, re.MULTILINE)) == 2
    assert len(re.findall(r"^cramer +bound", printed, re.MULTILINE)) == 1
    assert max(len(line) for line in printed.splitlines()) <= 120


def test_fit_json_is_what_the_design_promises(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    next(folder.glob("*-1.h5")).unlink()  # two runs are enough
    # In this process, and few of the families, which tests/models/laws fits all.
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    monkeypatch.setattr("hindmost.models.laws.families.scipys_families", lambda: FEW_FAMILIES)
    assert main(["fit", "--families", "--json", str(folder)]) == 0
    assert len(list((tmp_path / "cache/hindmost/fit").iterdir())) == 2
    printed = capsys.readouterr().out
    answer = json.loads(printed)
    assert answer["version"] == 1
    assert len(answer["runs"]) == 2
    for run in answer["runs"]:
        promised = {"file", "workload", "solver", "ranks", "iterations", "bodies", "solve_time_s"}
        assert promised <= set(run)
        for model in run["models"]:
            assert {"name", "kind", "predicted_s", "interval_s", "error_percent"} <= set(model)
            assert model["kind"] in {"explains", "predicts", "identity", "bound"}
            error = 100 * (model["predicted_s"] / run["solve_time_s"] - 1)
            assert model["error_percent"] == pytest.approx(error)
    by_name = {model["name"]: model for model in answer["runs"][0]["models"]}
    # Every rank ends every body with the slowest, so the recursion gives the solve time.
    assert by_name["max-plus"]["error_percent"] == pytest.approx(0, abs=0.01)
    law = by_name["stationary-johnsonsu"]["parameters"]
    assert law.keys() == {"family", "a", "b", "loc", "scale"}
    names = "max-plus-no-halo stationary-best nonstationary-uniform mean-work cramer bertsimas"
    assert set(names.split()) <= by_name.keys() | answer["runs"][0]["refused"].keys()
    ranked = answer["runs"][0]["laws"]["by_squared_error"]
    assert set(FEW_FAMILIES) & {one["family"] for one in ranked}
    errors = [one["squared_error"] for one in ranked]
    assert errors == sorted(errors)
    # What was kept is read again, and another question is another result.
    monkeypatch.setattr("hindmost.analysis.fits.study.fit_models", None)
    assert main(["fit", "--families", "--json", str(folder)]) == 0
    assert capsys.readouterr().out == printed


def test_several_runs_are_fitted_in_several_processes(
    tmp_path: Path,
    header: Header,
    values: dict[str, object],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    phases = np.zeros((40, 3, len(PHASES)))
    phases[:, :, LOCAL] = 6e-5  # equal times, for which no family of laws is tried
    flat = {**values, "duration": np.full((40, 3), 6e-5), "phase_duration": phases}
    for solve_time_s in (1.0, 2.0):
        write_whole(tmp_path, header, {**flat, "solve_time": np.full(3, solve_time_s)})
    monkeypatch.setattr("hindmost.analysis.fits.study.fit_models", None)  # not in this process
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    # The other processes have the source of now, this one may have read it before it was edited.
    source_checksum.cache_clear()
    assert main(["fit", "--families", str(tmp_path)]) == 0
    assert "All times are equal" in capsys.readouterr().out
    assert len(list((tmp_path / "cache/hindmost/fit").iterdir())) == 2


def test_a_run_is_the_same_in_blocks(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def fit_and_check() -> tuple[list[dict[str, float]], str]:
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        assert main(["fit", "--json", str(folder)]) == 0
        answer = json.loads(capsys.readouterr().out)
        times = [
            {model["name"]: model["predicted_s"] for model in run["models"]}
            for run in answer["runs"]
        ]
        main(["check", str(folder)])
        return times, capsys.readouterr().out

    whole, findings = fit_and_check()
    monkeypatch.setattr("hindmost.models.noise.times.BLOCK_BYTES", 7 * 8 * 3)
    monkeypatch.setattr("hindmost.harness.runfile.reader.BLOCK_BYTES", 7 * 8 * 3)
    monkeypatch.setattr("hindmost.analysis.runs.tallies.MAX_IN_MEMORY", 0)
    blocks, findings_in_blocks = fit_and_check()
    assert findings_in_blocks == findings
    for one, other in zip(whole, blocks, strict=True):
        assert other == pytest.approx(one, rel=1e-9)


def test_show_says_where_the_time_went(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "laplacian-1d-gmres-p3-0.h5"
    assert main(["show", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "for 40 iterations: 40 regular, 3 restarts" in printed
    about_the_run, _, doubts = printed.partition("\n  error: ")
    assert len(about_the_run.splitlines()) <= 10
    assert doubts.startswith("only 40 iterations (few-bodies)")
    assert main(["show", "--json", str(file)]) == 0
    run = json.loads(capsys.readouterr().out)["runs"][0]
    assert sum(run["phase_share"].values()) == pytest.approx(1, abs=1e-6)
    assert run["balance_s"] < 1e-9


def test_a_page_never_replaces_a_run_or_a_device(folder: Path, tmp_path: Path) -> None:
    file = folder / "laplacian-1d-gmres-p3-0.h5"
    before = file.read_bytes()
    with pytest.raises(UsageError, match="name of a run file"):
        main(["report", str(file), "--out", str(file)])
    assert file.read_bytes() == before
    pipe = tmp_path / "null"
    pipe.symlink_to("/dev/null")
    assert main(["report", str(file), "--out", str(pipe)]) == 0
    assert pipe.is_symlink()
    assert Path("/dev/null").is_char_device()


def test_incomplete_runs_are_not_modelled(
    tmp_path: Path, header: Header, values: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_whole(tmp_path, replace(header, complete=False), values)
    with pytest.raises(DataError, match="incomplete"):
        main(["fit", str(file)])
    assert main(["show", str(file)]) == 0
    assert "INCOMPLETE" in capsys.readouterr().out


def test_an_incomplete_run_in_a_folder_is_left_out_aloud(
    folder: Path, header: Header, values: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    write_whole(folder, replace(header, complete=False, workload="diagonal"), values)
    assert main(["fit", str(folder)]) == 0
    printed = capsys.readouterr()
    assert "left out: " in printed.err
    assert "diagonal" not in printed.out


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"spec": {"unknowns": 300, "petsc_options": ["-pc_type", "none"]}}, "-pc_type none"),
        ({"mpi_library": "another MPI"}, "another MPI"),
        ({"origin": "simulated"}, "simulated"),
    ],
)
def test_unlike_runs_are_not_pooled(
    folder: Path,
    header: Header,
    values: dict[str, object],
    capsys: pytest.CaptureFixture[str],
    change: dict[str, object],
    word: str,
) -> None:
    write_whole(folder, replace(header, **change), values)  # type: ignore[arg-type]
    assert main(["fit", str(folder)]) == 0
    titles = re.findall(r"^(.* on .*\n)(solve time.*)$", capsys.readouterr().out, re.MULTILINE)
    gmres = ["".join(title) for title in titles if title[0].startswith("gmres")]
    assert [("(2 runs" in line, "(1 run)" in line) for line in gmres] == [(1, 0), (0, 1)]
    assert word in gmres[1]


@pytest.mark.parametrize("verb", ["show", "fit", "plot", "report"])
def test_files_that_are_none(verb: str, tmp_path: Path) -> None:
    foreign = tmp_path / "notes.txt"
    foreign.write_text("hello")
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(b"\x89HDF\r\n\x1a\n" + b"x" * 300)
    (tmp_path / "empty").mkdir()
    for path, error in (
        (foreign, NotARunFileError),
        (damaged, DamagedFileError),
        (tmp_path / "empty", UsageError),
        (tmp_path / "absent.h5", UsageError),
    ):
        with pytest.raises(error, match=re.escape(str(path))):
            main([verb, str(path)])


@pytest.mark.parametrize("again", ["itself", "folder", "copy"])
def test_a_run_that_is_given_twice_is_no_repeat(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], again: str
) -> None:
    one = sorted(folder.glob("*-gmres-*.h5"))[0]
    other = {"itself": one, "folder": folder, "copy": Path(shutil.copy(one, tmp_path / "c.h5"))}
    assert main(["whatif", str(one), str(other[again]), "--json"]) == 0
    printed = capsys.readouterr()
    files = [len(each["files"]) for each in json.loads(printed.out)["predictions"]]
    assert files == ([2, 1] if again == "folder" else [1])
    assert "counts once" in printed.err


def test_one_run_takes_at_most_twelve_lines(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    values = run_values(iterations=400, ranks=3, restart=20, seed=0)
    slow = np.ones((400, 1))
    slow[:40], slow[300:], slow[[5, 90, 210]] = 1.4, 2.0, 60.0
    phases = np.asarray(values["phase_duration"]) * slow[:, :, None]
    write_whole(
        tmp_path,
        replace(header, iterations=400, restart=20),
        values | {"phase_duration": phases, "duration": phases.sum(axis=2)},
    )
    main(["check", str(tmp_path)])
    assert capsys.readouterr().out.count("In doubt:") >= 3
    main(["show", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 12
    assert "more finding" in lines[-1]
