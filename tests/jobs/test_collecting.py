"""Run files of a study in one folder: all of them, under names of their own, as they were."""

import json
from pathlib import Path

import pytest
from tests.jobs.conftest import Make, NoLauncher, writes

from hindmost.errors import UsageError
from hindmost.jobs import collection
from hindmost.jobs.collection import collect
from hindmost.jobs.drive.driver import drive
from hindmost.jobs.folder import StudyFolder


def table(folder: Path) -> dict[str, dict[str, object]]:
    return {
        each["file"]: each for each in json.loads((folder / "collected.json").read_text())["files"]
    }


def test_the_folder_holds_what_is_done(make: Make, tmp_path: Path) -> None:
    same_name = ("sh", "-c", 'echo $HINDMOST_RUN_ID > "$0"/x.txt', "{out}")
    study = make([same_name, ("sh", "-c", "exit 2"), same_name])
    assert drive(study, "a0", NoLauncher()) == 1
    out = tmp_path / "flat"
    files, missing = collect(study, out)
    assert missing == ["run-1"]
    assert sorted(path.name for path in out.iterdir()) == [
        "collected.json",
        "x-run-0.txt",
        "x-run-2.txt",
    ]
    assert (out / "x-run-2.txt").read_text() == "run-2\n"
    assert (out / "x-run-2.txt").samefile(study.run("run-2") / "x.txt")
    row = table(out)["x-run-2.txt"]
    assert row["source"] == "runs/run-2/x.txt"
    assert row["configuration"] == {"number": 2}
    assert (row["run"], row["block"], row["allocation"], row["split"]) == ("run-2", 0, "a0", False)
    assert json.loads((out / "collected.json").read_text())["missing"] == ["run-1"]
    assert collect(study, out)[0] == files


def test_runs_without_files_are_not_taken_for_runs_to_do(make: Make, tmp_path: Path) -> None:
    study = make([("true",)])
    with pytest.raises(UsageError, match=r"No run of .* is done yet"):
        collect(study, tmp_path / "flat")
    drive(study, "a0", NoLauncher())
    with pytest.raises(UsageError, match=r"The 1 finished run of .* wrote no file"):
        collect(study, tmp_path / "flat")


def test_copies_where_links_cannot_be(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make([writes(0)])
    drive(study, "a0", NoLauncher())

    def no_link(self: Path, target: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", no_link)
    for _ in range(2):
        collect(study, tmp_path / "flat")
    copy = tmp_path / "flat" / "r0-run-0.txt"
    assert copy.read_bytes() == (study.run("run-0") / "r0.txt").read_bytes()
    assert not copy.samefile(study.run("run-0") / "r0.txt")


def test_another_file_of_that_name_is_not_overwritten(make: Make, tmp_path: Path) -> None:
    study = make([writes(0)])
    drive(study, "a0", NoLauncher())
    (tmp_path / "r0-run-0.txt").write_text("mine")
    with pytest.raises(UsageError, match="exists and differs"):
        collect(study, tmp_path)
    assert (tmp_path / "r0-run-0.txt").read_text() == "mine"
    assert not (tmp_path / collection.TABLE).exists()


def test_a_block_that_several_jobs_did_is_marked(make: Make, tmp_path: Path) -> None:
    study = make([writes(n) for n in range(6)])
    drive(study, "a0", NoLauncher())
    place = study.run("run-4") / "outcome-1.json"
    outcome = json.loads(place.read_text())
    place.write_text(json.dumps({**outcome, "job": "a later one"}))
    study = StudyFolder.open(study.path)
    collect(study, tmp_path / "flat")
    split = {row["run"] for row in table(tmp_path / "flat").values() if row["split"]}
    assert split == {"run-3", "run-4", "run-5"}
