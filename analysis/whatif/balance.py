"""Adaptive runs with another map of their blocks to ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.cycles import ADAPTIVE
from hindmost.harness.runfile.reader import Run
from hindmost.models.simulation.objects import (
    Balance,
    Cycles,
    Objects,
    Strategy,
    maps_of,
    rebalanced,
)
from hindmost.models.simulation.path import RankOnPath
from hindmost.text import counted, percent, seconds, signed_percent

OWN_PHASES = ("local", "hydro", "heat", "adaption")
"""Phases in which no rank waits for others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalanced:
    """A run with another map.

    Attributes
    ----------
    run : Run
    name : str
    recorded, result : Balance
        With the recorded maps, and the others.
    outside_s : float
        Time of the run that is in no cycle.
    move_known : bool
        Whether the run shows what moving cells costs.
    """

    run: Run
    name: str
    recorded: Balance
    result: Balance
    outside_s: float
    move_known: bool

    JSON = (
        "file=run.path recorded_s=run.solve_time_s replayed_s predicted_s interval_s changes "
        "critical_path imbalance=result.imbalance recorded_imbalance=recorded.imbalance "
        "bytes_factor=result.bytes messages_factor=result.messages moved_cells=result.moved "
        "assumptions"
    )

    def lines(self) -> Iterator[str]:
        """Yield what the map does, in sentences."""
        base, predicted = self.replayed_s, self.predicted_s
        low, high = self.interval_s
        yield (
            f"With balance {self.name}: predicted {seconds(predicted)} "
            f"({signed_percent(predicted / base - 1.0)}; interval {seconds(low)} to "
            f"{seconds(high)})."
        )
        yield (
            f"Load imbalance {self.result.imbalance:.3f} (recorded {self.recorded.imbalance:.3f}); "
            f"most bytes of a rank x{self.result.bytes:.2f}, most messages "
            f"x{self.result.messages:.2f}; {self.result.moved:,.0f} cells move (recorded "
            f"{self.recorded.moved:,.0f})."
        )
        rank = int(self.result.slowest.argmax())
        share = self.result.slowest[rank] / self.result.slowest.sum()
        yield f"The others wait for rank {rank} in {percent(share)} of the cycles."

    @property
    def interval_s(self) -> tuple[float, float]:
        """The interval of the time of the run, in seconds."""
        return self.result.low_s + self.outside_s, self.result.high_s + self.outside_s

    def assumptions(self) -> list[str]:
        """Return what the prediction assumes."""
        moves = "No cells moved in the run, so their moves are taken to cost nothing."
        return [
            "A rank's work is that of its cells, at its own time per cell or at that of the ranks "
            "that had them. Exchanges cost as much more as the most bytes, or messages, of a rank.",
            *([] if self.move_known else [moves]),
        ]

    @property
    def changes(self) -> dict[str, str]:
        """What is changed."""
        return {"balance": self.name}

    @property
    def replayed_s(self) -> float:
        """The time with the recorded maps."""
        return self.recorded.seconds + self.outside_s

    @property
    def predicted_s(self) -> float:
        """The time with the other map."""
        return self.result.seconds + self.outside_s

    @property
    def critical_path(self) -> list[RankOnPath]:
        """The ranks for which the others wait, and in how many cycles."""
        ranks = np.argsort(-self.result.slowest, kind="stable")
        visits = self.result.slowest
        return [RankOnPath(rank=int(e), visits=int(visits[e])) for e in ranks if visits[e]]


def read_balance(text: str) -> list[Strategy]:
    """Return the maps of ``--balance``."""
    names = [each.strip() for each in text.split(",")]
    wrong = [name for name in names if name not in set(Strategy)]
    if wrong:
        raise UsageError(f"--balance {wrong[0]}: choose {', '.join(Strategy)}.")
    return [Strategy(name) for name in names]


def rebalance(run: Run, asked: Sequence[Strategy]) -> list[Rebalanced]:
    """Compute a run with other maps.

    Raises
    ------
    UsageError
        The run is not adaptive.
    DataError
        It lacks what is needed.
    """
    cycles, meshes = cycles_of(run), meshes_of(run)
    recorded = rebalanced(cycles, meshes, [mesh.owner for mesh in meshes])
    return [
        Rebalanced(
            run=run,
            name=str(strategy),
            recorded=recorded,
            result=rebalanced(cycles, meshes, maps_of(strategy, meshes, run.header.ranks)),
            outside_s=run.solve_time_s - float(cycles.cycle_s.sum()),
            move_known=cycles.move_s is not None,
        )
        for strategy in asked
    ]


