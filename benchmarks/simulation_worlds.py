"""What is predicted of programs with known truth, on ranks that were not recorded.

    python -m benchmarks.simulation_worlds [--quick] [--worlds N] [--first SEED] [--ranks LIST]
        [--noise FAMILY]

Draws worlds (`benchmarks.synthetic.worlds`: work, weak or strong scaling, imbalance, noise,
network, halos and reductions), runs each on 2 to 4 ranks and writes run files as if recorded; asks
what ``hindmost whatif`` asks of them, by the same functions; and runs the same world on those
ranks. Noise is of a family that shares nothing with the laws that are fitted (a daemon by the
clock, spells of slow ranks), or detours by the iteration. Worlds with several ranks on a node come
with a machine file, others without.

Questions: the time on more ranks, as it is, and without noise or with four times the latency;
whether PIPECG pays off there, from runs of CG; and on the recorded ranks what equal work, a quiet
machine and an ideal network save. Worlds take turns in the number of ranks and in the change.

*Error* is the median and 90th percentile of those of times. *Held* is the share of the truths in
the 90 % intervals that were given; *decided* that of the questions answered with a number and an
interval, or with yes or no; *rightly* the share of all questions that were decided, and whose truth
is in the interval, or that answer.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from benchmarks.synthetic.worlds import (
    NOISE,
    Walked,
    World,
    draw_world,
    neighbours,
    walk_world,
    with_noise,
)
from numpy.typing import NDArray

from hindmost.analysis.runs.read import find_runs
from hindmost.analysis.verbs.whatif import with_recorded_solver
from hindmost.analysis.whatif.advice import Compared, Verdict
from hindmost.analysis.whatif.gains import pooled, remedies_of
from hindmost.analysis.whatif.options import changes_of
from hindmost.analysis.whatif.prediction import SolvePrediction, predict_at_scale
from hindmost.analysis.whatif.targets import Scale, Scaling
from hindmost.errors import HindmostError
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.adaptive.machine import Machine, Network
from hindmost.models.simulation import scaleup
from hindmost.models.simulation.network import Link, Piece

RANKS = (64, 512)
REPEATS = (1, 3)
SCATTER = 0.005
"""By which whole runs differ, as the standard deviation of a logarithm."""
PROBED = 0.05
"""By which a probed latency misses that of the program."""
LEAD_S = 1e-5
CASES: dict[str, tuple[dict[str, str], dict[str, float]]] = {
    "as it is": ({}, {}),
    "no noise": ({"noise": "none"}, {"noise": 0.0}),
    "4 x latency": ({"latency": "x4"}, {"latency": 4.0}),
}
"""What changes, for hindmost and for `walk_world`."""
HERE = {
    "equal work": ("balanced", {"apart": 0.0}),
    "quiet": ("quiet", {"noise": 0.0}),
    "ideal network": ("network", {"network": 0.0}),
}


@dataclass(slots=True, kw_only=True)
class Tally:
    """The answers to a kind of question.

    Attributes
    ----------
    asked, decided, rightly, intervals, held : int
    widths : list of float
        Ratio of the ends of intervals.
    errors : list of float
        Of times, over the truth.
    why : list of str
        Why worlds were undecided, or missed.
    """

    asked: int = 0
    decided: int = 0
    rightly: int = 0
    intervals: int = 0
    held: int = 0
    widths: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    why: list[str] = field(default_factory=list)

    def add(
        self,
        truth: float,
        ends: tuple[float, float] | None,
        *,
        decided: bool,
        note: str,
        seconds: float = float("nan"),
    ) -> None:
        """Add an answer in numbers; ends are None if there is no interval."""
        self.asked += 1
        self.decided += decided
        if ends is None:
            self.why.append(f"{note} undecided")
            return
        held = ends[0] <= truth <= ends[1]
        self.intervals += 1
        self.held += held
        self.rightly += held and decided
        self.widths.append(ends[1] / max(ends[0], 1e-300))
        if np.isfinite(seconds):
            self.errors.append(abs(seconds / truth - 1.0))
        if not held or not decided:
            where = f"truth {truth:.4g}, interval {ends[0]:.4g} to {ends[1]:.4g}"
            self.why.append(f"{note} {where}{'' if decided else ', undecided'}")

    def line(self, name: str) -> str:
        """Return the line of a table."""
        held = f"{self.held / self.intervals:.0%} of {self.intervals}" if self.intervals else "-"
        width = f"{np.median(self.widths):.2f}" if self.widths else "-"
        error = "-"
        if self.errors:
            error = " / ".join(f"{each:.0%}" for each in np.quantile(self.errors, (0.5, 0.9)))
        return (
            f"| {name} | {self.asked} | {error} | {held} | {width} | "
            f"{self.decided / self.asked:.0%} | {self.rightly / self.asked:.0%} |"
        )


def values_of(world: World, walked: Walked, factor: float) -> dict[str, object]:
    """Return the variables of a run file."""
    start, work, inside, rest = (
        factor * each for each in (walked.start, walked.work, walked.duration, walked.rest)
    )
    duration = (work + inside).sum(axis=2) + rest
    end = start[-1] + duration[-1]
    bodies, ranks = duration.shape
    phases = np.zeros((bodies, ranks, len(PHASES)))
    collective = np.isin(walked.kind, (1, 2, 3))
    phases[:, :, PHASES.index("wait")] = inside[:, :, collective].sum(axis=2)
    phases[:, :, PHASES.index("halo")] = inside[:, :, ~collective].sum(axis=2)
    phases[:, :, PHASES.index("local")] = duration - inside.sum(axis=2)
    source, target = edges_of(world)
    return {
        "duration": duration,
        "start": LEAD_S + start,
        "phase_duration": phases,
        "body": np.zeros(bodies, np.uint8),
        "position": np.arange(bodies, dtype=np.int32),
        "residual_norm": np.geomspace(1, 1e-8, bodies),
        "restart_duration": np.zeros((0, ranks)),
        "lead_in": np.full(ranks, LEAD_S),
        "lead_out": end.max() - end + LEAD_S,
        "solve_time": np.full(ranks, end.max() + 2.0 * LEAD_S),
        "mpi_other": np.zeros(ranks),
        "context_switches": np.zeros(ranks, np.int64),
        "cpu": np.arange(ranks),
        "clock_offset": np.zeros(ranks),
        "clock_uncertainty": np.full(ranks, 1e-7),
        "edge_source": source,
        "edge_target": target,
        "edge_bytes": np.full(source.size, round(world.halo_bytes)),
        "event_kind": np.tile(np.array(walked.kind, np.uint8), (bodies, 1)),
        "event_work": work.astype(np.float32),
        "event_duration": inside.astype(np.float32),
        "host": [f"node-{rank // world.per_node}" for rank in range(ranks)],
    }


def edges_of(world: World) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return who sends to whom on the recorded ranks."""
    source, target = neighbours(world.ranks, world.dimensions)
    return source.astype(np.int32), target.astype(np.int32)


