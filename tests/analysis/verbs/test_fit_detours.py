"""``hindmost fit --detours``: what it says of runs with known detours."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import LOCAL
from tests.planned_noise import planned_ns

from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.harness.recorder.injection import read_law
from hindmost.harness.runfile.bodies import INJECTED, PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.adaptive.machine import Machine

BODIES, RANKS = 1500, 3
LAW = "exponential:mean=30us,probability=0.2,ranks=1-2"


def disturbed(folder: Path, header: Header, law: str = LAW, *, named: bool = True) -> Path:
    """Write a run of ranks that meet in every iteration, with planned detours."""
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(4)
    injection = read_law(law)
    injected = 1e-9 * np.stack(
        [planned_ns(injection.of_rank(r, seed=0, repeat=0), BODIES) for r in range(RANKS)], axis=1
    )
    work = random.normal(100e-6, 1e-6, (BODIES, RANKS)) + injected
    duration = np.repeat(work.max(axis=1, keepdims=True) + 3e-6, RANKS, axis=1)
    phases = np.zeros((BODIES, RANKS, len(PHASES) + named))
    phases[:, :, LOCAL] = work - (injected if named else 0.0)
    phases[:, :, PHASES.index("wait")] = duration - work
    if named:
        phases[:, :, -1] = injected
    edge = np.zeros(0)
    each = np.zeros(RANKS)
    values: dict[str, Any] = {
        "duration": duration,
        "start": np.cumsum(duration, axis=0) - duration,
        "phase_duration": phases,
        "body": np.zeros(BODIES),
        "position": np.arange(BODIES),
        "residual_norm": np.ones(BODIES),
        "restart_duration": np.zeros((0, RANKS)),
        "lead_in": each,
        "lead_out": each,
        "solve_time": duration.sum(axis=0),
        "mpi_other": each,
        "context_switches": each,
        "clock_offset": each,
        "clock_uncertainty": each,
        "cpu": each,
        "edge_source": edge,
        "edge_target": edge,
        "edge_bytes": edge,
        "host": ["a", "b", "b"],
    }
    if named:
        values |= {INJECTED: injected, "injected_outside": each}
        header = replace(header, spec={**header.spec, INJECTED: law})
    header = replace(header, iterations=BODIES, restart=0, solver="cg")
    phase_names = (*PHASES, INJECTED) if named else PHASES
    return write_whole(folder, header, values, phases=phase_names)


def entries(path: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["fit", "--detours", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["version"] == 1
    (run,) = answer["runs"]
    return list(run["detours"])


def test_the_estimate_needs_times_alone(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = entries(disturbed(tmp_path, header), capsys)
    blind = entries(disturbed(tmp_path, header, named=False), capsys)
    for with_truth, without in zip(stored, blind, strict=True):
        truth = with_truth.pop("stored")
        assert without.pop("stored") is None
        for key in ("work_s", "jitter_s"):
            assert with_truth[key] == pytest.approx(without[key], rel=1e-3)
        if without["rank"] == 0:
            assert without["families"] == []
            assert truth["count"] == 0
            continue
        first = without["families"][0]
        for key in ("count", "mean_s"):
            assert with_truth["families"][0][key] == pytest.approx(first[key], rel=1e-3)
            assert first[key] == pytest.approx(truth[key], rel=0.1)
        assert first["kind"] == "exponential"
        assert first["period_s"] is None


def test_it_says_which_ranks_and_what_it_cannot_know(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", "--detours", str(disturbed(tmp_path, header))]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Detours on ranks 1, 2 only, all on b." in said
    assert "none found" in said
    assert "at random" in said
    assert "cannot be told from jitter" in said
    assert "Times do not tell the cause" in said
    assert f"injected noise {LAW}" in said
    assert "noise was injected" in said


def machine_file(folder: Path, noise: dict[str, Any] | None) -> Path:
    machine = Machine(name="vm", ranks_per_node=2)
    path = folder / "machine.json"
    path.write_text(json.dumps({**machine.to_json(), "noise": noise}))
    return path


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.001, "more than the idle machine explains"), (0.2, "which the idle machine explains")],
)
def test_the_probe_of_the_machine_stands_beside_it(
    share: float,
    said: str,
    tmp_path: Path,
    header: Header,
    capsys: pytest.CaptureFixture[str],
) -> None:
    noise = {
        "detours_per_s": 120.0,
        "share": share,
        "detour_quantiles_s": [1e-6, 2e-6, 3e-6, 4e-3],
    }
    machine = machine_file(tmp_path, noise)
    run = disturbed(tmp_path / "runs", header)
    assert main(["fit", "--detours", str(run), "--machine", str(machine)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "found 120 detours per second and rank, the longest 4.00 ms" in shown
    assert said in shown


def test_a_machine_without_a_probe_of_noise_is_named(tmp_path: Path, header: Header) -> None:
    run = disturbed(tmp_path / "runs", header)
    with pytest.raises(UsageError, match="noise was not probed; 'hindmost probe noise"):
        main(["fit", "--detours", str(run), "--machine", str(machine_file(tmp_path, None))])


def test_too_few_iterations_are_named(run_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match="40 regular iterations; detours are estimated from 100"):
        main(["fit", "--detours", str(run_file)])
