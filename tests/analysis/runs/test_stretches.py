"""Where in the code work lies and grows: the stretches between calls."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.report.first_screens import words
from tests.conftest import run_values

import hindmost
from hindmost.analysis.ranks.study import report_run
from hindmost.analysis.ranks.tables import summary_lines
from hindmost.analysis.report.ranks_page import ranks_page
from hindmost.analysis.runs.figures.one_run import make_code
from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.runs.finding import Finding, Topic
from hindmost.analysis.runs.run_facts import facts_of, growing_work
from hindmost.analysis.runs.sampled import stretch_of_extra
from hindmost.analysis.runs.straggler import verdict_of
from hindmost.analysis.runs.stretches import (
    CallPlace,
    parting,
    stretches_of,
)
from hindmost.analysis.show.facts import GrowingWork, RecurringWork, UnequalWork
from hindmost.analysis.show.html_renderer import page_html
from hindmost.analysis.show.phrases import text
from hindmost.cli import main
from hindmost.errors import DataError, MissingError, UsageError
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.contexts import CallContexts, CodePlace, Module
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.events import EventKind
from hindmost.output import strict_json

PLACES = (
    "main (a.c:9)",
    "step (a.c:20)",
    "step (a.c:30)",
    "left (b.c:1)",
    "right (b.c:5)",
    "sum (b.c:9)",
)
CHAINS = ((0, 1, 3), (0, 1, 4), (0, 2, 5))
"""Exchange with the left and with the right neighbour, and a sum."""
BODIES, RANKS = 120, 3


def contexts() -> CallContexts:
    count = len(PLACES)
    return CallContexts(
        modules=(Module(path="/app", identity="1"),),
        codes=(),
        module=np.zeros(count, np.int32),
        offset=np.arange(count) * 16,
        function=np.zeros(count, np.int64),
        size=np.zeros(count, np.int64),
        start=np.cumsum([0, 0, *map(len, CHAINS)]),
        frames=np.concatenate(CHAINS).astype(np.uint32),
        places=PLACES,
    )


def run_of(
    folder: Path,
    header: Header,
    work: NDArray[np.float64],
    sum_s: NDArray[np.float64] | float = 1e-6,
    *,
    alike: bool = False,
    silent: int | None = None,
    values: dict[str, Any] | None = None,
) -> Run:
    """Write a run: in each iteration work, an exchange, work, a sum.

    Parameters
    ----------
    work : float64 array, shape (iteration, rank, 2), seconds
    sum_s : float64 array, shape (iteration, rank), seconds
        Time in the sum.
    alike : bool
        Whether the middle rank calls the same function as the others for its exchange.
    silent : int, optional
        A rank that makes no call of the exchange in every second iteration.
    values : dict, optional
        Other variables.
    """
    spent = np.full(work.shape, 1e-6, np.float32)
    spent[:, :, 1] = sum_s
    more = run_values(iterations=BODIES, ranks=RANKS, restart=BODIES, seed=1)
    context = np.tile(np.array([1, 3]), (BODIES, RANKS, 1))
    context[:, 1, 0] = 1 if alike else 2
    if silent is not None:
        context[::2, silent, 0] = 0
    local_s = work.sum(axis=2)
    phases = np.zeros((BODIES, RANKS, len(PHASES)))
    phases[:, :, PHASES.index("local")] = local_s
    phases[:, :, PHASES.index("wait")] = local_s.max(axis=1, keepdims=True) - local_s
    more |= {"phase_duration": phases, "duration": phases.sum(axis=2), **(values or {})}
    found = more | contexts().variables() | {
        "event_kind": np.tile(np.array([EventKind.SEND, EventKind.REDUCE], np.uint8), (BODIES, 1)),
        "event_work": work.astype(np.float32),
        "event_duration": spent,
        "event_context": context,
        "context_polls": np.zeros(contexts().count, np.int64),
    }  # fmt: skip
    return hindmost.open(write_whole(folder, header, found))


def test_the_tree_of_calls_has_all_their_time(tmp_path: Path, own_header: Header) -> None:
    work = np.full((BODIES, RANKS, 2), 1e-3)
    work[:, 2, 1] = 4e-3
    run = run_of(tmp_path, own_header, work, 2e-3)
    (main_node,) = run.call_tree()
    assert json.loads(json.dumps(main_node)) == main_node
    assert main_node["frame"] == {"name": "main (a.c:9)", "type": "function"}
    # On average 1 ms before the exchange, 2 ms before the sum, and what the calls take.
    assert main_node["metrics"]["time (inc)"] == pytest.approx(BODIES * 5.001e-3, rel=1e-4)
    assert main_node["metrics"]["MPI (inc)"] == pytest.approx(BODIES * 2.001e-3, rel=1e-4)
    assert (main_node["metrics"]["time"], main_node["metrics"]["longest rank"]) == (0.0, 2)

    def own(node: dict[str, Any]) -> float:
        return float(node["metrics"]["time"]) + sum(map(own, node["children"]))

    assert own(main_node) == pytest.approx(main_node["metrics"]["time (inc)"])
    steps = {each["frame"]["name"]: each for each in main_node["children"]}
    assert set(steps) == {"step (a.c:20)", "step (a.c:30)"}
    # The middle rank calls another function for its exchange.
    leaves = [each["frame"]["name"] for each in steps["step (a.c:20)"]["children"]]
    assert leaves == ["left (b.c:1)", "right (b.c:5)"]


def test_a_tree_needs_the_places_of_calls(
    tmp_path: Path, own_header: Header, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = run_values(iterations=BODIES, ranks=RANKS, restart=BODIES, seed=1)
    run = hindmost.open(write_whole(tmp_path, own_header, values))
    with pytest.raises(DataError, match="hindmost attach"):
        run.call_tree()
    monkeypatch.setitem(sys.modules, "hatchet", None)
    with pytest.raises(MissingError, match="llnl-hatchet"):
        run_of(folder_in(tmp_path), own_header, np.ones((BODIES, RANKS, 2))).to_hatchet()


def folder_in(folder: Path) -> Path:
    """Make a folder for another run."""
    (folder / "other").mkdir()
    return folder / "other"


def test_a_stretch_is_that_of_the_code_whatever_calls_end_it(
    tmp_path: Path, own_header: Header
) -> None:
    work = np.full((BODIES, RANKS, 2), 1e-3)
    work[:, 2, 1] = 4e-3
    run = run_of(tmp_path, own_header, work)
    names = {str(stretch): stretch for stretch in stretches_of(run)}
    before = "between left in step (a.c:20) and sum in step (a.c:30)"
    assert before in names
    np.testing.assert_allclose(names[before].work_s[[0, 2]], [0.12, 0.48], rtol=1e-5)
    stretches = stretches_of(run)
    culprit = verdict_of(run).culprit
    assert culprit is not None
    where, share = stretch_of_extra(None, stretches, culprit)
    assert (str(where), round(share, 3)) == (before, 1.0)
    assert not grown(run, 0.0, disturbed=False)
    assert any(before in line for line in summary_lines(report_run(run)))
    chart = make_code(run, FigureChoice())
    assert "work, a.c:20 to a.c:30" in [each.name for each in chart.series]


def test_a_rank_that_makes_no_call_at_times_has_its_work_before_its_next(
    tmp_path: Path, own_header: Header
) -> None:
    work = np.full((BODIES, RANKS, 2), 1e-3)
    work[:, 2, 1] = 4e-3
    run = run_of(tmp_path, own_header, work, silent=2)
    found = {str(stretch): stretch.work_s for stretch in stretches_of(run)}
    before = found["between left in step (a.c:20) and sum in step (a.c:30)"]
    (again,) = (each for name, each in found.items() if name.endswith("the next time there"))
    np.testing.assert_allclose(before[[0, 2]], [0.12, 60 * 4e-3], rtol=1e-5)
    # The first sum of all ends no stretch.
    np.testing.assert_allclose(again[[0, 2]], [0.0, 59 * 5e-3], rtol=1e-5)


def test_a_call_says_for_whom_the_others_wait(tmp_path: Path, own_header: Header) -> None:
    """The last rank at the sum is another every third iteration; the truth follows from times."""
    work = np.full((BODIES, RANKS, 2), 1e-3)
    last = np.where(np.arange(BODIES) % 3, 2, 0)
    work[np.arange(BODIES), last, 1] += np.linspace(1e-2, 2e-2, BODIES)
    values = run_values(iterations=BODIES, ranks=RANKS, restart=BODIES, seed=1)
    come = values["start"] + work.sum(axis=2) + 1e-6
    waits = come.max(axis=1, keepdims=True) - come
    waits[:, 1] = 0.0  # its stretch is another: it calls the other function
    truth = np.bincount(come.argmax(axis=1), waits.sum(axis=1), RANKS)
    run = run_of(tmp_path, own_header, work, sum_s=waits)
    name = "between left in step (a.c:20) and sum in step (a.c:30)"
    (before_sum,) = (stretch for stretch in stretches_of(run) if str(stretch) == name)
    np.testing.assert_allclose(before_sum.waited_for_s, truth, rtol=1e-3)
    share = truth.max() / waits.sum()
    rank, part = before_sum.for_whom() or (-1, 0.0)
    assert rank == truth.argmax()
    assert part == pytest.approx(share, rel=1e-3)
    report = report_run(run)
    said = f"most for rank 2: {share * 100:.0f} %"
    assert said in " ".join(" ".join(summary_lines(report)).split())
    assert said in page_html(ranks_page([(report, run)])).replace("\u00a0", " ")
    (of_json,) = (
        each
        for each in json.loads(strict_json(report))["stretches"]
        if each["after"] == before_sum.after and each["before"] == before_sum.before
    )
    np.testing.assert_allclose(of_json["waited_for_s"], truth, rtol=1e-3)


def test_an_iteration_with_one_call_has_one_stretch(tmp_path: Path, own_header: Header) -> None:
    run = run_of(tmp_path, own_header, np.full((BODIES, RANKS, 2), 1e-3))
    call = CallPlace(CodePlace("step", "a.c", 20))
    one = replace(stretches_of(run)[0], ends=(call, call))
    assert str(one) == "between step (a.c:20) and the next time there"


def test_growth_is_found_in_its_stretch_under_noise_elsewhere(
    tmp_path: Path, own_header: Header
) -> None:
    random = np.random.default_rng(3)
    work = random.exponential(5e-3, (BODIES, RANKS, 2))
    work[:, :, 1] = 1e-3
    work[:, 0, 1] = np.linspace(3.4e-3, 9.2e-3, BODIES)
    run = run_of(tmp_path, own_header, work)
    said = grown(run, 0.01, disturbed=False)
    assert said.startswith("Work of rank 0 between left in step (a.c:20) and sum in step (a.c:30)")
    assert "grows from 4.17 ms to 7.82 ms" in said
    assert not grown(run, 1e3, disturbed=False)
    # Of a disturbed run only what doubles in the quickest iterations is said without a doubt.
    said = grown(run, 0.01, disturbed=True)
    assert said.endswith(" an iteration, perhaps through a disturbance.")
    work[:, 2, 1] = work[:, 0, 1] = np.linspace(3.4e-3, 2e-2, BODIES)
    run = run_of(folder_in(tmp_path), own_header, work)
    said = grown(run, 0.01, disturbed=True)
    assert said.startswith("Work of ranks 0, 2 between left in step (a.c:20) and sum in step (a.c")
    assert said.endswith(" an iteration.")


def test_growth_is_on_a_page_in_the_words_of_show(tmp_path: Path, own_header: Header) -> None:
    work = np.full((BODIES, RANKS, 2), 1e-3)
    work[:, 0, 1] = np.linspace(3.4e-3, 9.2e-3, BODIES)
    whole = work.sum(axis=2)
    waits = whole.max(axis=1, keepdims=True) - whole
    run = run_of(tmp_path, own_header, work, waits, alike=True)
    said = grown(run, 0.01, disturbed=False)
    assert re.fullmatch(r"Work of rank 0 between .* grows from 4\.17 ms to 7\.82 ms .*", said)
    page = tmp_path / "page.html"
    assert main(["report", str(run.path), "--out", str(page)]) == 0
    assert said in words(page.read_text())


def test_steady_noise_does_not_grow(tmp_path: Path, own_header: Header) -> None:
    work = np.random.default_rng(5).exponential(5e-3, (BODIES, RANKS, 2))
    assert not any(
        stretch.growth.grows.any() for stretch in stretches_of(run_of(tmp_path, own_header, work))
    )


def test_quickest_iterations_that_do_not_agree_blame_no_rank(
    tmp_path: Path, own_header: Header
) -> None:
    work = np.full((BODIES, RANKS, 2), 1e-3)
    work[:, 0, 0] = 2e-3
    work[:, 1, 1] = np.random.default_rng(3).uniform(1e-3, 9e-3, BODIES)
    run = run_of(tmp_path, own_header, work, alike=True)
    first, second = sorted(stretches_of(run), key=lambda each: each.after, reverse=True)
    np.testing.assert_allclose(first.quickest.whole_s, [2e-3, 1e-3, 1e-3], rtol=1e-5)
    lowest_s = np.quantile(work[:, 1, 1], 0.05)
    np.testing.assert_allclose(second.quickest.whole_s, (2e-3 + lowest_s) / 3, rtol=1e-5)
    assert (first.quickest.unsure, second.quickest.unsure) == (False, True)
    # What takes longer than a disturbance of each iteration explains is told although they differ.
    work[:, 1, 1] += 3e-3
    run = run_of(folder_in(tmp_path), own_header, work, alike=True)
    (second,) = (stretch for stretch in stretches_of(run) if stretch.after == second.after)
    np.testing.assert_allclose(second.quickest.whole_s, [1e-3, lowest_s + 3e-3, 1e-3], rtol=1e-5)


EVERY = 10
DRAWS = [(kind, seed) for kind in ("constant", "every", "growing", "none") for seed in range(5)]


@pytest.mark.parametrize(("kind", "seed"), DRAWS)
def test_a_delay_is_named_in_its_stretch_where_others_disturb_the_run(
    tmp_path: Path, own_header: Header, kind: str, seed: int
) -> None:
    """A tenth to three tenths of an iteration; every tenth one is longer by as much of ten.

    Others take the cores in a fifth of all stretches, mostly for longer than an iteration.
    """
    random = np.random.default_rng((7, seed))
    base = np.array([2e-3, 1e-3])
    rank, stretch, share = random.integers(RANKS), random.integers(2), random.uniform(0.1, 0.3)
    steps = np.arange(BODIES)
    part = {
        "constant": np.ones(BODIES),
        "every": EVERY * (steps % EVERY == EVERY - 1),
        "growing": 2.0 * steps / BODIES,
        "none": np.zeros(BODIES),
    }[kind]
    work = np.tile(base, (BODIES, RANKS, 1)) * random.normal(1.0, 0.01, (BODIES, RANKS, 2))
    work[:, rank, stretch] += part * share * base.sum()
    work += random.exponential(5e-3, work.shape) * (random.uniform(size=work.shape) < 0.2)
    run = run_of(tmp_path, own_header, work, alike=True)
    taken = Finding(
        file="", code="cores-taken", severity="error", text="", advice="", doubts=(Topic.TIMES,)
    )
    said = {type(fact): text(fact) for fact in facts_of(run, [taken])}
    ends = ["left in step (a.c:20)", "sum in step (a.c:30)"]
    where = f"between {ends[1 - stretch]} and {ends[stretch]}"
    if kind == "none":
        assert verdict_of(run).straggler is None
    if kind in ("none", "constant"):
        assert GrowingWork not in said
    if kind != "every":
        assert RecurringWork not in said
    if kind == "constant":
        assert verdict_of(run).straggler == rank
        assert said[UnequalWork].startswith(f"Rank {rank} is the straggler: it works ")
        assert "times as long as the others (median) in the quickest" in said[UnequalWork]
        assert f"of its extra work lies {where}." in said[UnequalWork]
        assert isinstance(facts_of(run, [taken])[0], UnequalWork)
    elif kind == "every":
        assert said[RecurringWork].startswith("Every 10th iteration (9, 19, … 119) is ")
        assert f"longer on rank {rank}, {where}: " in said[RecurringWork]
    elif kind == "growing":
        assert said[GrowingWork].startswith(f"Work of rank {rank} {where} grows from ")


def test_without_contexts_there_is_no_place(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    run = hindmost.open(write_whole(tmp_path, header, values))
    assert stretches_of(run) == ()
    assert not grown(run, 0.0, disturbed=False)
    with pytest.raises(UsageError, match="record it with 'hindmost attach'"):
        make_code(run, FigureChoice())


def grown(run: Run, least_s: float, *, disturbed: bool) -> str:
    """Return what is said of work that grows."""
    found = growing_work(run, stretches_of(run), least_s, disturbed=disturbed)
    return "".join(map(text, found))


@pytest.fixture
def own_header(header: Header) -> Header:
    """Return the header of such a run."""
    return replace(header, ranks=RANKS, iterations=BODIES, restart=0, solver="loop")


def test_a_place_is_the_line_of_the_program_that_calls_code_without_lines() -> None:
    line, begin, end = "step (a.py:9)", "VecScatterBegin", "VecScatterEnd"
    own, theirs = (line, "p.so+0x1", begin, "q.so+0x5"), (line, "p.so+0x2", end, "q.so+0x5")

    def parted(own: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(str, parting(*([*map(CodePlace.read, each)] for each in (own, theirs)))))

    assert parted(own, theirs) == (f"{begin} in {line}", f"{end} in {line}")
    assert parted(own, (*own[:3], "q.so+0x9")) == (f"{begin} in {line}",) * 2
    assert parted((line,), (line,)) == (line, line)
    assert parted(("main", "q.so+0x5"), ("main", "q.so+0x9")) == ("main", "main")
    assert parted(("q.so+0x5",), ("q.so+0x9",)) == ("q.so+0x5", "q.so+0x9")
    assert CodePlace.read("step (in a) (a.c:3)").without_line == "step (in a) (a.c)"
