"""What several tests need: run files with known contents, and ranks under a real mpiexec."""

import base64
import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

# Before numpy is loaded: threads of BLAS that wait for small matrices take all cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hindmost.files import cache_folder

# Loops are compiled once, also by tests whose other caches are empty.
os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder("loops")))

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from hindmost import cli
from hindmost.analysis.show import figure_style, html_charts, matplotlib_charts
from hindmost.analysis.show.chart import Chart
from hindmost.analysis.show.figure_style import MAX_TICKS
from hindmost.analysis.show.heat_map import HeatMap
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.cycles import COUNTS
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.events import EventKind

# On a busy machine an example may take any time.
settings.register_profile("any-speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-speed")

ROOT = Path(__file__).parent.parent
BIN = Path(sys.prefix) / "bin"
RUN_TIMEOUT_S = 1800
LOCAL = PHASES.index("local")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Where tests run in several processes, let one start all ranks, and one make each fixture.

    Tests of a file share its fixtures, some of which take seconds; those of pages share a browser.
    """
    if item.get_closest_marker("xdist_group") is None:
        file, _, _ = item.nodeid.partition("::")
        in_browser = isinstance(item, pytest.Function) and hasattr(item.module, "Browser")
        ranks = item.get_closest_marker("mpi") is not None
        group = "ranks" if ranks else "browser" if in_browser else file
        item.add_marker(pytest.mark.xdist_group(group))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what starts ranks come first: it takes longest."""
    items.sort(key=lambda item: item.get_closest_marker("mpi") is None)


