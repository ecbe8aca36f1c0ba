"""Pages of fifteen kinds whose truth is known, as pictures for a reader who does not know it.

Run by ``make bench-pages FOLDER=...``. Which rank, how much, when and where are drawn; pages have
numbers in an order that is drawn, too. ``truth.txt`` has what was put in: read it last. Seven pages
have a fault of the program put in, one is of a run without any.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from tests.analysis.browser import Browser, need_browser
from tests.analysis.report.first_screens import of_work
from tests.analysis.runs.test_stretches import BODIES, RANKS, run_of
from tests.analysis.scaling.experiments import write_text
from tests.analysis.watch.notes import note, watched_use, windows_of
from tests.conftest import made_header

from hindmost.analysis.watch.program import WatchedFolder
from hindmost.analysis.watch.server import WatchServer
from hindmost.cli import main as hindmost
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.output import write_lines

WINDOWS = ((1600, 1000), (1024, 768), (400, 860))
ITERATIONS, SIZE = 600, 8
STEP_S = 2e-3
DRAWN = "document.documentElement.dataset.charts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Where pages are made, and what draws what is put in.

    Attributes
    ----------
    folder : Path
    random : Generator
    """

    folder: Path
    random: Generator

    @property
    def page(self) -> Path:
        """The page."""
        return self.folder / "page.html"

    def header(self, ranks: int = SIZE, iterations: int = ITERATIONS, **more: Any) -> Header:
        """Return the header of a loop without restarts."""
        spec, machine = {"mpi_seen": True}, {"machine": {"host": "node-0", "cores": ranks}}
        made = replace(made_header(), workload="app", solver="loop", ranks=ranks, restart=0)
        made = replace(made, iterations=iterations, spec=spec, environment=machine)
        return replace(made, petsc_options={}, origin="measured", **more)

    def work(self, ranks: int = SIZE, iterations: int = ITERATIONS) -> NDArray[np.float64]:
        """Return equal work with half a percent of noise: shape (iteration, rank), seconds."""
        return STEP_S * self.random.normal(1.0, 0.005, (iterations, ranks))

    def report(self, *files: Path) -> None:
        """Make the page."""
        with redirect_stdout(StringIO()):
            hindmost(["report", *map(str, files), "--out", str(self.page)])

    def of_work(
        self, work: NDArray[np.float64], latency_s: float = 5e-6, hosts: int = 1, **more: Any
    ) -> None:
        """Make the page on a run of some work."""
        ranks = work.shape[1]
        names = [f"node-{rank * hosts // ranks}" for rank in range(ranks)]
        values = of_work(work, latency_s) | {"host": names}
        header = self.header(ranks, len(work), **more)
        self.report(write_whole(self.folder, header, values))


def one_rank(case: Case) -> str:
    """One rank works longer."""
    rank, times = int(case.random.integers(SIZE)), case.random.uniform(1.15, 1.8)
    work = case.work()
    work[:, rank] *= times
    case.of_work(work)
    return f"rank {rank} works {times:.2f} times as long"


def one_node(case: Case) -> str:
    """All ranks of a node work longer."""
    node, times = int(case.random.integers(4)), case.random.uniform(1.15, 1.6)
    work = case.work(16)
    work[:, 4 * node : 4 * node + 4] *= times
    case.of_work(work, hosts=4)
    return f"the ranks of node-{node} work {times:.2f} times as long"


def recurring(case: Case) -> str:
    """Every so many iterations a rank has more work."""
    rank, every = int(case.random.integers(SIZE)), int(case.random.choice([10, 20, 25, 40]))
    longer = case.random.uniform(1.0, 4.0) * STEP_S
    work = case.work()
    work[every - 1 :: every, rank] += longer
    case.of_work(work)
    return f"every {every}th iteration rank {rank} works {1e3 * longer:.2f} ms longer"


def growing(case: Case) -> str:
    """Let the work of a rank grow, in one of two stretches."""
    rank, by = int(case.random.integers(RANKS)), case.random.uniform(0.5, 1.5)
    work = np.tile([2e-3, 1e-3], (BODIES, RANKS, 1))
    work *= case.random.normal(1.0, 0.005, work.shape)
    work[:, rank, 1] *= np.linspace(1.0, 1.0 + by, BODIES)
    duration = work.sum(axis=2).max(axis=1)
    values = {
        "start": np.tile((np.cumsum(duration) - duration + 1e-5)[:, None], RANKS),
        "solve_time": np.full(RANKS, duration.sum() + 2e-5),
    }
    whole = work.sum(axis=2)
    waits = whole.max(axis=1, keepdims=True) - whole + 1e-6
    run = run_of(case.folder, case.header(RANKS, BODIES), work, waits, alike=True, values=values)
    case.report(run.path)
    return f"rank {rank}: a stretch of 1 ms grows to {1.0 + by:.2f} ms over the run"


def communication(case: Case) -> str:
    """Reductions take much of the time."""
    share = case.random.uniform(0.3, 0.6)
    case.of_work(case.work(), STEP_S * share / (1.0 - share))
    return f"reductions take {100 * share:.0f} % of the time; nobody works longer"


def in_turn(case: Case) -> str:
    """Another rank has more work in each iteration."""
    times, work = case.random.uniform(1.4, 1.9), case.work()
    work[np.arange(ITERATIONS), case.random.integers(SIZE, size=ITERATIONS)] *= times
    case.of_work(work)
    return f"in each iteration another rank works {times:.2f} times as long (serialisation)"


def many_ranks(case: Case) -> str:
    """One of 512 ranks works longer."""
    ranks = 512
    rank, times = int(case.random.integers(ranks)), case.random.uniform(1.1, 1.4)
    work = case.work(ranks, 120)
    work[:, rank] *= times
    case.of_work(work, hosts=16)
    return f"of 512 ranks, rank {rank} works {times:.2f} times as long"


