"""What is told of nights that come one by one: each change once when seen, once when confirmed.

    python -m benchmarks.nights_told [FOLDER] [NIGHTS]

Replays the nights of a folder that ``hindmost history`` reads, with a state and a mail every night;
without a folder, made series with known changes (`benchmarks.synthetic.nightly`, shifts of 3 to
50 % among outliers). Printed is of the changes that were told how often each was told as seen and
as confirmed, and how many that were told as confirmed were withdrawn; of made series also how many
of those told are none, and how many true ones for the worse were never told.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from benchmarks.synthetic.nightly import SimulatedNights, draw_nightly

from hindmost.analysis.history.dates import SECONDS_A_DAY
from hindmost.analysis.history.mail_message import MailPlan, plan_mail
from hindmost.analysis.history.state import HistoryState
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.readers.history import History, NightlySeries, SeriesName
from hindmost.analysis.readers.read import read_history
from hindmost.models.changepoint.detection import FAIL, WARN

FIRST_NIGHTS = 12
"""Nights of the first call."""
NIGHTS, SERIES = 120, 24
"""The last nights that are replayed, and the number of made series."""
NEAR = 4
"""Nights by which a change may move and still be the same."""
MATTERS = 0.1
"""Relative size of the true changes for the worse that should be told."""
Told = dict[SeriesName, list[tuple[int, str]]]
"""Day of a change and verdict, by series, in the order of the mails."""


@dataclass(slots=True, kw_only=True)
class Replay:
    """What was told in all nights.

    Attributes
    ----------
    told : Told
    withdrawn : int
        Changes that were told as confirmed and then withdrawn.
    mails : int
        Nights with news.
    """

    told: Told = field(default_factory=lambda: defaultdict(list))
    withdrawn: int = 0
    mails: int = 0

    def add(self, plan: MailPlan) -> None:
        """Count the mail of a night."""
        self.withdrawn += len(plan.withdrawn)
        self.mails += bool(plan.news or plan.others)
        for group in plan.news:
            for finding in group.findings:
                for each in (finding, *finding.descendants()):
                    day = int(each.judged.series.times[each.change.index] // SECONDS_A_DAY)
                    badge = each.judged.verdict_on(each.change)
                    self.told[each.judged.series.name].append((day, badge))


def replayed(history: History, nights: int) -> Replay:
    """Tell a history night by night."""
    days = sorted({int(time // SECONDS_A_DAY) for each in history.series for time in each.times})
    state, replay = HistoryState(), Replay()
    for day in days[max(len(days) - nights, FIRST_NIGHTS) :]:
        end = (day + 1) * SECONDS_A_DAY
        until = [
            each.at(np.arange(stop))
            for each in history.series
            if (stop := int(each.times.searchsorted(end)))
        ]
        failures = tuple(failure for failure in history.failures if failure.time < end)
        some = replace(
            history,
            series=tuple(replace(each, spread=None, freedom=None) for each in until),
            failures=failures,
        )
        study = judge_history(some, state=state, now=end - 0.5 * SECONDS_A_DAY)
        if study.state is None:
            raise SystemExit("no state")
        plan = plan_mail(study, study.state.mailed, end - 0.5 * SECONDS_A_DAY)
        state = replace(study.state, mailed=plan.record)
        replay.add(plan)
    return replay


def apart(told: list[tuple[int, str]]) -> list[tuple[int, Counter[str]]]:
    """Return the changes of a series: day, and how often each verdict on it was told."""
    changes: list[tuple[int, Counter[str]]] = []
    for day, badge in told:
        known = next((change for change in changes if abs(change[0] - day) <= NEAR), None)
        if known is None:
            known = (day, Counter())
            changes.append(known)
        known[1][badge] += 1
    return changes


def summary(replay: Replay) -> str:
    """Say how often changes were told."""
    counts = [times for told in replay.told.values() for _, times in apart(told)]
    confirmed = Counter(times[FAIL] for times in counts if times[FAIL])
    seen = Counter(times[WARN] for times in counts if times[WARN])
    return (
        f"told as seen {dict(sorted(seen.items()))}, as confirmed {dict(sorted(confirmed.items()))}"
        f" (times: changes); withdrawn after that {replay.withdrawn}; {replay.mails} mails"
    )


def made(drawn: list[SimulatedNights]) -> History:
    """Return made series as a history that ends on one night."""
    length = max(each.values.size for each in drawn)
    series = []
    for number, each in enumerate(drawn):
        days = 19000.0 + length - each.values.size + np.arange(each.values.size) + 0.125
        size = each.values.size
        series.append(
            NightlySeries(
                name=SeriesName(machine="made", case=f"case{number:02}", timer="solve"),
                unit="s",
                smaller_is_better=True,
                times=days * SECONDS_A_DAY,
                values=each.values,
                commits=("",) * size,
                commit_parts=({},) * size,
                spread=None,
            )
        )
    return History(source="made", series=tuple(series), failures=(), parents={}, warnings=())


def against_truth(
    replay: Replay, history: History, drawn: list[SimulatedNights], nights: int
) -> str:
    """Say how many of the changes told are none, and how many true ones were not told."""
    in_vain = missed = true = 0
    last = max(int(each.times[-1] // SECONDS_A_DAY) for each in history.series)
    for series, truth in zip(history.series, drawn, strict=True):
        days = (series.times[truth.changes] // SECONDS_A_DAY).astype(int).tolist()
        told = apart([each for each in replay.told[series.name] if each[1] in (FAIL, WARN)])
        confirmed = [day for day, times in told if times[FAIL]]
        in_vain += sum(all(abs(day - each) > NEAR for each in days) for day in confirmed)
        for day, effect in zip(days, truth.effects, strict=True):
            if effect >= MATTERS and last - nights < day < last - FIRST_NIGHTS:
                true += 1
                missed += all(abs(day - each) > NEAR for each, _ in told)
    return (
        f"confirmed in vain {in_vain}; of {true} changes of {MATTERS:.0%} and more for the worse "
        f"{missed} never told"
    )


def main(folder: Path | None, nights: int) -> None:
    """Replay and print."""
    if folder is not None:
        print(f"{folder.name}: {summary(replayed(read_history(folder), nights))}")  # noqa: T201
        return
    drawn = [draw_nightly("shifts", seed) for seed in range(SERIES)]
    history = made(drawn)
    replay = replayed(history, nights)
    print(f"made: {summary(replay)}; {against_truth(replay, history, drawn, nights)}")  # noqa: T201


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else None,
        int(sys.argv[2]) if len(sys.argv) > 2 else NIGHTS,
    )
