"""The same solve, replayed by SimGrid's SMPI and walked through by hindmost.

    python -m benchmarks.simulation_smpi [--quick]

SMPI replays a time-independent trace of every rank; hindmost walks through the same work. Both have
one network, without contention: a message takes `LATENCY_S` and its bytes at `BANDWIDTH`. For SMPI
that is a cluster with links that nothing fills, and a rate of each message that its latency limits
(TCP-gamma = 2 x latency x bandwidth), no factors and no overheads of its own, and messages that
begin when both ranks have come. Its allreduce is recursive doubling. Its non-blocking one, which
traces cannot contain, is the one that MPI_Iallreduce has in SMPI: all ranks exchange with all, so
that it completes one message after the last rank posted it.

Then SMPI runs a real program (`jacobi.c`) and traces it, and both replay that trace: SMPI with
``smpirun -replay``, hindmost as ``hindmost whatif TRACE`` does. Both also replay traces of rooted
collectives, in which ranks come at different times and may leave early.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from benchmarks.traces.replay import EAGER_BYTES, replay_trace
from benchmarks.traces.smpi_trace import CHAR
from numpy.typing import NDArray

from hindmost.models.adaptive.machine import Machine, Network
from hindmost.models.events import EventKind
from hindmost.models.simulation.blocks import KINDS, EventBlock, Neighbours
from hindmost.models.simulation.event_simulator import EventSimulator
from hindmost.models.simulation.network import Link, Piece, allreduce_messages

LATENCY_S, BANDWIDTH = 10e-6, 1e9
LINK = Link(pieces=(Piece(from_bytes=0, latency_s=LATENCY_S, per_byte_s=1.0 / BANDWIDTH),))
HALO_BYTES, REDUCED_BYTES = 8000, 8
MEAN_WORK_S = 1e-3
GOAL_ERROR, GOAL_RATIO = 0.02, 5000
REPEATS = 50
"""Walks of hindmost, which one is too short to time."""
LONGEST_S = 300

OPTIONS = {
    "network/model": "CM02",
    "network/latency-factor": "1",
    "network/bandwidth-factor": "1",
    "network/TCP-gamma": f"{2 * LATENCY_S * BANDWIDTH:g}",
    "network/weight-S": "0",
    "network/crosstraffic": "0",
    "smpi/os": "0:0:0",
    "smpi/or": "0:0:0",
    "smpi/ois": "0:0:0",
    "smpi/allreduce": "rdb",
    "smpi/host-speed": "1Gf",
    "smpi/display-timing": "yes",
}
PLATFORM = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="host" suffix="" radical="0-{last}" speed="1Gf" bw="1000000GBps"
           lat="{half}s"/>
</platform>
"""
OTHER_COLLECTIVES = {
    "smpi/bcast": "binomial_tree",
    "smpi/reduce": "binomial",
    "smpi/gather": "ompi_binomial",
    "smpi/scatter": "ompi_binomial",
    "smpi/barrier": "ompi_recursivedoubling",
}
PROGRAM = Path(__file__).with_name("jacobi.c")
FLOPS_PER_S = 1e9
"""At which SMPI counts work: its ``smpi/host-speed``, and the speed of a host of the platform."""
TRACED_ITERATIONS = 100
ROOTED = {
    "bcast": ("bcast {bytes} {root} 2",),
    "reduce": ("reduce {bytes} 0 {root} 2",),
    "gather": ("gather {bytes} {bytes} {root} 2 2",),
    "scatter": ("scatter {bytes} {bytes} {root} 2 2",),
    "bcast, reduce": ("bcast {bytes} {root} 2", "reduce {bytes} 0 {root} 2"),
}
"""Rooted collectives as traces have them, with work before each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solve:
    """Iterations that exchange halos along a row of ranks, work and reduce.

    Attributes
    ----------
    blocking : bool
        Whether the reduction comes after the work; else it is posted before the halos and completed
        after the work.
    work : float64 array, shape (iteration, rank), seconds
    """

    blocking: bool
    work: NDArray[np.float64]

    @classmethod
    def of(cls, ranks: int, iterations: int, *, blocking: bool) -> Solve:
        """Draw the work of a solve."""
        random = np.random.default_rng(0)
        return cls(blocking=blocking, work=random.exponential(MEAN_WORK_S, (iterations, ranks)))

    @property
    def kinds(self) -> list[int]:
        """The events of an iteration."""
        halo = [EventKind.SEND, EventKind.RECEIVE]
        if self.blocking:
            return [*halo, EventKind.REDUCE]
        return [EventKind.POST, *halo, EventKind.COMPLETE]

    @property
    def latency(self) -> NDArray[np.float64]:
        """What the events cost on the network that both have, apart from halos."""
        kinds = self.kinds
        latency = np.zeros((len(kinds), KINDS))
        messages = allreduce_messages(self.work.shape[1])
        latency[-1, EventKind.REDUCE] = messages * LINK.time_s(REDUCED_BYTES)
        latency[-1, EventKind.COMPLETE] = LINK.time_s(REDUCED_BYTES)
        return latency

    def walked(self) -> tuple[float, float]:
        """Return the time of the solve and that of the walk through it, in seconds."""
        iterations, ranks = self.work.shape
        kinds = np.array(self.kinds, np.uint8)
        work = np.zeros((iterations, ranks, kinds.size))
        work[:, :, -1] = self.work
        # A rank's own messages to its neighbours have left only then, however early theirs came.
        stay = np.zeros_like(work)
        stay[:, :, self.kinds.index(EventKind.RECEIVE)] = LINK.time_s(HALO_BYTES)
        rank = np.arange(ranks, dtype=np.int32)
        left, right = rank[:-1], rank[1:]
        neighbours = Neighbours.of_edges(
            ranks, np.concatenate([left, right]), np.concatenate([right, left])
        )
        block = EventBlock(
            kind=np.tile(kinds, (iterations, 1)),
            work=work,
            duration=np.zeros_like(work),
            rest=np.zeros((iterations, ranks)),
            cycle_begins=np.zeros(iterations, np.bool_),
        )
        total_s = 0.0
        took = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            simulator = EventSimulator(ranks, neighbours, self.latency)
            simulator.walk(block, stay=stay)
            total_s = float(simulator.clock.max())
            took.append(time.perf_counter() - begin)
        return total_s, float(np.median(took))

    def write_trace(self, folder: Path) -> None:
        """Write the traces of all ranks, and the platform they run on."""
        iterations, ranks = self.work.shape
        write_platform(folder, ranks)
        names = [folder / f"rank{rank}" for rank in range(ranks)]
        (folder / "trace").write_text("".join(f"{name}\n" for name in names))
        for rank, name in enumerate(names):
            lines = ["init"]
            for body in range(iterations):
                lines += self.actions(rank, body)
            lines.append("finalize")
            name.write_text("".join(f"{rank} {line}\n" for line in lines))

    def actions(self, rank: int, body: int) -> list[str]:
        """Return what a rank does in an iteration, as traces have it."""
        iterations, ranks = self.work.shape
        near = [other for other in (rank - 1, rank + 1) if 0 <= other < ranks]
        halo = [
            *(f"isend {other} {body} {HALO_BYTES} {CHAR}" for other in near),
            *(f"irecv {other} {body} {HALO_BYTES} {CHAR}" for other in near),
            *(f"wait {other} {rank} {body}" for other in near),
            *(f"wait {rank} {other} {body}" for other in near),
        ]
        work = f"compute {self.work[body, rank] * 1e9:.17g}"
        if self.blocking:
            return [*halo, work, f"allreduce {REDUCED_BYTES} 0 {CHAR}"]
        every = [other for other in range(ranks) if other != rank]
        tag = iterations + body
        posts = [
            *(f"isend {other} {tag} {REDUCED_BYTES} {CHAR}" for other in every),
            *(f"irecv {other} {tag} {REDUCED_BYTES} {CHAR}" for other in every),
        ]
        return [*posts, *halo, work, f"waitall {len(posts)}"]

    def replayed(self) -> tuple[float, float]:
        """Return the time of the solve and that of its simulation by SMPI, in seconds."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.write_trace(folder)
            return replay(folder, self.work.shape[1], "trace")


