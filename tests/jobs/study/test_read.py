"""Study files: what is read, and where errors stand."""

import re
from pathlib import Path

import pytest

from hindmost.documents import parse_document, profiles_path
from hindmost.errors import DataError, UnknownSchemaError, UsageError
from hindmost.jobs.study.read import COMMAND, read_study, study_of
from hindmost.jobs.study.study import PackBy, RunOrder, Study, configurations

DRAFT = """\
schema = 1
[study]
name = "gmres-noise"
seed = 20261121
repeats = 20
order = "random-blocks"
[machine.local]
scheduler = "local"
launcher = "mpiexec"
launch_args = ["-bind-to", "core"]
cores_per_node = 2
[machine.site-a]
scheduler = "slurm"
launcher = "srun"
launch_args = ["--mpi=pmi2", "--exact", "--cpu-bind=cores"]
partition = "standard"
account = "e00"
exclusive = true
cores_per_node = 128
scratch = "$SCRATCH"
setup = ["module load cray-python"]
[sweep]
ranks = [2, 16, 128, 256]
solver = ["gmres", "pgmres"]
iterations = 5000
problem = [{name = "laplacian-1d", unknowns = 1e6}, {name = "diagonal", unknowns = 1e7}]
exclude = ["ranks > 128 and unknowns < 8e6"]
[pack]
by = "ranks"
[limits]
job = "02:00:00"
run = "5m"
stop_before = "10m"
max_retries = 2
"""


def read(text: str, *replacements: str) -> Study:
    return study_of(parse_document(text, "study.toml"), replacements=replacements)


def test_the_draft_is_read() -> None:
    study = read(DRAFT)
    assert (study.name, study.seed, study.repeats) == ("gmres-noise", 20261121, 20)
    assert study.order is RunOrder.RANDOM_BLOCKS
    assert study.pack.by is PackBy.RANKS
    assert (study.limits.job_s, study.limits.run_s, study.limits.stop_before_s) == (7200, 300, 600)
    assert study.command == COMMAND
    assert study.names == ("ranks", "solver", "iterations", "problem", "unknowns")
    site = study.machines["site-a"]
    assert (site.scheduler, site.launcher, site.cores_per_node) == ("slurm", "srun", 128)
    assert site.launch_args == ("--mpi=pmi2", "--exact", "--cpu-bind=cores")
    assert study.only_machine == ""


def test_the_sweep_is_the_product_without_what_is_excluded() -> None:
    found = configurations(read(DRAFT))
    brute = {
        (ranks, solver, problem, unknowns)
        for ranks in (2, 16, 128, 256)
        for solver in ("gmres", "pgmres")
        for problem, unknowns in (("laplacian-1d", 10**6), ("diagonal", 10**7))
        if not (ranks > 128 and unknowns < 8e6)
    }
    names = ("ranks", "solver", "problem", "unknowns")
    assert {tuple(each[name] for name in names) for each in found} == brute
    assert len(found) == len(brute) == 14
    assert all(type(each["unknowns"]) is int for each in found)


def test_only_keeps_what_fulfils_all() -> None:
    text = DRAFT.replace("exclude =", "only = ['ranks < 100', 'solver == \"gmres\"']\nexclude =")
    found = configurations(read(text))
    assert {(each["ranks"], each["solver"]) for each in found} == {(2, "gmres"), (16, "gmres")}


