"""The figures of one run, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hindmost.analysis.figures import of_ranks, of_run
from hindmost.analysis.figures.chart import Chart
from hindmost.analysis.figures.choice import Choice
from hindmost.analysis.figures.columns import Columns
from hindmost.analysis.figures.heat_map import HeatMap
from hindmost.harness.runfile.reader import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes


USUAL_HEIGHT_INCHES = {"full": 2.8, "half": 2.2}


class Content(Protocol):
    """What a figure shows: it draws itself and gives its numbers."""

    def draw(self, axes: Axes) -> Axes:
        """Draw on axes and return them."""

    def columns(self) -> Columns:
        """Return the numbers that are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigure:
    """A figure that can be drawn of a run.

    Attributes
    ----------
    name : str
        On the command line, and part of the file's name.
    heading : str
        Over the figure on a page.
    summary : str
        One line for the help.
    caption : str
        What is to be seen in it.
    make : callable
        From a run and what was chosen of it; raises UsageError where the run does not allow it.
    usual : bool
        Whether it is drawn if nothing else is asked for.
    by_rank : bool
        Whether it grows with the number of ranks.
    of_ranks : bool
        Whether an axis is of ranks, so that one can be pointed at.
    """

    name: str
    heading: str
    summary: str
    caption: str
    make: Callable[[Run, Choice], Chart | HeatMap]
    usual: bool = False
    by_rank: bool = False
    of_ranks: bool = False

    def height_inches(self, ranks: int, width: str = "full") -> float:
        """Return the height that suits a number of ranks and a width of `WIDTHS_INCHES`."""
        usual = USUAL_HEIGHT_INCHES[width]
        return min(0.8 * usual - 0.4 + 0.3 * ranks, 1.4 * usual) if self.by_rank else usual


