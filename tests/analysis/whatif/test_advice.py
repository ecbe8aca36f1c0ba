"""``hindmost whatif --against``: whether a pipelined solver pays off, by known times."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.whatif.files import event_values
from tests.conftest import run_values
from tests.documents import as_declared

from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.events import EventKind

BODIES, RANKS = 200, 3
EXTRA = 1.2
"""Local work of an iteration of the pipelined solver, over that of the blocking one."""


def blocking(folder: Path, header: Header, seed: int = 1) -> Path:
    """Write a run whose reductions cost 3 us."""
    values = run_values(iterations=BODIES, ranks=RANKS, restart=20, seed=seed)
    return write_whole(folder, header, values)


def pipelined(
    folder: Path,
    header: Header,
    seed: int = 1,
    detours: NDArray[np.float64] | None = None,
    **changed: Any,
) -> Path:
    """Write a run whose ranks post a reduction and complete it after half of the next body."""
    work = np.repeat(EXTRA * np.random.default_rng(seed).uniform(50e-6, 60e-6, (BODIES, 1)), 3, 1)
    work = work if detours is None else work + detours[:, None]
    before = np.repeat(0.5 * work[:, :, None], 2, axis=2)
    kinds = [EventKind.COMPLETE, EventKind.POST]
    values = event_values(kinds, before, np.full(before.shape, 1e-7), cycle=20, seed=seed)
    mode = {"solver": "pgmres", "synchronisation": "pipelined", "lag": 1}
    return write_whole(folder, replace(header, **{**mode, **changed}), values)


@pytest.fixture(name="header")
def long_header(header: Header) -> Header:
    """Return the header of as many iterations."""
    return replace(header, iterations=BODIES, restart=20)


@pytest.fixture
def folders(tmp_path: Path, header: Header) -> tuple[Path, Path]:
    """Return folders of three repeats of each solver."""
    found = tmp_path / "blocking", tmp_path / "pipelined"
    for folder, write in zip(found, (blocking, pipelined), strict=True):
        folder.mkdir()
        for seed in range(3):
            write(folder, header, seed)
    return found


def advice(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    ours, theirs, *others = map(str, words)
    assert main(["whatif", ours, "--against", theirs, *others, "--json"]) == 0
    document = as_declared("whatif", capsys.readouterr().out)
    assert document["version"] == 1
    return dict(document["advice"])


def test_extra_work_does_not_pay_off_until_latency_hides_behind_it(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    found = advice(capsys, *folders, "--latency", "+1us,+100us")
    assert found["recorded"]["verdict"] == "does not pay off"
    # 66 us of work against the slowest of three ranks (57.5 us on average) and 3 us.
    assert found["recorded"]["ratio"] == pytest.approx(66.2 / 60.5, rel=0.02)
    low, high = found["recorded"]["ratio_interval"]
    assert low < found["recorded"]["ratio"] < high
    little, much = found["changes"]
    assert little["verdict"] == "does not pay off"
    # Reductions of 2 messages: 200 us more, of which the pipelined solver hides half a body. The
    # first of 20 bodies of a cycle has nothing to complete.
    assert much["verdict"] == "pays off"
    assert much["blocking_s"] == pytest.approx(261e-6, rel=0.02)
    assert much["pipelined_interval_s"][0] == pytest.approx((19 * 233e-6 + 66e-6) / 20, rel=0.02)
    assert (
        found["answer"].splitlines()[1].startswith("pgmres pays off on 3 ranks with latency +100")
    )
    more = re.search(r"An iteration of pgmres has (1\.\d\d) times the local", found["answer"])
    assert more
    assert float(more[1]) == pytest.approx(EXTRA, rel=0.02)


def test_the_answer_is_the_first_sentence(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["whatif", str(folders[0]), "--against", str(folders[1])]
    assert main(words) == 0
    printed = capsys.readouterr().out
    first = "pgmres does not pay off on 3 ranks: an iteration takes 1."
    assert printed.startswith(first)
    assert main([*words, "--speed", "x2"]) == 0
    assert capsys.readouterr().out.count("pays off") == 0  # the same answer is not repeated


def test_two_loops_of_programs_of_ones_own_are_compared(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = tmp_path / "blocking", tmp_path / "overlapped"
    for folder in folders:
        folder.mkdir()
    for seed in range(3):
        blocking(folders[0], replace(header, solver="loop", workload="heat"), seed)
        words: dict[str, Any] = {"solver": "loop", "workload": "heat-overlapped"}
        pipelined(folders[1], header, seed, **words, synchronisation="blocking", lag=0)
    found = advice(capsys, *folders)
    assert found["answer"].startswith("heat-overlapped does not pay off on 3 ranks: an iteration")
    assert found["recorded"]["ratio"] == pytest.approx(66.2 / 60.5, rel=0.02)


def test_one_repeat_decides_nothing(
    folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    alone = sorted(folders[1].iterdir())[0]
    found = advice(capsys, folders[0], alone, "--latency", "+100us")
    assert found["recorded"]["ratio_interval"][0] > 1.0
    assert found["changes"][0]["ratio_interval"][1] < 1.0
    assert {each["verdict"] for each in (found["recorded"], *found["changes"])} == {"undecided"}
    assert found["answer"].startswith(
        "These runs do not decide whether pgmres pays off on 3 ranks: pgmres has"
    )
    assert "record 3 repeats of each solver (now: pgmres 1)" in found["answer"]


def test_runs_that_are_mostly_detours_decide_nothing(
    folders: tuple[Path, Path], header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hundredth of the bodies take 99 % of the time; typical work is what it was."""
    for path in folders[1].iterdir():
        path.unlink()
    detours = np.where(np.arange(BODIES) % 100 == 50, 0.1, 0.0)
    for seed in range(3):
        pipelined(folders[1], header, seed, detours=detours)
    found = advice(capsys, *folders)
    assert found["recorded"]["ratio_interval"][0] > 1.0
    assert found["recorded"]["verdict"] == "undecided"
    assert "on 3 ranks: the runs have errors (see below). At face value, an" in found["answer"]
    more = re.search(r"An iteration of pgmres has (\d+\.\d\d) times the local", found["answer"])
    assert more
    assert float(more[1]) == pytest.approx(EXTRA, rel=0.02)


def test_runs_that_do_not_compare_are_refused(
    folders: tuple[Path, Path], tmp_path: Path, header: Header
) -> None:
    ours, theirs = map(str, folders)
    with pytest.raises(UsageError, match="gmres is blocking; --against takes the runs"):
        main(["whatif", ours, "--against", ours])
    with pytest.raises(UsageError, match="pgmres is pipelined; name a blocking"):
        main(["whatif", theirs, "--against", ours])
    other = pipelined(tmp_path, header, workload="diagonal")
    with pytest.raises(UsageError, match="workload is laplacian-1d for gmres and diagonal for"):
        main(["whatif", ours, "--against", str(other)])
    with pytest.raises(UsageError, match="blocking solver has 2 configurations"):
        main(["whatif", ours, str(other), "--against", theirs])
