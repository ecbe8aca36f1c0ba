"""Laws of noise as a person writes them: one text, as on a command line.

    exponential:mean=50us                     one detour in every iteration
    exponential:mean=50us,probability=0.1     in one of ten iterations
    fixed:length=1ms,probability=0.01
    fixed:length=1ms,rate=5/s                 by time, at random: five a second
    periodic:period=10ms,length=100us         on a clock, with a random phase on every rank
    trace:machine.json                        recorded detours

and, with each of these, ``ranks=0,2-5`` for chosen ranks, ``at=calls`` for MPI calls in place of
iterations, and ``asleep`` for detours that leave the core to others. Noise that is injected and
noise that is predicted are written alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hindmost.errors import UsageError
from hindmost.text import SECONDS, choose, percent

LONGEST_NS = 3_600_000_000_000
"""Of a detour or a period: an hour."""
ITERATIONS, CALLS = "iterations", "calls"
"""At which points a detour may begin."""
TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|ms|s)")
RATE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)/s")
RANKS = re.compile(r"\d+(-\d+)?")
KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "exponential": (("mean",), ("probability", "rate")),
    "fixed": (("length",), ("probability", "rate")),
    "periodic": (("period", "length"), ()),
    "trace": ((), ()),
}
"""Laws: the values that each needs, and those that it may have."""
EXAMPLES = {
    "exponential": "exponential:mean=50us",
    "fixed": "fixed:length=1ms,probability=0.01",
    "periodic": "periodic:period=10ms,length=100us",
    "trace": "trace:machine.json",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseLaw:
    """A law of noise.

    Attributes
    ----------
    kind : str
        See `KINDS`.
    times_ns : dict of str to int
        ``mean``, ``length`` and ``period``, nanoseconds.
    probability : float
    per_s : float
        Detours per second, of a law by time; 0 for one by iterations.
    ranks : tuple of (int, int)
        First and last of the chosen ranks; empty for all.
    asleep : bool
        Whether a detour sleeps; else it computes.
    at_calls : bool
        Whether a detour may come at every MPI call; else, in every iteration.
    file : str
        Of a trace, as it was written.
    """

    kind: str
    times_ns: Mapping[str, int] = field(default_factory=dict)
    probability: float = 1.0
    per_s: float = 0.0
    ranks: tuple[tuple[int, int], ...] = ()
    asleep: bool = False
    at_calls: bool = False
    file: str = ""

    def words(self) -> list[str]:
        """Return what follows the law's name, without a trace's file."""
        words = [f"{name}={exact_time(ns)}" for name, ns in self.times_ns.items()]
        if self.per_s:
            words.append(f"rate={self.per_s:g}/s")
        elif self.probability < 1.0 or self.kind == "fixed":
            words.append(f"probability={self.probability:g}")
        if self.ranks:
            parts = [f"{a}" if a == b else f"{a}-{b}" for a, b in self.ranks]
            words.append(f"ranks={','.join(parts)}")
        words += ["at=calls"] if self.at_calls else []
        return [*words, *(["asleep"] if self.asleep else [])]

    @property
    def length_s(self) -> float:
        """The length of its detours, or their mean, in seconds; 0 for a trace."""
        return 1e-9 * self.times_ns.get("mean", self.times_ns.get("length", 0))


def read_noise_law(text: str, option: str, others: Collection[str] = ()) -> NoiseLaw:
    """Return the law that a text describes.

    Parameters
    ----------
    option : str
        For messages.
    others : collection of str
        What the option may also be, for messages.

    Raises
    ------
    UsageError
        It is no law; the message says what is wrong, and gives an example.
    """
    try:
        return law_of(text, others)
    except UsageError as error:
        raise UsageError(f"{option} {text}: {error}") from None


def law_of(text: str, others: Collection[str]) -> NoiseLaw:
    """Return the law that a text describes; errors do not repeat the text."""
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise UsageError(f"unknown law '{kind}'; {choose((*others, *KINDS), kind)}.")
    needed, optional = KINDS[kind]
    words = words_of(rest)
    file = words.pop(0)[0] if kind == "trace" and words and words[0][1] is None else ""
    given: dict[str, str] = {}
    asleep = False
    known = (*needed, *optional, "ranks", "at")
    for name, value in words:
        if name == "asleep" and value is None:
            asleep = True
        elif name not in known or not value:
            options = choose((*(f"{each}=..." for each in known), "asleep"))
            shown = name if value is None else f"{name}={value}"
            raise wrong(kind, f"'{shown}' is no part of the law {kind}; {options}")
        elif name in given:
            raise wrong(kind, f"'{name}' is given twice")
        else:
            given[name] = value
    for name in needed:
        if name not in given:
            raise wrong(kind, f"the law {kind} needs {name}=")
    if kind == "trace" and not file:
        raise wrong(kind, "the law trace needs a file")
    if given.get("at", ITERATIONS) not in (ITERATIONS, CALLS):
        raise wrong(kind, f"at is '{given['at']}'; {choose((ITERATIONS, CALLS), given['at'])}")
    by = [name for name in ("probability", "rate") if name in given]
    if len(by) > 1:
        raise wrong(kind, "give either probability= or rate=")
    if kind == "fixed" and not by:
        raise wrong(kind, "the law fixed needs probability= or rate=")
    law = NoiseLaw(
        kind=kind,
        times_ns={
            name: time_ns(kind, name, given[name])
            for name in (*needed, *optional)
            if name in given and name not in ("probability", "rate")
        },
        probability=read_probability(kind, given.get("probability", "1")),
        per_s=read_rate(kind, given["rate"]) if "rate" in given else 0.0,
        ranks=read_ranks(kind, given.get("ranks", "")),
        asleep=asleep,
        at_calls=given.get("at") == CALLS,
        file=file,
    )
    share = 1e-9 * law.per_s * sum(law.times_ns.values())
    if kind == "periodic":
        share = law.times_ns["length"] / law.times_ns["period"]
    if share >= 1.0:
        remedy = "length must be below period" if kind == "periodic" else "lower the rate"
        raise wrong(kind, f"detours fill {percent(share, 0)} of the time; {remedy}")
    return law


def words_of(text: str) -> list[tuple[str, str | None]]:
    """Split what follows a law's name; further ranks belong to ``ranks=``."""
    words: list[tuple[str, str | None]] = []
    for word in filter(None, text.split(",")):
        name, equals, value = word.partition("=")
        if not equals and words and words[-1][0] == "ranks" and RANKS.fullmatch(word):
            words[-1] = ("ranks", f"{words[-1][1]},{word}")
        else:
            words.append((name, value if equals else None))
    return words


