"""The first screen of a report on what ranks do, and on what their exchanges cost."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.report.first_screens import ITERATIONS, RANKS, of_work, page_of, words
from tests.conftest import LOCAL

from hindmost.analysis.ranks.tables import metric_text
from hindmost.cli import main
from hindmost.harness.runfile.bodies import INJECTED, PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole


def test_two_ranks_are_compared_with_each_other(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    alike[:, 1] *= 2.8
    alike[7] = alike[7, ::-1]  # one iteration in which rank 0 is the slower one
    two = replace(own, ranks=2)
    html = page_of(tmp_path, two, of_work(alike[:, :2]))
    said = words(html)
    assert re.search(r"\): rank 1 works 2\.8 times as long as the other rank\.", said)
    assert "is the slowest in 399 of 400 iterations." in said
    assert "times the mean work" not in said
    assert "slower core" not in said  # none is that much slower
    assert "One group of ranks" not in html
    assert "2 ranks are too few to form groups." in html
    assert "most often last</td>" not in html  # 2 ranks are too few to find outliers
    assert metric_text(1.0, "bodies") == "1 iteration"


def test_injected_noise_is_apart_from_other_noise(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    law = "exponential:mean=20us"
    injected = np.random.default_rng(3).exponential(2e-5, alike.shape)
    injected[200, 2] = 1e-3
    alike.flat[np.random.default_rng(1).choice(alike.size, 60, replace=False)] *= 1.5
    values = of_work(alike + injected)
    phases = np.asarray(values["phase_duration"])
    phases[:, :, LOCAL] = alike
    phases = np.concatenate([phases, injected[:, :, None]], axis=2)
    values |= {
        "phase_duration": phases,
        INJECTED: injected,
        "injected_outside": np.zeros(RANKS),
    }
    disturbed = replace(own, spec={**own.spec, INJECTED: law})
    file = write_whole(tmp_path, disturbed, values, phases=(*PHASES, INJECTED))
    assert main(["report", str(file), "--out", str(tmp_path / "page.html")]) == 0
    said = words((tmp_path / "page.html").read_text())
    assert said.startswith("Injected noise costs ")
    assert "With no injected noise the replay takes" in said
    assert "Other noise" in said
    assert "Noise costs" not in said


def test_a_loss_in_an_interval_is_shown_at_its_estimate(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    html = page_of(tmp_path, own, of_work(alike, latency_s=5e-5))
    variation = html.split('<ol class="statements">')[1].split("<h3>")[0]
    estimate = re.findall(r'<span class="quiet">([\d.]+) %</span>', variation)
    interval = re.findall(r'<span class="quiet">interval (.*?) %</span>', variation)
    gauge = re.findall(r'<i style="width: ([\d.]+)%"></i><b style="left: ([\d.]+)%', variation)
    assert estimate
    assert interval
    assert float(estimate[0]) == pytest.approx(float(gauge[0][0]), abs=0.1)


def test_on_too_few_cores_the_program_s_own_fault_comes_first(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    """Where the quickest iterations show it; else no figure of the scheduler leads."""
    scheduler = "waiting times measure the operating system's scheduler: repeat with at most 2 rank"
    shared = replace(own, environment={"machine": {"host": "büro", "cores": 2}})
    equal = words(page_of(tmp_path, shared, of_work(alike)))
    assert equal.startswith(f"4 ranks shared 2 cores, so {scheduler}")
    assert "At face value, all in doubt" in equal
    alike[:, 2] *= 2.0
    (tmp_path / "unequal").mkdir()
    said = words(page_of(tmp_path / "unequal", shared, of_work(alike)))
    assert re.match(r"Load imbalance costs 37 % of the time \(30\.0 ms\): rank 2 works 2\.0 ", said)
    assert "4 ranks shared 2 cores. Waiting times measure the" in said
    assert "At face value" not in said


def test_a_slow_exchange_is_the_slowest_iteration_and_what_its_events_show_first(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    values = of_work(alike, latency_s=5e-5)
    late = np.zeros(ITERATIONS)
    late[3] = 1e-3  # in MPI, on all ranks
    alike[200, 1] *= 1.5  # the longest work
    values = of_work(alike, latency_s=5e-5)
    duration = np.asarray(values["duration"]) + late[:, None]
    phases = np.asarray(values["phase_duration"])
    phases[:, :, PHASES.index("wait")] += late[:, None]
    lead = np.asarray(values["lead_in"])
    values |= {
        "duration": duration,
        "start": lead + np.cumsum(duration, axis=0) - duration,
        "solve_time": 2 * lead + duration.sum(axis=0),
        "event_duration": (duration - alike)[:, :, None].astype(np.float32),
    }
    html = page_of(tmp_path, own, values)
    said = words(html)
    assert re.search(
        r"The slowest is iteration 3: 1\.1\d ms, 7\.\d times the median; the ranks spend 1\.0\d ms "
        r"of it in reductions",
        said,
    )
    assert "Events of iteration 3" in said
    assert '"first":3' in html.replace(" ", "")
    assert "What the parts are" in said
    assert "other time in MPI : messages and calls of MPI, and cores that ranks lose there" in said
    assert "of the other time in MPI is not typical" in said


def test_a_node_whose_ranks_are_all_slow_is_named(tmp_path: Path) -> None:
    work = 10.0 * (1.0 + 0.01 * np.random.default_rng(1).standard_normal(128))
    work[32:64] *= 1.08
    rows = [
        f"{rank},node{rank // 32},{own:.5f},{work.max() - own:.5f}" for rank, own in enumerate(work)
    ]
    table = tmp_path / "ranks.csv"
    table.write_text("\n".join(["rank,host,time [s],wait [s]", *rows]) + "\n")
    page = tmp_path / "page.html"
    assert main(["show", "--ranks", str(table), "--out", str(page)]) == 0
    html = page.read_text()
    assert words(html).startswith("Waiting for node1 costs ")
    assert "the last in" not in words(html)  # sums say nothing of iterations
    assert "its 32 ranks work 1.08 times as long as those of other nodes" in words(html)
    assert "32 (all of node1)" in html
    # Its name has room in the chart before those of others.
    assert re.search(r'"marks": ?\[\["node1", ?31\.5\], ?\["node0"', html)
    # Nobody is named where the ranks of all nodes are alike.
    flat = [f"{rank},node{rank // 32},{10.0 + rank % 2},{rank % 2}" for rank in range(128)]
    table.write_text("\n".join(["rank,host,time [s],wait [s]", *flat]) + "\n")
    assert main(["show", "--ranks", str(table), "--out", str(page)]) == 0
    assert "Waiting for node" not in page.read_text()


def test_a_slow_node_of_a_run_is_named(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    alike[:, 2:] *= 1.2
    said = words(page_of(tmp_path, own, of_work(alike) | {"host": ["a", "a", "b", "b"]}))
    node = "Node b is the straggler: its 2 ranks work 1.20 times as long as those of other nodes"
    assert f"{node} (medians); waiting for it costs" in said


def test_repeats_tell_the_program_from_the_machine(
    tmp_path: Path, own: Header, alike: NDArray[np.float64], capsys: pytest.CaptureFixture[str]
) -> None:
    """On the page as in `show`: the work of a rank is more in each of the repeats, or is not."""
    slow = alike.copy()
    slow[:, 1] *= 1.5
    disturbed = alike.copy()
    disturbed[:, 1] *= 1.1
    disturbed[1::2, 0] *= 5.0  # as by another process on its core, which costs more
    at_times = alike.copy()
    at_times[1::2, 0] *= 5.0
    said = {
        "Rank 1 works longer than the others in all 3 runs: the program": [slow, slow, slow],
        "Rank 1 is slower in 1 of 3 runs: the machine, not the program": [alike, slow, alike],
        "In the quickest iterations of 3 runs rank 1 works 1.10 times as long": [disturbed] * 3,
        "Rank 0 is slower in 2 of 3 runs, but not in their quickest": [alike, at_times, at_times],
    }
    program = {"attached": {"name": "app"}}
    for number, (sentence, works) in enumerate(said.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        values = [of_work(work * (1.0 + 1e-3 * at)) for at, work in enumerate(works)]
        html = words(page_of(folder, replace(own, spec={**own.spec, **program}), *values))
        assert sentence in html
        assert main(["show", str(folder / "runs")]) == 0
        assert sentence in " ".join(capsys.readouterr().out.split())
