"""The flame of a straggler's extra work and the lanes of threads, as numbers, pictures and HTML."""

from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.runs.test_stretches import BODIES, RANKS, contexts, run_of

from hindmost.analysis.runs.figures.run_figure import FigureChoice
from hindmost.analysis.runs.figures.sampled import make_flame, make_threads
from hindmost.analysis.show.boxes import Boxes, channels
from hindmost.analysis.show.figure_style import new_figure
from hindmost.analysis.show.html_charts import live_chart
from hindmost.analysis.show.matplotlib_charts import draw
from hindmost.errors import UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.contexts import CodePlace
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.samples import (
    CodeStack,
    RankSamples,
    SampleKind,
    variables_of,
)

MAIN, LIGHT = CodePlace("main", "a.c", 20), CodePlace("light<&>", "a.c", 5)
HEAVY = CodePlace("heavy", "a.c", 9)
PERIOD_S = 1e-4
WORK = {LIGHT: 1e-3, HEAVY: 1e-3}
"""Processor time in an iteration between the exchange and the sum."""


def sampled(extra_s: float) -> list[RankSamples]:
    """Return samples of ranks, of which the last one has more in `heavy`; thread 1 of it waits."""
    ranks = []
    for rank in range(RANKS):
        spent_s = np.array([WORK[LIGHT], WORK[HEAVY] + (extra_s if rank == RANKS - 1 else 0.0)])
        counts = np.rint(BODIES * np.append(spent_s, 0.5e-3) / PERIOD_S).astype(np.int64)
        context_s = np.zeros(contexts().count)
        context_s[[1, 3]] = BODIES * spent_s.sum(), BODIES * 1e-3
        stacks = [CodeStack(places=(place, MAIN)) for place in (LIGHT, HEAVY, HEAVY)]
        ranks.append(
            RankSamples(
                period_s=PERIOD_S,
                thread=np.array([0, 0, 1]),
                context=np.full(3, 1),
                stack=np.arange(3),
                count=counts,
                kind=np.array([SampleKind.WORK, SampleKind.WORK, SampleKind.OPENMP], np.uint8),
                part=np.zeros(3, np.uint8),
                stacks=tuple(stacks),
                threads=np.arange(2),
                thread_s=np.ones(2),
                context_s=context_s,
            )
        )
    return ranks


def run_with(folder: Path, header: Header, extra_s: float) -> Run:
    """Return a run whose last rank has more work after the exchange."""
    loop = replace(header, ranks=RANKS, iterations=BODIES, restart=0, solver="loop")
    work = np.full((BODIES, RANKS, 2), 1e-3)
    work[:, :, 1] = sum(WORK.values())
    work[:, -1, 1] += extra_s
    solve_time_s = work.sum(axis=2).max(axis=1).sum()
    values = variables_of(sampled(extra_s)) | {"solve_time": np.full(RANKS, solve_time_s)}
    return run_of(folder, loop, work, 3e-4, alike=True, values=values)


def by_name(boxes: Boxes) -> dict[str, int]:
    return {words.partition(" (")[0]: at for at, words in enumerate(boxes.detail)}


def test_a_flame_has_the_named_function_in_red(tmp_path: Path, header: Header) -> None:
    boxes = make_flame(run_with(tmp_path, header, 1e-3), FigureChoice())
    at = by_name(boxes)
    heavy, light, main = (at[name] for name in ("heavy", "light<&>", "main"))
    assert boxes.text[heavy] == str(HEAVY)
    assert boxes.detail[heavy] == "heavy (a.c): 240 ms on rank 2, 120 ms on the others"
    red, _, blue = channels(boxes.colour[heavy])
    assert red > blue + 50
    assert np.ptp(channels(boxes.colour[light])) < 20
    assert boxes.row[main] == 0 < boxes.row[heavy] == boxes.row[light]
    assert boxes.width[main] == pytest.approx(boxes.width[heavy] + boxes.width[light])
    assert boxes.large.tolist() == [words != "main" for words in boxes.text]


def test_a_flame_is_drawn_and_stands_on_pages(tmp_path: Path, header: Header) -> None:
    boxes = make_flame(run_with(tmp_path, header, 1e-3), FigureChoice())
    with new_figure(2.8) as (figure, axes):
        draw(boxes, axes)
        figure.savefig(tmp_path / "flame.svg")
    assert "heavy (a.c:9)" in (tmp_path / "flame.svg").read_text()
    html = live_chart(boxes, "Functions", "Caption.", count(1), height=2.8).html
    assert "heavy (a.c:9)</span>" in html
    assert "light&lt;&amp;&gt;" in html
    assert len(boxes.columns()["box"]) == boxes.row.size


def test_a_run_without_a_straggler_has_no_flame(tmp_path: Path, header: Header) -> None:
    with pytest.raises(UsageError, match="no straggler"):
        make_flame(run_with(tmp_path, header, 0.0), FigureChoice())


def test_lanes_have_work_waiting_and_mpi_of_the_mean_iteration(
    tmp_path: Path, header: Header
) -> None:
    boxes = make_threads(run_with(tmp_path, header, 1e-3), FigureChoice())
    assert boxes.rows == ("thread 0", "thread 1")
    waits = [at for at, words in enumerate(boxes.detail) if words.startswith("waits")]
    (at,) = waits
    assert (boxes.row[at], boxes.width[at]) == (1, pytest.approx(0.5))
    work = [at for at, words in enumerate(boxes.detail) if words.startswith("work")]
    assert boxes.width[work].sum() == pytest.approx(3.0)
    assert {words.partition(":")[0] for words in boxes.detail} >= {"work", "in MPI"}
