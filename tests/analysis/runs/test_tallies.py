"""Results that share one reading of a file are those of readings of their own."""

from collections import Counter
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import run_values

from hindmost.analysis.report.report import wanted_of
from hindmost.analysis.runs import tallies
from hindmost.analysis.runs.tallies import Block, Wanted, read_together, tallied
from hindmost.analysis.verbs import report as verb
from hindmost.analysis.whatif import gains
from hindmost.cli import main
from hindmost.errors import DamagedFileError, DataError
from hindmost.harness.runfile import reader
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.harness.runfile.writer import write_whole

ITERATIONS, RANKS, ROWS = 210, 3, 16
WITHOUT_EVENTS = ("event_kind", "event_work", "event_duration")


@pytest.fixture(params=["events", "whole bodies"])
def file(tmp_path: Path, header: Header, monkeypatch: pytest.MonkeyPatch, request: Any) -> Path:
    """Return a run file that is read in blocks of 16 iterations."""
    monkeypatch.setattr(reader, "BLOCK_BYTES", ROWS * 8 * RANKS)
    values = run_values(iterations=ITERATIONS, ranks=RANKS, restart=10, seed=1)
    if request.param == "whole bodies":
        values = {name: each for name, each in values.items() if name not in WITHOUT_EVENTS}
    return write_whole(tmp_path, header, values)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, int]]:
    """Count how often rows of a variable are read, by their first one."""
    counted: Counter[tuple[str, int]] = Counter()
    plain = Run.variable

    def noted(run: Run, name: str, rows: slice = slice(None)) -> Any:
        counted[name, rows.start or 0] += 1
        return plain(run, name, rows)

    monkeypatch.setattr(Run, "variable", noted)
    return counted


def equal(first: Any, second: Any) -> bool:
    """Tell whether two results are the same to the bit."""
    if is_dataclass(first) and not isinstance(first, type):
        names = [field.name for field in fields(first) if field.name != "run"]
        return all(equal(getattr(first, name), getattr(second, name)) for name in names)
    if isinstance(first, dict):
        return list(first) == list(second) and all(
            equal(first[each], second[each]) for each in first
        )
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(equal, first, second))
    return bool(np.array_equal(first, second))


@pytest.mark.parametrize("threads", [1, 3])
def test_together_or_alone_is_the_same(
    file: Path,
    read: Counter[tuple[str, int]],
    threads: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tallies, "MANY", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(threads)))
    alone = open_run(file)
    apart = {wanted: tallied(alone, wanted) for wanted in wanted_of(alone)}
    assert len(apart) == 4
    run = open_run(file)
    read.clear()
    read_together(run, apart)
    for wanted, expected in apart.items():
        found = tallied(run, wanted)
        assert equal(found, expected), wanted.make
        assert tallied(run, wanted) is found
    assert run.verified
    for name in ("start", "duration", "phase_duration"):
        # The first bodies may be read before, as they show how exchanges of halos end.
        assert {read[name, first] for first in range(ROWS, ITERATIONS, ROWS)} == {1}


class Failing:
    """A tally that fails at the second block."""

    def __init__(self, run: Run) -> None:
        self._blocks = 0

    def add(self, block: Block) -> None:
        self._blocks += 1
        if self._blocks == 2:
            raise DataError("It is not to be.")

    def result(self) -> int:
        return self._blocks


@pytest.mark.parametrize("large", [1, 1 << 30])
def test_a_tally_that_fails_fails_alone(
    file: Path, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tallies, "MANY", large)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    run = open_run(file)
    failing = Wanted(Failing)
    others = wanted_of(run)
    read_together(run, [failing, *others])
    assert tallied(run, others[0])
    with pytest.raises(DataError, match="It is not to be"):
        tallied(run, failing)


def test_times_are_verified_on_the_way(
    tmp_path: Path, header: Header, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "BLOCK_BYTES", ROWS * 8 * RANKS)
    values = run_values(iterations=ITERATIONS, ranks=RANKS, restart=10, seed=1)
    np.asarray(values["phase_duration"])[2 * ROWS, 1] *= 1.5
    run = open_run(write_whole(tmp_path, header, values))
    read_together(run, wanted_of(run))
    with pytest.raises(DamagedFileError, match="do not sum to its duration"):
        tallied(run, wanted_of(run)[0])
    assert not run.verified


def test_a_report_reads_a_large_run_once(
    file: Path,
    tmp_path: Path,
    read: Counter[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verb, "MAX_IN_MEMORY", 300)  # no models are fitted to it
    monkeypatch.setattr(gains, "MAX_EVENTS", 300)  # nor is it replayed
    assert main(["report", str(file), "--out", str(tmp_path / "page.html")]) == 0
    middle = ROWS * (ITERATIONS // ROWS // 2)
    assert read["start", middle] == 1
    assert read["duration", middle] == 3  # before for findings, after that for timelines
    assert read["phase_duration", middle] == 2


def test_large_results_are_kept_of_the_last_reading_only(file: Path) -> None:
    first, second = open_run(file), open_run(file)
    large, small = (
        next(each for each in wanted_of(first) if each.large == which) for which in (True, False)
    )
    for run in (first, second):
        read_together(run, [large, small])
        tallied(run, small)
    assert list(first.results) == [small]
    assert set(second.results) == {large, small}
