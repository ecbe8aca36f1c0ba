"""What the preloaded recorder is told, and the environment that puts it before MPI."""

import argparse
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hindmost.errors import MissingError, UsageError
from hindmost.harness.attach.environment import export_lines, variables
from hindmost.harness.attach.settings import AttachRequest, iteration_call, memory_bytes
from hindmost.harness.krylov.solvers import SOLVERS
from hindmost.harness.runfile.provenance import Origins
from hindmost.harness.verbs import attach

OUT = Path("/runs")


def test_settings_describe_every_solver_once() -> None:
    lines = AttachRequest(out=OUT, only="ice_", every=3, most=5).text(None).splitlines()
    memory = ["memory 256000000", "budget 64000000"]
    assert lines[:6] == [f"out {OUT}", *memory, "only ice_", "every 3", "most 5"]
    assert [line[7:] for line in lines if line.startswith("solver ")] == list(SOLVERS.names)
    gmres = lines[lines.index("solver gmres") + 1 :]
    assert gmres[:3] == ["end O KSPGMRESOrthog", "end O KSPOrthogonalize", "end N VecNormalize"]
    assert "halo VecScatterEnd  " in lines  # the blanks are part of the event's name


@pytest.mark.parametrize(
    ("words", "line"), [(["--sample"], "sample 0"), (["--sample", "1"], "sample 1")]
)
def test_a_rate_of_samples_is_chosen_where_none_is_given(words: list[str], line: str) -> None:
    parser = argparse.ArgumentParser()
    attach.add_arguments(parser)
    given = parser.parse_args(["--out", str(OUT), *words])
    assert line in AttachRequest(out=OUT, sample=given.sample).text(None).splitlines()


