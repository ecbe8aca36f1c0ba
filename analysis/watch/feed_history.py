"""A live feed as it grows: its frames, stragglers, when the solve will end, and its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.harness.runfile.feed import FeedHead, FeedPrediction, FeedReader
from hindmost.models.inference import student
from hindmost.records import to_document

MAX_FRAMES = 1200
"""Frames of a solve that are kept; beyond them the older half is merged pair by pair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingTime:
    """How long a solve will still take.

    Attributes
    ----------
    remaining_s : float
        The remaining iterations times the mean iteration so far; or the prediction of the run's
        own predictor, if it has one.
    interval_s : (float, float) or None
        The 90 % interval, if the windows of frames are independent and identically distributed;
        None with too few of them, and for a predictor, which has one for the next cycle only.
    by : str
        The predictor; empty for the mean so far.
    """

    remaining_s: float
    interval_s: tuple[float, float] | None
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclePrediction:
    """The prediction of the next cycle by one predictor of the run.

    Attributes
    ----------
    name : str
    seconds : float or None
        None if it has no data yet.
    error_percent : float or None
        Its mean absolute error over the last cycles.
    """

    name: str
    seconds: float | None
    error_percent: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Straggler:
    """A rank that had most work.

    Attributes
    ----------
    rank : int
    share : float
        Share of the watched time in whose windows it had most work.
    excess_s : float
        Sum over these windows of its work above the mean rank's.
    """

    rank: int
    share: float
    excess_s: float


class FeedHistory:
    """Takes the lines of a feed one by one.

    Attributes
    ----------
    head : dict
    solve : dict or None
        The line of the current solve or loop, or of the last one.
    frames : list of dict
        Its frames; old ones merged.
    done : list of dict
        Lines of those that are done.
    end : dict or None
        The last line, or its substitute if the run died.
    begun, taken : int
        Counts the solves, the time before the first one included, and the frames of this one.

    Parameters
    ----------
    head : FeedHead
    """

    def __init__(self, head: FeedHead) -> None:
        self.head = head
        self.solve: dict[str, Any] | None = None
        self.frames: list[dict[str, Any]] = []
        self.done: list[dict[str, Any]] = []
        self.end: dict[str, Any] | None = None
        self.begun = 0
        self._begin_solve()

    def _begin_solve(self) -> None:
        self.begun += 1
        self.frames.clear()
        self.taken = 0
        self._behind: dict[int, list[float]] = {}
        self._watched_ns = 0.0

    def add(self, line: dict[str, Any]) -> None:
        """Take a line."""
        kind = line["kind"]
        if kind == "solve":
            self.solve = line
            self._begin_solve()
        elif kind == "frame":
            self._add_frame(line)
        elif kind == "done":
            self.done.append(line)
        elif kind == "end":
            self.end = line

    def lose(self) -> None:
        """Note that the writer has gone without writing an end."""
        if self.end is None:
            self.end = {"kind": "end", "status": "died", "failure": ""}

    def _add_frame(self, frame: dict[str, Any]) -> None:
        self.frames.append(frame)
        self.taken += 1
        window_ns = frame["window_ns"] / self.head.ranks
        rank, work_ns = frame["extrema"][0]
        mean_ns = (frame["window_ns"] - sum(frame["phase_ns"][:3])) / self.head.ranks
        known = self._behind.setdefault(int(rank), [0.0, 0.0])
        known[0] += window_ns
        known[1] += max(work_ns - mean_ns, 0.0)
        self._watched_ns += window_ns
        if len(self.frames) > MAX_FRAMES:
            half = MAX_FRAMES // 2
            old = self.frames[:half]
            self.frames[:half] = [merged(a, b) for a, b in zip(old[::2], old[1::2], strict=True)]

    @property
    def total(self) -> int:
        """Iterations that the solve does in this run."""
        return self.solve["iterations"] - self.solve.get("done", 0) if self.solve else 0

    @property
    def done_share(self) -> float:
        """Share of the iterations of the solve that is done."""
        return min(self.frames[-1]["iteration"] / max(self.total, 1), 1.0) if self.frames else 0.0

    def hindmost(self, most: int = 5) -> list[Straggler]:
        """Return the ranks that had most work longest, most first."""
        ranked = sorted(self._behind.items(), key=lambda each: (-each[1][0], each[0]))[:most]
        return [
            Straggler(
                rank=rank, share=window / max(self._watched_ns, 1.0), excess_s=excess_ns * 1e-9
            )
            for rank, (window, excess_ns) in ranked
        ]

    @property
    def foreseen(self) -> FeedPrediction | None:
        """What the last frame predicts for the next cycle; None if the run does not predict."""
        return FeedPrediction.of(self.frames[-1]) if self.frames else None

    def predictions(self) -> list[CyclePrediction]:
        """Return the predictions of the next cycle, first the one that decisions follow."""
        foreseen = self.foreseen
        if foreseen is None:
            return []
        names = (self.solve or {}).get("predictors", ())
        predictions = [
            CyclePrediction(
                name=str(names[place]) if place < len(names) else "its model",
                seconds=None if value is None else value * 1e-9,
                error_percent=foreseen.error_percent[place],
            )
            for place, value in enumerate(foreseen.next_ns)
        ]
        return [predictions.pop(foreseen.decides), *predictions]

    def estimate(self) -> RemainingTime | None:
        """Return how long the solve will still take; None before its first frame."""
        if not self.frames or self.frames[-1]["iteration"] <= 0:
            return None
        iteration, t_ns = self.frames[-1]["iteration"], self.frames[-1]["t_ns"]
        left = max(self.total - iteration, 0)
        foreseen = self.foreseen
        if foreseen is not None and foreseen.rest_ns is not None and left:
            by = self.predictions()[0].name
            return RemainingTime(remaining_s=foreseen.rest_ns * 1e-9, interval_s=None, by=by)
        mean_s = t_ns * 1e-9 / iteration
        return RemainingTime(
            remaining_s=mean_s * left, interval_s=self._interval(mean_s, iteration, left)
        )

    def _interval(self, mean_s: float, done: int, left: int) -> tuple[float, float] | None:
        """Return the interval of the remaining time: its own noise and that of the mean so far."""
        ends = [(0, 0), *((frame["iteration"], frame["t_ns"]) for frame in self.frames)]
        windows = np.diff(np.array(ends, np.float64), axis=0)
        windows = windows[windows[:, 0] > 0]
        if len(windows) < 2:
            return None
        steps, seconds = windows[:, 0], windows[:, 1] * 1e-9
        per_step = float(((seconds - mean_s * steps) ** 2 / steps).sum() / (len(windows) - 1))
        spread_s = float(np.sqrt(per_step * left * (1.0 + left / done)))
        half_s = student(len(windows) - 1) * spread_s
        return max(mean_s * left - half_s, 0.0), mean_s * left + half_s

    def shares(self, frames: Sequence[dict[str, Any]] | None = None) -> dict[str, float]:
        """Return the share of each phase in the time of all ranks, over frames (all of them)."""
        chosen = self.frames if frames is None else frames
        window_ns = sum(frame["window_ns"] for frame in chosen) or 1
        return {
            name: sum(frame["phase_ns"][place] for frame in chosen) / window_ns
            for place, name in enumerate(self.head.phases)
        }

    def state(self) -> dict[str, Any]:
        """Return the state of the run as JSON."""
        estimate, foreseen = self.estimate(), self.foreseen
        return {
            "solve": self.solve,
            "total": self.total,
            "remaining_s": None if estimate is None else estimate.remaining_s,
            "interval_s": None if estimate is None else estimate.interval_s,
            "remaining_by": "" if estimate is None else estimate.by,
            "next_interval_s": None if foreseen is None else foreseen.interval_s,
            "predictions": to_document(self.predictions()),
            "hindmost": to_document(self.hindmost()),
            "shares": self.shares(),
            "done": [line["file"] for line in self.done if "file" in line][-8:],
            "stopped": next((line["stopped"] for line in self.done if line.get("stopped")), ""),
            "end": self.end,
        }


