"""Find the iterations of a loop without marks: the period in which its MPI calls repeat.

An iteration ends at every Nth call of some name. For each name that all ranks called equally often,
the calls between two such calls are a word, and N is the period of the sequence of words. A period
is alike if its words are those of most periods, on all ranks. What comes before the first and after
the last such period, set-up and output, belongs to no iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.harness.attach.missing_marks import NO_MARKS_FROM
from hindmost.harness.recorder.library import Flag
from hindmost.text import counted, percent

LEAST_PERIODS = 10
MOST_EVERY = 24
"""Calls of one name in an iteration."""
SURE = 0.8
"""Share of alike periods from which on they are taken for iterations."""
SURE_ALONE = 0.98
"""The same where nothing but the call itself repeats."""
CLOSE = 0.05
"""Shares of alike periods that differ by less do not decide."""
LEAST_SHARE = 0.25
"""Share of the recorded time that the periods must have."""
SAME_WORK = 0.5
"""Rank correlation of the work of periods from which on it is taken to repeat."""
CLOSE_WORK = 0.25
"""Correlations that differ by less do not decide: of a lag and its multiples, noise says which."""
MOST_NAMED = 4
POLLS = frozenset(
    (
        *("looks", "looks_at_window", "asks", "tests_one", "tests_all", "tests_any", "tests_some"),
        *("waits_any", "waits_some"),
    )
)
"""Classes of calls whose number depends on when messages arrive."""
COLLECTIVE = frozenset(("meets", "starts_meeting"))
FACTOR = 0x9E3779B97F4A7C15
"""An odd number: powers modulo 2^64 have inverses."""


NEEDED = (
    f"A sure one is {percent(SURE, 0)} alike ({percent(SURE_ALONE, 0)} if nothing but one call "
    f"repeats) and has {percent(LEAST_SHARE, 0)} of the time on every rank."
)
OFTEN = ": no call comes often enough on all ranks"


class UnsureError(DataError):
    """No period of the calls is sure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Periods of the calls, all from one call to the Nth of its name after it.

    Attributes
    ----------
    call : str
    every : int
        Calls of this name in a period.
    first : int
        The call with which the first period begins, among those of this name.
    periods : int
    alike : float
        Share of the periods whose calls are those of most, on all ranks.
    share : float
        Share of the recorded time, on the rank where it is least.
    collective : bool
        Whether all ranks meet in the call.
    alone : bool
        Whether most periods have no other call: those that repeat one call are alike by chance.
    part : bool
        Whether the calls repeat, but the work between them only after several periods.
    """

    call: str
    every: int
    first: int
    periods: int
    alike: float
    share: float
    collective: bool
    alone: bool = False
    part: bool = False

    @property
    def sure(self) -> bool:
        """Whether these may be taken for iterations."""
        return self.alike >= (SURE_ALONE if self.alone else SURE) and self.share >= LEAST_SHARE

    @property
    def option(self) -> str:
        """The value of ``--iterate-at`` for it."""
        return self.call if self.every == 1 else f"{self.call}:{self.every}"

    @property
    def words(self) -> str:
        """What is known of it."""
        return (
            f"--iterate-at {self.option}: {counted(self.periods, 'period')}, "
            f"{percent(self.alike)} alike, {percent(self.share, 0)} of the time"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The MPI calls of one rank in the order of time, without polls.

    Attributes
    ----------
    number : int64 array, shape (call,)
        Which call of MPI it is.
    whole : bool array, shape (call,)
        Whether all ranks of the program take part, or it is no collective.
    begin_ns, end_ns : int64 array, shape (call,)
    """

    number: NDArray[np.int64]
    whole: NDArray[np.bool_]
    begin_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]

    @classmethod
    def of(cls, records: NDArray[np.void], classes: Sequence[str]) -> Calls:
        """Return the calls in records."""
        calls = records[(records["what"] < 0) & ((records["flags"] & Flag.INCOMPLETE) == 0)]
        number = -1 - calls["what"].astype(np.int64)
        kept = ~np.isin(number, [at for at, each in enumerate(classes) if each in POLLS])
        return cls(
            number=number[kept],
            whole=(calls["flags"][kept] & (Flag.PART | Flag.ALONE)) == 0,
            begin_ns=calls["begin_ns"][kept],
            end_ns=calls["end_ns"][kept],
        )

    def work_between(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the time outside of calls from each place to the next, in nanoseconds."""
        inside = np.concatenate([[0], np.cumsum(self.end_ns - self.begin_ns)])
        return np.asarray(np.diff(self.end_ns[places]) - np.diff(inside[places + 1]), np.int64)

    def ends_of(self, call: int) -> NDArray[np.int64]:
        """Return where the calls of a name are among all; shape (call of the name,)."""
        return np.flatnonzero((self.number == call) & self.whole)


def borders(calls: Calls, names: Sequence[str], period: Period) -> NDArray[np.int64]:
    """Return when iterations end; shape (period + 1,), nanoseconds."""
    places = calls.ends_of(list(names).index(period.call))
    last = period.first + period.every * period.periods
    return np.asarray(calls.end_ns[places[period.first : last + 1 : period.every]], np.int64)


def given_period(
    calls: Calls, names: Sequence[str], classes: Sequence[str], call: str, every: int
) -> Period:
    """Return the periods of a call that a person chose."""
    if call not in names:
        raise UnsureError(f"the program cannot have called {call}.")
    number = list(names).index(call)
    count = calls.ends_of(number).size
    if count <= every:
        raise UnsureError(
            f"{call} was made {counted(count, 'time')}; with {every} an iteration it must be made "
            f"at least {every + 1} times."
        )
    return Period(
        call=call,
        every=every,
        first=0,
        periods=(count - 1) // every,
        alike=0.0,
        share=0.0,
        collective=classes[number] in COLLECTIVE,
    )


def find_period(
    calls: Calls, names: Sequence[str], classes: Sequence[str], seconds: float, communicator: Any
) -> tuple[Period, tuple[Period, ...]]:
    """Find the iterations of a loop, and what else could be iterations; collective.

    Parameters
    ----------
    seconds : float
        The recorded time of this rank.

    Raises
    ------
    UnsureError
        On all ranks: no period is sure; the candidates are named.
    """
    candidates = periods_of(calls, names, classes, seconds, communicator)
    sure = [each for each in candidates if each.sure]
    if not sure:
        named = "; ".join(each.words for each in candidates[:MOST_NAMED])
        raise UnsureError(
            "no period of the MPI calls is sure"
            + (f". {NEEDED} Candidates: {named}" if named else f"{OFTEN}{made_by(calls, names)}")
            + "."
        )
    longest = max(each.share for each in sure)
    sure = [each for each in sure if each.share >= longest / 2]
    whole = [each for each in sure if not each.part] or sure
    best = max(each.alike for each in whole)
    close = [each for each in whole if each.alike >= best - CLOSE]
    chosen = max(close, key=lambda each: (each.periods, each.collective, -each.every))
    others = [each for each in candidates if each.periods != chosen.periods and each.sure]
    return chosen, tuple(others[:MOST_NAMED])


def made_by(calls: Calls, names: Sequence[str]) -> str:
    """Return which calls were made most often, in brackets; empty if none was."""
    made = np.bincount(calls.number[calls.whole], minlength=len(names))
    most = [int(each) for each in np.argsort(-made, kind="stable")[:MOST_NAMED] if made[each]]
    counts = ", ".join(f"{names[each]} {made[each]:,}" for each in most)
    return f" ({counts} on this rank; it takes over {LEAST_PERIODS})" if counts else ""


def periods_of(
    calls: Calls, names: Sequence[str], classes: Sequence[str], seconds: float, communicator: Any
) -> list[Period]:
    """Return the most frequent period of each call; collective.

    The candidates are in the order of their share of alike periods, weighed by their share of time.
    """
    made = np.bincount(calls.number[calls.whole], minlength=len(names))
    everybody = np.array(communicator.allgather(made))
    alike_often = (everybody == everybody[0]).all(axis=0) & (everybody[0] > LEAST_PERIODS)
    anchors = [
        int(each)
        for each in np.flatnonzero(alike_often)
        if not names[each].removeprefix("MPI_").startswith(NO_MARKS_FROM)
    ]
    symbols = calls.number * 2 + calls.whole
    sums, back = prefix_sums(symbols)
    words = {each: words_between(sums, back, calls.ends_of(each)) for each in anchors}
    del sums, back, symbols
    found = []
    for anchor, word in words.items():
        every = smallest_period(word, communicator)
        if not every:
            continue
        places = calls.ends_of(anchor)
        longer = period_of_work(calls.work_between(places[::every]), communicator)
        for part, number in enumerate(dict.fromkeys((every * longer, every))):
            first, flags = alike_periods(word, number, communicator)
            inside = np.flatnonzero(flags)
            if inside.size == 0 or inside[-1] + 1 - inside[0] < LEAST_PERIODS:
                continue
            begin, end = int(inside[0]), int(inside[-1]) + 1
            own = places[first + number * begin : first + number * end + 1 : number]
            spent_s = float(calls.end_ns[own[-1]] - calls.end_ns[own[0]]) * 1e-9
            found.append(
                Period(
                    call=names[anchor],
                    every=number,
                    first=first + number * begin,
                    periods=end - begin,
                    alike=inside.size / (end - begin),
                    share=min(communicator.allgather(min(spent_s / max(seconds, 1e-300), 1.0))),
                    collective=classes[anchor] in COLLECTIVE,
                    alone=bool(np.median(np.diff(own)) <= number),
                    part=bool(part),
                )
            )
    return sorted(found, key=lambda each: -each.alike * each.share)


def prefix_sums(symbols: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return sums from which the hash of any part of a sequence follows; modulo 2^64.

    Returns
    -------
    uint64 array, shape (symbol + 1,)
        ``sum(value[j] * FACTOR**j for j < i)``
    uint64 array, shape (symbol + 1,)
        ``FACTOR**-i``
    """
    rng = np.random.default_rng(1)
    values = rng.integers(0, 1 << 63, int(symbols.max(initial=0)) + 1).astype(np.uint64)
    powers = np.multiply.accumulate(np.full(symbols.size, FACTOR, np.uint64))
    sums = np.zeros(symbols.size + 1, np.uint64)
    np.cumsum(values[symbols] * powers, out=sums[1:])
    back = np.full(symbols.size + 1, pow(FACTOR, -1, 1 << 64), np.uint64)
    back[:1] = 1
    return sums, np.multiply.accumulate(back)


def words_between(
    sums: NDArray[np.uint64], back: NDArray[np.uint64], places: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return a number for the symbols from after each place to the next; shape (place - 1,)."""
    begin, end = places[:-1] + 1, places[1:] + 1
    return np.asarray((sums[end] - sums[begin]) * back[begin], np.uint64)


def smallest_period(word: NDArray[np.uint64], communicator: Any) -> int:
    """Return after how many words they repeat best on all ranks, 0 if never; collective."""
    own = np.zeros(MOST_EVERY + 1)
    for every in range(1, MOST_EVERY + 1):
        if word.size >= every * LEAST_PERIODS:
            own[every] = np.mean(word[every:] == word[:-every])
    shares = np.array(communicator.allgather(own)).min(axis=0)
    best = float(shares.max())
    return int(np.flatnonzero(shares >= best - CLOSE)[0]) if best > CLOSE else 0


def period_of_work(work: NDArray[np.int64], communicator: Any) -> int:
    """Return after how many periods the work between calls repeats; collective.

    The same calls may exchange this and then that, with different work after them. 1 if the work of
    a period says as much of the next one as of any later one.
    """
    order = np.argsort(np.argsort(work, kind="stable"), kind="stable").astype(np.float64)
    own = np.zeros(MOST_EVERY + 1)
    for lag in range(1, MOST_EVERY + 1):
        if work.size >= lag * LEAST_PERIODS and np.ptp(work) > 0:
            own[lag] = np.corrcoef(order[lag:], order[:-lag])[0, 1]
    found = np.nan_to_num(np.array(communicator.allgather(own))).min(axis=0)
    best = float(found.max())
    lag = int(np.flatnonzero(found[1:] >= best - CLOSE_WORK)[0]) + 1
    return lag if best >= SAME_WORK else 1


def alike_periods(
    word: NDArray[np.uint64], every: int, communicator: Any
) -> tuple[int, NDArray[np.bool_]]:
    """Return the first call of the periods, and which are as most are on all ranks; collective.

    Returns
    -------
    int
    bool array, shape (period,)
    """
    count = word.size - every + 1
    blocks = np.zeros(count, np.uint64)
    for place in range(every):
        blocks = blocks * np.uint64(FACTOR) + word[place : place + count]
    own = []
    for first in range(every):
        mine = blocks[first::every]
        values, often = np.unique(mine, return_counts=True)
        own.append(mine == values[np.argmax(often)])
    ranks = communicator.allgather(own)
    joint = [np.logical_and.reduce([flags[first] for flags in ranks]) for first in range(every)]
    first = int(np.argmax([flags.sum() for flags in joint]))
    return first, joint[first]
