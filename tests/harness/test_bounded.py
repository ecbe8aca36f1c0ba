"""What is kept of a loop that makes more calls than the budget holds, with a stub of MPI."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.terms import start
from numpy.typing import NDArray

import hindmost
from hindmost.harness.attach.convert import convert_all
from hindmost.harness.attach.raw import Frame
from hindmost.harness.attach.raw_program import read_program
from hindmost.harness.recorder.library import FOLDED, RECORD
from hindmost.harness.runfile.bodies import SUMMED
from hindmost.harness.runfile.reader import Run

pytestmark = pytest.mark.xdist_group("stub")

CALLS = 20
BUDGET = 1 << 20
BYTES_OF_RECORD = RECORD.itemsize + 4


def recorded(stub: Path, folder: Path, how: str, *, all_calls: bool = False, at: str = "") -> Path:
    """Run the program of `CALLS` messages and a reduction an iteration; return its raw folder."""
    process = start(
        stub,
        folder,
        *(how, str(CALLS), "0"),
        iterate_at=at,
        memory="256MB" if all_calls else f"{BUDGET >> 20}MiB",
        all_calls=all_calls,
    )
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == (-11 if how.endswith("crash") else 0)
    (raw,) = (folder / "out").glob("*.raw")
    return raw


def converted(raw: Path) -> Run:
    (file,) = convert_all(raw.parent, raw.parent)
    return hindmost.open(file)


def records_of(raw: Path) -> NDArray[np.void]:
    (section,) = read_program(raw).here[0].sections
    return section.array(Frame.RECORDS)


@pytest.mark.parametrize("at", ["", "MPI_Allreduce"])
def test_sums_and_counts_are_those_of_all_calls(stub: Path, tmp_path: Path, at: str) -> None:
    iterations = 4000
    whole = converted(recorded(stub, tmp_path / "all", str(iterations), all_calls=True, at=at))
    run = converted(recorded(stub, tmp_path / "bounded", str(iterations), at=at))
    unit = run.header.spec["attached"]["summed"]["unit"]
    assert unit > 1
    assert unit & (unit - 1) == 0
    assert whole.header.complete
    assert run.header.complete
    assert whole.bodies == iterations - 1
    assert run.bodies == (iterations - 1) // unit
    assert run.variable("edge_messages").tolist() == pytest.approx([CALLS * unit], rel=1e-3)
    sent = 8 * CALLS * unit * iterations / (iterations - 1)  # also after the last mark
    assert run.edges.bytes.tolist() == pytest.approx([sent], rel=1e-3)
    phases = run.variable("phase_duration").astype(np.float64)
    assert phases.sum(axis=2) == pytest.approx(run.durations, abs=1e-6)
    assert (phases >= 0.0).all()
    halo, wait = (run.phase(name)[:, 0] for name in ("halo", "wait"))
    assert (halo > 0.0).all()
    assert (wait > 0.0).all()
    assert 0 < run.summed < run.bodies
    assert not whole.summed
    assert run.header.spec["events_left_out"] == SUMMED


def test_the_budget_holds_however_long_a_program_runs(stub: Path, tmp_path: Path) -> None:
    """Iterations are summed in larger and larger units, which have their number and size."""
    iterations = 80_000
    raw = recorded(stub, tmp_path, str(iterations))
    assert sum(path.stat().st_size for path in raw.iterdir()) < 1.2 * BUDGET
    records = records_of(raw)
    assert records.size * BYTES_OF_RECORD < BUDGET
    folds = records[records["what"] == FOLDED]
    first = folds["end_ns"] >> 8
    passes = (folds["channel"].astype(np.int64) << 16) + folds["count"]
    assert (first[1:] >= first[:-1] + passes[:-1]).all()
    assert (passes[1:-1] >= passes[:-2]).all() or passes.max() > 1
    marks = records[records["what"] == ord("I")]
    assert marks["end_ns"][-1] == iterations - 1
    run = converted(raw)
    unit = run.header.spec["attached"]["summed"]["unit"]
    assert run.bodies == (iterations - 1) // unit
    assert run.variable("edge_messages").tolist() == pytest.approx([CALLS * unit], rel=1e-3)


def test_what_a_signal_ends_has_its_iterations(stub: Path, tmp_path: Path) -> None:
    raw = recorded(stub, tmp_path, "50000crash")
    run = converted(raw)
    unit = run.header.spec["attached"]["summed"]["unit"]
    assert not run.header.complete
    assert run.bodies == 49_999 // unit


def test_a_short_program_keeps_all(stub: Path, tmp_path: Path) -> None:
    raw = recorded(stub, tmp_path, "300")
    records = records_of(raw)
    assert not (records["what"] == FOLDED).any()
    run = converted(raw)
    assert run.bodies == 299
    assert "summed" not in run.header.spec["attached"]


def test_calls_without_a_known_loop_stay_within_the_memory(stub: Path, tmp_path: Path) -> None:
    """Nobody tells the recorder of its loop here: the whole program is known by sums."""
    raw = recorded(stub, tmp_path, "50000", at="auto")
    assert sum(path.stat().st_size for path in raw.iterdir()) < 1.2 * BUDGET
    run = converted(raw)
    assert (run.header.complete, run.bodies, run.summed) == (True, 1, 1)
    assert "was not known" in run.header.spec["attached"]["no_loop"]
    assert run.variable("stretch_calls").sum() == 50_000 * (CALLS + 1)
    spent = run.variable("stretch_work") + run.variable("stretch_mpi")
    assert spent.sum() == pytest.approx(run.durations[0, 0], rel=0.01)
