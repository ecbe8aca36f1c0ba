"""The recorder with an MPI that does nothing: what it leaves, and what sanitizers say."""

import random
import re
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks.terms import compiled_stub, losses, start, trial

import hindmost
from hindmost.analysis.runs.efficiency.withheld import calls_of_threads
from hindmost.errors import MissingError
from hindmost.harness.attach.convert import convert_all
from hindmost.harness.attach.settings import call_names
from hindmost.harness.recorder.build import SOURCES
from hindmost.harness.runfile.reader import Run
from hindmost.harness.stack import current_stack

pytestmark = pytest.mark.xdist_group("stub")

SANITIZERS = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
ITERATIONS = 3000


def test_a_signal_at_any_time_in_any_thread_costs_nothing(stub: Path) -> None:
    assert losses(partial(trial, stub), 24, 11) == 0


def test_the_recorder_is_clean_under_sanitizers(tmp_path: Path) -> None:
    try:
        program = compiled_stub(tmp_path, *SANITIZERS)
    except (subprocess.CalledProcessError, MissingError):
        pytest.skip("the compiler has no sanitizers")
    chance = random.Random(3)
    for number in range(4):
        assert trial(program, tmp_path / str(number), chance) == []
    for how in ("", "exit", "fail", "abort"):
        process = start(program, tmp_path / f"end-{how}", f"2000{how}", "20", "40")
        assert process.communicate(timeout=60)[1] == ""


def test_threads_that_call_mpi_at_a_time_do_not_race(tmp_path: Path) -> None:
    try:
        program = compiled_stub(tmp_path, "-O0", "-fsanitize=thread")
    except (subprocess.CalledProcessError, MissingError):
        pytest.skip("the compiler has no ThreadSanitizer")
    for how in ("", "exit", "fail"):
        process = start(program, tmp_path / f"end-{how}", f"500{how}", "20", "40", "3")
        assert process.communicate(timeout=60)[1] == ""


def test_calls_of_other_threads_are_known_by_call_site(stub: Path, tmp_path: Path) -> None:
    run, _, _ = run_of(stub, tmp_path / "threads", "", "20", "0", "3")
    calls, contexts = run.variable("context_thread_calls"), run.contexts
    assert run.header.spec["foreign_threads"] == 3
    assert calls.sum() == run.header.spec["foreign_calls"] == 3 * 4 * ITERATIONS
    callers = {contexts.places[contexts.chain(int(at))[-1]] for at in np.flatnonzero(calls)}
    assert {place.partition(" ")[0] for place in callers} == {"call_along"}
    assert (run.variable("context_thread_time")[calls > 0] > 0).all()
    assert "3 other threads (" in calls_of_threads(run)


def run_of(stub: Path, folder: Path, how: str, *more: str) -> tuple[Run, int, list[str]]:
    """Run the program to its end; return its run, its status, and what was said."""
    process = start(stub, folder, f"{ITERATIONS}{how}", *more)
    process.communicate(timeout=60)
    said: list[str] = []
    (file,) = convert_all(folder / "out", folder / "out", said.append)
    return hindmost.open(file), process.returncode, said


@pytest.mark.parametrize(
    ("how", "status", "failure"),
    [
        ("", 0, ""),
        ("exit", 0, ""),
        ("fail", 5, "rank 0 called exit with 5"),
        ("minus", 255, "rank 0 called exit with 255"),
        ("handler", 5, "rank 0 called exit with 5"),
        ("abort", 3, "rank 0 was ended by MPI_Abort 3"),
        ("crash", -11, "rank 0 crashed (SIGSEGV)"),
        ("crash-apart", -11, "rank 0 crashed in another thread than the recorded one (SIGSEGV)"),
    ],
)
def test_how_a_program_ended(
    how: str, status: int, failure: str, stub: Path, tmp_path: Path
) -> None:
    """A program that gave 0 to exit had left its loop, whether it called MPI_Finalize or not."""
    run, returned, said = run_of(stub, tmp_path / "end", how)
    assert returned == status
    assert run.bodies == ITERATIONS - 1
    assert run.header.complete == (not failure)
    assert failure in run.header.spec.get("failure", "")
    assert not any("cannot be" in each for each in said)