def equal(case: Case) -> str:
    """Nothing is wrong."""
    case.of_work(case.work())
    return "nothing: equal work, no loss"


def detours(case: Case) -> str:
    """Single iterations of any rank are disturbed."""
    work, count = case.work(), 60
    work.flat[case.random.choice(work.size, count, replace=False)] += 2.0 * STEP_S
    case.of_work(work)
    return f"noise: {count} detours of {2e3 * STEP_S:.0f} ms on any rank, any time"


def drifting(case: Case) -> str:
    """Let the whole run become slower, so that its data are no good."""
    last, times = int(case.random.integers(120, 240)), case.random.uniform(1.5, 2.2)
    work = case.work()
    work[-last:] *= times
    case.of_work(work)
    return f"all ranks {times:.2f} times slower in the last {last} iterations: data in doubt"


def solvers(case: Case) -> str:
    """Of two solvers one is faster."""
    times = case.random.uniform(1.1, 1.5)
    names = [str(each) for each in case.random.permutation(["cg", "pipecg"])]
    files = []
    for name, factor in zip(names, (1.0, times), strict=True):
        for repeat in range(3):
            header = replace(
                case.header(), solver=name, workload="laplacian-1d",
                t0_utc=f"2026-11-01T0{repeat}:00:00+00:00",
            )  # fmt: skip
            files.append(write_whole(case.folder, header, of_work(factor * case.work())))
    case.report(*files)
    return f"{names[1]} takes {times:.2f} times as long as {names[0]}"


def scaling(case: Case) -> str:
    """One of three kernels grows with a power."""
    power, names = case.random.uniform(1.2, 2.0), ["solve", "assemble", "exchange"]
    worst = str(case.random.choice(names))
    functions = {
        name: (lambda p: 0.2 * (p / 64.0) ** power)
        if name == worst
        else (lambda p: 1.0 + 0.05 * np.log2(p))
        for name in names
    }
    points, seed = 2.0 ** np.arange(3, 9), int(case.random.integers(1 << 30))
    file = write_text(
        case.folder / "experiment.txt", functions, points=points, noise=0.02, repetitions=5,
        seed=seed,
    )  # fmt: skip
    case.report(file)
    return f"{worst} grows as p^{power:.2f}, the others hardly"


def nights(case: Case, *, changed: bool = True) -> str:
    """Let one series become slower, or none."""
    names = ["assembly", "halo", "solve"]
    worst, day = str(case.random.choice(names)), int(case.random.integers(60, 64))
    times = case.random.uniform(1.08, 1.25)
    rows = ["time," + ",".join(f"{name} [s]" for name in names)]
    for at in range(66):
        values = case.random.normal(1.0, 0.008, 3) * [3.0, 1.0, 7.0]
        if changed and at >= day:
            values[names.index(worst)] *= times
        stamp = np.datetime64("2026-09-20") + at
        rows.append(f"{stamp}T02:00:00Z," + ",".join(f"{value:.5f}" for value in values))
    file = case.folder / "nights.csv"
    file.write_text("\n".join(rows))
    case.report(file)
    if not changed:
        return "nights without a change"
    since = np.datetime64("2026-09-20") + day
    return f"{worst} is {100 * (times - 1):.0f} % slower since {since}"


def quiet_nights(case: Case) -> str:
    """Nothing changed."""
    return nights(case, changed=False)


def watched(case: Case) -> str:
    """Watch a run that goes on, of which a rank has most work."""
    rank = int(case.random.integers(SIZE))
    work = 0.4 * case.random.uniform(0.95, 1.0, (120, SIZE))
    work[:, rank] *= 2.0
    note(case.folder, watched_use(rank, SIZE), windows=windows_of(work))
    return f"a run that goes on; rank {rank} has most work, twice the others'"


CASES: tuple[Callable[[Case], str], ...] = (
    one_rank, one_node, recurring, growing, communication, in_turn, many_ranks, equal, detours,
    drifting, solvers, scaling, nights, quiet_nights, watched,
)  # fmt: skip


def take_pictures(browser: Browser, address: str, ready: str, name: Path) -> None:
    """Save what each window shows first."""
    for width, height in WINDOWS:
        browser.window(width, height)
        browser.open(address, ready)
        browser.picture(name.with_name(f"{name.name}-{width}.png"))


def main() -> int:
    """Make the pages and their pictures."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="a kind, to look at it again")
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    order = random.permutation(len(CASES)).tolist()
    truth = []
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with Browser(need_browser(), folder / "profile") as browser:
        for number, place in enumerate(order):
            make = CASES[place]
            case = Case(
                folder=folder / f"{number:02}",
                random=np.random.default_rng((arguments.seed, place)),
            )
            if arguments.only not in (None, make.__name__):
                continue
            case.folder.mkdir(exist_ok=True)
            truth.append(f"{number:02} {make.__name__}: {make(case)}")
            picture = folder / f"{number:02}"
            if make is watched:
                with WatchServer(WatchedFolder(case.folder)) as server:
                    ready = "document.documentElement.dataset.windows === '120'"
                    take_pictures(browser, server.address(), ready, picture)
            else:
                ready = f"{DRAWN} || document.documentElement.dataset.series"
                take_pictures(browser, case.page.as_uri(), ready, picture)
            sys.stderr.write(f"{number:02} done\n")
    (folder / "truth.txt").write_text("\n".join(truth) + "\n")
    write_lines(f"{len(truth)} pages: look at {folder}/NN-WIDTH.png, then read truth.txt.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
