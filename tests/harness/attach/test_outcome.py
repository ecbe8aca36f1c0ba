"""What becomes of a recording, as read from the lines that the recorder leaves."""

import errno
import sys
from pathlib import Path

import pytest

from hindmost.harness.attach.outcome import (
    Recorded,
    cut_off,
    ended_early,
    facts_of,
    problem,
    read_outcome,
    reports_gone,
)
from hindmost.harness.attach.program import Ended


def test_each_rank_ends_by_itself_if_a_launcher_was_started(tmp_path: Path) -> None:
    """As in ``hindmost attach -- mpiexec -n 2 ./app``, where all ranks report to one process."""
    status = tmp_path / "status"
    lines = [
        "loaded\t7\ta\ta",
        "loaded\t8\ta\ta",
        "started\t0\t2\t/o/app-0.raw",
        "started\t1\t2\t/o/app-0.raw",
    ]
    ends = ["finished\t1\t/o/app-0.raw\t0", "finished\t0\t/o/app-0.raw\t28"]
    status.write_text("\n".join([*lines, *ends]))
    first, second = read_outcome(status).processes
    assert (first.finished, first.failure) == (True, errno.ENOSPC)
    assert (second.finished, second.failure) == (True, 0)


def test_programs_of_a_script_end_by_themselves(tmp_path: Path) -> None:
    status = tmp_path / "status"
    folders = ("/o/a-0.raw", "/o/b-0.raw")
    starts = [f"started\t0\t1\t{folder}" for folder in folders]
    ends = [f"ended\t0\t{folders[1]}\t0", f"finished\t0\t{folders[0]}\t0"]
    status.write_text("\n".join([*starts, *ends]))
    first, second = read_outcome(status).processes
    assert (first.finished, second.finished) == (True, False)


def test_it_is_said_who_writes_the_run_files_of_a_program_that_ended_early() -> None:
    """Under a launcher other ranks may still run; without one, they are written at once."""
    said = ended_early(Path("my runs"), over=False)
    assert said.startswith("The program ended without MPI_Finalize. The first command")
    assert said.endswith("hindmost attach --convert 'my runs'")
    assert ended_early(Path("runs"), over=True) == "The program ended without MPI_Finalize."


def test_reports_that_are_gone_are_no_sign_of_anything(tmp_path: Path) -> None:
    outcome = read_outcome(tmp_path / "missing")
    assert outcome.removed
    assert f"hindmost attach --convert {tmp_path}" in reports_gone(tmp_path / "s", tmp_path)
    missing = tmp_path / "out"
    assert reports_gone(missing / "s", missing).startswith(f"{missing} was removed while")


def test_why_records_are_cut_off_has_its_own_remedy() -> None:
    folder = Path("/o/a-0.raw")
    said = {
        number: cut_off(Recorded(rank=1, size=2, folder=folder, failure=number), Path("/o"))
        for number in (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.ENOENT)
    }
    assert "No space left on device. Free some space in /o." in said[errno.ENOSPC]
    assert "ulimit -f" in said[errno.EFBIG]
    assert said[errno.EIO] == "The records on rank 1 are cut off: Input/output error."
    assert said[errno.ENOENT].startswith("/o/a-0.raw was removed while the program ran")


@pytest.mark.parametrize(
    ("lines", "image", "status", "expected"),
    [
        ("loaded 7 app app|init 7", "app", -11, "app called MPI_Init, and either ended before"),
        ("loaded 7 app app|init 7", "app", -11, "It was ended by SIGSEGV."),
        ("loaded 7 app app|session 7|exit 7 ", "app", 0, "begins MPI with MPI_Session_init"),
        ("loaded 7 app app", "app", -11, "no call of MPI_Init, and was ended by SIGSEGV."),
        ("loaded 7 env env", "app", 0, "loaded into env, but not into app, which took its place"),
        ("loaded 7 env env|loaded 7 app app", "app", 0, "loaded into app, which made no call"),
        ("loaded 7 app app|exit 7 ", "renamed", 0, "loaded into app, which made no call"),
        ("loaded 7 mpiexec mpiexec|loaded 8 app app", "mpiexec", 1, "mpiexec, app, which"),
        ("loaded 7 app app|exit 7 /l/libmpi.so.4", "app", 0, "app uses MPI (/l/libmpi.so.4)"),
        ("", "python3", -9, "did not load the recorder, and was ended by SIGKILL. Possible"),
        ("loaded 7 app app|init 7|refused 7", "app", 0, ""),
        ("loaded 7 app app|init 7|started 0 1 /o/app-0.raw", "app", 0, ""),
    ],
)
def test_what_was_seen_comes_before_what_may_be(
    lines: str, image: str, status: int, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "status"
    path.write_text(lines.replace(" ", "\t").replace("|", "\n"))
    ended = Ended(words=(sys.executable,), process=7, image=image, status=status)
    said = problem(read_outcome(path), ended)
    assert expected in said
    assert bool(said) is bool(expected)
    seen, _, _ = said.partition("Possible causes")
    assert not any(word in seen for word in ("static", "setuid", "LD_PRELOAD", "Sanitizer"))


def test_files_of_programs(tmp_path: Path) -> None:
    """A file of ELF without the name of a loader is a static program; a script is none."""
    head = b"\x7fELF\x02\x01\x01" + bytes(25) + (64).to_bytes(8, "little") + bytes(14)
    counted = head + (56).to_bytes(2, "little") + (2).to_bytes(2, "little") + bytes(6)
    for kinds, is_static in (((1, 1), True), ((3, 1), False)):
        segments = b"".join(kind.to_bytes(4, "little") + bytes(52) for kind in kinds)
        path = tmp_path / f"program{kinds[0]}"
        path.write_bytes(counted + segments)
        assert facts_of(path).is_static is is_static
    path.write_bytes(counted + segments + b"libasan.so.8\0")
    assert facts_of(path).needs_asan
    path.chmod(0o4755)
    assert facts_of(path).other_rights == "setuid"
    assert not facts_of(Path(sys.executable).resolve()).is_static
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n# libasan.so\n")
    assert facts_of(script) == facts_of(tmp_path / "missing")
