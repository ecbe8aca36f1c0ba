"""The figures and tables of the five papers, and what shows each of them."""

from __future__ import annotations

from dataclasses import dataclass

from hindmost.analysis.show.table import Column, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFigure:
    """Figures or tables of a paper that the same thing shows.

    Attributes
    ----------
    paper : str
        A key of `PAPERS`.
    number : str
        In the paper, such as ``fig. 1, 4``; of the thesis defence, the title of the slide.
    what : str
        What it shows.
    figures : tuple of str
        Names in ``hindmost plot --help``.
    command : str
        What else shows it, or more of it; a command, or a page of the documentation.
    why : str
        Why there is nothing to draw, where neither is given.
    """

    paper: str
    number: str
    what: str
    figures: tuple[str, ...] = ()
    command: str = ""
    why: str = ""

    @property
    def shown_by(self) -> str:
        """What shows it, in words."""
        drawn = f"plot --figure {', '.join(self.figures)}" if self.figures else ""
        return "; ".join(filter(None, (drawn, self.command))) or f"nothing: {self.why}"


PAPERS = {
    "Krylov": "Morgan, Sanan, Knepley, Mills: The impact of noise on pipelined Krylov method "
    "performance",
    "Segments": "Ilyas, Calotoiu, Wolf: Off-Road Performance Modeling (2017)",
    "Adaptive": "Mathis, Kerbyson: Dynamic Performance Prediction of an Adaptive Mesh Application "
    "(2006)",
    "Lee": "Lee: Techniques in Scalable and Effective Performance Analysis (thesis defence, 2009)",
    "Albany": "Shan: Performance Variation of the Albany Land-Ice Code (2020)",
}
"""Short names of the papers, as in ``hindmost plot --papers``."""

NO_DATA = "a diagram of the method, without data"


def _of(
    paper: str, number: str, what: str, *figures: str, command: str = "", why: str = ""
) -> PaperFigure:
    return PaperFigure(
        paper=paper, number=number, what=what, figures=figures, command=command, why=why
    )


PAPER_FIGURES = (
    _of("Krylov", "fig. 1", "iterations of single ranks", "ranks"),
    _of("Krylov", "fig. 2", "one iteration on every rank", "iteration"),
    _of("Krylov", "fig. 3", "colour map of iterations by rank", "map"),
    _of("Krylov", "fig. 4", "the same for ice flow (ex48)", "ranks", "iteration", "map"),
    _of("Krylov", "fig. 5", "all iterations with a Johnson SU law", "histogram"),
    _of("Krylov", "fig. 6", "one iteration over ranks with its uniform law", "uniform"),
    _of("Krylov", "fig. 7", "a_k and s_k with their laws", "fastest", "span"),
    _of("Krylov", "fig. 8", "a_k and s_k over ranks", "overlay-fastest", "overlay-span"),
    _of("Krylov", "fig. 9", "a_k and s_k over unknowns", "overlay-fastest", "overlay-span"),
    _of("Krylov", "fig. 10", "a_k and s_k of four solvers", "overlay-fastest", "overlay-span"),
    _of("Krylov", "fig. 11", "a_k and s_k of two machines", "overlay-fastest", "overlay-span"),
    _of("Krylov", "fig. 12", "iterations by place in the cycle, two machines", "places", "overlay"),
    _of(
        "Krylov",
        "table 1",
        "models and bounds against the solve time",
        command="fit; make study-krylov",
    ),
    _of(
        "Krylov",
        "table 2",
        "Johnson SU parameters of a_k, s_k",
        command="fit --json: laws of redrawn-uniform",
    ),
    _of("Krylov", "table 3", "solve time from a_k, s_k drawn anew", command="fit: redrawn-uniform"),
    _of("Krylov", "table 4", "the same on other machines", command="fit, on runs of each machine"),
    _of("Segments", "fig. 1", "data of two functions and one model for both", "scaling"),
    _of("Segments", "fig. 2", "steps of the method", why=NO_DATA),
    _of("Segments", "fig. 3", "points of the windows", why=NO_DATA),
    _of("Segments", "fig. 4", "two synthetic examples", "scaling"),
    _of(
        "Segments",
        "fig. 5",
        "share of data sets judged right",
        command="docs/validation.md (Scaling models)",
    ),
    _of("Segments", "fig. 6", "measurements, both models, change", "scaling"),
    _of("Segments", "table 1", "nRSS of each window of five points", "window-errors"),
    _of("Segments", "table 2", "models of MPI collectives", command="scale; collective_calls.py"),
    _of("Adaptive", "fig. 1", "time per cell against cells", "grind"),
    _of("Adaptive", "fig. 2, 3", "measured and predicted times", "predicted"),
    _of("Adaptive", "fig. 4", "accumulated time and checkpoints", "checkpoints"),
    _of("Adaptive", "fig. 5", "predictions with interference", "interference"),
    _of("Adaptive", "table 1", "input decks", command="run adaptive --help"),
    _of("Adaptive", "table 2", "latency and time per byte", command="probe network"),
    _of("Adaptive", "table 3, 4", "average prediction errors", command="show; make study-adaptive"),
    _of("Lee", "histograms", "time of activities, all ranks", "activities", "own-work"),
    _of("Lee", "time profiles", "activities over time, all ranks", "activity-profile", "profile"),
    _of("Lee", "time profiles", "slopes within an iteration", "body-profile"),
    _of("Lee", "extrema tool", "ranks to look at", "outliers", "hindmost", "timeline"),
    _of("Lee", "k-means", "groups of ranks and exemplars", "outliers", command="show --ranks"),
    _of(
        "Lee",
        "k-means results",
        "least idle ranks kept",
        command="docs/validation.md (Solves and noise)",
    ),
    _of(
        "Lee",
        "k-means overhead",
        "cost of the choice of ranks",
        command="make bench-ranks",
    ),
    _of("Lee", "streaming", "live utilisation profile", command="watch"),
    _of(
        "Lee",
        "streaming overheads",
        "cost of the live view",
        command="make bench-live",
    ),
    _of("Lee", "latency trends", "solve time against latency", "latency", command="whatif"),
    _of("Lee", "load balancing", "other maps of blocks to ranks", command="whatif --balance"),
    _of("Albany", "fig. 1", "time series and histograms", "nights", "nights-histogram"),
    _of("Albany", "fig. 2", "p-values of one change", "p-values"),
    _of("Albany", "fig. 3", "p-values of several changes", "p-values"),
    _of("Albany", "fig. 4", "p-values among outliers", "p-values"),
    _of("Albany", "fig. 5", "page of a series", "nights", command="history --report"),
    _of("Albany", "fig. 6", "two cases compared", command="history --report; compare A B"),
    _of("Albany", "fig. 7", "levels of real series", "nights"),
    _of("Albany", "fig. A.1 to A.3", "cases and timers", command="history --json"),
)
"""Every figure and table, in the order of the papers."""


def papers_table() -> Table:
    """Return the table of all figures and tables, and what shows each."""
    return Table(
        columns=(Column("paper"), Column("number"), Column("what"), Column("shown by")),
        rows=[
            (figure.paper, figure.number, figure.what, figure.shown_by) for figure in PAPER_FIGURES
        ],
        notes=tuple(f"{short}: {title}." for short, title in PAPERS.items()),
    )
