"""What tests of ``hindmost whatif`` share: its answers, and runs whose events are all known."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.conftest import LOCAL, run_values

from hindmost.cli import main

MACHINE: dict[str, Any] = {
    "schema": "hindmost-machine",
    "version": 1,
    "name": "somewhere",
    "ranks_per_node": 4,
    "network": {
        side: {"pieces": [{"from_bytes": 0, "latency_s": latency_s, "per_byte_s": 1e-9}]}
        for side, latency_s in (
            ("within", 1e-6),
            ("within_both_ways", 1e-6),
            ("across", 5e-6),
            ("across_both_ways", 5e-6),
        )
    },
}


TIMES = (
    *("duration", "start", "phase_duration", "restart_duration", "lead_in", "lead_out"),
    *("solve_time", "event_work", "event_duration"),
)
"""Variables of a run in seconds."""


def machine_file(folder: Path, **changed: object) -> Path:
    path = folder / "machine.json"
    path.write_text(json.dumps(MACHINE | changed), encoding="utf-8")
    return path


def draw_less(monkeypatch: pytest.MonkeyPatch, *, replicas: int, values: int) -> None:
    """Draw less on other numbers of ranks: what is simulated is tested in models."""
    monkeypatch.setattr("hindmost.analysis.whatif.at_scale.REPLICAS", replicas)
    monkeypatch.setattr("hindmost.analysis.whatif.at_scale.FEWEST_REPLICAS", replicas)
    monkeypatch.setattr("hindmost.models.simulation.scaleup.DRAWN", values)


def said(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Return what it prints, in one line."""
    assert main(["whatif", *map(str, words)]) == 0
    return " ".join(capsys.readouterr().out.split())


def document(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    assert main(["whatif", *map(str, words), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["version"] == 1
    return found


def answer(capsys: pytest.CaptureFixture[str], *words: object) -> list[dict[str, Any]]:
    return list(document(capsys, *words)["runs"])


def slower_values(
    factor: float, *, iterations: int, ranks: int, restart: int, seed: int = 1
) -> dict[str, object]:
    """Return the variables of a run whose times are all longer by a factor."""
    values = run_values(iterations=iterations, ranks=ranks, restart=restart, seed=seed)
    for name in values:
        if name in TIMES:
            values[name] = factor * np.asarray(values[name])
    return values


def event_values(
    kinds: Sequence[int],
    before: NDArray[np.float64],
    inside: NDArray[np.float64],
    *,
    cycle: int,
    seed: int = 1,
) -> dict[str, object]:
    """Return the variables of a run of events, with work before them and time inside.

    Cycles begin 20 us after the one before, the solve 10 us after its begin.
    """
    bodies, ranks = before.shape[:2]
    values = run_values(iterations=bodies, ranks=ranks, restart=cycle, seed=seed)
    duration = before.sum(axis=2) + inside.sum(axis=2)
    gaps = np.zeros((bodies, ranks))
    gaps[cycle::cycle] = 20e-6
    phases = np.zeros_like(np.asarray(values["phase_duration"]))
    phases[:, :, LOCAL] = duration
    return {
        **values,
        "duration": duration,
        "start": 10e-6 + np.cumsum(duration, axis=0) - duration + np.cumsum(gaps, axis=0),
        "phase_duration": phases,
        "solve_time": 20e-6 + duration.sum(axis=0) + gaps.sum(axis=0),
        "event_kind": np.tile(np.array(kinds, np.uint8), (bodies, 1)),
        "event_work": before.astype(np.float32),
        "event_duration": inside.astype(np.float32),
    }