RUN_FIGURES = (
    RunFigure(
        name="map",
        heading="Where and when bodies were slow",
        summary="(iteration, rank) colour map of bodies, at --position of the restart cycle",
        caption="The bodies of every rank in the order of time, as colours. Stripes along time are "
        "a rank that is always slower; columns are bodies in which all were slow; specks are "
        "detours. Of a solver that restarts, only the bodies at one place of the cycle are shown, "
        "which all do the same work.",
        make=of_run.make_map,
        usual=True,
        by_rank=True,
        of_ranks=True,
    ),
    RunFigure(
        name="work",
        heading="Which rank was slow by itself",
        summary="the same of what a body takes without waiting: which rank was slow by itself",
        caption="The same bodies without their waiting: what a rank did by itself. A column that "
        "is slow in the map of bodies, and here on one rank only, was slow because of that rank.",
        make=of_run.make_work_map,
        usual=True,
        by_rank=True,
        of_ranks=True,
    ),
    RunFigure(
        name="histogram",
        heading="How long a body lasts",
        summary="histogram of all bodies with the laws fitted to them",
        caption="How long bodies last, all ranks and iterations together, with the Johnson SU law "
        "that the stationary model takes them to follow, and a normal one for comparison. Of a "
        "pipelined solver, bodies that only fill the pipeline are left out; those that drain it "
        "make a peak at the left.",
        make=of_run.make_histogram,
        usual=True,
    ),
    RunFigure(
        name="ranks",
        heading="Single ranks",
        summary="histograms of single ranks, chosen with --rank",
        caption="How long bodies last on single ranks: those of least, middle and most work, if "
        "none were chosen.",
        make=of_run.make_rank_histograms,
    ),
    RunFigure(
        name="iteration",
        heading="One body on every rank",
        summary="time of one body on every rank, chosen with --iteration",
        caption="One body on every rank, with its waiting and without. Dotted lines stand where "
        "the ranks of a host begin.",
        make=of_run.make_time_per_rank,
    ),
    RunFigure(
        name="fastest",
        heading="The fastest rank of a body",
        summary="histogram of a_k, the fastest rank of every body, with its law",
        caption="The fastest rank of every body, a_k of the non-stationary model, with the Johnson "
        "SU law from which simulations draw it.",
        make=of_run.make_fastest,
    ),
    RunFigure(
        name="span",
        heading="From the fastest rank to the slowest",
        summary="histogram of s_k, from fastest to slowest rank, with its law",
        caption="From the fastest rank of a body to the slowest, s_k of the non-stationary model, "
        "with the Johnson SU law from which simulations draw it.",
        make=of_run.make_span,
    ),
    RunFigure(
        name="cycle",
        heading="Through the restart cycle",
        summary="time of a body against its place in the restart cycle",
        caption="How the time of a body grows over the restart cycle, as it orthogonalises against "
        "ever more vectors, and how much of it is waiting.",
        make=of_run.make_cycle,
        usual=True,
    ),
    RunFigure(
        name="phases",
        heading="Where the time of every rank went",
        summary="where the time of every rank went, in stacked shares",
        caption="Where the time of the bodies of every rank went. The rank that waits least is the "
        "one that the others wait for.",
        make=of_run.make_phases,
        usual=True,
        of_ranks=True,
    ),
    RunFigure(
        name="phases-over-time",
        heading="Where the time went in the course of the solve",
        summary="where the time went in the course of the solve, all ranks together",
        caption="Where the time of all ranks went in the course of the solve.",
        make=of_run.make_phases_over_time,
    ),
    RunFigure(
        name="hindmost",
        heading="Who is hindmost",
        summary="how often every rank is last, and how much of the waiting it causes",
        caption="How often every rank is the last of a body, and what share of the waiting of all "
        "ranks it causes. Among ranks that are alike both lie at one over the number of ranks.",
        make=of_ranks.of_report(of_ranks.hindmost_chart),
    ),
    RunFigure(
        name="outliers",
        heading="Ranks that stand out",
        summary="where the time of the ranks went that stand out, beside the mean of all",
        caption="Where the time of the bodies went: of all ranks on average, of those that come "
        "first by some criterion, and of the ranks that are typical of a group.",
        make=of_ranks.of_report(of_ranks.outlier_chart),
    ),
    RunFigure(
        name="timeline",
        heading="The timeline of a rank",
        summary="where the time of the bodies of one rank went, chosen with --rank",
        caption="The bodies of one rank in the order of time, parts on each other.",
        make=of_ranks.make_timeline,
    ),
    RunFigure(
        name="profile",
        heading="Ranks at work in the course of the solve",
        summary="time profile: the share of ranks at work in every moment of the solve",
        caption="The share of ranks that are at work, neither waiting nor between bodies, on the "
        "clock that all ranks have in common.",
        make=of_ranks.of_report(of_ranks.profile_chart),
    ),
    RunFigure(
        name="body-profile",
        heading="Ranks at work in the course of a body",
        summary="the same of all bodies laid over each other: slopes hint at imbalance",
        caption="All bodies laid over each other, from where the first rank begins one to where "
        "the last rank ends it. A gradual rise hints at slow communication, a gradual fall at load "
        "imbalance (Lee 2009).",
        make=of_ranks.of_report(of_ranks.body_profile_chart),
    ),
    RunFigure(
        name="own-work",
        heading="What bodies take without waiting",
        summary="histogram of bodies without their waiting, of all ranks",
        caption="How long bodies take without waiting, all ranks together, in bins that grow with "
        "the time; what lies beyond them is counted.",
        make=of_ranks.of_report(of_ranks.own_work_chart),
    ),
    RunFigure(
        name="efficiency",
        heading="Efficiencies in the course of the solve",
        summary="parallel efficiency and its factors in windows of bodies",
        caption="What is left of the ranks' time in windows of bodies: parallel efficiency is the "
        "product of the others. Load balance falls where some ranks have more work in all of a "
        "window, serialisation where now one and now another has, transfer where messages, or "
        "ranks that lose their core in them, cost time themselves.",
        make=of_run.make_efficiencies,
    ),
    RunFigure(
        name="efficiency-cycle",
        heading="Efficiencies through the restart cycle",
        summary="the same by place in the restart cycle",
        caption="The same of all bodies at a place of the restart cycle. GMRES has more work from "
        "place to place while a message costs as much: transfer should rise from left to right.",
        make=of_run.make_efficiencies_in_cycle,
    ),
)


def figure_named(name: str) -> RunFigure:
    """Return a figure of a run by its name."""
    return next(figure for figure in RUN_FIGURES if figure.name == name)