ERRORS = [
    ('launcher = "srun"', 'launcher = "srum"', "machine.site-a.launcher is \"srum\"; did "
     "you mean srun? choose mpiexec, srun or template."),
    ("seed =", "sead =", "study.sead is unknown; did you mean seed?"),
    ("seed = 20261121", "seed = -1", "study.seed is -1; allowed: a whole number of at"),
    ("seed = 20261121", "seed = true", "study.seed is true; allowed: a whole number"),
    ("seed = 20261121", "machine = 'site-b'", "did you mean site-a? choose local or"),
    ('"random-blocks"', '"random"', "did you mean random-blocks?"),
    ("[pack]", "[packs]", "packs is unknown; did you mean pack?"),
    ('"--exact"', "false", "launch_args[1] is false; allowed: one line of text"),
    ('job = "02:00:00"', "job = 120", "limits.job is 120; a duration is"),
    ('run = "5m"', 'run = "5h"', "exceeds limits.job"),
    ("ranks > 128 and", "ranks >> 128 and", "'ranks >> 128' is not allowed"),
    ("ranks > 128 and", "rank > 128 and", "did you mean ranks"),
    ("unknowns < 8e6", "solver < 8e6", "have no order"),
    ("ranks > 128 and unknowns < 8e6", "ranks > 0", "exclude all 16 configurations"),
    ("[2, 16,", "[2, 0,", "sweep.ranks[1] is 0; ranks must be a whole number"),
    ("[2, 16,", "[2, 2,", "it is in the list twice"),
    ("[2, 16, 128, 256]", "[]", "an empty list"),
    ("ranks = [2, 16, 128, 256]\n", "", "sweep.ranks is missing"),
    ("unknowns = 1e7", "unknown = 1e7", "all must set the same names"),
    ("unknowns = 1e7", "unknowns = [1]", "it must be a text, a number"),
    ("unknowns = 1e7", "unknowns = inf", "finite"),
    ("iterations = 5000\n", "", "the sweep does not set 'iterations'"),
    ("[pack]\n", "[run]\ncommand = ['x', 'a {solvr}']\n[pack]\n", "did you mean solver?"),
    ('by = "ranks"', 'by = ["solver", "size"]', "the sweep does not set it"),
    ("cores_per_node = 128\n", "", "machine.site-a.cores_per_node is missing"),
    ('scheduler = "slurm"\n', "", "machine.site-a.scheduler is missing; choose local"),
    ('account = "e00"', 'place = "scatter"', "only pbs has it"),
    ('account = "e00"', 'account = "a\\nb"', "one line of text that can be printed"),
    ('account = "e00"', 'environment = {"A B" = "1"}', "a name that can be a variable"),
    ('scheduler = "local"', 'scheduler = "local"\nnodes = 2', "one node"),
    ('scheduler = "local"', 'scheduler = "local"\ndirectives = ["--mem=0"]', "nobody reads them"),
    ('"slurm"\nlauncher = "srun"', '"pbs"\nqos = "short"', "only slurm has it"),
    ('launcher = "mpiexec"', 'launcher = "srun"', "srun needs slurm"),
    ('launcher = "mpiexec"', 'launcher = "template"', "launch_template is missing"),
    ('launcher = "mpiexec"', 'launcher = "template"\nlaunch_template = ["aprun"]',
     'launch_template is ["aprun"]; give the words that start so many {ranks}'),
    ("[machine.local]", "[machine.'a b']", "names have letters, digits"),
    ('name = "gmres-noise"', 'name = "a/b"', "letters, digits, dots"),
    ("repeats = 20", "repeats = ", "not TOML: Invalid value"),
    ("max_retries = 2\n", "max_retries = '", "not TOML"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "word"), ERRORS)
def test_errors_say_what_is_wrong(old: str, new: str, word: str) -> None:
    assert DRAFT.count(old) >= 1
    with pytest.raises(DataError, match=re.escape(word)) as caught:
        read(DRAFT.replace(old, new, 1))
    assert str(caught.value).startswith("study.toml: ")
    assert len(str(caught.value).splitlines()) == 1


def test_scratch_is_a_whole_path() -> None:
    for good in ("/scratch/me", "~/scratch", ""):
        read(DRAFT.replace("$SCRATCH", good))
    with pytest.raises(DataError, match=r'scratch is "scratch/me"; allowed: an absolute path'):
        read(DRAFT.replace("$SCRATCH", "scratch/me"))


def test_a_newer_schema_is_refused_by_name() -> None:
    with pytest.raises(UnknownSchemaError, match=r"study.toml has version 2"):
        read(DRAFT.replace("schema = 1", "schema = 2"))


def test_set_replaces_values() -> None:
    study = read(DRAFT, "ranks=1,2", "repeats=3", "solver=cg")
    found = configurations(study)
    assert {each["ranks"] for each in found} == {1, 2}
    assert {each["solver"] for each in found} == {"cg"}
    assert study.repeats == 3
    assert study.sha256 != read(DRAFT).sha256


