"""Messages in every kind of communicator, and calls behind an error that was left by longjmp."""

import numpy as np
import pytest
from tests.mpi.test_contexts import recorded
from tests.programs.attaching import compiled

from hindmost.harness.attach.raw import Frame
from hindmost.harness.attach.raw_program import RawProgram
from hindmost.harness.recorder.library import Flag

pytestmark = pytest.mark.mpi
ERRORS, COMMUNICATORS, RANKS = 11, 13, 3


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> RawProgram:
    folder = tmp_path_factory.mktemp("communicators")
    return recorded(folder, compiled(folder, "communicators"), str(ERRORS), ranks=RANKS)


def test_each_communicator_has_a_number_that_its_members_share(program: RawProgram) -> None:
    """Both ends of a message know it by the same channel, and no other communicator's."""
    channels = []
    for rank, call in ((0, "MPI_Send"), (1, "MPI_Recv")):
        records = program.here[rank].sections[0].array(Frame.RECORDS)
        number = program.here[rank].program.call_names.index(call)
        wanted = (records["what"] == -1 - number) & ((records["flags"] & Flag.GROUP) > 0)
        assert (records["count"][wanted] == 1 - rank).all()
        channels.append(records["channel"][wanted].tolist())
    assert len(channels[0]) == COMMUNICATORS == len(set(channels[0]))
    assert channels[0] == channels[1]


def test_calls_behind_an_error_are_recorded(program: RawProgram) -> None:
    for rank in program.here.values():
        records = rank.sections[0].array(Frame.RECORDS)
        number = rank.program.call_names.index("MPI_Allreduce")
        assert np.count_nonzero(records["what"] == -1 - number) == ERRORS
