"""A run that goes on for good ends on all ranks, and says where each of them was."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conftest import Ranks

from hindmost.cli import main
from hindmost.statuses import TIME_IS_UP

pytestmark = pytest.mark.mpi

APART = """\
import ctypes, sys, time
from pathlib import Path
from hindmost.harness import mpi, watchdog
from hindmost.harness.probes.turns import sleepy_barrier

how, folder = sys.argv[1:]
watchdog.GRACE_S = 0.5
if how == "in-c":
    watchdog.LAUNCHER_S = watchdog.LONGEST_STAGGER_S = 0.1
ranks = mpi.start()
with watchdog.watching(ranks.rank, Path(folder), 0.5):
    if how == "in-c":
        ctypes.PyDLL(None).sleep(60)
    elif ranks.rank == 1:
        time.sleep(60)
    elif how == "blocking":
        ranks.Barrier()
    else:
        sleepy_barrier(ranks)
"""


@pytest.mark.parametrize("how", ["blocking", "asleep"])
def test_ranks_that_never_meet_say_where_they_are(ranks: Ranks, tmp_path: Path, how: str) -> None:
    done = ranks(2, how, tmp_path / "out", script=APART)
    assert done.returncode == TIME_IS_UP
    (said,) = re.findall(r"^hindmost: .*$", done.stderr, re.MULTILINE)
    assert "--most-seconds 0.5 have passed" in said
    assert f"stopped-rank-*.txt in {tmp_path / 'out'}" in said
    first, second = (path.read_text() for path in sorted((tmp_path / "out").iterdir()))
    lines = APART.splitlines()
    sleeps = lines.index("        time.sleep(60)") + 1
    assert f'script.py", line {sleeps} in <module>' in second
    if how == "blocking":
        waits = lines.index("        ranks.Barrier()") + 1
        assert f'script.py", line {waits} in <module>' in first
    else:
        assert re.search(r'probes/turns.py", line \d+ in sleepy_barrier', first)


def test_ranks_that_compute_in_c_end_as_well(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, "in-c", tmp_path / "out", script=APART)
    assert done.returncode != 0
    assert done.stderr.count("ctypes.PyDLL") + done.stderr.count("script.py") >= 2


def test_a_run_has_the_time_that_it_was_given(
    ranks: Ranks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "diagonal",
        "--solver",
        "cg",
        "--iterations",
        "20",
        "--unknowns",
        "100",
        "--out",
        "out",
    )
    done = ranks(2, "run", *words, "--most-seconds", "100")
    assert done.returncode == 0, done.stderr
    assert [path.suffix for path in (tmp_path / "out").iterdir()] == [".h5"]
    assert main(["run", *words, "--most-seconds", "-1"]) == 2
    assert "--most-seconds -1" in capsys.readouterr().err
