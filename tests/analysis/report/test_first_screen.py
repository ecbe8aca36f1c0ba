"""The first screen of a report says what is wrong with runs of known faults, and no more."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.report.first_screens import ITERATIONS, of_work, page_of, words

from hindmost.cli import main
from hindmost.errors import NotARunFileError
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.text import seconds

HOSTILE = "<img src=x onerror=alert(1)>"


def test_a_healthy_run_is_called_so(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    said = words(page_of(tmp_path, own, of_work(alike)))
    assert "% of the time is work; no loss above 5 % stands out." in said
    assert "The data are good: no finding in 1 file." in said
    assert not re.search("(Load imbalance|Unequal work) costs", said)


def test_imbalance_names_the_rank_its_cost_and_what_would_help(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    alike[:, 2] *= 2.0
    html = page_of(tmp_path, own, of_work(alike))
    said = words(html)
    # The mean is 1.25 of the others' work, so 0.75 of 2 is lost.
    # The cost is that of `show`, and what equal work saves: the replay's.
    assert re.match(
        r"Load imbalance costs 37 % of the time \(30\.0 ms\): rank 2 works 2\.0 times as long", said
    )
    assert "is the slowest in 100 % of the iterations." in said
    assert re.search(r"With equal work the replay takes 5[01]\.\d ms \(-37\.", said)
    replays = html.split("replayed with")[1].split("</table>")[0]
    assert re.search(r"<td[^>]*>equal work</td><td[^>]*>5[01]\.\d ms</td>", replays)
    anchors = re.findall(r'href="#([^"]+)"', html)
    assert set(anchors) <= set(re.findall(r'id="([^"]+)"', html))


def test_detours_are_noise_and_no_imbalance(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    random = np.random.default_rng(1)
    places = random.choice(alike.size, 60, replace=False)
    alike.flat[places] += 1.5e-4
    html = page_of(tmp_path, own, of_work(alike))
    said = words(html)
    assert said.startswith("Serialisation costs 1")
    assert "disturbances, or more work of the program in these iterations" in said
    body = int(alike.max(axis=1).argmax())
    assert re.search(rf'href="#chart-\d+={body}">Events of iteration {body}<', html)
    assert "No single rank stands out." in said
    assert "Unequal work" not in said.split("smaller")[0].split("Serialisation costs")[1][:200]


def test_unequal_work_on_a_disturbed_run_is_imbalance(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    alike[:, 1] *= 1.5
    alike[::7, 0] *= 3.0  # a rank that is at times slower still
    values = of_work(alike)
    # A waiting rank loses its core in MPI, in every fourth iteration.
    late = np.where(np.arange(ITERATIONS)[:, None] % 4 == 0, 1.2e-4, 0.0)
    duration, phases = np.asarray(values["duration"]) + late, np.asarray(values["phase_duration"])
    phases[:, :, PHASES.index("wait")] += late
    lead = np.asarray(values["lead_in"])
    values |= {
        "duration": duration,
        "start": lead + np.cumsum(duration, axis=0) - duration,
        "solve_time": 2 * lead + duration.sum(axis=0),
        "event_duration": (duration - alike)[:, :, None].astype(np.float32),
    }
    said = words(page_of(tmp_path, own, values))
    assert re.match(r"Load imbalance costs 15 % of the time \(12\.1 ms\): rank 1 ", said)
    assert "rank 1 works 1.50 times as long as the others (median)" in said
    assert re.search(r"With equal work the replay takes between \S+ ms and \S+ ms[.:] ", said)
    assert "That rank 1 has more work throughout is load imbalance, and no part of this." in said
    assert "at times, as noise" not in said
    assert "of the waiting for slower ranks" not in said


def test_regular_long_iterations_are_not_told_as_noise(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    alike[::10, 1] *= 8.0
    said = words(page_of(tmp_path, own, of_work(alike)))
    assert said.startswith("Recurring work costs 41 % of the time (28.0 ms): every 10th iteration")
    assert "every 10th iteration (0, 10, … 390) is 700 us longer on rank 1" in said
    assert "The program does this itself, for example as output or a checkpoint" in said
    assert "Rank 1 is the straggler: it works 1.70 times as long as the others (median)" in said
    assert "No single rank stands out" not in said
    assert "noise costs" not in said.lower()


def test_slow_reductions_are_communication(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    said = words(page_of(tmp_path, own, of_work(alike, latency_s=1e-4)))
    assert said.startswith("Communication costs 50 %")
    assert "in reductions and other collectives" in said


def test_doubtful_data_put_all_in_doubt_but_the_growth_that_they_show(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    alike[:, 0] *= 2.0
    alike[300:] *= 2.0
    said = words(page_of(tmp_path, own, of_work(alike)))
    assert re.match(
        r"Growing work costs \d+ % of the time \(.*\): work of all 4 ranks rises from 12\d us to "
        r"25\d us an iteration at about iteration 300\.",
        said,
    )
    assert "The data do not support firm conclusions" in said
    assert "in doubt" in said
    assert "errors in the data: drift" in said


def test_work_that_grows_leads_and_load_imbalance_is_that_of_the_bar(
    tmp_path: Path, own: Header, alike: NDArray[np.float64], capsys: pytest.CaptureFixture[str]
) -> None:
    """Its work beyond the mean is load imbalance everywhere; equal work saves something else."""
    alike[:, 2] *= np.linspace(0.6, 2.0, ITERATIONS)
    html = page_of(tmp_path, own, of_work(alike))
    sums = alike.sum(axis=0)
    beyond = (sums.max() - sums.mean()) / (alike.max(axis=1).sum() + ITERATIONS * 1e-6)
    bar = re.search(r'title="load imbalance (\d+) %"', html)
    assert bar is not None
    assert int(bar[1]) == round(100 * beyond)
    assert main(["show", "--efficiency", str(tmp_path / "runs"), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out.partition("\n")[2])["runs"]
    lost_s = run["whole"]["lost_s"]["load_balance"]
    assert round(100 * lost_s / run["solve_time_s"]) == int(bar[1])
    said = words(html)
    assert f"{seconds(lost_s)} beyond the mean (load imbalance)" in said
    assert re.match(r"Growing work costs 3\d % of the time .*: work of rank 2 grows from ", said)
    assert re.search(rf"{100 * beyond:.1f} % Load imbalance ", said)
    assert "Unequal work" not in said
    assert said.count("a slower core or another disturbance for a time, or work that it") == 1


def test_few_iterations_are_the_first_thing_said(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    alike[:, 2] *= 1.5
    few = replace(own, iterations=6)
    html = page_of(tmp_path, few, of_work(alike[:6]))
    said = words(html)
    assert said.startswith("At face value, load imbalance")
    assert "The data do not support firm conclusions: only 6 iterations" in said
    assert "errors in the data: few-bodies" in said
    assert "measured" not in said


def nights_file(folder: Path, values: NDArray[np.float64], head: str = "solve [s]") -> Path:
    """Write a value a day, in months of 28 days."""
    days = [f"2026-{1 + day // 28:02}-{1 + day % 28:02}T01:00:00Z" for day in range(len(values))]
    rows = [f"{day},{value:.5f}" for day, value in zip(days, values, strict=True)]
    file = folder / "nights.csv"
    file.write_text("\n".join([f"time,{head}", *rows]))
    return file


def said_of(folder: Path, file: Path) -> str:
    """Return the first screen of the page on a file."""
    page = folder / "page.html"
    assert main(["report", str(file), "--out", str(page)]) == 0
    return words(page.read_text())


def test_an_older_slowdown_is_in_the_headline(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    values = 10.0 * (1.0 + 0.08 * (np.arange(70) >= 52)) * random.normal(1.0, 0.005, 70)
    said = said_of(tmp_path, nights_file(tmp_path, values))
    older = r"1 older slowdown is still there \(.*solve: \+[78]\.\d % since 2026-02-25\)\. "
    quiet = r"No change found in the last 10 days in 1 series \(a step below about \S+ % could not "
    assert re.match(older + quiet + r"be seen\) \(open\)\.", said)


def test_what_a_file_says_stays_text(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    alike[:, 2] *= 2.0
    hostile = replace(own, workload=HOSTILE, solver="<script>alert(2)")
    html = page_of(tmp_path, hostile, of_work(alike) | {"host": ["a", "a", HOSTILE, "b"]})
    assert "<img src=x" not in html
    assert "<script>alert" not in html
    assert f"on {HOSTILE} works 2.0 times" in words(html)


def test_a_scaling_model_that_does_not_fit_is_told_on_the_page(tmp_path: Path) -> None:
    experiment, page = tmp_path / "waves.csv", tmp_path / "page.html"
    rows = [
        f"{2**power},{5.0 * (1.0 + 0.12 * (-1) ** power) * (1.0 + 0.003 * repeat):.6g}"
        for power in range(2, 10)
        for repeat in (-1, 0, 1)
    ]
    experiment.write_text("\n".join(["p,time [s]", *rows]))
    assert main(["report", str(experiment), "--out", str(page)]) == 0
    html = page.read_text()
    assert "The model does not fit: it is off by" in words(html)
    assert "(does not fit)" in html


def test_runs_an_experiment_and_nights_share_a_page(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    file = write_whole(tmp_path, own, of_work(alike))
    experiment = tmp_path / "scaling.csv"
    rows = [f"{p},{1e-3 * p**1.5:.6g}" for p in (16, 32, 64, 128, 256, 512)]
    experiment.write_text("\n".join(["p,time [s]", *rows]))
    days = np.arange(58)
    values = 10.0 + 0.01 * (days % 7) + 2.0 * (days >= 50)
    nights = nights_file(tmp_path, values, "solve <b>me</b> [s]")
    page = tmp_path / "page.html"
    given = [str(each) for each in (file, experiment, nights)]
    assert main(["report", *given, "--out", str(page)]) == 0
    html = page.read_text()
    said = words(html)
    assert "% of the time is work" in said
    assert "1 slowdown confirmed in 1 case (fail)." in said
    assert re.search(r"% slower \(10\.0 s -> 12\.0 s\) since 2026-02-23\. 1 slowdown", said)
    assert re.search(r"grow 8.00x to p = 2048 \(90 % interval \S+x to \S+x\)", said)
    assert "scaling.csv: all kernels could be modelled" in said
    assert re.search(r"The newest result is \d+ days old", said)
    order = ["Runs: ", "Nightly results: ", "scaling.csv: "]
    assert all(each in said for each in order)
    assert "Performance: runs, scaling and nightly results" in html
    assert "Scaling experiments " in said
    assert '<p class="narrow">work ' in html
    without_scripts = set(re.findall(r'id="([^"]+)"', html))
    assert set(re.findall(r'href="#([^"]+)"', html)) <= without_scripts
    assert "<b>me</b>" not in html
    assert {"scaling-0-0", "verdicts", "explorer", "configuration-0"} <= set(
        re.findall(r'id="([^"]+)"', html)
    )
    unknown = tmp_path / "what.bin"
    unknown.write_bytes(b"\x00\x01")
    with pytest.raises(NotARunFileError, match="run files, experiments and histories"):
        main(["report", str(unknown)])


def test_loops_of_a_program_are_sections_named_by_their_code(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    runs, slow = tmp_path / "runs", alike.copy()
    runs.mkdir()
    slow[:, 0] *= 2.0
    for name, work in {"set (a.py:3)": alike[:300], "solve (a.py:9)": slow}.items():
        loop = {"name": name, "iterations": len(work), "share": 0.5, "few": False}
        loop |= {"by_code": True, "loops": []}
        spec = {**own.spec, "attached": {"loop": loop, "seconds": 0.0}}
        workload = f"a-{name[:3]}"
        made = replace(own, workload=workload, iterations=len(work), restart=0, spec=spec)
        write_whole(runs, made, of_work(work))
    assert main(["report", str(runs), "--out", str(tmp_path / "page.html")]) == 0
    html = (tmp_path / "page.html").read_text()
    assert re.match(r"Load imbalance costs \d+ % of the time of solve \(a.py:9\) ", words(html))
    assert "Charts of solve (a.py:9):" in words(html)
    assert all(f">{name}</a>" in html for name in ("set (a.py:3)", "solve (a.py:9)"))


def test_a_change_without_a_unit_is_in_the_headline(tmp_path: Path) -> None:
    values = 10.0 * np.random.default_rng(0).normal(1.0, 0.005, 60)
    values[53:] *= 1.2
    said = said_of(tmp_path, nights_file(tmp_path, values, "solve"))
    assert re.match(r".*solve is (19|20)\.\d % worse \(\S+ -> \S+\) since 2026-02-26\. ", said)


def test_a_drift_has_an_entry_and_quiet_nights_claim_no_more_than_is_judged(
    tmp_path: Path,
) -> None:
    random = np.random.default_rng(0)
    drift, quiet = (
        said_of(tmp_path, nights_file(tmp_path, 10.0 * (1.0 + slope * np.arange(80)) * noise))
        for slope, noise in zip((0.004, 0.0), random.normal(1.0, 0.004, (2, 80)), strict=True)
    )
    assert "in a drift since" in drift
    assert re.search(r"No change was found in the last .* A step below about \S+ % could", quiet)
    assert "no loss" not in quiet.lower()


def test_an_error_in_one_of_several_runs_is_told_of_that_run_alone(
    tmp_path: Path, own: Header, alike: NDArray[np.float64]
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    write_whole(runs, replace(own, workload="other"), of_work(alike))
    alike[300:] *= 2.0
    write_whole(runs, own, of_work(alike))
    assert main(["report", str(runs), "--out", str(tmp_path / "page.html")]) == 0
    html = (tmp_path / "page.html").read_text()
    assert "The data of 1 of 2 files do not support firm conclusions" in words(html)
    assert 'class="judgement fair"' in html
