"""Plans as files."""

import json
from pathlib import Path

import pytest

from hindmost.documents import parse_document
from hindmost.errors import DataError, UnknownSchemaError
from hindmost.jobs.core.plan import Plan, read_plan, write_plan
from hindmost.jobs.plan.make import make_plan
from hindmost.jobs.study.read import example, study_of


@pytest.fixture(scope="module")
def plan() -> Plan:
    study = study_of(parse_document(example(), "study.toml"), replacements=["repeats=2"])
    return make_plan(study, "my-slurm")


@pytest.fixture
def path(plan: Plan, tmp_path: Path) -> Path:
    written = tmp_path / "plan.json"
    write_plan(plan, written)
    return written


def test_a_plan_comes_back(plan: Plan, path: Path) -> None:
    assert read_plan(path) == plan
    document = json.loads(path.read_text())
    assert (document["schema"], document["version"]) == ("hindmost-plan", 1)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        (
            '"limit_s": 120.0',
            '"limit_s": "120"',
            'runs[0].limit_s is "120"; allowed: a finite number',
        ),
        (
            '"limit_s": 120.0',
            '"limit": 1, "limit_s": 120.0',
            "runs[0].limit is unknown; did you mean limit_s",
        ),
        ('"version": 1', '"version": 0', "version is 0"),
        ('"id": "a000-p1"', '"id": "a00-p1"', "do not name each other"),
        ("hindmost-plan", "plan", "not a plan of hindmost"),
        ("\n}\n", "", "not a plan"),
    ],
)
def test_what_is_no_plan(path: Path, old: str, new: str, word: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(DataError) as caught:
        read_plan(path)
    assert word in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_newer_and_absent_plans(path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_plan(path.with_name("none.json"))
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(UnknownSchemaError, match="version 2"):
        read_plan(path)