def test_what_is_said_of_the_machine_is_one_line() -> None:
    origins = Origins(environment={"launcher": "a\nb"}, scheduler={}, git={})
    text = AttachRequest(out=OUT, iterate_at="MPI_Bcast:4").text(origins)
    assert "\norigins {" in text
    assert r"a\nb" in text
    assert "\niterate MPI_Bcast\nnth 4\n" in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"every": 0}, "--every 0: give a number of at least 1"),
        ({"most": 0}, "--most 0: give a number of at least 1"),
        ({"sample": 0}, "--sample 0: give 1 to 10,000 samples a second, or no number"),
        ({"sample": 10_001}, "--sample 10001: give 1 to 10,000"),
        ({"memory": "much"}, "--memory much: write a size as 256MB"),
        ({"memory": "3kB"}, "--memory 3kB: give at least 1MiB"),
        ({"iterate_at": "MPI_Alreduce"}, "unknown MPI call 'MPI_Alreduce'; did you mean MPI_All"),
        ({"iterate_at": "MPI_Bcast:x"}, "'x' is not a number of calls"),
        ({"iterate_at": "MPI_Bcast:\u00b2"}, "'\u00b2' is not a number of calls"),
        ({"only": "a\nb"}, "cannot contain a line end"),
        (
            {"iterate_at": "MPI_Bcast", "only": "ice_", "most": 2},
            "--only chooses PETSc solves.* Leave out --only and --most, or --iterate-at",
        ),
        ({"iterate_at": "MPI_Bcast", "every": 2}, "Leave out --every, or --iterate-at"),
        ({"inject": "exponential"}, "the law exponential needs mean="),
        (
            {"inject": "exponential:mean=1us", "iterate_at": "auto"},
            "finds these after the program has ended",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(given: dict[str, int | str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        AttachRequest(out=OUT, **given).text(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    [
        "solve",
        "solve (cg.c:98)",
        "solve (cg.c:98) #2",
        "app::Solver::step",
        "app::Field<double, ns::Grid<3>>::step",
        "ns::operator<<",
        "main::{lambda(int)#1}::operator()",
        "__hydro_MOD_step",
        "hydro::step",
        "Solver.run.<locals>.step",
        "<module> (heat.py:29)",
        "liba.so.1+0x70",
    ],
)
def test_names_of_loops_may_have_what_programs_contain(name: str) -> None:
    assert iteration_call(name) == (name, 1)
    assert iteration_call(f"{name}:3") == (name, 3)
    assert "\niterate auto\nnth 1\n" in AttachRequest(out=OUT, iterate_at=name).text(None)
    with pytest.raises(UsageError, match="'0' is not a number of calls"):
        iteration_call(f"{name}:0")


def test_injected_noise_is_one_line_and_one_a_range() -> None:
    law = "fixed:length=1ms,probability=0.1,ranks=0,2-5,asleep"
    text = AttachRequest(out=OUT, inject=law, seed=7).text(None)
    assert "\ninject 2 1 7 1000000 0.1 0\n" in text
    assert "\ninject_ranks 0 0\ninject_ranks 2 5\n" in text
    assert f"\ninjected {law}\n" in text
    periodic = AttachRequest(out=OUT, inject="periodic:period=10ms,length=1us").text(None)
    assert "\ninject 3 0 0 1000 1.0 10000000\n" in periodic
    assert "inject" not in AttachRequest(out=OUT).text(None)


def test_sizes() -> None:
    assert [memory_bytes(text) for text in ("2MB", "1.5 GiB")] == [2_000_000, 1_610_612_736]


def test_what_is_preloaded_already_stays() -> None:
    own = variables(Path("/cache/r.so"), Path("/s"), {"LD_PRELOAD": "/lib/malloc.so"})
    assert own == {"LD_PRELOAD": "/cache/r.so:/lib/malloc.so", "HINDMOST_ATTACH": "/s"}
    with pytest.raises(MissingError, match="XDG_CACHE_HOME"):
        variables(Path("/my cache/r.so"), Path("/s"), {})


@pytest.mark.parametrize(("before", "after"), [("", "/no/r.so"), ("/no/m.so", "/no/r.so:/no/m.so")])
def test_a_shell_reads_what_is_printed(before: str, after: str) -> None:
    lines = export_lines(Path("/no/r.so"), Path("/a folder/it's"))
    script = "\n".join((f"LD_PRELOAD={before}", *lines, 'echo "$LD_PRELOAD|$HINDMOST_ATTACH"'))
    told = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout == f"{after}|/a folder/it's\n"


def test_files_of_a_process_that_was_killed_are_removed(tmp_path: Path) -> None:
    """Those of one that runs stay, and those of a script, and of other hosts."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    host, own = socket.gethostname(), attach.owner_line()
    texts = {
        ".attach-1.settings": f"library /r.so\nboard /b\nowner {host} {ended.pid} 17\nout /o\n",
        ".attach-2.status": f"owner {host} {os.getpid()} 1\nloaded\t7\ta\ta\n",  # another before
        ".attach-3.status": own,
        ".attach-4.settings": "library /r.so\nout /o\n",
        ".attach-5.settings": f"owner elsewhere {ended.pid} 17\n",
        "app-0.raw": f"owner {host} {ended.pid} 17\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    attach.clear_left(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(".attach-3.status", ".attach-4.settings", ".attach-5.settings", "app-0.raw")
    ]


def test_a_rank_that_did_not_wait_for_the_first_leaves_its_settings_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only those of the first rank say in which job the run was."""
    parser = argparse.ArgumentParser()
    attach.add_arguments(parser)
    arguments = parser.parse_args(["--out", str(tmp_path)])
    started: list[str] = []
    monkeypatch.setattr(attach, "recorder_library", lambda *_: tmp_path / "recorder.so")
    monkeypatch.setattr(attach, "PATIENCE_S", 0.0)
    monkeypatch.setattr(
        attach, "become_program", lambda _, there: started.append(there["HINDMOST_ATTACH"])
    )
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setenv("PMI_RANK", "1")
    attach.follow(arguments, ["program"], 1)
    assert "\norigins " not in Path(started[0]).read_text()
    first = attach.settings_path(arguments, 0)
    assert not first.exists()
    monkeypatch.setenv("PMI_RANK", "0")
    attach.prepare(arguments, first)
    assert "\norigins " in first.read_text()
    attach.follow(arguments, ["program"], 1)
    assert started[1] == str(first)


WAITING = """
import sys, time
from pathlib import Path
from hindmost.harness.verbs import attach

looks, exists = 0, Path.exists

def counted(path):
    global looks
    looks += path.suffix == ".settings"
    return exists(path)

Path.exists = counted
print("waits", flush=True)
attach.await_first(Path(sys.argv[1]))
print(looks)
"""


def test_of_a_node_one_rank_at_a_time_looks_for_the_settings(tmp_path: Path) -> None:
    settings = tmp_path / ".attach-1.settings"
    words = [sys.executable, "-c", WAITING, str(settings)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    waiting = [
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(4)
    ]
    for each in waiting:
        assert each.stdout is not None
        assert each.stdout.readline() == "waits\n"
    time.sleep(0.7)  # the pauses before: 10, 20, 40 ... ms
    settings.touch()
    looks = [int(each.communicate(timeout=30)[0]) for each in waiting]
    assert min(looks) == 1  # those that waited for the lock found the file there
    assert sum(looks) <= 3 + 10
    assert not list(tmp_path.glob("*.lock"))