def merged(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return two successive frames as one: sums are added, heat and extrema keep the larger.

    Where the viewers have chosen another metric in between, the heat is that of the later one.
    """
    first = min(before["first_bin"], after["first_bin"])
    end = max(each["first_bin"] + len(each["bins"]) for each in (before, after))
    bins = [0] * (end - first)
    for each in (before, after):
        for place, number in enumerate(each["bins"], each["first_bin"] - first):
            bins[place] += number
    return {
        **after,
        "window_ns": before["window_ns"] + after["window_ns"],
        "phase_ns": [a + b for a, b in zip(before["phase_ns"], after["phase_ns"], strict=True)],
        "first_bin": first,
        "bins": bins,
        "extrema": [
            max(a, b, key=lambda pair: pair[1])
            for a, b in zip(before["extrema"], after["extrema"], strict=True)
        ],
        "heat": [max(a, b) for a, b in zip(before["heat"], after["heat"], strict=True)]
        if before["metric"] == after["metric"]
        else after["heat"],
        "late": before["late"] + after["late"],
        "cost_ns": before["cost_ns"] + after["cost_ns"],
    }


def poll(reader: FeedReader, history: FeedHistory) -> bool:
    """Let a history take the new lines of a feed, and note a writer that died; tell whether any."""
    ended = history.end is not None
    lines = reader.read_lines()
    if not lines and not ended and reader.is_written() is False:
        lines = reader.read_lines()  # it may have written before it went
        for line in lines:
            history.add(line)
        history.lose()
        return True
    for line in lines:
        history.add(line)
    return bool(lines)
