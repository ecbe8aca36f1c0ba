"""Figures 1 to 12 of the paper on noise and pipelined Krylov methods that one machine can show.

Every density has a 90 % band (`krylov_bands`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from benchmarks.krylov_bands import banded, banded_histograms, blocks_of, pooled, scale_of
from benchmarks.krylov_paper import ICE, LAPLACIAN, Case
from benchmarks.krylov_tables import Groups, case_name
from numpy.typing import NDArray

from hindmost.analysis.fits.study import FittedGroup
from hindmost.analysis.runs.figures import one_run
from hindmost.analysis.runs.figures.distributions import (
    NamedTimes,
    fitted_laws,
    histogram,
    time_in_cycle,
)
from hindmost.analysis.runs.figures.run_figure import Content, FigureChoice
from hindmost.analysis.runs.read import title_of
from hindmost.analysis.show.chart import Chart
from hindmost.analysis.show.html_charts import live_chart
from hindmost.analysis.show.page import Paragraph, Part, Subheading
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run

HEIGHT = 2.8
FEWEST_RANKS = 8
"""For a histogram of one iteration over ranks."""
BODIES = {"gmres": 44, "pgmres": 48}
"""The iterations of figure 2."""
SAME_WORK = (14, 44)
"""The iterations of figure 6, at one place of the cycle."""
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """All runs of the study.

    Attributes
    ----------
    groups : mapping
        Of the first two workloads, by workload and solver.
    strong, static : sequence of FittedGroup
        Of GMRES on ice flow, by ranks and by unknowns.
    """

    groups: Groups
    strong: Sequence[FittedGroup]
    static: Sequence[FittedGroup]


def figure_parts(study: Study, numbers: Iterator[int]) -> list[Part]:
    """Return every figure with its number in the paper, or why there is none."""
    parts: list[Part] = []
    for title, difference, make in FIGURES:
        parts.append(Subheading(title))
        drawn = list(make(study, numbers))
        parts += drawn or [Paragraph("The runs of this figure are missing.")]
        parts.append(Paragraph(difference))
    return parts


def chart(
    make: Callable[[], Content], heading: str, caption: str, numbers: Iterator[int]
) -> Iterator[Part]:
    """Yield a chart, or why the runs do not allow it."""
    try:
        yield live_chart(make(), heading, caption, numbers, height=HEIGHT)
    except UsageError as error:
        yield Paragraph(f"{heading}: {error}", quiet=True)


def bodies(run: Run) -> FloatArray:
    """Return the bodies that laws are fitted to: shape (iteration, rank), seconds."""
    return one_run.fitted_bodies(run)


def fastest(run: Run) -> FloatArray:
    """Return a_k: shape (iteration,), seconds."""
    return np.asarray(bodies(run).min(axis=1))


def spans(run: Run) -> FloatArray:
    """Return s_k: shape (iteration,), seconds."""
    return np.asarray(np.ptp(bodies(run), axis=1))


# The figures.


def each_case(study: Study, *cases: Case) -> Iterator[tuple[Case, FittedGroup]]:
    """Yield those of some cases that were recorded."""
    for case in cases:
        if case in study.groups:
            yield case, study.groups[case]


EX23: tuple[Case, ...] = ((LAPLACIAN, "gmres"), (LAPLACIAN, "pgmres"))
EX48: tuple[Case, ...] = ((ICE, "gmres"), (ICE, "pgmres"))
Make = Callable[[Study, Iterator[int]], Iterator[Part]]


def of_ranks(*cases: Case) -> Make:
    """Return the maker of histograms of chosen ranks."""

    def make(study: Study, numbers: Iterator[int]) -> Iterator[Part]:
        for case, fitted in each_case(study, *cases):
            run = fitted.median_run.run
            names = FigureChoice().ranks_of(run)

            def drawn(run: Run = run, names: dict[int, str] = names) -> Chart:
                times = bodies(run)
                samples = {name: blocks_of(times[:, at]) for at, name in names.items()}
                return banded_histograms(samples, title=title_of(run))

            yield from chart(drawn, case_name(case), "Bodies of chosen ranks.", numbers)
            tests = [test.text for test in fitted.median_run.tests if test.name == "ranks_alike"]
            yield Paragraph(" ".join(filter(None, tests)))

    return make


def of_one_body(*cases: Case) -> Make:
    """Return the maker of charts of one body on every rank."""

    def make(study: Study, numbers: Iterator[int]) -> Iterator[Part]:
        for case, fitted in each_case(study, *cases):
            run = fitted.median_run.run
            body = min(BODIES[case[1]], run.bodies - 1)
            yield from chart(
                partial(one_run.make_time_per_rank, run, FigureChoice(body=body)),
                f"{case_name(case)}, body {body}",
                "One body on every rank, with and without waiting.",
                numbers,
            )
            tests = [test.text for test in fitted.median_run.tests if test.name == "nodes"]
            yield Paragraph(" ".join(filter(None, tests)) or "One node: no spread between nodes.")

    return make


def of_map(*cases: Case) -> Make:
    """Return the maker of colour maps."""

    def make(study: Study, numbers: Iterator[int]) -> Iterator[Part]:
        for case, fitted in each_case(study, *cases):
            run = fitted.median_run.run
            yield from chart(
                partial(one_run.make_map, run, FigureChoice()),
                case_name(case),
                "Bodies in the middle of every restart cycle.",
                numbers,
            )

    return make


def together(*makes: Make) -> Make:
    """Return one maker for several."""

    def make(study: Study, numbers: Iterator[int]) -> Iterator[Part]:
        for each in makes:
            yield from each(study, numbers)

    return make


def of_law(values: Callable[[Run], FloatArray], what: str, *cases: Case, place: str = "") -> Make:
    """Return the maker of a histogram with its Johnson SU law."""

    def make(study: Study, numbers: Iterator[int]) -> Iterator[Part]:
        for case, fitted in each_case(study, *cases):
            run = fitted.median_run.run

            def drawn(run: Run = run) -> Chart:
                times = values(run)
                laws = fitted_laws(times, normal=False)
                one = histogram(times, laws, title=title_of(run), what=what, name="bodies")
                scale = scale_of(one, [NamedTimes("bodies", times)])
                return banded(one, [[scale * block for block in blocks_of(times)]])

            heading = f"{case_name(case)}{place}"
            yield from chart(drawn, heading, f"The {what}, with a Johnson SU law.", numbers)

    return make


def of_uniform(study: Study, numbers: Iterator[int]) -> Iterator[Part]:
    """Yield histograms of single bodies over ranks with their uniform law."""
    for case, fitted in each_case(study, EX48[0]):
        run = fitted.median_run.run
        if run.columns < FEWEST_RANKS:
            yield Paragraph(
                f"{case_name(case)} ran on {run.columns} ranks: the uniform law of as few times is "
                f"their ends, so nothing is drawn below {FEWEST_RANKS} ranks."
            )
            continue
        samples = {f"body {at}": [run.durations[at]] for at in SAME_WORK if at < run.bodies}
        yield from chart(
            partial(banded_histograms, samples, title=title_of(run)),
            case_name(case),
            "Single bodies over all ranks; their uniform law goes from end to end.",
            numbers,
        )


def over(chosen: Callable[[Study], Sequence[FittedGroup]], name: str) -> Make:
    """Return the maker of a_k and s_k over several configurations."""

    def make(study: Study, numbers: Iterator[int]) -> Iterator[Part]:
        groups = chosen(study)
        for values, what in ((fastest, "fastest rank of a body, aₖ"), (spans, "span, sₖ")):
            samples = {
                label(fitted, name): pooled(fitted, values)
                for fitted in groups
                if values is fastest or fitted.runs[0].run.columns > 1
            }
            if samples:
                yield from chart(
                    partial(banded_histograms, samples, title=f"{what}, by {name}", what=what),
                    what,
                    "All repeats pooled.",
                    numbers,
                )

    return make


def label(fitted: FittedGroup, name: str) -> str:
    """Name a configuration by what differs."""
    header = fitted.runs[0].run.header
    if name == "ranks":
        return f"{header.ranks} ranks" if header.ranks > 1 else "1 rank"
    return header.solver if name == "solver" else f"{header.spec.get('unknowns', 0):,} unknowns"


def four_solvers(study: Study) -> list[FittedGroup]:
    """Return the groups of figure 10."""
    names = ("bcgs", "pipebcgs", "gmres", "pgmres")
    return [study.groups[LAPLACIAN, name] for name in names if (LAPLACIAN, name) in study.groups]


def in_cycle(study: Study, numbers: Iterator[int]) -> Iterator[Part]:
    """Yield bodies at several places of the cycle, and over the whole cycle."""
    for case, fitted in each_case(study, EX48[0]):
        run = fitted.median_run.run
        position = run.position
        last = int(position.max())
        samples = {
            f"place {place}": blocks_of(run.durations[position == place])
            for place in dict.fromkeys((0, last // 3, 2 * last // 3, last))
        }
        yield from chart(
            partial(banded_histograms, samples, title=title_of(run)),
            case_name(case),
            "Bodies at places of the restart cycle.",
            numbers,
        )
        yield from chart(
            partial(time_in_cycle, run.durations, run.work, run.position, title=title_of(run)),
            f"{case_name(case)} through the cycle",
            "Median and middle 90 % at every place.",
            numbers,
        )


FIGURES: tuple[tuple[str, str, Make], ...] = (
    (
        "Figure 1: iterations of single ranks, ex23",
        "The paper's ranks 0 and 1 of PGMRES differ (D = 0.088) and those of GMRES do not; its "
        "test takes serially correlated times as independent, ours corrects for that.",
        of_ranks(*EX23),
    ),
    (
        "Figure 2: one iteration on every rank, ex23",
        "The paper shows 1000 ranks, on which nodes stand out as steps; one machine is one node.",
        of_one_body(*EX23),
    ),
    (
        "Figure 3: colour map of iterations, ex23",
        "The paper shows 5000 ranks; horizontal lines there, slow iterations of all ranks, are "
        "columns here.",
        of_map(*EX23),
    ),
    (
        "Figure 4: the same for ex48",
        "The same with a denser matrix: ten times the work per row, so that noise of a given "
        "length is a smaller share of an iteration.",
        together(of_ranks(*EX48), of_one_body(*EX48), of_map(*EX48)),
    ),
    (
        "Figure 5: all iterations with a Johnson SU law",
        "The paper's laws lean left with a small tail; on a machine that is quiet, the places of "
        "the restart cycle are peaks that no single law has.",
        of_law(bodies, "time of an iteration", *EX23, *EX48),
    ),
    (
        "Figure 6: one iteration with its uniform law",
        "The paper has 8192 ranks for each of these laws.",
        of_uniform,
    ),
    (
        "Figure 7: fastest rank and span of an iteration, ex48",
        "With few ranks the span is short: it grows with their number.",
        together(
            of_law(fastest, "fastest rank of a body, aₖ", *EX48, place=", aₖ"),
            of_law(spans, "span of a body over ranks, sₖ", *EX48, place=", sₖ"),
        ),
    ),
    (
        "Figure 8: strong scaling, GMRES on ex48",
        "The paper goes from 1024 to 8192 ranks; one machine goes to its number of cores. A single "
        "rank has no span.",
        over(lambda study: study.strong, "ranks"),
    ),
    (
        "Figure 9: static scaling, GMRES on ex48",
        "The paper goes from 1e5 to 1e8 unknowns; here as many a rank fit into minutes.",
        over(lambda study: study.static, "unknowns"),
    ),
    (
        "Figure 10: BCGS and pipelined BCGS beside GMRES, ex23",
        "An iteration of BCGS has two products and no growing basis, so its law is narrower than "
        "that of GMRES on a quiet machine.",
        over(four_solvers, "solver"),
    ),
    (
        "Figure 12: places of the restart cycle, GMRES on ex48",
        "As on the paper's Mira, places are distinct where the machine is quiet. Figure 11 "
        "compares Theta with Piz Daint: run this study on a second machine, and draw both folders "
        "with hindmost plot --figure overlay-fastest --figure overlay-span.",
        in_cycle,
    ),
)
