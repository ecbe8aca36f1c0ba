"""What the probes measure: sampling, checkpoints, network and noise."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hindmost.errors import UsageError
from hindmost.harness.probes.checkpoint import (
    SIZES,
    latency_and_bandwidth,
    measure_checkpoint,
)
from hindmost.harness.probes.network import (
    SIZES as MESSAGES,
)
from hindmost.harness.probes.network import (
    NetworkTimes,
    pairs,
)
from hindmost.harness.probes.network import (
    described as network_described,
)
from hindmost.harness.probes.noise import (
    FACTOR,
    NoiseEffort,
    RankNoise,
    summary,
)
from hindmost.harness.probes.noise import (
    described as noise_described,
)
from hindmost.harness.probes.section import Effort, Timed, sample
from hindmost.harness.solo import Solo


def test_blocks_visit_every_size_in_orders_that_change() -> None:
    asked: list[int] = []

    def batch(size: int, repeats: int) -> float:
        asked.append(size)
        return 1e-6 * size * (3 if len(asked) == 9 else 1)

    effort = Effort(cap_s=60.0, blocks=8, batch_s=1e-4)
    timed = sample(Solo(), batch, (1, 2, 4), effort)
    assert [each.size for each in timed] == [1, 2, 4]
    assert [len(each.seconds) for each in timed] == [8, 8, 8]
    assert [each.repeats for each in timed] == [100, 50, 25]
    assert [each.median_s for each in timed] == pytest.approx([1e-6, 2e-6, 4e-6])
    # Two batches of every size warm up, then blocks follow whose order changes.
    blocks = [tuple(asked[6 + 3 * block : 9 + 3 * block]) for block in range(8)]
    assert {tuple(sorted(block)) for block in blocks} == {(1, 2, 4)}
    assert len(set(blocks)) > 1


def test_no_block_but_the_first_begins_after_the_cap() -> None:
    timed = sample(Solo(), lambda size, repeats: 1.0, (1,), Effort(cap_s=0.0, blocks=1000))
    assert len(timed[0].seconds) == 1


@pytest.mark.parametrize(("latency", "bandwidth"), [(0.01, 1e9), (0.0, 2e8), (0.5, 5e9)])
def test_a_known_disk_comes_back(latency: float, bandwidth: float) -> None:
    sizes = np.array(SIZES, float)
    found = latency_and_bandwidth(sizes, latency + sizes / bandwidth)
    assert found == pytest.approx((latency, bandwidth), abs=1e-9, rel=1e-6)


def test_neither_is_negative() -> None:
    sizes = np.array(SIZES, float)
    latency, bandwidth = latency_and_bandwidth(sizes, (sizes / 1e9) ** 1.2)
    assert latency == 0
    assert bandwidth > 0
    latency, bandwidth = latency_and_bandwidth(sizes, 1 / sizes)
    assert latency == 0
    assert bandwidth == pytest.approx(sizes[-1] ** 2)


def test_files_are_written_and_removed(tmp_path: Path) -> None:
    times = measure_checkpoint(tmp_path, (1000, 5000), repeats=3)
    assert {size: len(taken) for size, taken in times.items()} == {1000: 3, 5000: 3}
    assert min(min(taken) for taken in times.values()) > 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("nodes", "within", "across"),
    [
        ([0, 0], (0, 1), None),
        ([0, 0, 2, 2], (0, 1), (0, 2)),  # ranks fill one node after the other
        ([0, 1, 0, 1], (0, 2), (0, 1)),  # ranks are dealt out to the nodes
        ([0, 1, 1], (1, 2), (0, 1)),
    ],
)
def test_pairs(nodes: list[int], within: tuple[int, int], across: tuple[int, int] | None) -> None:
    found = pairs(nodes)
    assert found.pop("within") == within
    assert found.pop("across", None) == across


@pytest.mark.parametrize("nodes", [[0], [0, 1, 2]])
def test_a_pair_on_one_node_is_needed(nodes: list[int]) -> None:
    with pytest.raises(UsageError, match="mpiexec -n 2 hindmost probe network"):
        pairs(nodes)


def timed(sizes: tuple[int, ...], latency_s: float, per_byte_s: float) -> tuple[Timed, ...]:
    """Return times of a known link, one batch in three disturbed."""
    exact = [latency_s + per_byte_s * size for size in sizes]
    return tuple(
        Timed(size=size, repeats=10, seconds=(each, 3 * each, each))
        for size, each in zip(sizes, exact, strict=True)
    )


def test_a_known_link_comes_back() -> None:
    sizes = MESSAGES
    links = {
        "within": timed(sizes, 5e-6, 1e-9), "within_both_ways": timed(sizes, 8e-6, 3e-9),
    }  # fmt: skip
    reductions = {2: timed((8,), 7e-6, 0.0)}
    outcome = network_described(
        NetworkTimes(ranks={"within": (0, 1)}, links=links, reductions=reductions)
    )
    network = outcome.changes["network"]
    assert len(network.within.pieces) == 1
    assert network.within.pieces[0].latency_s == pytest.approx(5e-6)
    assert network.within.pieces[0].per_byte_s == pytest.approx(1e-9)
    assert network.within_both_ways.pieces[0].per_byte_s == pytest.approx(3e-9)
    assert network.across is None
    assert {each.seconds for each in network.allreduce} == {7e-6}
    assert outcome.samples["within"]["sizes"][1]["seconds"] == pytest.approx(
        [5.001e-6, 15.003e-6, 5.001e-6]
    )
    assert ("within one way, from 0 B", "5.00 us + bytes / 1.00 GB/s") in outcome.rows


PERIOD_US = 4000
LENGTH_NS = 100_000
QUANTUM_S = 5e-4

# In a process of its own: nobody else's calls are to be interrupted.
PROGRAM = """
import ctypes, json, sys
import numpy as np
from hindmost.harness.probes import noise
injector = ctypes.CDLL(sys.argv[1])
for name in ("injector_count", "injector_total_ns", "injector_begin_ns", "injector_end_ns"):
    getattr(injector, name).restype = ctypes.c_int64
