"""Mathis, Kerbyson: figures and tables on predictions of an adaptive mesh application."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.synthetic.cycles import CycleLaw, draw_cycles
from tests.analysis.adaptive.files import off_by, write_adaptive, write_machine
from tests.conftest import made_header
from tests.models.adaptive.paper import ALPHASERVER_ES40, ITANIUM_2
from tests.papers.conftest import DECKS, Ran, Told, drawn, holds

import hindmost
from hindmost.models.adaptive.machine import Machine
from hindmost.models.adaptive.predictor import Predictor
from hindmost.models.ahead.checkpoints import young_s
from hindmost.models.simulation.network import fit_link

CALM = CycleLaw(
    iterations=(0, 0), adapts_every=0, growth=1.0, spikes=0.0, drift=0.0, wander=0.0, noise=0.005
)


@holds("Adaptive fig. 1")
def test_the_grind_curve_is_that_of_the_machine_file(tmp_path: Path) -> None:
    cycles = draw_cycles(replace(CALM, noise=0.0, phase_noise=0.0), 7)
    file = write_adaptive(
        tmp_path / "runs", made_header(), cycles, predicted={"offline": off_by(cycles, 1.0)}
    )
    machine = write_machine(tmp_path / "machine.json")
    figure = drawn(tmp_path / "f", file, "--figure=grind", f"--machine={machine}")
    np.testing.assert_allclose(figure["measured in the run"][:, 2], 33.0, rtol=1e-6)
    np.testing.assert_allclose(figure["probed with 1 rank at work"][:, [0, 2]],
                               [[1e3, 33.0], [1e5, 33.0]])  # fmt: skip


@holds("Adaptive fig. 2, 3", "Adaptive table 3, 4")
def test_errors_of_predictions_are_those_that_were_put_in(tmp_path: Path, told: Told) -> None:
    cycles = draw_cycles(CycleLaw(growth=1.5), 7)
    # On 16 Itanium-2 processors, timing_a: 8.4 % online, 8.6 % offline
    percent = {"online-all": 8.4, "offline": 8.6}
    said = {name: off_by(cycles, each) for name, each in percent.items()}
    file = write_adaptive(tmp_path / "runs", made_header(), cycles, predicted=said)
    [run] = told("show", file)["runs"]
    assert run["adaptive"]["errors_percent"] == pytest.approx(percent)
    figure = drawn(tmp_path / "f", file, "--figure=predicted")
    np.testing.assert_allclose(figure["measured"][:, 2], 1e3 * cycles.seconds)
    for name, each in (("online, all cycles", 8.4), ("offline", 8.6)):
        off = figure[name][:, 2] / figure["measured"][1:, 2] - 1.0
        np.testing.assert_allclose(np.abs(off), 0.01 * each)


@holds("Adaptive fig. 4")
def test_checkpoints_come_after_cycles_27_and_43(tmp_path: Path) -> None:
    # tau = sqrt(2 * 10 s * 600 s) = 109.5 s, in cycles of 4.0 s and, after 27 of them, of 6.8 s
    assert young_s(10.0, 600.0) == pytest.approx(109.54, abs=0.01)
    steady = replace(CALM, noise=0.0, phase_noise=0.0, cycles=60)
    slower = np.where(np.arange(60) < 27, 1.0, 1.7)
    second = draw_cycles(steady, 7).seconds[0]
    cycles = draw_cycles(replace(steady, hydro_s=4.0 * steady.hydro_s / second), 7, slowdown=slower)
    file = write_adaptive(
        tmp_path / "runs", made_header(), cycles, predicted={"shape-level": cycles.seconds},
        spec={"checkpoints": [{"cycle": 27, "seconds": 10.0, "bytes": 1.0}]},
    )  # fmt: skip
    figure = drawn(tmp_path / "f", file, "--figure=checkpoints")
    [rule] = [points for name, points in figure.items() if name.startswith("Young")]
    assert rule[:2, 0].tolist() == [27, 43]
    np.testing.assert_allclose(figure["accumulated time"][[26, 42], 2], [27 * 4.0, 216.8])


@holds("Adaptive fig. 5")
def test_interference_moves_the_online_model_and_not_the_offline_one(tmp_path: Path) -> None:
    cycles = draw_cycles(CALM, 1, slowdown=np.where(np.arange(CALM.cycles) < 50, 1.0, 2.0))
    panel = Predictor("online-all", "online-1")
    for work, spent in zip(cycles.work, cycles.spent, strict=True):
        panel.observe(spent, work)
    online, last = (panel.predicted / cycles.denoised[:, None]).T
    # (a) a window back to the first cycle catches up as 50 + 2 * 149 over 2 * 199
    assert online[51] == pytest.approx(0.5, rel=0.03)
    assert online[-1] == pytest.approx((50 + 2 * 149) / (199 * 2), rel=0.02)
    # (c) a window of the last cycle is right at once
    np.testing.assert_allclose(last[52:], 1.0, atol=0.1)
    said = {"online-all": panel.predicted[:, 0], "offline": cycles.denoised[0] + 0 * online}
    file = write_adaptive(
        tmp_path / "runs", made_header(), cycles, predicted=said,
        spec={"interfere": {"spans": [[50, None]], "cores": []}},
    )  # fmt: skip
    figure = drawn(tmp_path / "f", file, "--figure=interference")
    assert np.ptp(figure["offline"][:, 2]) == 0.0
    np.testing.assert_array_equal(figure["neighbour runs"][:, 2] > 0, np.arange(CALM.cycles) >= 50)


@pytest.mark.mpi
@holds("Adaptive table 1")
def test_decks_are_those_of_the_paper(ran: Ran) -> None:
    for deck, (cells, heat) in DECKS.items():
        [file] = (ran[0] / deck).glob("*.h5")
        run = hindmost.open(file)
        base = int(np.prod(run.header.spec["base"]))
        assert base / 2 == pytest.approx(cells, rel=0.03)
        assert (run.variable("heat_iterations").sum() > 0) == heat
        assert run.phase("hydro").min() > 0.0


@pytest.mark.parametrize("machine", [ALPHASERVER_ES40, ITANIUM_2], ids=lambda each: each.name)
@holds("Adaptive table 2")
def test_latency_and_time_per_byte_come_back_from_message_times(machine: Machine) -> None:
    assert machine.network is not None
    truth = machine.network.within
    sizes = np.repeat([4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, *2 ** np.arange(9, 21)], 9)
    found = fit_link(sizes, np.array([truth.time_s(size) for size in sizes]))
    assert [piece.from_bytes for piece in found.pieces] == [0, 48, 512]
    for piece, wanted in zip(found.pieces, truth.pieces, strict=True):
        assert piece.latency_s == pytest.approx(wanted.latency_s, rel=1e-5)
        assert piece.per_byte_s == pytest.approx(wanted.per_byte_s, abs=1e-14)