def record(folder: Path, world: World, seed: int, repeats: int) -> list[Run]:
    """Write runs of a world on its recorded ranks."""
    level = np.random.default_rng((seed, 1))
    spec = {"unknowns": 1000, "mpi_seen": True, "pid": 1, "pc_type": "jacobi"}
    header = Header(
        workload="world",
        solver=world.program,
        ranks=world.ranks,
        iterations=world.iterations,
        restart=0,
        synchronisation="blocking",
        lag=0,
        complete=True,
        records_lost=0,
        origin="synthetic",
        t0_utc="2026-01-02T03:04:05.000006+00:00",
        mpi_library="none",
        spec=spec,
        environment={},
        petsc_options={},
        scheduler={},
        git={},
    )
    for repeat in range(repeats):
        walked = walk_world(world, world.ranks, np.random.default_rng((seed, 2, repeat)))
        factor = float(np.exp(SCATTER * level.standard_normal()))
        write_whole(folder, header, values_of(world, walked, factor))
    return list(find_runs([folder]))


def machine_of(world: World, seed: int) -> Machine | None:
    """Return the probed network of a world; None if every rank has a node of its own."""
    if world.per_node == 1:
        return None
    random = np.random.default_rng((seed, 3))
    links = [
        Link(
            pieces=(
                Piece(
                    from_bytes=0,
                    latency_s=float(latency_s * np.exp(PROBED * random.standard_normal())),
                    per_byte_s=world.per_byte_s,
                ),
            )
        )
        for latency_s in (world.within_s, world.across_s)
    ]
    network = Network(
        within=links[0], within_both_ways=links[0], across=links[1], across_both_ways=links[1]
    )
    return Machine(name="world", ranks_per_node=world.per_node, network=network)


def true_s(world: World, seed: int, ranks: int, **change: object) -> float:
    """Return the time of a further run of a world."""
    random = np.random.default_rng((seed, 4))
    factor = np.exp(SCATTER * np.random.default_rng((seed, 5)).standard_normal())
    return float(factor * walk_world(world, ranks, random, **change).total_s) + 2.0 * LEAD_S  # type: ignore[arg-type]