def wrong(kind: str, why: str) -> UsageError:
    """Return an error on a law, without its text."""
    return UsageError(f"{why}. For example: {EXAMPLES[kind]}")


def time_ns(kind: str, name: str, value: str) -> int:
    """Return a time in nanoseconds."""
    found = TIME.fullmatch(value)
    if found is None:
        raise wrong(kind, f"{name} is '{value}'; write a time with its unit, as 50us or 1ms")
    ns = round(float(found[1]) * dict(SECONDS)[found[2]] * 1e9)
    if not 1 <= ns <= LONGEST_NS:
        raise wrong(kind, f"{name} is '{value}'; it must be at least 1ns, at most 3600s")
    return ns


def read_probability(kind: str, value: str) -> float:
    """Return the probability of a detour in an iteration."""
    try:
        share = float(value)
    except ValueError:
        share = math.nan
    if not 0.0 < share <= 1.0:
        raise wrong(kind, f"probability is '{value}'; it must be above 0 and at most 1")
    return share


def read_rate(kind: str, value: str) -> float:
    """Return detours per second."""
    found = RATE.fullmatch(value)
    rate = float(found[1]) if found else 0.0
    if not 1e9 / LONGEST_NS <= rate < math.inf:
        raise wrong(kind, f"rate is '{value}'; write detours per second, as 100/s")
    return rate


def read_ranks(kind: str, value: str) -> tuple[tuple[int, int], ...]:
    """Return first and last of ranks written as ``0,2-5``, in ascending order; empty for all."""
    ranges = []
    for word in value.split(",") if value else ():
        if not RANKS.fullmatch(word) or len(word) > 20:
            raise wrong(kind, f"ranks is '{value}'; write ranks as 0,2-5")
        first, _, last = word.partition("-")
        ranges.append((int(first), int(last or first)))
        if ranges[-1][0] > ranges[-1][1]:
            raise wrong(kind, f"ranks is '{value}'; write ranks in ascending order, as 0,2-5")
    return tuple(sorted(ranges))


def exact_time(ns: int) -> str:
    """Write nanoseconds in the largest unit that needs no fraction: ``50us``, ``1500us``."""
    for sign, size in SECONDS:
        unit_ns = round(size * 1e9)
        if ns % unit_ns == 0:
            return f"{ns // unit_ns}{sign}"
    return f"{ns}ns"