COLLECTIVES = (
    *("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv"),
    *("alltoall", "alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter"),
    *("reduce_scatter_block", "scan", "exscan"),
)
NEIGHBOURS = ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
RMA = ("put", "get", "accumulate", "get_accumulate")


def expected_classes() -> dict[str, str]:
    """Return how the classes of calls begin, by the chapters of the MPI standard."""
    calls: dict[str, str] = {}
    for name in COLLECTIVES:  # chapter 6
        calls[name.capitalize()] = "COLLECTIVE|SCAN"
        calls[f"I{name}"] = "ICOLLECTIVE(_TO_ROOT|_FROM_ROOT)?"
        calls[f"{name.capitalize()}_init"] = "COLLECTIVE_INIT"
    for name in NEIGHBOURS:  # chapter 8
        calls[f"Neighbor_{name}"] = "NEIGHBOR_COLLECTIVE"
        calls[f"Ineighbor_{name}"] = "INEIGHBOR_COLLECTIVE"
        calls[f"Neighbor_{name}_init"] = "NEIGHBOR_COLLECTIVE_INIT"
    for name in RMA:  # chapter 12
        calls[name.capitalize()] = "RMA"
        calls[f"R{name}"] = "RMA_REQUEST"
    calls |= dict.fromkeys(("Fetch_and_op", "Compare_and_swap"), "RMA")
    for verb in ("read", "write"):  # chapter 14
        for where in ("", "_all", "_at", "_at_all", "_shared"):
            calls[f"File_{verb}{where}"] = "FILE_IO"
            calls[f"File_i{verb}{where}"] = "FILE_IO_REQUEST"
        calls[f"File_{verb}_ordered"] = "FILE_IO"
        for where in ("_all", "_at_all", "_ordered"):
            calls |= dict.fromkeys(
                (f"File_{verb}{where}_{end}" for end in ("begin", "end")), "FILE_IO"
            )
    for mode in ("", "b", "s", "r"):  # chapter 3
        calls[f"{mode}send".capitalize()] = "SEND"
        calls[f"I{mode}send"] = "ISEND"
        calls[f"{mode}send_init".capitalize()] = "SEND_INIT"
    for how in ("all", "any", "some", ""):
        calls[f"Wait{how}"] = f"WAIT_{(how or 'one').upper()}"
        calls[f"Test{how}"] = f"TEST_{(how or 'one').upper()}"
    calls |= {"Recv": "RECV", "Irecv": "IRECV", "Recv_init": "RECV_INIT"}
    calls |= {"Psend_init": "PSEND_INIT", "Precv_init": "RECV_INIT"}  # chapter 4
    return calls | dict.fromkeys(("Pready", "Pready_range", "Pready_list"), "PREADY")


def test_every_call_has_the_class_of_its_chapter() -> None:
    source = next(path for path in SOURCES if path.name == "calls.def").read_text()
    classes = dict(re.findall(r"^(?:CALL|COUNTING)\((\w+),\s*(\w+),", source, re.M))
    expected = expected_classes()
    assert expected.keys() <= classes.keys()
    wrong = {
        name: classes[name] for name, kind in expected.items() if not re.match(kind, classes[name])
    }
    assert not wrong


def test_every_call_of_this_mpi_that_makes_a_request_is_known(tmp_path: Path) -> None:
    """Whatever gives or completes a request, in the header of the MPI that is installed."""
    source = tmp_path / "calls.c"
    source.write_text("#include <mpi.h>\n")
    command = [current_stack().mpicc, "-E", "-P", str(source)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    declared = re.findall(r"\bint\s+(MPI_\w+)\s*\(([^;{]*?)\)\s*[;_]", text)
    making = {name for name, given in declared if re.search(r"\bMPI_Request\s*(\*|\w*\[)", given)}
    callbacks = {"MPI_Grequest_start", "MPI_Cancel"}  # the program's own requests; returns at once
    assert {name.removesuffix("_c") for name in making} - callbacks <= {*call_names()}
    assert len(making) > 50


@pytest.mark.slow
def test_every_unit_compiles_with_the_headers_that_it_names() -> None:
    units = [path for path in SOURCES if path.suffix == ".c"]
    flags = ("-std=gnu11", "-D_GNU_SOURCE", "-fsyntax-only", "-w")
    strict = "-Werror=implicit-function-declaration"
    subprocess.run([current_stack().mpicc, *flags, strict, *units], check=True)
