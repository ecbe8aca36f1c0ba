"""Facts: what an analysis says about a run, a solver, a kernel or a series, as values.

A topic returns facts and `phrases` puts them into words. Terminal, page, JSON and titles of figures
take the same ones in the same order, that of `ordered`. Nothing reads the words again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from hindmost.models.inference import MATTERS
from hindmost.models.ranks.attribution import Attribution
from hindmost.models.ranks.culprit import Culprit
from hindmost.models.ranks.teams import TeamImbalance
from hindmost.models.recurring import Recurring
from hindmost.text import capital, factor

EXPLAINS = 0.5
"""Part of the extra time that extra processor time must be to explain it."""


class Certainty(StrEnum):
    """How a fact was found."""

    MEASURED = "measured"
    """Arithmetic on recorded times."""
    PREDICTED = "predicted"
    """By a model, with an interval."""
    OPEN = "undecided"
    """The data do not decide: an interval includes no effect, or repeats overlap."""
    DOUBTFUL = "in doubt"
    """A finding about the data forbids the conclusion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Where a page shows what a fact rests on.

    Attributes
    ----------
    anchor : str
        Of a part of the page, without ``#``.
    text : str
    """

    anchor: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that costs time, or differs.

    Attributes
    ----------
    quantity : str
        What costs it, as a title: ``Unequal work``.
    subject : str
        Who: ``rank 1 on b``; empty where it is all of the run.
    cost_s : float
        What it costs, in seconds of the run; negative for a gain.
    interval_s : (float, float) or None
        The least and the most that it costs; ``cost_s`` lies between.
    estimated : bool
        Whether ``cost_s`` is an estimate within that interval; else only the interval is known.
    relative : bool
        Whether that is a difference to another run, not a part of this one.
    share : float or None
        Of the time of the run; of its time without disturbances where a culprit is ``undisturbed``.
        None where there is no whole.
    amount : str
        How the cost is written, where it is not a time; may be empty.
    certainty : Certainty
    basis : str
        What the certainty rests on.
    doubt : str
        Why it may be otherwise, as a sentence; may be empty.
    where : str
        In the code; may be empty.
    remedy : str
        What would help, and by how much; may be empty.
    steady : bool
        Whether the quickest iterations show it, so that disturbances put it in no doubt.
    leads : bool
        Whether it comes before what costs more: the program's own fault in a disturbed run.
    codes : tuple of str
        Findings that say the same, and need not be listed again.
    run_name : str
        The run, solver or series, where a page has several.
    links : tuple of Link
        Figures and tables.
    topics : tuple of str
        What would put it in doubt.
    files : tuple of str
        The files that it was drawn from.
    """

    quantity: str
    subject: str = ""
    cost_s: float = 0.0
    interval_s: tuple[float, float] | None = None
    estimated: bool = False
    relative: bool = False
    share: float | None = None
    amount: str = ""
    certainty: Certainty = Certainty.MEASURED
    basis: str = ""
    doubt: str = ""
    where: str = ""
    remedy: str = ""
    steady: bool = False
    leads: bool = False
    codes: tuple[str, ...] = ()
    run_name: str = ""
    links: tuple[Link, ...] = ()
    topics: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def sure(self) -> bool:
        """Whether it may be read without care."""
        return self.certainty in (Certainty.MEASURED, Certainty.PREDICTED)

    @property
    def only_interval(self) -> tuple[float, float] | None:
        """The least and the most that it costs, where only that is known."""
        return None if self.estimated else self.interval_s

    @property
    def share_interval(self) -> tuple[float, float] | None:
        """The interval of the share of the time; None if there is none."""
        if self.share is None or self.interval_s is None or not self.cost_s > 0.0:
            return None
        low, high = (abs(self.share) * end_s / self.cost_s for end_s in self.interval_s)
        return low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class UnequalThreads(Fact):
    """How OpenMP threads share the work; `imbalance` is None if chance explains their differences.

    Attributes
    ----------
    imbalance : TeamImbalance or None
        Of the rank that loses most by it.
    threads : int
        Most that work in the regions of a rank.
    efficiency : float
        Of the threads in regions: the least of a rank.
    serial_share : float
        Share of a rank's work in which one thread works: the most of a rank.
    """

    imbalance: TeamImbalance | None
    threads: int
    efficiency: float
    serial_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated(Fact):
    """A fact in the words of its topic.

    Attributes
    ----------
    text : str
        What is the case, and why.
    brief : str
        Why, in a few words, for a headline; may be empty.
    """

    text: str
    brief: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraWork:
    """What samples tell of the extra work of a culprit, in the stretch that has most of it.

    Attributes
    ----------
    attribution : Attribution
    place : str
        The function, and the line in it, that has the extra time; empty if none has.
    extra_s, extra_cpu_s : float
        Time, and processor time, beyond the others' median in the stretch; the second is NaN where
        it is not known.
    own_cpu_s : float
        Processor time of the rank in the stretch.
    core_wait_s : float
        How long the rank could run and had no core; NaN where that is not known.
    blocked : str
        Where it is blocked in the system for most of its extra time without a processor; empty if
        that is not known.
    run_s : float
        Time of the run.
    by_processor : bool
        Whether the extra work is processor time.
    disturbed : bool
        Whether other work ran on its core, which then may be slower for a function alone.
    has_team : bool
        Whether other threads work with the one that calls MPI.
    """

    attribution: Attribution
    place: str
    extra_s: float
    extra_cpu_s: float
    own_cpu_s: float
    core_wait_s: float
    blocked: str = ""
    run_s: float
    by_processor: bool
    disturbed: bool = False
    has_team: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether processor time explains the extra time, as far as is known."""
        return self.by_processor or not self.extra_cpu_s < EXPLAINS * self.extra_s

    @property
    def same_core(self) -> bool:
        """Whether its core is not slower."""
        return self.attribution.same_core and not self.disturbed

    @property
    def decides(self) -> bool:
        """Whether it is more work of a function, and not a slower core."""
        found = self.attribution
        return self.is_busy and found.sure and not found.is_alike and self.same_core


@dataclass(frozen=True, slots=True, kw_only=True)
class InFunction:
    """The function that has what some iterations take longer.

    Attributes
    ----------
    attribution : Attribution
    place : str
        The function and the line in it.
    blocked : bool
        Whether the rank is blocked in the system there, and does not work.
    """

    attribution: Attribution
    place: str
    blocked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedCulprit:
    """In how many repeats of a configuration a rank or node works longest.

    Attributes
    ----------
    name : str
        Without a host: repeats may run on others.
    runs, of : int
        Repeats in which it is the culprit, with or without a doubt, and all of them.
    times : float
        Its own work over the median of the others' in the quickest iterations: the median of the
        repeats; 0 for a node.
    """

    name: str
    runs: int
    of: int
    times: float = 0.0

    JSON = "name runs of times text"

    @property
    def works_more(self) -> bool:
        """Whether the quickest iterations, which hardly anything disturbs, say so."""
        return self.times >= 1.0 + MATTERS

    @property
    def text(self) -> str:
        """What that says: work that the program gives to a rank is more in each repeat."""
        if self.runs == self.of:
            return (
                f"{capital(self.name)} works longer than the others in all {self.of} runs: the "
                "program, or its core."
            )
        if self.works_more:
            return (
                f"In the quickest iterations of {self.of} runs {self.name} works "
                f"{factor(self.times)} times as long as the others (median): the program, or its "
                "core."
            )
        often = f"{capital(self.name)} is slower in {self.runs} of {self.of} runs"
        if 2 * self.runs <= self.of:
            return f"{often}: the machine, not the program."
        return f"{often}, but not in their quickest iterations: its core, or work at times."


@dataclass(frozen=True, slots=True, kw_only=True)
class UnequalWork(Fact):
    """Which rank or node the others wait for; that none is, where `culprit` is None.

    Attributes
    ----------
    culprit : Culprit or None
    ranks, iterations : int
    whole : str
        What the time is of: ``solve``, ``loop``.
    most_times : float
        Most own work of a rank over the median of the others'.
    beyond_s : float
        Most own work of a rank beyond the mean, in seconds: load imbalance.
    waiting_shares : (float, float)
        Share of its own time that the culprit spends in messages and collectives, and the others;
        that of all ranks twice without a culprit.
    where_share : float
        Part of its additional work that lies at ``where``: `stretch_of_extra` of
        `hindmost.analysis.runs.sampled`.
    upper_limit : bool
        Whether ranks work while collectives are pending, so that the cost is at most that.
    counts_work : bool
        Whether the program counts its work, which tells a slower core from more work.
    injected : bool
        Whether most of the difference is injected noise.
    others_recur : bool
        Whether some iterations come back longer, which is another fact.
    extra : ExtraWork or None
        In which function the additional work at ``where`` is, where samples were taken.
    repeats : tuple of RepeatedCulprit
        In how many repeats of the run which rank or node works longest.
    """

    culprit: Culprit | None
    ranks: int
    iterations: int
    whole: str = "run"
    most_times: float = 1.0
    beyond_s: float = 0.0
    waiting_shares: tuple[float, float] | None = None
    where_share: float = 0.0
    upper_limit: bool = False
    counts_work: bool = False
    injected: bool = False
    others_recur: bool = False
    extra: ExtraWork | None = None
    repeats: tuple[RepeatedCulprit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCore(Fact):
    """How long ranks were ready to run and had no core.

    Attributes
    ----------
    most : float
        Share of the time of the rank with most of it, which is the subject.
    window : str
        The time that these are shares of.
    crowd : str
        Where more ranks than cores ran, and how long they waited; empty if nowhere.
    """

    most: float
    window: str = "time"
    crowd: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurringWork(Fact):
    """Iterations that come back longer by count; ``subject`` are the ranks.

    Attributes
    ----------
    recurring : Recurring
    iterations : int
        Of the run.
    each : str
        What these are: ``pass`` where an iteration of the run is several.
    function : InFunction or None
        What they do longer, where samples tell.
    """

    recurring: Recurring
    iterations: int
    each: str = "iteration"
    function: InFunction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowingWork(Fact):
    """Work that grows from iteration to iteration; it costs what that adds to the run.

    Attributes
    ----------
    ranks : tuple of int
        The numbers of those on which it grows.
    begin_s, end_s : float
        Work of the quickest iterations of the first and of the last third.
    since : int
        The iteration from which on there is more, where it grows in one step; else 0.
    perhaps : bool
        Whether a disturbance may be why.
    function : InFunction or None
        What grows, where samples tell.
    """

    ranks: tuple[int, ...]
    begin_s: float
    end_s: float
    since: int = 0
    perhaps: bool = False
    function: InFunction | None = None


def ordered(facts: Iterable[Fact]) -> list[Fact]:
    """Return facts by what they cost or gain; the program's own fault in a disturbed run first."""
    return sorted(
        facts, key=lambda fact: (not fact.leads, -abs(fact.cost_s), -abs(fact.share or 0.0))
    )
