"""The figures of one run, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hindmost.analysis.figures import of_run
from hindmost.analysis.figures.adaptive import of_adaptive
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
    """

    name: str
    heading: str
    summary: str
    caption: str
    make: Callable[[Run, Choice], Chart | HeatMap]
    usual: bool = False
    by_rank: bool = False

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
    ),
    RunFigure(
        name="phases-over-time",
        heading="Where the time went in the course of the solve",
        summary="where the time went in the course of the solve, all ranks together",
        caption="Where the time of all ranks went in the course of the solve.",
        make=of_run.make_phases_over_time,
    ),
    RunFigure(
        name="predicted",
        heading="Measured and predicted times",
        summary="adaptive runs: time of every cycle, and what was predicted before it ran",
        caption="The time of every cycle on rank 0, and what was predicted before it ran: by the "
        "time per cell so far (online), from probes alone (offline), and by the shape of a cycle "
        "times its level so far. Steps are changes of the mesh.",
        make=of_adaptive.make_predicted,
        usual=True,
    ),
    RunFigure(
        name="interference",
        heading="With a neighbour on the machine",
        summary="adaptive runs with --interfere: predictions where a neighbour ran",
        caption="A run that was disturbed on purpose, where it is shaded. The offline model goes "
        "on to say what the machine could do; online models catch up, the sooner the fewer cycles "
        "they look back on. Shape times level forgets what was before as soon as the test for "
        "interference finds the change.",
        make=of_adaptive.make_interference,
        usual=True,
    ),
    RunFigure(
        name="grind",
        heading="Time per cell against cells",
        summary="adaptive runs: time per cell against cells, and the probed curve (--machine)",
        caption="Hydro time of rank 0 per cell and step in every cycle, against the cells that the "
        "rank had, and the piecewise curve that was probed before, from which the offline model "
        "computes.",
        make=of_adaptive.make_grind,
        usual=True,
    ),
    RunFigure(
        name="checkpoints",
        heading="Accumulated time and checkpoints",
        summary="adaptive runs: accumulated time, and after which cycles to write checkpoints",
        caption="The time of the cycles so far, and after which of them each rule writes a "
        "checkpoint, from what was predicted of the next cycle.",
        make=of_adaptive.make_checkpoints,
        usual=True,
    ),
    RunFigure(
        name="cells",
        heading="Cells of the mesh",
        summary="adaptive runs: cells over cycles",
        caption="Cells of the mesh in every cycle. On several ranks, what lies between the lines "
        "is imbalance: all wait for the rank that has most.",
        make=of_adaptive.make_cells,
        usual=True,
    ),
    RunFigure(
        name="adaption",
        heading="What adaption changed",
        summary="adaptive runs: cells divided, combined and moved over cycles",
        caption="Cells that were divided and combined at the end of every cycle, and moved to "
        "another rank to balance them.",
        make=of_adaptive.make_adaption,
        usual=True,
    ),
    RunFigure(
        name="phases-over-cycles",
        heading="Where the time of every cycle went",
        summary="adaptive runs: time of every cycle of rank 0, its phases stacked",
        caption="The time of every cycle on rank 0, phase upon phase. Halo and reduction hold what "
        "the rank waited for others.",
        make=of_adaptive.make_phases_over_cycles,
        usual=True,
    ),
)