def pytest_collection() -> None:
    """Look for no garbage while tests are collected: they stay to the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage in what the tests make from now on, and no more in the tests."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def header() -> Header:
    return made_header()


def made_header() -> Header:
    """Return the header of a small synthetic run, for fixtures that tests share."""
    return Header(
        workload="laplacian-1d",
        solver="gmres",
        ranks=3,
        iterations=40,
        restart=10,
        synchronisation="blocking",
        lag=0,
        complete=True,
        records_lost=0,
        origin="synthetic",
        t0_utc="2026-01-02T03:04:05.000006+00:00",
        mpi_library="none",
        spec={"unknowns": 300, "repeat": 0},
        environment={"petsc": "none", "machine": {"host": "büro", "cores": 3}},
        petsc_options={"ksp_rtol": "0"},
        scheduler={},
        git={},
    )


@pytest.fixture
def values() -> dict[str, object]:
    """Return the variables of a run of 40 bodies on 3 ranks in 4 cycles, books closed."""
    return run_values(iterations=40, ranks=3, restart=10, seed=1)


def run_values(*, iterations: int, ranks: int, restart: int, seed: int) -> dict[str, object]:
    """Return the variables of a synthetic run whose ranks end every body together."""
    random = np.random.default_rng(seed)
    work = random.uniform(50e-6, 60e-6, (iterations, ranks))
    latency = 3e-6
    duration = np.repeat(work.max(axis=1, keepdims=True) + latency, ranks, axis=1)
    cycles = -(-iterations // restart)
    pause = np.full((cycles - 1, ranks), 20e-6)
    lead = np.full(ranks, 10e-6)
    gaps = np.zeros((iterations, ranks))
    gaps[restart::restart] = pause
    start = lead + np.cumsum(duration, axis=0) - duration + np.cumsum(gaps, axis=0)
    phases = np.zeros((iterations, ranks, len(PHASES)))
    phases[:, :, PHASES.index("local")] = work
    phases[:, :, PHASES.index("wait")] = duration - work
    neighbours = [(p, q) for p in range(ranks) for q in range(ranks) if abs(p - q) == 1]
    return {
        "duration": duration,
        "start": start,
        "phase_duration": phases,
        "body": np.zeros(iterations, np.uint8),
        "position": np.arange(iterations) % restart,
        "residual_norm": np.geomspace(1, 1e-8, iterations),
        "restart_duration": pause,
        "lead_in": lead,
        "lead_out": lead,
        "solve_time": 2 * lead + duration.sum(axis=0) + pause.sum(axis=0),
        "mpi_other": np.zeros(ranks),
        "context_switches": np.arange(ranks),
        "cpu": np.arange(ranks),
        "clock_offset": np.zeros(ranks),
        "clock_uncertainty": np.full(ranks, 2e-7),
        "edge_source": np.array([source for source, _ in neighbours]),
        "edge_target": np.array([target for _, target in neighbours]),
        "edge_bytes": np.full(len(neighbours), 8),
        "event_kind": np.full((iterations, 1), EventKind.REDUCE, np.uint8),
        "event_work": work[:, :, None].astype(np.float32),
        "event_duration": (duration - work)[:, :, None].astype(np.float32),
        "instructions": duration * 2e9,
        "cycles": duration * 1e9,
        "host": ["node-0"] * ranks,
        "cpuset": [str(rank) for rank in range(ranks)],
        "load_before": np.full(ranks, 0.1),
        "load_after": np.full(ranks, 0.2),
    }


def alone_values(factors: tuple[float, ...], bodies: int) -> dict[str, object]:
    """Return a run without MPI: every rank does its own work and waits for nobody."""
    values = run_values(iterations=bodies, ranks=len(factors), restart=bodies, seed=2)
    duration = np.tile(np.array(factors) * 1e-3, (bodies, 1))
    lead = np.full(len(factors), 10e-6)
    phases = np.zeros((*duration.shape, len(PHASES)))
    phases[:, :, PHASES.index("local")] = duration
    ends = lead + duration.sum(axis=0)
    return {
        **values,
        "duration": duration,
        "start": lead + np.cumsum(duration, axis=0) - duration,
        "phase_duration": phases,
        "event_kind": np.zeros((bodies, 1), np.uint8),
        "event_work": np.zeros((*duration.shape, 1), np.float32),
        "event_duration": np.zeros((*duration.shape, 1), np.float32),
        "solve_time": np.full(len(factors), ends.max() + lead[0]),
        "lead_out": ends.max() + lead[0] - ends,
        "position": np.arange(bodies),
    }


PREDICTORS = ("online-all", "offline")


def cycle_values(values: dict[str, object], *, ranks: int) -> dict[str, object]:
    """Return the variables of an adaptive run: those of a run and what its cycles did."""
    iterations = len(np.asarray(values["duration"]))
    counts = np.arange(iterations * ranks).reshape(iterations, ranks)
    edges = len(np.asarray(values["edge_source"]))
    blocks = np.arange(8)
    return {
        **{name: value for name, value in values.items() if not name.startswith("event_")},
        **{name: counts + place for place, name in enumerate(COUNTS)},
        "phase_cpu": np.asarray(values["phase_duration"]) * 0.9,
        "epoch": np.arange(iterations) // 10,
        "predicted": np.asarray(values["duration"]).max(axis=1)[:, None] * [1.0, 1.1],
        "edge_epoch": np.zeros(edges),
        "edge_messages": np.ones(edges),
        "block_place": blocks % 4,
        "block_load": blocks * 64.0,
        "block_owner": blocks % ranks,
        "block_epoch": blocks // 4,
        "block_edge_source": blocks % 4,
        "block_edge_target": (blocks + 1) % 4,
        "block_edge_bytes": 256 * (blocks + 1),
        "block_edge_epoch": blocks // 4,
    }


@pytest.fixture(scope="session")
def written_once() -> dict[bytes, tuple[str, bytes]]:
    """Return names and bytes of run files that were written before, by what they contain."""
    return {}


@pytest.fixture
def run_file(
    tmp_path: Path,
    header: Header,
    values: dict[str, object],
    written_once: dict[bytes, tuple[str, bytes]],
) -> Path:
    contents = pickle.dumps((header, values))
    if contents not in written_once:
        file = write_whole(tmp_path, header, values)
        written_once[contents] = file.name, file.read_bytes()
        return file
    name, data = written_once[contents]
    (tmp_path / name).write_bytes(data)
    return tmp_path / name


EMPTY_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg=="
)


def write_nothing(figure: object, file: BinaryIO) -> None:
    """Write a picture of one point."""
    file.write(EMPTY_PNG)


def shape_of(content: Chart | HeatMap) -> tuple[object, ...]:
    """Return what decides which code draws a chart or map: charts of one shape differ in values."""
    if isinstance(content, HeatMap):
        sizes = (*(min(size, 2) for size in content.times.shape), content.ranks > MAX_TICKS)
        return (*sizes, content.numbers is None, bool(np.isfinite(content.times).all()))
    series = tuple(
        (each.look, min(each.y.size, 2), each.base is None, bool(np.isfinite(each.y).all()))
        for each in content.series
    )
    words = (content.names, content.marks, content.note, content.x_ticks)
    ways = (content.stacked, content.counted, content.logarithmic, content.legend_below)
    return (series, *map(len, words), *ways, content.x.unit, content.y.unit)


@pytest.fixture(scope="session", autouse=True)
def quick_pictures() -> Iterator[None]:
    """Draw one picture of each shape of chart, and render them only where a test looks at them.

    Pages have some fourteen, for readers without scripts: to render one takes 0.2 s, and to draw
    one 0.03 s.
    """
    drawn: set[tuple[object, ...]] = set()

    def draw_once(content: Chart | HeatMap, height: float) -> bytes:
        shape = shape_of(content)
        if shape in drawn:
            return EMPTY_PNG
        drawn.add(shape)
        return matplotlib_charts.picture(content, height)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matplotlib_charts, "write_picture", write_nothing)
        patch.setattr(html_charts, "picture", draw_once)
        patch.setattr(figure_style, "PNG_DPI", 40)
        yield


@pytest.fixture(scope="session", autouse=True)
def silent_compilation() -> Iterator[None]:
    """Let no stderr depend on what an earlier test compiled; commands of their own process tell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "announce_compilation", lambda: None)
        yield


@pytest.fixture
def rendered_pictures(quick_pictures: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw and render the pictures of pages, as users have them."""
    monkeypatch.setattr(matplotlib_charts, "write_picture", figure_style.write_picture)
    monkeypatch.setattr(html_charts, "picture", matplotlib_charts.picture)


Ranks = Callable[..., subprocess.CompletedProcess[str]]


def starter(folder: Path) -> Ranks:
    """Return what runs hindmost, or a Python script, on ranks in a folder."""

    def start(
        count: int, *words: str | Path, script: str = "", environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        program: list[str | Path] = [BIN / "hindmost"]
        asked = [str(word) for word in words]
        if script:
            file = folder / "script.py"
            file.write_text(script)
            program = [BIN / "python", file]
        return subprocess.run(
            [BIN / "mpiexec", "-n", str(count), *program, *asked],
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_TIMEOUT_S,
            env={**os.environ, **(environment or {})},
            cwd=folder,
        )

    return start


@pytest.fixture
def ranks(tmp_path: Path) -> Ranks:
    """Return what runs hindmost, or a Python script, on ranks."""
    return starter(tmp_path)


@pytest.fixture(scope="module")
def module_ranks(tmp_path_factory: pytest.TempPathFactory) -> Ranks:
    """Return the same for what several tests look at."""
    return starter(tmp_path_factory.mktemp("ranks"))
