"""The JSON of each verb is as its schema says, without keys that the schema does not know."""

import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

import pytest
from tests.conftest import ROOT, run_values

from hindmost.cli import BRANCHES, VERBS, main, parser_of_verb
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.json_forms import FORMS, schema_of, schema_of_verb

jsonschema = pytest.importorskip("jsonschema")
PAGE = dict(
    re.findall(r"^\| `(\w+)` \| (.+) \|$", (ROOT / "docs/json.md").read_text(), re.MULTILINE)
)
"""Keys by verb."""
STUDY = ("gmres-noise", "--machine", "local", "--set", "ranks=2", "--set", "unknowns=1e4")


def keys_of(document: Any) -> Iterator[str]:
    """Yield all keys of a document."""
    if isinstance(document, dict):
        yield from document
        document = list(document.values())
    for part in document if isinstance(document, list) else ():
        yield from keys_of(part)


@pytest.fixture
def nightly(tmp_path: Path) -> Path:
    """Return a folder of 24 nights of two cases, slower from the 13th on."""
    folder = tmp_path / "nightly"
    folder.mkdir()
    for night in range(24):
        date = datetime.date(2026, 11, 1) + datetime.timedelta(night)
        seconds = (1.0 if night < 12 else 1.5) * (1.0 + 0.001 * (night % 3))
        cases = "".join(
            f'<testcase classname="c" name="{name}" time="{seconds}"/>' for name in ("a", "b")
        )
        (folder / f"{date}.xml").write_text(
            f'<testsuite name="s" timestamp="{date}T02:00:00" hostname="a">{cases}</testsuite>'
        )
    return folder


@pytest.fixture
def runs(header: Header, tmp_path: Path) -> Path:
    """Return a folder with two repeats of a blocking solver."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for repeat in range(2):
        values = run_values(iterations=600, ranks=3, restart=10, seed=repeat)
        begun = replace(header, t0_utc=f"2026-11-01T0{repeat}:00:00+00:00")
        write_whole(folder, begun, values)
    return folder


@pytest.fixture
def homme() -> Path:
    return ROOT / "examples/scaling/data/homme.txt"


@pytest.mark.parametrize(
    "command",
    [
        "show RUNS",
        "check RUN",
        "fit RUNS",
        "fit --detours RUNS",
        "show --efficiency RUNS",
        "show --ranks RUNS",
        "whatif RUNS",
        "whatif RUNS --latency x2",
        "whatif RUNS --within 1h",
        "whatif RUNS --ranks 6 --ranks-per-node 3 --scaling weak",
        "scale HOMME",
        "scale HOMME --method paper --kernel laplace_sphere_wk --expect 1",
        "history NIGHTLY",
        "compare NIGHTLY NIGHTLY",
        f"study plan {' '.join(STUDY)}",
        f"study submit {' '.join(STUDY)} --dry-run",
        "doctor",
    ],
)
def test_documents_are_as_their_schemas_say(
    command: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {"RUNS": "runs", "RUN": "run_file", "NIGHTLY": "nightly", "HOMME": "homme"}
    words = [
        str(request.getfixturevalue(made[word])) if word in made else word
        for word in command.split()
    ]
    assert main([*words, "--json"]) in (0, 1, 4)  # 4: doctor, without PETSc
    document = json.loads(capsys.readouterr().out)
    if words[0] in ("show", "check", "fit", "scale", "history", "compare") and "--" not in command:
        # The keys that the page on JSON names are there.
        assert set(re.findall(r"`(\w+)`", PAGE[words[0]])) - set(keys_of(document)) == set()
    two = words[0] == "study" or words[1:2] in (["--ranks"], ["--efficiency"], ["--detours"])
    jsonschema.validate(document, schema_of_verb(" ".join(words[: 1 + two]), closed=True))


def test_every_verb_with_json_has_a_schema_that_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in [[verb] for verb in VERBS] + [list(branch) for branch in BRANCHES]:
        options = parser_of_verb(words)._option_string_actions
        assert ("--json" in options) == (" ".join(words) in FORMS), words
        if "--json" in options:
            assert main(["doctor", "--schema", " ".join(words)]) == 0
            printed = json.loads(capsys.readouterr().out)
            jsonschema.Draft202012Validator.check_schema(printed)
            assert printed["properties"]["version"] == {"type": "integer"}


class Inner(TypedDict):
    """One."""

    times: list[float]


class Outer(TypedDict):
    """Another."""

    pair: tuple[int, str]
    inner: Inner | None


@pytest.mark.parametrize(
    ("document", "right"),
    [
        ({"pair": [1, "a"], "inner": {"times": [1.5, None]}}, True),
        ({"pair": [1, "a"], "inner": None}, True),
        ({"pair": [1, "a", 2], "inner": None}, False),
        ({"pair": [1], "inner": None}, False),
        ({"pair": [1, "a"]}, False),
        ({"pair": [1, "a"], "inner": {"times": ["b"]}}, False),
    ],
)
def test_a_schema_holds_documents_to_their_form(document: object, right: bool) -> None:
    found = jsonschema.Draft202012Validator(schema_of(Outer, "outer"))
    assert found.is_valid(document) == right


def test_published_schemas_leave_room_for_later_keys() -> None:
    document = {"pair": [1, "a"], "inner": None, "new": 1}
    for closed in (False, True):
        schema = schema_of(Outer, "outer", closed=closed)
        assert jsonschema.Draft202012Validator(schema).is_valid(document) != closed
