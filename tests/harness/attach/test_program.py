"""A program in place of hindmost: its status, its signals, its open files."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hindmost.errors import UsageError
from hindmost.harness.attach.program import run_program

RUN = """
import os, sys
import signal
from hindmost.harness.attach.program import *
# A shell that runs the tests in the background has them ignore this signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
blocked = hold_signals()
status = run_program(sys.argv[1:], dict(os.environ), blocked).status
release_signals(blocked)
sys.exit(end_as(status))
"""


def start(
    script: str, *, stdin: int | None = None, pass_fds: Sequence[int] = ()
) -> subprocess.Popen[str]:
    """Start a shell script as hindmost starts a program."""
    return subprocess.Popen(
        [sys.executable, "-c", RUN, "sh", "-c", script],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=pass_fds,
    )


def test_a_program_whose_interpreter_is_missing(tmp_path: Path) -> None:
    script = tmp_path / "app"
    with pytest.raises(UsageError, match="No such file"):
        run_program([str(script)], {}, set())
    script.write_text("#!/absent/python\n")
    script.chmod(0o755)
    with pytest.raises(UsageError, match="the interpreter that it names is not there"):
        run_program([str(script)], {}, set())


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 0", 0), ("exit 77", 77), ("kill -SEGV $$", -11), ("kill -TERM $$", -15)],
)
def test_the_status_is_the_programs(script: str, status: int) -> None:
    with start(script) as process:
        assert process.wait(60) == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_program(number: signal.Signals) -> None:
    name = number.name.removeprefix("SIG")
    # The shell looks at signals between commands: it reads what the test never writes.
    script = f"trap 'echo {name}; exit 9' {name}; echo ready; while :; do read line || :; done"
    with start(script, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.stdout.readline() == f"{name}\n"
        assert process.wait(60) == 9


def test_a_signal_that_the_program_does_not_handle_ends_both() -> None:
    with start("echo ready; read line", stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(60) == -signal.SIGTERM


def test_open_files_are_passed_on() -> None:
    reading, writing = os.pipe()
    with start(f"echo heard > /dev/fd/{writing}", pass_fds=(writing,)) as process:
        os.close(writing)
        assert process.wait(60) == 0
    with os.fdopen(reading) as file:
        assert file.read() == "heard\n"
