"""Programs in Fortran under `hindmost attach`, by each of MPI's three bindings."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.programs.attaching import (
    ATTACH,
    PROGRAMS,
    Program,
    alone,
    attached,
    close_books,
    compiled_fortran,
    environment_for,
    record_all,
)

import hindmost
from hindmost.harness.attach.raw import Frame
from hindmost.harness.attach.raw_program import read_program
from hindmost.harness.recorder.library import Flag

pytestmark = pytest.mark.mpi
BINDINGS = pytest.mark.parametrize("binding", ["MPI", "F08", "MPIF"])
"""``use mpi``, ``use mpi_f08`` and ``include 'mpif.h'``."""


@BINDINGS
def test_a_loop_in_fortran(binding: str, tmp_path: Path) -> None:
    module = binding != "MPI"  # the other marks are those of MPI_Pcontrol
    words: tuple[str | Path, ...] = ("-DMODULE", ATTACH / "hindmost.f90") if module else ()
    program = compiled_fortran(tmp_path, f"-D{binding}", *words, PROGRAMS / "loop_fortran.F90")
    (run,) = record_all(tmp_path, {"run": Program(command=(program,), ranks=2)})["run"]
    assert run.durations.shape == (19, 2)
    assert run.header.complete
    assert (run.phase("halo") > 0).all()
    assert (run.phase("wait") > 0).all()
    assert run.phase("unclassified").sum() == 0
    assert sorted(zip(run.edges.source, run.edges.target, strict=True)) == [(0, 1), (1, 0)]
    close_books(run)
    if module:
        assert (run.phase("stencil") > 0).all()
        assert attached(run)["work"] == 2 * sum(1001 + step for step in range(19))
        bare = subprocess.run([program], capture_output=True, text=True, check=True)
        assert bare.stderr == ""


@BINDINGS
def test_every_call_from_fortran_is_seen(binding: str, tmp_path: Path) -> None:
    source = PROGRAMS / "calls_fortran.F90"
    program = compiled_fortran(tmp_path, f"-D{binding}", source)
    environment = environment_for(tmp_path / "runs")
    subprocess.run(["sh", "-ec", f"{environment}\n{program}"], check=True, cwd=tmp_path)
    (folder,) = (tmp_path / "runs").glob("*.raw")
    rank = read_program(folder).here[0]
    (section,) = rank.sections
    records = section.array(Frame.RECORDS)
    calls = -1 - records["what"][(records["flags"] & Flag.FURTHER) == 0]
    seen = Counter(rank.program.call_names[call] for call in calls if call >= 0)
    between_marks = source.read_text().split("Pcontrol(1)")[1]
    asked = Counter(re.findall(r"call (MPI_\w+)", between_marks))
    del asked["MPI_Buffer_attach"]  # it returns at once
    assert seen == asked


def test_the_example_in_fortran(tmp_path: Path) -> None:
    include = alone("--print", "include", folder=tmp_path).stdout.strip()
    source = ROOT / "examples" / "attach" / "heat.f90"
    program = compiled_fortran(tmp_path, "-O2", f"{include}/hindmost.f90", source)
    heat = alone("--out", "runs", "--", program, folder=tmp_path)
    assert heat.returncode == 0, heat.stderr
    assert heat.stdout == "largest change in the last step: 4.840E-04\n"
    assert heat.stdout in (source.parent / "output.txt").read_text()
    run = hindmost.open(tmp_path / "runs" / "fortran-loop-p1-0.h5")
    assert len(run.durations) == 500
    assert attached(run)["work"] == 500 * 20000
    assert (run.phase("stencil") > 0).all()