def cycles_of(run: Run) -> Cycles:
    """Return the recorded cycles of an adaptive run."""
    if run.header.workload != ADAPTIVE:
        raise UsageError(
            f"{run.path} has no objects that could move: --balance is for adaptive runs, recorded "
            "with 'hindmost run adaptive --blocks'."
        )
    if run.columns != run.header.ranks:
        raise UsageError(
            f"{run.path} has full records of {run.columns} of {run.header.ranks} ranks; --balance "
            "needs those of all: record it without --keep."
        )
    if not run.has("block_edge_bytes"):
        raise DataError(
            f"{run.path} does not say which blocks exchange how much: record it again with "
            "'hindmost run adaptive --blocks'."
        )
    epochs = run.variable("epoch")
    _, mesh = np.unique(epochs, return_inverse=True)
    work_s = np.sum([run.phase(name) for name in OWN_PHASES], axis=0)
    moved = run.variable("moved").sum(axis=1)
    move_s = None
    if moved.sum() > 0:
        move_s = float(run.phase("balance").max(axis=1)[moved > 0].sum() / moved.sum())
    return Cycles(
        mesh=np.asarray(mesh, np.int64).reshape(-1),
        work_s=work_s,
        halo_s=run.phase("halo").min(axis=1),
        cycle_s=run.durations.max(axis=1),
        move_s=move_s,
    )


def meshes_of(run: Run) -> list[Objects]:
    """Return the objects of every mesh that a cycle ran on."""
    of, place, load, owner = (
        run.variable(f"block_{name}") for name in ("epoch", "place", "load", "owner")
    )
    edge_of, source, target, size = (
        run.variable(f"block_edge_{name}") for name in ("epoch", "source", "target", "bytes")
    )
    cells = run.variable("cells")
    epochs, first = np.unique(run.variable("epoch"), return_index=True)
    meshes: list[Objects] = []
    known = place[:0]
    for epoch, cycle in zip(epochs.tolist(), first.tolist(), strict=True):
        rows, edges = of == epoch, edge_of == epoch
        order = np.argsort(place[rows], kind="stable")
        places = place[rows][order]
        if np.any(np.diff(places) <= 0) or (meshes and not np.array_equal(places, known)):
            raise DataError(
                f"{run.path}: the blocks of mesh {epoch} are not those of the first mesh, each "
                "once. Record it again with 'hindmost run adaptive --blocks'."
            )
        known = places
        here = Objects(
            load=load[rows][order].astype(np.float64),
            owner=owner[rows][order].astype(np.int64),
            source=index_in(places, source[edges], run),
            target=index_in(places, target[edges], run),
            bytes=size[edges].astype(np.float64),
        )
        held = np.bincount(here.owner, here.load, run.header.ranks)
        if not np.array_equal(held, cells[cycle]):
            raise DataError(
                f"{run.path}: its blocks of mesh {epoch} and the cells of its ranks contradict "
                "each other."
            )
        meshes.append(here)
    return meshes


def index_in(places: NDArray[np.int64], wanted: NDArray[np.int64], run: Run) -> NDArray[np.int64]:
    """Return where blocks are in a list of ascending places."""
    at = np.searchsorted(places, wanted)
    if wanted.size and (at.max() >= places.size or np.any(places[at] != wanted)):
        raise DataError(f"{run.path}: a block exchanges data with one that its mesh does not have.")
    return np.asarray(at, np.int64)


def balance_lines(found: Sequence[Rebalanced]) -> Iterator[str]:
    """Yield what is said of a run with other maps."""
    first = found[0]
    replayed_s = first.replayed_s
    header = first.run.header
    yield (
        f"{first.run.path.name}: {counted(header.ranks, 'rank')}, "
        f"{counted(first.run.bodies, 'cycle')}, recorded {seconds(first.run.solve_time_s)}; "
        f"replayed without a change {seconds(replayed_s)} "
        f"({signed_percent(replayed_s / first.run.solve_time_s - 1.0, decimals=2)})."
    )
    for each in found:
        yield from each.lines()
    for line in first.assumptions():
        yield f"Assumed: {line}"
