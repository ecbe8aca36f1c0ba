"""``hindmost whatif --within``: how many iterations fit into a job, and where to save."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.whatif.files import said
from tests.conftest import run_values

from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.time_left import KEY, CheckpointWritten, TimeUse
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.ahead.checkpoints import optimum_s
from hindmost.records import to_document

ITERATION_S = 0.5
WRITTEN = tuple(
    CheckpointWritten(at_s=48.0 * number, written_bytes=1 << 30, extra_s=2.0)
    for number in range(1, 5)
)


def written(folder: Path, header: Header, *, outside_s: float, save: bool = True) -> Path:
    """Write a run of equal iterations under a watcher."""
    size, ranks = 100, header.ranks
    values = run_values(iterations=size, ranks=ranks, restart=size, seed=0)
    duration = np.full((size, ranks), ITERATION_S)
    values |= {"duration": duration, "start": np.cumsum(duration, axis=0) - duration}
    values |= {"lead_in": np.zeros(ranks), "lead_out": np.zeros(ranks)}
    values |= {"solve_time": duration.sum(axis=0)}
    shares: Any = values["phase_duration"]
    values["phase_duration"] = shares * (duration / shares.sum(axis=2))[:, :, None]
    use = TimeUse(
        began_utc_s=1e9,
        at_s=size * ITERATION_S + outside_s,
        checkpoints=WRITTEN if save else (),
    )
    attached = {"name": "app", KEY: to_document(use)}
    spec = {**header.spec, "attached": attached}
    return write_whole(folder, replace(header, restart=0, iterations=size, spec=spec), values)


def test_as_many_as_the_time_divided(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, header, outside_s=100.0)
    text = said(capsys, tmp_path, "--within", "1h")
    assert "About 7,000 iterations fit into 1:00:00: at least 7,000 in 9 of 10 jobs" in text
    assert "takes 100 s outside of its iterations" in text
    assert "less than 1.25 s and the time of its end are left" in text
    assert "How runs differ from each other is not known." in text
    assert "checkpoint" not in text


def test_how_often_to_save(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, header, outside_s=0.0)
    assert main(["whatif", str(tmp_path), "--within", "1h", "--mtbf", "24h", "--json"]) == 0
    advice = json.loads(capsys.readouterr().out)["jobs"][0]["checkpoints"]
    assert advice["best_s"] == pytest.approx(optimum_s(2.0, 86_400.0))
    assert (advice["cost_s"], advice["recorded_s"]) == (2.0, 48.0)
    assert advice["recorded_waste"] == pytest.approx(2 / 48 + 25 / 86_400, rel=0.02)
    text = said(capsys, tmp_path, "--within", "1h", "--mtbf", "24h")
    assert "one every 0:09:47 wastes least (0.7 %); those of the runs come every 48.0 s" in text
    text = said(capsys, tmp_path, "--within", "1h", "--mtbf", "24h", "--checkpoint-takes", "5m")
    assert "A checkpoint takes 0:05:00" in text or "A checkpoint takes 300 s" in text
    assert "those of the runs" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--within", "soon"), "--within soon: a duration is"),
        (("--within", "0s"), "--within 0s: give a time above 0"),
        (("--mtbf", "24h"), "--mtbf needs --within"),
        (("--within", "1h", "--ranks", "8"), "--ranks and --within are answered apart"),
        (("--within", "1h", "--latency", "x2"), "--latency and --within are answered apart"),
        (("--within", "1h", "--mtbf", "24h"), "no checkpoint was seen"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    tmp_path: Path, header: Header, words: tuple[str, ...], message: str
) -> None:
    from hindmost.analysis.verbs.whatif import perform
    from hindmost.cli import parser_of

    written(tmp_path, header, outside_s=0.0, save=False)
    parser, _, _ = parser_of(["whatif"])
    with pytest.raises(UsageError, match=message):
        perform(parser.parse_args(["whatif", str(tmp_path), *words]))
