"""What is advised about a run can be done with the command or function that recorded it."""

import inspect
import re
from dataclasses import replace
from pathlib import Path

import pytest

import hindmost
from hindmost.analysis.runs.check import check_number
from hindmost.analysis.runs.cores import about_threads
from hindmost.analysis.runs.remedies import REMEDIES, Kind, Need, kind_of, remedy
from hindmost.cli import parser_of
from hindmost.harness.runfile.reader import Run, open_run

VERBS = {
    Kind.SOLVER: ["run", "laplacian-1d", "--out", "runs"],
    Kind.ADAPTIVE: ["run", "adaptive", "--cycles", "9", "--out", "runs"],
    Kind.ATTACHED_SOLVES: ["attach", "--out", "runs"],
    Kind.ATTACHED_LOOP: ["attach", "--out", "runs"],
}
FUNCTIONS = {Kind.OWN_SOLVE: "record_ksp", Kind.OWN_LOOP: "record"}
VALUES = {"--rtol": "1e-8", "--memory": "1GB"}
SWITCHES = {"--pair", "--activities"}
ADVISED = [(need, kind) for need, by_kind in REMEDIES.items() for kind in by_kind]


@pytest.mark.parametrize(("need", "kind"), ADVISED)
def test_what_is_advised_exists_for_the_kind_of_run(need: Need, kind: Kind) -> None:
    """Options are parsed by the real parser of the command, arguments are those of the function."""
    words = REMEDIES[need][kind]
    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", words):
        line = [*VERBS[kind], option, *([] if option in SWITCHES else [VALUES.get(option, "1")])]
        parser, _, rest = parser_of(line)
        parser.parse_args(rest)
    for command in re.findall(r"hindmost (\w+)", words):
        assert command == VERBS[kind][0]
    for name, argument in re.findall(r"\b(record\w*)\(\.\.\., (\w+)=", words):
        assert name == FUNCTIONS[kind]
        assert argument in inspect.signature(getattr(hindmost, name)).parameters
    assert bool(re.search(r"(?<![\w-])-[a-z]\w+", words)) <= (kind is Kind.ATTACHED_SOLVES)
    assert ("KSP" in words) <= (kind is Kind.OWN_SOLVE)
    assert ("phase" in words) <= (kind is Kind.OWN_LOOP)


def test_options_of_recording_are_advised_in_one_place_only() -> None:
    """Words with an option that only some kinds of runs have would be wrong for the others."""
    folder = Path(hindmost.__file__).parent / "analysis"
    options = "activities|memory|pair|repeats|rtol|warmup"
    advice = re.compile(rf"(with|more|fewer|give|ask for|run|attach|\() ?--({options})\b")
    allowed = {"remedies.py", "run_figures.py"}  # the second lists figures, not advice
    for path in folder.resolve().rglob("*.py"):
        if path.name not in allowed:
            assert not advice.findall(path.read_text()), path


ATTACHED = {"mpi_seen": True, "attached": {"program": ["a"], "name": "a"}}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, Kind.SOLVER),
        ({"workload": "adaptive"}, Kind.ADAPTIVE),
        ({"workload": "collectives"}, Kind.OWN_LOOP),  # of earlier versions
        ({"spec": ATTACHED}, Kind.ATTACHED_SOLVES),
        ({"spec": ATTACHED, "solver": "loop"}, Kind.ATTACHED_LOOP),
        ({"spec": {"mpi_seen": True}}, Kind.OWN_SOLVE),
        ({"spec": {"mpi_seen": True}, "solver": "loop"}, Kind.OWN_LOOP),
        ({"origin": "simulated"}, Kind.SIMULATED),
    ],
)
def test_the_kind_of_a_run_is_read_from_its_header(
    changes: dict[str, object], kind: Kind, run_file: Path
) -> None:
    run = changed(open_run(run_file), **changes)
    assert kind_of(run) is kind
    (finding,) = check_number(run) if run.bodies < 30 else [None]
    for need in Need:
        assert (remedy(need, run) == "") is (kind not in REMEDIES[need])
    if finding is not None:
        assert REMEDIES[Need.MORE_ITERATIONS].get(kind, "") in finding.advice


def changed(run: Run, **changes: object) -> Run:
    """Return a run with another header."""
    run.header = replace(run.header, **changes)  # type: ignore[arg-type]
    return run


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "no threads that the program does not need (OMP_NUM_THREADS=1"),
        ({"OMP_NUM_THREADS": "1"}, ""),
        ({"OMP_NUM_THREADS": "8"}, "a core for each of its 8 threads"),
    ],
)
def test_threads_that_were_asked_for_are_not_advised_against(
    variables: dict[str, str], said: str, run_file: Path
) -> None:
    run = open_run(run_file)
    changed(run, environment={**run.header.environment, "variables": variables})
    words = about_threads(run)
    assert said in words
    assert bool(said) is bool(words)
