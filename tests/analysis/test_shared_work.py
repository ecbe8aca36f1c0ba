"""Parts of commands that another process is sent: they can be pickled, and no bit changes."""

import json
import pickle
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.history.planted import NIGHTS, noise, stepped, write_nights
from tests.analysis.scaling.experiments import TRUTH, write_text
from tests.analysis.whatif.files import MACHINE
from tests.analysis.whatif.test_at_scale import write

from hindmost.cli import main, parser_of, perform_with
from hindmost.executors import ThisProcess
from hindmost.harness.runfile.contents import Header


def sent(value: Any) -> Any:
    """Return what another process gets."""
    return pickle.loads(pickle.dumps(value))


class Elsewhere:
    """An executor that does each part as another process would, the last one first."""

    def __init__(self) -> None:
        self.parts = 0

    def map(self, function: Callable[..., Any], /, *arguments: Iterable[Any]) -> list[Any]:
        parts = list(zip(*arguments, strict=True))
        self.parts += len(parts)
        done = [sent(sent(function)(*sent(part))) for part in reversed(parts)]
        return done[::-1]


def shared(*words: str | Path) -> int:
    """Perform a command with parts done elsewhere; return their number."""
    parser, verb, rest = parser_of([str(word) for word in words])
    arguments = parser.parse_args(rest)
    arguments.petsc_options = arguments.program = ()
    executor = Elsewhere()
    assert verb is not None
    perform_with(verb, arguments, executor)
    return executor.parts


@pytest.fixture
def both(capsys: pytest.CaptureFixture[str]) -> Callable[..., int]:
    """Return what compares a command in one process with parts done elsewhere."""

    def compare(*words: str | Path) -> int:
        main([str(word) for word in words])
        alone = capsys.readouterr().out
        parts = shared(*words)
        assert capsys.readouterr().out == alone
        return parts

    return compare


def test_this_process_keeps_the_order() -> None:
    assert list(ThisProcess().map(divmod, [7, 9], [2, 4])) == [(3, 1), (2, 1)]


def test_batches_of_kernels(tmp_path: Path, both: Callable[..., int]) -> None:
    file = write_text(tmp_path / "e.txt", TRUTH, noise=0.02, repetitions=3, seed=3)
    assert both("scale", file, "--json") == 1


def test_series_with_and_without_a_state(tmp_path: Path, both: Callable[..., int]) -> None:
    cases = {
        "ice": {"Total:": stepped(0), "Solve:": noise(2, NIGHTS)},
        "fire": {"T:": noise(1, 30)},
    }
    write_nights(tmp_path / "nights", cases, range(30))
    assert both("history", tmp_path / "nights", "--json") == 2
    states = []
    for name, perform in (("alone", main), ("shared", lambda words: shared(*words))):
        for _ in range(2):  # the second night, nothing is new
            perform(["history", str(tmp_path / "nights"), "--state", str(tmp_path / name)])
        states.append((tmp_path / name).read_bytes())
    assert states[0] == states[1]


def test_readings_and_replicas(run_file: Path, both: Callable[..., int]) -> None:
    law = "exponential:mean=1ms"
    # Recorded, 20 replicas, and the low and the high reading. What bytes take is as recorded.
    assert both("whatif", run_file, "--noise", law, "--speed", "rank 1: x0.5", "--json") == 23


def test_numbers_of_ranks(
    tmp_path: Path, header: Header, monkeypatch: pytest.MonkeyPatch, both: Callable[..., int]
) -> None:
    monkeypatch.setattr("hindmost.analysis.whatif.at_scale.REPLICAS", 2)
    monkeypatch.setattr("hindmost.analysis.whatif.at_scale.FEWEST_REPLICAS", 2)
    monkeypatch.setattr("hindmost.models.simulation.scaleup.DRAWN", 1 << 14)
    machine = tmp_path / "machine.json"
    machine.write_text(json.dumps(MACHINE))
    (tmp_path / "runs").mkdir()
    run = write(tmp_path / "runs", header)
    words = ("--machine", machine, "--ranks", "8,16", "--scaling", "weak", "--json")
    assert both("whatif", run, *words) == 2
