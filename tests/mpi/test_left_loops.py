"""A loop of the user's own that an exception leaves on one rank ends on all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import Ranks

pytestmark = pytest.mark.mpi

LOOP = """
import ctypes, json, sys, time
import hindmost
hindmost.listen()
from mpi4py import MPI
import hindmost.errors
comm = MPI.COMM_WORLD

def left(case):
    with hindmost.record("left.h5", comm, name="left") as recorder:
        for step in range(3):
            with recorder.iteration():
                if step == 1 and comm.rank == 1:
                    raise (SystemExit(5) if case == "leaves" else ValueError("mine"))
                if case == "waits" or case == "leaves":
                    comm.Barrier()
        if case == "late" and comm.rank == 0:
            time.sleep(2.5)
        if case == "both" and comm.rank == 0:
            raise ValueError("mine")

if sys.argv[1] in ("waits", "leaves"):
    # As a library of the MPI that breaks while exit takes it down: no rank may get there.
    libc = ctypes.CDLL(None)
    libc.on_exit(libc.abort, None)
found = {}
for case in sys.argv[1:]:
    try:
        left(case)
    except (ValueError, hindmost.errors.UsageError) as error:
        if case == "waits":
            raise
        found[case] = comm.gather(f"{type(error).__name__} {error}")
if comm.rank == 0:
    print(json.dumps(found), flush=True)
"""
OTHER = "UsageError The loop failed on rank 1, so no run file is written."


SAID = {
    "caught": [OTHER, "ValueError mine"],
    "late": [OTHER, "ValueError mine"],
    "both": ["ValueError mine", "ValueError mine"],
}


def test_all_ranks_leave_a_loop_that_failed(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, *SAID, script=LOOP)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == SAID
    assert not list(tmp_path.glob("left*"))


@pytest.mark.parametrize("case", ["waits", "leaves"])
def test_a_rank_that_waits_in_mpi_is_ended(ranks: Ranks, tmp_path: Path, case: str) -> None:
    done = ranks(2, case, script=LOOP)
    assert done.returncode == (5 if case == "leaves" else 1), done.stderr
    assert not done.stdout
    assert done.stderr.count("ValueError: mine") == (1 if case == "waits" else 0)
    told = done.stderr.index("hindmost: rank 1: the recorded program failed here while other")
    assert done.stderr.find("ValueError: mine") < told  # the error itself comes first
    assert done.stderr.count("hindmost: ") == 1
    assert not list(tmp_path.glob("left*"))
