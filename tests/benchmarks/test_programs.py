"""What `make bench-programs` says of programs that are built already."""

from pathlib import Path

import pytest
from benchmarks.programs import main
from tests.programs.attaching import compiled

from hindmost.errors import DataError, UsageError

pytestmark = pytest.mark.mpi


def test_loops_are_held_against_what_the_file_of_a_program_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program of 2 * 15 iterations, by a number, by a pattern and by a wrong number."""
    folder = tmp_path / "with a blank"
    folder.mkdir()
    compiled(folder, "ends")
    (folder / "said.yaml").write_text("steps: 30\n")
    run = f'command = "./ends unmarked 15 0 1000"\nfolder = "{folder.name}"\n'
    (tmp_path / "by-number.toml").write_text(f"{run}truth = 30\n")
    (tmp_path / "by-pattern.toml").write_text(f"{run}truth = 'steps: (\\d+)'\nranks = 1\n")
    (tmp_path / "otherwise.toml").write_text(f"{run}truth = 31\nranks = 1\n")
    main(tmp_path)
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split()[:4] for row in rows] == [
        ["by-number", "30", "30", "right"],
        ["by-pattern", "30", "30", "right"],
        ["otherwise", "31", "30", "wrong"],
    ]


def test_folders_without_programs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no file NAME\.toml of a program"):
        main(tmp_path)
    (tmp_path / "one.toml").write_text('command = "true"\nbuild = "make"\ntruth = 1\n')
    with pytest.raises(DataError, match="build"):
        main(tmp_path)
