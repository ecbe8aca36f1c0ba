"""The nights of a real machine, where they are there."""

import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest

from hindmost.analysis.history.change_groups import group_changes
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.readers.read import read_history
from hindmost.cli import main

DATA = os.environ.get("HINDMOST_EVALUATION_DATA")
pytestmark = pytest.mark.skipif(
    not DATA, reason="HINDMOST_EVALUATION_DATA names no folder with the nights of a real machine"
)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("blake")
    with tarfile.open(Path(DATA or "") / "ali-blake-nightly.tar.gz") as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member)
            if content is not None:
                (folder / Path(member.name).name).write_bytes(content.read())
    return folder


def test_every_series_is_judged_and_its_changes_are_told_once(nights: Path) -> None:
    study = judge_history(read_history(nights), last_days=60)
    long = [each for each in study.judged if each.detection.observations >= 10]
    assert len(long) == 503
    assert not study.refused
    found = [
        (each.series.name, change.index)
        for each in study.judged
        for change in each.recent(study.since)
    ]
    told: list[object] = []
    for group in group_changes(study):
        left = list(group.findings)
        while left:
            finding = left.pop()
            told.append((finding.judged.series.name, finding.change.index))
            left += finding.within
    assert sorted(map(str, told)) == sorted(map(str, found))


def test_one_night_more_goes_on_with_the_state(
    nights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last = max(nights.glob("ctest-*.json"))
    shutil.copytree(nights, tmp_path / "before")
    (tmp_path / "before" / last.name).unlink()
    state = tmp_path / "state"
    main(["history", str(tmp_path / "before"), "--state", str(state)])
    capsys.readouterr()
    main(["history", str(last), "--state", str(state), "--json"])
    by_state = json.loads(capsys.readouterr().out)
    main(["history", str(nights), "--json"])
    at_once = json.loads(capsys.readouterr().out)
    kept = {(each["case"], each["timer"]): each for each in by_state["series"]}
    assert len(by_state["series"]) == len(at_once["series"])
    alike = 0
    for each in at_once["series"]:
        same = kept[each["case"], each["timer"]]
        assert same["observations"] == each["observations"]
        # The state remembers what it confirmed the night before, and reads the same values.
        alike += [change["date"] for change in same["changes"]] == [
            change["date"] for change in each["changes"]
        ]
    assert alike > 0.85 * len(at_once["series"])
