"""Two verbs that answer one question print the same number."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.report.first_screens import ITERATIONS, RANKS, of_work, page_of
from tests.analysis.report.first_screens import words as first_screen
from tests.analysis.runs.test_attached import ATTACHED
from tests.conftest import LOCAL, PREDICTORS, cycle_values, run_values

from hindmost.cli import main
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.text import percent, seconds

Work = NDArray[np.float64]


def unequal(work: Work) -> Work:
    work[:, 1] *= 1.5
    return work


def detoured(work: Work) -> Work:
    work.flat[np.random.default_rng(1).choice(work.size, 60, replace=False)] += 1.5e-4
    return work


def both(work: Work) -> Work:
    return unequal(detoured(work))


def drifting(work: Work) -> Work:
    return work * np.linspace(1.0, 1.3, ITERATIONS)[:, None]


def json_of(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main([*words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["runs"][0]
    return found


@pytest.mark.parametrize(
    ("change", "latency_s"),
    [
        (np.copy, 4e-5),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in ((unequal, 1e-6), (detoured, 4e-5))
        ),
        (both, 1e-6),
        (drifting, 4e-5),
    ],
)
def test_whatif_and_report_save_the_same(
    change: Any,
    latency_s: float,
    tmp_path: Path,
    own: Header,
    alike: Work,
    capsys: pytest.CaptureFixture[str],
) -> None:
    work = change(alike)
    html = page_of(tmp_path, own, of_work(work, latency_s))
    capsys.readouterr()
    runs = str(tmp_path / "runs")
    found = json_of(capsys, "whatif", runs)
    gains = {each["change"]: each for each in found["gains"]}
    # A loop is no solver that could have a pipelined partner.
    assert set(gains) == {"no noise", "equal work", "an ideal network"}
    # Two ways to ask what no noise would save; equal work is asked for rank by rank.
    ratio = work.sum(axis=0) / work.sum(axis=0).mean()
    speed = [f"--speed=rank {rank}: x{ratio[rank]:.12g}" for rank in range(RANKS)]
    for name, words in {"no noise": ["--noise", "none"], "equal work": speed}.items():
        asked = json_of(capsys, "whatif", runs, *words)
        assert asked["predicted_s"] == pytest.approx(gains[name]["predicted_s"], rel=1e-6)
        assert asked["interval_s"] == pytest.approx(gains[name]["interval_s"], rel=1e-6)
    # No network leaves what the slowest rank works.
    ideal_s = gains["an ideal network"]["predicted_s"]
    assert ideal_s == pytest.approx(work.max(axis=1).sum(), rel=0.01)
    replays = unescape(html.split("replayed with")[1].split("</table>")[0])
    for name, each in gains.items():
        row = replays.split(f"<td>{name}</td>")[-1] if f"<td>{name}</td>" in replays else replays
        cells = re.findall(r"<td[^>]*>([^<]*)</td>", row)
        assert seconds(each["predicted_s"]) in cells
        assert f"{seconds(each['interval_s'][0])} to {seconds(each['interval_s'][1])}" in cells


CHANGES: tuple[Any, ...] = (both, np.copy, drifting, unequal, detoured)
LOOP = {**ATTACHED, "solves": 0}


def posting(values: dict[str, Any]) -> dict[str, Any]:
    """Return a run without events of which a tenth of the work is the start of collectives."""
    phases = np.array(values["phase_duration"])
    phases[:, :, PHASES.index("post")] = 0.1 * phases[:, :, LOCAL]
    phases[:, :, LOCAL] *= 0.9
    kept = {name: each for name, each in values.items() if not name.startswith("event_")}
    return kept | {"phase_duration": phases}


def files_of_all_kinds(folder: Path, own: Header, alike: Work, *, every: bool) -> list[Path]:
    """Write runs, the adaptive one last.

    Parameters
    ----------
    every : bool
        All kinds with all changes of work; else all kinds with one, and three with two kinds.
    """
    found = []
    for number, change in enumerate(CHANGES if every else CHANGES[:3]):
        values = of_work(change(alike.copy()))
        solves = {"solve": np.zeros(ITERATIONS), "snes_step": np.zeros(ITERATIONS)}
        solver = replace(own, solver="cg", petsc_options={"ksp_rtol": "0"})
        kinds = {
            "loop": (own, values),
            "solver": (solver, values),
            "attached-loop": (replace(own, spec={"attached": LOOP}), values),
            "attached-solve": (replace(solver, spec={"attached": ATTACHED}), values | solves),
            "posting": (
                replace(solver, synchronisation="pipelined", spec={"attached": ATTACHED}),
                posting(values) | solves,
            ),
            "incomplete": (
                replace(own, complete=False, spec={"failure": "rank 1 was killed"}),
                values,
            ),
        }
        for name, (header, made) in kinds.items():
            if number and not every and name not in ("loop", "solver"):
                continue
            at = folder / f"{name}-{number}"
            at.mkdir(parents=True)
            found.append(write_whole(at, header, made))
    deck = replace(own, workload="adaptive", solver="timing-a", spec={})
    cycles = run_values(iterations=ITERATIONS, ranks=RANKS, restart=ITERATIONS, seed=1)
    made = cycle_values(cycles, ranks=RANKS)
    at = folder / "adaptive"
    at.mkdir()
    return [*found, write_whole(at, deck, made, predictors=PREDICTORS)]


def culprit_in(entry: dict[str, Any]) -> dict[str, Any]:
    """Return who the culprit is, how much more it works, and what that costs; -1 for nobody."""
    found = entry["culprit"]
    if found is None:
        return {"culprit": -1, "times": 0.0}
    names = {"culprit": "rank", "cost": "cost_s"}
    names |= {name: name for name in ("times", "share", "chance")}
    return {name: found[key] for name, key in names.items()}


def told_by(capsys: pytest.CaptureFixture[str], files: list[Path], *verb: str) -> dict[str, Any]:
    """Return the JSON of a verb on some files."""
    assert main([*verb, *map(str, files), "--json"]) in (0, 1)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_number_that_two_verbs_print_is_one(
    every: bool, tmp_path: Path, own: Header, alike: Work, capsys: pytest.CaptureFixture[str]
) -> None:
    files = files_of_all_kinds(tmp_path, own, alike, every=every)
    assert len(files) == (31 if every else 11)
    solves = [file for file in files[:-1] if not file.parent.name.startswith("posting")]
    told: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))

    def put(file: str, verb: str, **numbers: Any) -> None:
        for question, number in numbers.items():
            if number is not None:
                told[file][question][verb] = number

    show = told_by(capsys, files, "show")
    sizes = ("bodies", "iterations", "ranks", "solver", "workload")
    for each in show["runs"]:
        spent, whole = each["phase_share"], each["efficiency"] or {}
        put(
            each["file"], "show", time=each["solve_time_s"], halo=spent["halo"],
            waiting=spent["halo"] + spent["wait"], withheld=each["efficiency_withheld"],
            **{name: each[name] for name in sizes},
            **{name: whole.get(name) for name in ("load_balance", "transfer", "max_local_s")},
        )  # fmt: skip
        for fact in each["facts"]:
            if fact["quantity"] == "Load imbalance":
                rank = int(fact["subject"].removeprefix("rank ") or -1)
                put(each["file"], "facts", culprit=rank, imbalance=fact["cost_s"])
    for each in (run for program in show["programs"] for run in program["runs"]):
        lost_s = each["imbalance"] * each["solve_time_s"]
        put(each["file"], "program", time=each["solve_time_s"], imbalance=lost_s)
        put(each["file"], "program", **culprit_in(each))
    for each in told_by(capsys, files, "show", "--efficiency")["runs"]:
        whole = each["whole"]
        put(
            each["file"], "efficiency", time=each["solve_time_s"], bodies=each["bodies"],
            ranks=each["ranks"], withheld=each["withheld"] or "",
            imbalance=whole["lost_s"]["load_balance"],
            **{name: whole[name] for name in ("load_balance", "transfer", "max_local_s")},
        )  # fmt: skip
    for each in told_by(capsys, files, "show", "--ranks")["files"]:
        shares = {"waiting": each["waiting_recorded_share"], "halo": each["halo_share"]}
        put(each["file"], "ranks", ranks=each["ranks"], **shares, **culprit_in(each["hindmost"]))
    for each in told_by(capsys, files[:-1], "fit")["runs"]:
        names = (name for name in sizes if name in each)
        put(each["file"], "fit", time=each["solve_time_s"], **{name: each[name] for name in names})
    whatif = told_by(capsys, solves, "whatif")
    for each in whatif["runs"]:
        put(each["file"], "whatif", time=each["recorded_s"], **culprit_in(each))
    for each in whatif["predictions"]:
        for file in each["files"]:
            put(file, "prediction", **{name: each[name] for name in sizes if name in each})
    differ = []
    for file, questions in told.items():
        for question, numbers in questions.items():
            first, *others = numbers.values()
            # Some are differences of sums of 40 ms, which are exact to less than a nanosecond.
            if any(other != pytest.approx(first, rel=1e-5, abs=1e-9) for other in others):
                differ.append((Path(file).parent.name, question, numbers))
    assert not differ
    assert len(told) == len(files)
    # What was put in: half as much again on rank 1, and nothing on any.
    for file, questions in told.items():
        kind, _, number = Path(file).parent.name.rpartition("-")
        if kind:
            unequal_work = CHANGES[int(number)] in (both, unequal)
            assert set(questions["culprit"].values()) == {1 if unequal_work else -1}
            sizes_told = set(np.round(list(questions["times"].values()), 1))
            assert sizes_told == {1.5 if unequal_work else 0.0}
            if kind != "incomplete":  # of which there is no page
                page = tmp_path / "page.html"
                assert main(["report", file, "--out", str(page)]) == 0
                said = first_screen(page.read_text())
                assert ("ank 1 works 1.50 times as long" in said) == unequal_work
                if unequal_work:
                    share = next(iter(questions["share"].values()))
                    costs = f"waiting for it costs (at most )?{percent(share, 0)} of the time"
                    assert re.search(costs, said)
    asked = sum(len(numbers) > 1 for questions in told.values() for numbers in questions.values())
    assert asked > 8 * len(files)
