"""Probes on real ranks: what they leave in the machine file, and how they fail."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Ranks
from tests.documents import as_declared

from hindmost.errors import UsageError
from hindmost.harness.probes.checkpoint import measure_checkpoint
from hindmost.harness.runfile.machine_file import read_machine

pytestmark = pytest.mark.mpi


def messages(stderr: str) -> list[str]:
    """Return what hindmost says beside progress and warnings."""
    said = [line for line in stderr.splitlines() if line.startswith("hindmost: ")]
    return [line for line in said if not line.endswith("...") and ": warning: " not in line]


SHORT = """
import sys
from hindmost.cli import main
from hindmost.harness.probes import grind, network, noise
from hindmost.harness.probes.section import Effort
grind.CELL_STEPS, grind.QUICK_CELLS = 3_000, (1400, 3000)
network.QUICK = Effort(cap_s=0.05, blocks=5, batch_s=1e-5)
noise.QUICK = noise.NoiseEffort(detours_s=0.05, fwq_s=0.05, quantum_s=2e-4)
sys.exit(main(["probe", "all", "--quick", "--out", "machine.json"]))
"""


def test_all_probes_fill_the_machine_file(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(2, script=SHORT)
    assert done.returncode == 0, done.stderr
    machine = read_machine(tmp_path / "machine.json")
    network = machine.network
    assert network is not None
    assert network.within.pieces[0].from_bytes == 0
    assert network.across is None
    assert {each.ranks for each in network.allreduce} == {2}
    assert min(each.seconds for each in network.allreduce) > 0
    for phase in ("hydro", "heat", "heat-solve", "adaption"):
        points = [each for each in machine.grind if each.phase == phase]
        assert [point.ranks_per_node for point in points] == [1, 1, 2, 2]
        assert [point.cells for point in points] == pytest.approx([1400, 3000] * 2, rel=0.8)
    assert machine.noise is not None
    assert 0 <= machine.noise.share < 1
    assert machine.checkpoint_bytes_per_s is not None
    for unit in ("B/s", " s", "%"):
        assert unit in done.stdout

    content = json.loads((tmp_path / "machine.json").read_text())
    sections = {"noise", "network", "grind", "checkpoint"}
    assert set(content["samples"]) == set(content["provenance"]) == sections
    assert [each["rank"] for each in content["samples"]["noise"]["ranks"]] == [0, 1]
    sizes = content["samples"]["network"]["within"]["sizes"]
    assert [size["bytes"] for size in sizes][:3] == [0, 2, 4]
    assert all(size["seconds"] for size in sizes)
    busy = content["samples"]["grind"]["sizes"][-1]["phases"]["hydro"]
    assert [len(repeats) for repeats in busy] == [2, 2]  # by rank
    origin = content["provenance"]["network"]
    assert origin["ranks"] == 2
    assert origin["mpi_library"]
    assert {"host", "cpu_model", "cores"} <= set(origin["environment"]["machine"])
    assert not list(tmp_path.glob("*.part"))

    again = ranks(1, "probe", "noise", "--quick", "--json", "--out", "machine.json")
    assert again.returncode == 0, again.stderr
    told = as_declared("probe", again.stdout)
    assert told["version"] == 1
    assert told["probes"] == ["noise"]
    assert replace(read_machine(tmp_path / "machine.json"), noise=machine.noise) == machine
    later = json.loads((tmp_path / "machine.json").read_text())
    assert later["provenance"]["noise"]["ranks"] == 1
    assert later["samples"]["network"] == content["samples"]["network"]


def test_one_rank_leaves_out_the_network(ranks: Ranks, tmp_path: Path) -> None:
    done = ranks(1, "probe", "network", "--quick")
    assert done.returncode == 2, done.stderr
    assert len(messages(done.stderr)) == 1, done.stderr
    assert "mpiexec -n 2 hindmost probe network" in messages(done.stderr)[0]


ELSEWHERE: dict[str, Any] = {
    "schema": "hindmost-machine",
    "version": 1,
    "name": "elsewhere",
    "ranks_per_node": 2,
    "provenance": {"noise": {"environment": {"machine": {"host": "elsewhere"}}}},
}


def test_the_file_of_another_machine_is_refused_with_one_message(
    ranks: Ranks, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere.json").write_text(json.dumps(ELSEWHERE))
    done = ranks(2, "probe", "noise", "--out", "elsewhere.json")
    assert done.returncode == 2, done.stderr
    assert len(messages(done.stderr)) == 1, done.stderr
    assert "another machine" in done.stderr
    assert json.loads((tmp_path / "elsewhere.json").read_text()) == ELSEWHERE


def test_a_folder_without_room_for_checkpoints_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written there"):
        measure_checkpoint(tmp_path / "absent", repeats=1)


COLD_CACHE = """
import json, sys
from hindmost.harness import mpi
from hindmost.harness.probes import clock_loops, noise
from hindmost.harness.turns import in_turn
from hindmost.models.compiled import compiled
communicator = mpi.start()
before = json.dumps(sorted({"petsc4py"} & set(sys.modules)))
in_turn(communicator, noise.compile_loops)
loops = (clock_loops.find_detours, clock_loops.fixed_work, clock_loops.least_gap)