def write_platform(folder: Path, ranks: int) -> None:
    """Write the platform that as many ranks run on, one on each host."""
    half = f"{LATENCY_S / 2:g}"  # of the link of either host
    (folder / "platform.xml").write_text(PLATFORM.format(last=ranks - 1, half=half))
    (folder / "hosts").write_text("".join(f"host{rank}\n" for rank in range(ranks)))


def smpirun(folder: Path, ranks: int, *words: str, eager_bytes: int = 0) -> str:
    """Run SMPI in a folder with a platform; return what it says.

    Messages of up to ``eager_bytes`` leave before their receivers have come.
    """
    eager = dict.fromkeys(("smpi/async-small-thresh", "smpi/send-is-detached-thresh"), eager_bytes)
    options: dict[str, str | int] = {**OPTIONS, **OTHER_COLLECTIVES}
    command = ["smpirun", "-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hosts"]
    command += [f"--cfg={key}:{value}" for key, value in (options | eager).items()]
    done = subprocess.run(
        [*command, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    said = done.stdout + done.stderr
    if done.returncode:
        sys.exit(f"smpirun failed:\n{said[-2000:]}")
    return said


def replay(folder: Path, ranks: int, trace: str, eager_bytes: int = 0) -> tuple[float, float]:
    """Return the time of a trace and that of its replay by SMPI, in seconds."""
    said = smpirun(folder, ranks, "-replay", trace, eager_bytes=eager_bytes)
    solve = re.search(r"Simulated time: ([\d.e+-]+) seconds", said)
    took = re.search(r"simulation took ([\d.e+-]+) seconds", said)
    if not solve or not took:
        sys.exit(f"smpirun did not say how long it took:\n{said[-2000:]}")
    return float(solve[1]), float(took[1])


def traced(folder: Path, ranks: int, iterations: int) -> Path:
    """Have SMPI run and trace the program; return the trace."""
    write_platform(folder, ranks)
    subprocess.run(["smpicc", "-O1", "-o", folder / "jacobi", PROGRAM, "-lm"], check=True)
    smpirun(folder, ranks, "-trace-ti", "-trace-file", "program.ti", "./jacobi", f"{iterations}")
    return folder / "program.ti"


def both_replays(ranks: int, iterations: int, eager_bytes: int) -> tuple[float, float]:
    """Return the time of the traced program as SMPI and as hindmost replay it, in seconds."""
    with tempfile.TemporaryDirectory() as name:
        return replay_both(traced(Path(name), ranks, iterations), ranks, eager_bytes)


def replay_both(trace: Path, ranks: int, eager_bytes: int) -> tuple[float, float]:
    """Return the time of a trace as SMPI and as hindmost replay it, in seconds."""
    network = Network(within=LINK, within_both_ways=LINK)
    machine = Machine(name="cluster", ranks_per_node=ranks, network=network)
    theirs_s, _ = replay(trace.parent, ranks, trace.name, eager_bytes)
    ours = replay_trace(trace, machine, FLOPS_PER_S, eager_bytes=eager_bytes)
    return theirs_s, ours.total_s


def rooted_replays(calls: tuple[str, ...], ranks: int, eager_bytes: int) -> tuple[float, float]:
    """Return the time of iterations of rooted collectives as SMPI and hindmost replay them."""
    random, root = np.random.default_rng(0), ranks // 3
    shape = TRACED_ITERATIONS, ranks, len(calls)
    flops = 1e9 * random.exponential(0.1 * MEAN_WORK_S, shape)
    said = [call.format(bytes=HALO_BYTES, root=root) for call in calls]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_platform(folder, ranks)
        names = [folder / f"rank{rank}" for rank in range(ranks)]
        (folder / "trace").write_text("".join(f"{name}\n" for name in names))
        for rank, file in enumerate(names):
            lines = ["init"]
            for body in flops[:, rank]:
                for work, call in zip(body, said, strict=True):
                    lines += [f"compute {work:.17g}", call]
            file.write_text("".join(f"{rank} {line}\n" for line in [*lines, "finalize"]))
        return replay_both(folder / "trace", ranks, eager_bytes)


def compare_rooted(quick: bool) -> None:
    """Print both replays of rooted collectives."""
    say(f"rooted collectives of {HALO_BYTES} B, root: a third of the ranks")
    say(f"{'':14}{'eager':>8}{'ranks':>6}{'SMPI':>13}{'hindmost':>13}{'differ by':>11}")
    for (name, calls), ranks in product(ROOTED.items(), (12,) if quick else (8, 12, 64)):
        for eager_bytes in (0, EAGER_BYTES):
            theirs_s, ours_s = rooted_replays(calls, ranks, eager_bytes)
            say(
                f"{name:14}{eager_bytes:6} B{ranks:6}{theirs_s * 1e3:10.3f} ms"
                f"{ours_s * 1e3:10.3f} ms{ours_s / theirs_s - 1.0:+11.4%}"
            )


def compare_traced(quick: bool) -> None:
    """Print both replays of traces that a real program wrote."""
    say(f"the same trace of {PROGRAM.name}, which SMPI ran: {TRACED_ITERATIONS} iterations")
    say(f"{'eager':>8}{'ranks':>6}{'SMPI':>13}{'hindmost':>13}{'differ by':>11}")
    for eager_bytes in (0, EAGER_BYTES):
        for ranks in (8,) if quick else (8, 12, 64):
            theirs_s, ours_s = both_replays(ranks, TRACED_ITERATIONS, eager_bytes)
            say(
                f"{eager_bytes:6} B{ranks:6}{theirs_s * 1e3:10.3f} ms{ours_s * 1e3:10.3f} ms"
                f"{ours_s / theirs_s - 1.0:+11.4%}"
            )


def main(words: list[str]) -> None:
    """Print both, for blocking and non-blocking reductions."""
    if shutil.which("smpirun") is None:
        say("SMPI: not installed, so nothing to compare with (Debian: libsimgrid-dev)")
        return
    quick = "--quick" in words
    version = subprocess.run(["smpirun", "--version"], capture_output=True, text=True, check=True)
    say(f"{version.stdout.splitlines()[0]}, SMPI, replay of a time-independent trace: {OPTIONS}")
    say(
        f"goals: the same time within {GOAL_ERROR:.0%}, {GOAL_RATIO} times the rank-iterations a "
        "second"
    )
    say(
        f"{'reduction':14}{'ranks':>6}{'iterations':>11}{'SMPI':>13}{'hindmost':>13}"
        f"{'differ by':>11}   rank-iterations"
    )
    counts = {True: {64: 200, 256: 100}, False: {64: 20, 256: 2}}
    for blocking, of_ranks in counts.items():
        for ranks, most in of_ranks.items():
            iterations = max(2, most // 4) if quick else most
            solve = Solve.of(ranks, iterations, blocking=blocking)
            theirs_s, their_time = solve.replayed()
            ours_s, our_time = solve.walked()
            done = ranks * iterations
            say(
                f"{'blocking' if blocking else 'non-blocking':14}{ranks:6}{iterations:11}"
                f"{theirs_s * 1e3:10.3f} ms{ours_s * 1e3:10.3f} ms{ours_s / theirs_s - 1.0:+11.4%}"
                f"   {done / their_time:,.0f}/s, {done / our_time / 1e6:.1f} million/s: "
                f"{their_time / our_time:,.0f} times"
            )
    compare_traced(quick)
    compare_rooted(quick)
    say(
        "The non-blocking one is slow in SMPI because its reductions are exchanges of all with all."
    )


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