injector.injector_begin_ns.argtypes = injector.injector_end_ns.argtypes = (ctypes.c_int64,)
injector.injector_start.argtypes = (ctypes.c_int64, ctypes.c_int64)
noise.compile_loops()
quantum = float(sys.argv[4])
effort = noise.NoiseEffort(detours_s=1.0, fwq_s=0.5, quantum_s=quantum)
units = noise.units_per_second()

def around(look):
    first, before = injector.injector_count(), injector.injector_total_ns()
    found = look()
    return found, range(first, injector.injector_count()), injector.injector_total_ns() - before

injector.injector_start(int(sys.argv[2]), int(sys.argv[3]))
detours, numbers, _ = around(lambda: noise.find_detours(effort.detours_s))
fwq, _, fwq_total = around(lambda: noise.fixed_work_quanta(effort, units))
injector.injector_stop()
booked = [(injector.injector_begin_ns(k), injector.injector_end_ns(k)) for k in numbers]
print(json.dumps({
    "booked_ns": [each for each in booked if each[0] >= detours.begin_ns],
    "fwq_total_ns": fwq_total,
    "begin_ns": detours.begin_ns, "elapsed_s": detours.elapsed_s,
    "share": detours.share, "per_s": detours.per_s,
    "least_gap_s": detours.least_gap_s, "threshold_s": detours.threshold_s,
    "start_s": detours.start_s.tolist(), "length_s": detours.length_s.tolist(),
    "fwq_s": fwq.tolist(),
}))
"""


@pytest.fixture(scope="module")
def injected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for the injector")
    library = tmp_path_factory.mktemp("injector") / "injector.so"
    source = Path(__file__).with_name("injector.c")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, library, str(PERIOD_US), str(LENGTH_NS), str(QUANTUM_S)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_injected_detour_is_found(injected: dict[str, Any]) -> None:
    booked = np.array(injected["booked_ns"])  # (detour, begin and end)
    assert len(booked) > 1, "the timer fires 250 times a second, less while others have the core"
    begin = np.rint(np.array(injected["start_s"]) * 1e9) + injected["begin_ns"]
    length = np.array(injected["length_s"]) * 1e9
    end = begin + length + injected["least_gap_s"] * 1e9
    which = np.searchsorted(begin, booked[:, 0], side="right") - 1
    # The last may lie behind the loop's end.
    inside = booked[:, 1] < injected["begin_ns"] + 1e9 * injected["elapsed_s"]
    assert inside.sum() >= len(booked) - 1
    which, booked = which[inside], booked[inside]
    assert which.min() >= 0
    assert (begin[which] <= booked[:, 0]).all()
    assert (end[which] >= booked[:, 1]).all()
    # A busy host makes most of them longer, or puts two into one gap; never all.
    longer = length[which] - (booked[:, 1] - booked[:, 0])
    assert 0 <= longer.min() < LENGTH_NS


def test_the_injected_share_is_lost(injected: dict[str, Any]) -> None:
    booked = np.array(injected["booked_ns"])
    truth = 1e-9 * np.sum(booked[:-1, 1] - booked[:-1, 0]) / injected["elapsed_s"]
    assert truth > 0.0
    assert injected["share"] >= truth
    lost = sum(injected["length_s"]) / injected["elapsed_s"]
    assert injected["share"] == pytest.approx(lost)
    assert injected["per_s"] == pytest.approx(len(injected["length_s"]) / injected["elapsed_s"])


def test_gaps_that_are_none_are_left_out(injected: dict[str, Any]) -> None:
    assert injected["threshold_s"] == pytest.approx(FACTOR * injected["least_gap_s"])
    assert min(injected["length_s"]) > (FACTOR - 1) * injected["least_gap_s"]
    assert max(injected["start_s"]) <= injected["elapsed_s"]
    assert sum(injected["length_s"]) < injected["elapsed_s"]


def test_fixed_work_takes_longer_by_what_was_injected(injected: dict[str, Any]) -> None:
    taken = np.array(injected["fwq_s"])
    assert np.sum(taken - taken.min()) >= 0.95e-9 * injected["fwq_total_ns"]


def rank_noise(lengths_s: list[float], elapsed_s: float) -> RankNoise:
    return RankNoise(
        begin_ns=0,
        least_gap_s=2e-8,
        threshold_s=18e-8,
        elapsed_s=elapsed_s,
        start_s=np.linspace(0, elapsed_s / 2, len(lengths_s)),
        length_s=np.array(lengths_s),
        fwq_s=np.array([1.0, 1.0, 2.0]),
    )


def test_ranks_are_put_together() -> None:
    ranks = [rank_noise([1e-3] * 10, 1.0), rank_noise([1e-6] * 90, 2.0)]
    noise = summary(ranks)
    assert noise.detours_per_s == pytest.approx((10 + 45) / 2)
    assert noise.share == pytest.approx((0.01 + 45e-6) / 2)
    assert noise.detour_quantiles_s == pytest.approx((1e-6, 1e-3, 1e-3, 1e-3))
    assert ranks[0].fwq_share == pytest.approx(0.25)


def test_a_rank_without_detours() -> None:
    outcome = noise_described([rank_noise([], 1.0)], NoiseEffort())
    assert outcome.changes["noise"].detours_per_s == 0
    assert outcome.changes["noise"].detour_quantiles_s == ()
    assert ("share lost to detours", "0 % (0 % to 0 % by rank)") in outcome.rows


def test_raw_values_of_many_ranks_are_thinned_out() -> None:
    outcome = noise_described([rank_noise([1e-6], 1.0)] * 200, NoiseEffort())
    kept = outcome.samples["ranks"]
    assert len(kept) == 200
    raw = [each["rank"] for each in kept if "detour_length_ns" in each]
    assert len(raw) == 64
    assert (raw[0], raw[-1]) == (0, 199)
    assert kept[0]["detour_length_ns"] == [1000]