def counts():
    stats = [compiled(loop).stats for loop in loops]
    return [(sum(each.cache_hits.values()), sum(each.cache_misses.values())) for each in stats]

warm = counts()
noise.measure_noise(communicator, noise.NoiseEffort(detours_s=0.01, fwq_s=0.01))
found = communicator.gather((warm, counts(), before))
if communicator.rank == 0:
    print(json.dumps(found))
"""


def test_rank_0_compiles_and_the_others_find_it(ranks: Ranks, tmp_path: Path) -> None:
    cold = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = ranks(2, script=COLD_CACHE, environment=cold)
    assert done.returncode == 0, done.stderr
    for rank, (warm, after, petsc) in enumerate(json.loads(done.stdout)):
        assert all(tuple(each) == ((0, 1) if rank == 0 else (1, 0)) for each in warm)
        assert after == warm, "nothing is compiled while something is measured"
        assert petsc == "[]"


NODES = """
import json, time
from hindmost.harness import mpi
from hindmost.harness.probes import network
from hindmost.harness.turns import among
from hindmost.harness.probes.section import Effort
communicator = mpi.start()
network.nodes_of = lambda communicator: [0, 0, 2]  # two nodes of which one is made up
effort = Effort(cap_s=0.0, blocks=3, batch_s=1e-6)
times = network.measure_network(communicator, effort, messages=(0, 8, 1000))
begin = time.thread_time()
with among(communicator, [1]) as alone:
    if alone is not None:
        time.sleep(1.0)
asleep_s = time.thread_time() - begin
everybody = communicator.gather((
    [(name, pair, [len(each.seconds) for each in times.links[f"{name}_both_ways"]])
     for name, pair in times.ranks.items()],
    [(count, [each.size for each in timed]) for count, timed in times.reductions.items()],
    asleep_s,
))
if communicator.rank == 0:
    print(json.dumps(everybody))
"""


def test_pairs_across_nodes_and_ranks_that_sleep(ranks: Ranks) -> None:
    done = ranks(3, script=NODES)
    assert done.returncode == 0, done.stderr
    everybody = json.loads(done.stdout)
    assert len(everybody) == 3
    for pairs, reductions, asleep_s in everybody:
        assert [pair[:2] for pair in pairs] == [["within", [0, 1]], ["across", [0, 2]]]
        assert all(min(pair[2]) >= 1 for pair in pairs)
        assert reductions == [[2, [8]], [3, [8]]]
        assert asleep_s < 0.5, "who has no work leaves the core to those who have"