def ask(world: World, seed: int, ranks: Sequence[int], tallies: dict[str, Tally]) -> None:
    """Ask all questions of a world, and hold the answers against its truth."""
    repeats = int(np.random.default_rng((seed, 6)).choice(REPEATS))
    note = f"world {seed}:"
    with TemporaryDirectory() as name:
        runs = record(Path(name), world, seed, repeats)
        here(world, seed, runs, tallies)
        scale = Scale(
            ranks=tuple(ranks),
            per_node=world.per_node,
            scaling=Scaling.WEAK if world.weak else Scaling.STRONG,
            grid=world.dimensions or None,
        )
        cases = ["as it is", list(CASES)[1 + seed // 2 % 2]]
        changes = [one for case in cases for one in changes_of(**CASES[case][0])]  # type: ignore[arg-type]
        if world.program == "cg":
            changes = with_recorded_solver([*changes, *changes_of(solver="pipecg")])
        try:
            found = predict_at_scale(runs, scale, changes, machine_of(world, seed))
        except HindmostError as error:
            for rank in ranks:
                for case in cases:
                    tally_of(tallies, f"{rank} ranks, {case}").add(
                        0.0, None, decided=False, note=f"{note} {error}"
                    )
            return
        for each in ranks:
            at = [one for one in found if one.ranks == each]
            for case, one in zip(cases, at, strict=False):
                truth_s = true_s(world, seed, each, **CASES[case][1])
                tally_of(tallies, f"{each} ranks, {case}").add(
                    truth_s,
                    ends_of(one),
                    decided=one.prediction.known,
                    note=note,
                    seconds=one.prediction.seconds,
                )
            if world.program == "cg":
                partner(world, seed, at, tallies)


def ends_of(found: SolvePrediction) -> tuple[float, float] | None:
    """Return the interval of a prediction; None without one."""
    low_s, high_s = found.prediction.low_s, found.prediction.high_s
    return (low_s, high_s) if np.isfinite(low_s) and not found.no_interval else None


def partner(
    world: World, seed: int, found: Sequence[SolvePrediction], tallies: dict[str, Tally]
) -> None:
    """Ask whether PIPECG pays off."""
    blocking, pipelined = found[0], found[-1]
    ranks = blocking.ranks
    compared = Compared.of(blocking.named, blocking, pipelined)
    truth = true_s(world, seed, ranks, program="pipecg") / true_s(world, seed, ranks)
    (low, high), tally = compared.interval, tally_of(tallies, f"{ranks} ranks, partner")
    tally.add(
        truth,
        None if compared.unknown else (low, high),
        decided=compared.verdict is not Verdict.OPEN,
        note=f"world {seed}:",
    )
    # The question is whether it pays off, and not by how much.
    held = low <= truth <= high and not compared.unknown
    decided = compared.verdict is not Verdict.OPEN
    tally.rightly += decided * (((truth < 1.0) == (compared.verdict is Verdict.YES)) - int(held))


def here(world: World, seed: int, runs: Sequence[Run], tallies: dict[str, Tally]) -> None:
    """Ask what changes save on the recorded ranks."""
    gained = pooled([remedies_of(run) for run in runs])
    for name, (attribute, change) in HERE.items():
        found = getattr(gained, attribute)
        tally_of(tallies, f"here, {name}").add(
            true_here_s(world, seed, len(runs), **change),
            None if found is None else (found.low_s, found.high_s),
            decided=found is not None and found.predicted_s is not None,
            note=f"world {seed}:",
        )


def true_here_s(world: World, seed: int, repeats: int, **change: float) -> float:
    """Return the median time of the recorded runs with a change, of the same draws."""
    level = np.random.default_rng((seed, 1))
    found = []
    for repeat in range(repeats):
        random = np.random.default_rng((seed, 2, repeat))
        factor = float(np.exp(SCATTER * level.standard_normal()))
        found.append(factor * walk_world(world, world.ranks, random, **change).total_s)  # type: ignore[arg-type]
    return float(np.median(found)) + 2.0 * LEAD_S


def tally_of(tallies: dict[str, Tally], name: str) -> Tally:
    """Return the tally of a kind."""
    return tallies.setdefault(name, Tally())


def lines_of(tallies: dict[str, Tally]) -> Iterator[str]:
    """Yield the table."""
    yield "| question | asked | error | held | width | decided | rightly |"
    yield "|---|---|---|---|---|---|---|"
    for name in sorted(tallies):
        yield tallies[name].line(name)


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)  # noqa: T201


def main() -> None:
    """Draw worlds, ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--ranks", default=",".join(map(str, RANKS)))
    parser.add_argument("--noise", choices=NOISE, default=NOISE[0])
    parser.add_argument("--why", action="store_true", help="print what was missed or undecided")
    parser.add_argument("--quick", action="store_true", help="a quarter of the simulated work")
    arguments = parser.parse_args()
    if arguments.quick:
        scaleup.DRAWN //= 4  # type: ignore[attr-defined]
    ranks = [int(each) for each in arguments.ranks.split(",")]
    tallies: dict[str, Tally] = {}
    for seed in range(arguments.first, arguments.first + arguments.worlds):
        world = draw_world(np.random.default_rng(seed))
        world = with_noise(world, arguments.noise, np.random.default_rng((seed, 7)))
        ask(world, seed, ranks[seed % len(ranks) :][:1], tallies)
        if arguments.why:
            say(f"{seed}: {world}")
            for name, tally in tallies.items():
                while tally.why:
                    say(f"    {name}: {tally.why.pop()}")
    for line in lines_of(tallies):
        say(line)


if __name__ == "__main__":
    main()