def test_set_takes_a_name_out_of_tables() -> None:
    found = configurations(read(DRAFT, "unknowns=1e4,2e4", "ranks=2", "solver=cg"))
    pairs = [(each["problem"], each["unknowns"]) for each in found]
    assert sorted(pairs) == [
        (problem, size) for problem in ("diagonal", "laplacian-1d") for size in (10000, 20000)
    ]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("rank=2", "did you mean ranks?"),
        ("ranks", "NAME=VALUE"),
        ("ranks=", "NAME=VALUE"),
        ("ranks=0", "at least 1"),
        ("ranks=two", "whole number"),
        ("repeats=0", "repeats must be a whole number"),
        ("unknowns=inf", "must be finite"),
    ],
)
def test_what_cannot_be_set(text: str, word: str) -> None:
    with pytest.raises(UsageError, match=re.escape(word)):
        read(DRAFT, text)


def test_a_name_and_what_a_table_sets_meet() -> None:
    text = DRAFT.replace("iterations = 5000", "iterations = 5000\nunknowns = 5")
    with pytest.raises(DataError, match=r"study.toml: .*'unknowns' already sets 'unknowns'"):
        read(text)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "config" / "hindmost" / "machines.toml"
    path.parent.mkdir(parents=True)
    path.write_text(
        '[machine.site-a]\nscheduler = "slurm"\naccount = "mine"\ncores_per_node = 4\nqos = "low"\n'
        '[machine.site-b]\nscheduler = "pbs"\ncores_per_node = 36\n'
    )
    return path


def test_machines_of_ones_own_join_and_the_study_wins(own: Path, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(DRAFT)
    machines = read_study(file).machines
    assert set(machines) == {"local", "site-a", "site-b"}
    site = machines["site-a"]
    assert (site.account, site.cores_per_node, site.qos) == ("e00", 128, "low")
    assert machines["site-b"].launcher == "mpiexec"


def test_errors_in_ones_own_machines_name_that_file(own: Path, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(DRAFT)
    own.write_text("[machine.x]\nscheduler = 'slum'\n")
    with pytest.raises(DataError, match=r"machines.toml: .*did you mean slurm"):
        read_study(file)
    own.write_text("[machines.x]\n")
    with pytest.raises(DataError, match=r"machines.toml: .*did you mean machine"):
        read_study(file)


def test_doctor_reads_the_same_names(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hindmost.harness.verbs.doctor import check_machines

    assert check_machines() == ("ok", f"{own}: site-a, site-b")
    own.write_text("machine = 3")
    assert check_machines()[0] == "note"
    own.write_text("machine = ")
    assert "not TOML" in check_machines()[1]
    own.unlink()
    assert check_machines()[1].startswith(f"no {own}")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert profiles_path() == Path("/home/somebody/.config/hindmost/machines.toml")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"did you mean gmres-noise\?"):
        read_study("gmres-nois")
    with pytest.raises(UsageError, match="cannot be read"):
        read_study(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="cannot be read"):
        read_study(tmp_path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"a = 1\n\xff")
    with pytest.raises(DataError, match=r"binary.toml:2: not UTF-8"):
        read_study(binary)


def test_a_folder_hides_no_study_that_comes_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gmres-noise").mkdir()
    assert read_study("gmres-noise", profiles=tmp_path / "none").name == "gmres-noise"
    assert read_study("gmres-noise.toml", profiles=tmp_path / "none").repeats == 10
    (tmp_path / "gmres-noise.toml").write_text(DRAFT)
    assert read_study("gmres-noise.toml", profiles=tmp_path / "none").repeats == 20


def test_lines_that_end_as_on_windows_and_a_byte_order_mark() -> None:
    assert read("\ufeff" + DRAFT.replace("\n", "\r\n")).sha256 == read(DRAFT).sha256


@pytest.mark.parametrize("name", ["local", "site-a"])
def test_a_study_names_its_machine(name: str) -> None:
    study = read(DRAFT.replace("[study]\n", f"[study]\nmachine = '{name}'\n"))
    assert study.only_machine == name
