"""Timelines of single iterations: what each rank did, event by event, and their widget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.show.html_charts import SCRIPTS, embedded
from hindmost.analysis.show.html_maps import packed
from hindmost.analysis.show.page import Widget, shared_scripts
from hindmost.analysis.show.templates import rendered

EVENT_SCRIPTS = (*SCRIPTS[:-1], *shared_scripts("events"), SCRIPTS[-1])
"""The last script starts all charts."""
HINT = (
    "Drag over the map to choose iterations; drag here to zoom. With the keyboard: arrows, +, -, 0."
)
KINDS = {
    "work": "work, and noise within it",
    "reduction": "blocking reduction",
    "posted": "start of a non-blocking reduction",
    "completed": "end of a non-blocking reduction",
    "send": "start of a halo exchange",
    "receive": "end of a halo exchange",
    "broadcast": "broadcast or scatter",
    "to root": "reduction or gather to a root",
    "scan": "scan",
    "unknown": "iteration whose events do not fit together",
}
"""By the name of a kind of event, what it is called; the order is that of `EventKind`."""
LOOKS = {"work": (0, 1.0), "reduction": (3, 0.45), "posted": (1, 0.3), "completed": (3, 0.3),
         "send": (2, 0.4), "receive": (2, 0.7), "broadcast": (3, 0.6), "to root": (3, 0.6),
         "scan": (3, 0.6), "unknown": (3, 0.2)}  # fmt: skip
"""Fill and height of each kind: heights tell them apart without colours."""
PATH = "critical path; it changes ranks where a wait ended"
MAX_RANKS_OF_PATH = (1 << 16) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPieces:
    """The critical path through some iterations: on which rank it is, from when, for how long.

    A piece is own work before an event, or after the last one. Between pieces the path is in a
    reduction or a message.

    Attributes
    ----------
    rank : int64 array, shape (iteration, piece)
        Numbers of ranks; -1 for no piece.
    late : float64 array, shape (iteration, piece), seconds
        When the piece begins, after `EventChart.begin`.
    span : float64 array, shape (iteration, piece), seconds
    """

    rank: NDArray[np.int64]
    late: NDArray[np.float64]
    span: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventChart:
    """What some ranks did in some iterations.

    Attributes
    ----------
    title : str
    iterations : int64 array, shape (iteration,)
        Numbers of the iterations that are there, in order.
    of : int
        Iterations of the run.
    ranks : int64 array, shape (rank,)
        Numbers of the ranks that are there.
    of_ranks : int
    kind : uint8 array, shape (iteration, event)
        Values of `EventKind`; 0 is none.
    begin : float64 array, shape (iteration,), seconds
        When the first rank starts an iteration, since the solve began.
    late : float64 array, shape (iteration, rank), seconds
        How much later each rank starts it.
    duration : float64 array, shape (iteration, rank), seconds
    work, spent : float64 array, shape (iteration, rank, event), seconds
        Own work before each event, and time in it.
    numbers : dict of str to float64 array, shape (iteration, rank), seconds
        Times by phase and activity.
    first : int or None
        The iteration that is shown first, with its neighbours; None for the first of all.
    path : PathPieces or None
    why_no_path : str
        Why the critical path is unknown; empty if it is not.
    """

    title: str
    iterations: NDArray[np.int64]
    of: int
    ranks: NDArray[np.int64]
    of_ranks: int
    kind: NDArray[np.uint8]
    begin: NDArray[np.float64]
    late: NDArray[np.float64]
    duration: NDArray[np.float64]
    work: NDArray[np.float64]
    spent: NDArray[np.float64]
    numbers: dict[str, NDArray[np.float64]]
    first: int | None = None
    path: PathPieces | None = None
    why_no_path: str = ""

    @property
    def scope(self) -> str:
        """Which iterations and ranks are there."""
        said = []
        if self.iterations.size < self.of:
            said.append(
                f"This page has the events of {self.iterations.size} of {self.of:,} iterations: "
                "stretches around the longest work of single ranks, and others at even distances."
            )
        if self.ranks.size < self.of_ranks:
            said.append(f"It shows {self.ranks.size} of {self.of_ranks:,} ranks.")
        return " ".join(said)


def event_data(chart: EventChart) -> dict[str, Any]:
    """Return what the script needs: all times in one array of (iteration, rank, value)."""
    pairs = np.stack([chart.work, chart.spent], axis=3)
    count = chart.kind.shape[1]
    values = np.concatenate(
        [
            chart.late[:, :, None],
            chart.duration[:, :, None],
            pairs.reshape(*chart.late.shape, 2 * count),
            *(number[:, :, None] for number in chart.numbers.values()),
        ],
        axis=2,
    )
    times, plain = values, None
    if (path := chart.path) is not None:
        times = np.concatenate([each.ravel() for each in (values, path.late, path.span)])
        plain = (path.rank + 1).astype(np.uint16)
    last = float((chart.begin + (chart.late + chart.duration).max(axis=1)).max())
    return {
        "kind": "events",
        "x": {"name": "time", "label": "time since the solve began, s", "unit": " s",
              "limits": (float(chart.begin[0]), last)},
        "y": {"title": "rank", "limits": (-0.5, chart.ranks.size - 0.5), "counted": True,
              "upright": True, "names": [str(rank) for rank in chart.ranks.tolist()]},
        "iterations": chart.iterations.tolist(),
        "of": chart.of,
        "first": chart.first,
        "begin": [float(f"{each:.9g}") for each in chart.begin.tolist()],
        "kinds": chart.kind.tolist(),
        "names": list(KINDS),
        "called": list(KINDS.values()),
        "looks": [(f"--fill-{fill}", height) for fill, height in LOOKS.values()],
        "numbers": list(chart.numbers),
        "width": values.shape[2],
        "path": PATH,
        "pieces": 0 if path is None else path.rank.shape[1],
        **packed(times, plain),
    }  # fmt: skip


def event_widget(chart: EventChart, numbers: Iterator[int], heading: str, caption: str) -> Widget:
    """Return the timeline as a part of a page."""
    used = sorted({0, *np.unique(chart.kind[chart.kind > 0]).tolist()})
    names = [list(KINDS)[kind] for kind in used]
    anchor, path = f"chart-{next(numbers)}", "" if chart.path is None else PATH
    html = rendered(
        "show/charts.html",
        "figure",
        id=anchor,
        kind="events",
        heading=heading,
        label=f"{heading}: {chart.title}",
        legend=rendered(
            "show/charts.html",
            "event_legend",
            kinds=[(*LOOKS[name], KINDS[name]) for name in names],
            path=path,
        ),
        height=f"{min(22.0, 5.0 + 1.6 * chart.ranks.size):g}",
        below=rendered("show/charts.html", "path_words", chart.why_no_path),
        hint=HINT,
        picture="",
        caption=f"{caption} {chart.scope}".rstrip(),
        data=embedded(event_data(chart)),
    )
    return Widget(html=html, anchor=anchor, heading=heading, name="events", scripts=EVENT_SCRIPTS)
