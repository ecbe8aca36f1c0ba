"""What becomes of a recording, as read from the lines that the recorder leaves."""

from __future__ import annotations

from pathlib import Path

from hindmost.harness.attach.outcome import ended_early, read_outcome


def test_each_rank_ends_by_itself_if_a_launcher_was_started(tmp_path: Path) -> None:
    """As in ``hindmost attach -- mpiexec -n 2 ./app``, where all ranks report to one process."""
    status = tmp_path / "status"
    lines = ["loaded\t7", "loaded\t8", "started\t0\t2\t/o/app-0.raw", "started\t1\t2\t/o/app-0.raw"]
    ends = ["finished\t1\t/o/app-0.raw\t", "finished\t0\t/o/app-0.raw\tNo space left on device"]
    status.write_text("\n".join([*lines, *ends]))
    first, second = read_outcome(status).processes
    assert (first.finished, first.lost) == (True, "No space left on device")
    assert (second.finished, second.lost) == (True, "")


def test_programs_of_a_script_end_by_themselves(tmp_path: Path) -> None:
    status = tmp_path / "status"
    folders = ("/o/a-0.raw", "/o/b-0.raw")
    starts = [f"started\t0\t1\t{folder}" for folder in folders]
    ends = [f"ended\t0\t{folders[1]}\t", f"finished\t0\t{folders[0]}\t"]
    status.write_text("\n".join([*starts, *ends]))
    first, second = read_outcome(status).processes
    assert (first.finished, second.finished) == (True, False)


def test_it_is_said_who_writes_the_run_files_of_a_program_that_ended_early() -> None:
    """Under a launcher other ranks may still run; without one, they are written at once."""
    said = ended_early(Path("my runs"), over=False)
    assert said.startswith("The program ended without MPI_Finalize. The first command")
    assert said.endswith("hindmost attach --convert 'my runs'")
    assert ended_early(Path("runs"), over=True) == "The program ended without MPI_Finalize."
