"""Noise of which the truth is known: a signal handler that spins and books what it took."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hindmost.harness.probes.noise import (
    EDGES_NS,
    FACTOR,
    Detours,
    NoiseEffort,
    RankNoise,
    histogram,
    summary,
)
from hindmost.harness.probes.sections.noise import described

PERIOD_US = 4000
LENGTH_NS = 100_000

# In a process of its own: the signals go to its main thread, and to nobody else's.
PROGRAM = """
import ctypes, json, sys
import numpy as np
from hindmost.harness.probes import noise
injector = ctypes.CDLL(sys.argv[1])
for name in ("injector_count", "injector_total_ns"):
    getattr(injector, name).restype = ctypes.c_int64
injector.injector_start.argtypes = (ctypes.c_int64, ctypes.c_int64)
noise.compile_loops()
effort = noise.NoiseEffort(detours_s=1.0, fwq_s=1.0, ftq_s=1.0, quantum_s=5e-4)
units = noise.units_per_second()

def booked():
    return injector.injector_count(), injector.injector_total_ns()

def around(look):
    before = booked()
    found = look()
    after = booked()
    return found, [last - first for first, last in zip(before, after)]

injector.injector_start(int(sys.argv[2]), int(sys.argv[3]))
detours, truth = around(lambda: noise.find_detours(effort.detours_s))
fwq, fwq_truth = around(lambda: noise.fixed_work_quanta(effort, units))
ftq, ftq_truth = around(lambda: noise.fixed_time_quanta(effort, units))
injector.injector_stop()
print(json.dumps({
    "truth": truth, "fwq_truth": fwq_truth, "ftq_truth": ftq_truth,
    "elapsed_s": detours.elapsed_s, "share": detours.share, "per_s": detours.per_s,
    "least_gap_s": detours.least_gap_s, "threshold_s": detours.threshold_s,
    "start_s": detours.start_s.tolist(), "length_s": detours.length_s.tolist(),
    "fwq_s": fwq.tolist(), "ftq": ftq.tolist(),
}))
"""


@pytest.fixture(scope="module")
def injected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for the injector")
    library = tmp_path_factory.mktemp("injector") / "injector.so"
    source = Path(__file__).with_name("injector.c")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, library, str(PERIOD_US), str(LENGTH_NS)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    yield json.loads(done.stdout)


def test_every_injected_detour_is_found(injected: dict[str, Any]) -> None:
    count, total_ns = injected["truth"]
    assert count > 50, "the timer fires 250 times a second, less while others have the core"
    length = np.array(injected["length_s"])
    # What the host adds lies beside these or makes some of them longer.
    like = length[(length > 0.95e-9 * LENGTH_NS) & (length < 2e-9 * LENGTH_NS)]
    assert 0.8 * count <= like.size <= 1.15 * count
    assert np.median(like) == pytest.approx(1e-9 * total_ns / count, rel=0.1)


def test_the_injected_share_is_lost(injected: dict[str, Any]) -> None:
    _, total_ns = injected["truth"]
    assert injected["share"] >= 0.95e-9 * total_ns / injected["elapsed_s"]
    lost = sum(injected["length_s"]) / injected["elapsed_s"]
    assert injected["share"] == pytest.approx(lost)
    assert injected["per_s"] == pytest.approx(len(injected["length_s"]) / injected["elapsed_s"])


def test_the_injected_period_is_seen(injected: dict[str, Any]) -> None:
    start, length = np.array(injected["start_s"]), np.array(injected["length_s"])
    like = start[(length > 0.95e-9 * LENGTH_NS) & (length < 2e-9 * LENGTH_NS)]
    # Some are lost or late while others have the core, so the period is the commonest distance.
    assert np.median(np.diff(like)) == pytest.approx(1e-6 * PERIOD_US, rel=0.1)


def test_gaps_that_are_none_are_left_out(injected: dict[str, Any]) -> None:
    assert injected["threshold_s"] == pytest.approx(FACTOR * injected["least_gap_s"])
    assert min(injected["length_s"]) > (FACTOR - 1) * injected["least_gap_s"]
    assert max(injected["start_s"]) <= injected["elapsed_s"]
    assert sum(injected["length_s"]) < injected["elapsed_s"]


def test_fixed_work_takes_longer_by_the_detour(injected: dict[str, Any]) -> None:
    count, total_ns = injected["fwq_truth"]
    taken = np.array(injected["fwq_s"])
    assert 1 - taken.min() / taken.mean() >= 0.9e-9 * total_ns / taken.sum()
    # The core's speed may wander over a second: each quantum is held against those around it.
    around = np.array([np.median(taken[max(0, k - 5) : k + 6]) for k in range(taken.size)])
    hit = np.sum(taken - around > 0.7e-9 * LENGTH_NS)
    assert hit >= 0.7 * count


def test_fixed_time_leaves_less_work(injected: dict[str, Any]) -> None:
    _, total_ns = injected["ftq_truth"]
    done = np.array(injected["ftq"])
    assert 1 - done.mean() / done.max() >= 0.7e-9 * total_ns / (done.size * 5e-4)


def rank_noise(lengths_s: list[float], elapsed_s: float) -> RankNoise:
    return RankNoise(
        detours=Detours(
            least_gap_s=2e-8,
            threshold_s=18e-8,
            elapsed_s=elapsed_s,
            start_s=np.linspace(0, elapsed_s / 2, len(lengths_s)),
            length_s=np.array(lengths_s),
        ),
        fwq_s=np.array([1.0, 1.0, 2.0]),
        ftq=np.array([10, 10, 7]),
    )


def test_ranks_are_put_together() -> None:
    ranks = [rank_noise([1e-3] * 10, 1.0), rank_noise([1e-6] * 90, 2.0)]
    noise = summary(ranks)
    assert noise.detours_per_s == pytest.approx((10 + 45) / 2)
    assert noise.share == pytest.approx((0.01 + 45e-6) / 2)
    assert noise.detour_quantiles_s == pytest.approx((1e-6, 1e-3, 1e-3, 1e-3))
    counted = histogram(ranks)
    assert counted.sum() == 100
    assert counted[np.searchsorted(EDGES_NS, 1e6) - 1] == 10
    assert ranks[0].fwq_share == pytest.approx(0.25)
    assert ranks[0].ftq_share == pytest.approx(0.1)


def test_a_rank_without_detours() -> None:
    outcome = described([rank_noise([], 1.0)], NoiseEffort())
    assert outcome.changes["noise"].detours_per_s == 0
    assert outcome.changes["noise"].detour_quantiles_s == ()
    assert ("share lost to detours", "0 % (0 % to 0 % by rank)") in outcome.rows


def test_raw_values_of_many_ranks_are_thinned_out() -> None:
    outcome = described([rank_noise([1e-6], 1.0)] * 200, NoiseEffort())
    kept = outcome.samples["ranks"]
    assert len(kept) == 200
    raw = [each["rank"] for each in kept if "detour_length_ns" in each]
    assert len(raw) == 64
    assert (raw[0], raw[-1]) == (0, 199)
    assert kept[0]["detour_length_ns"] == [1000]
