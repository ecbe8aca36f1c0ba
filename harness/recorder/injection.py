"""Injected noise: laws of detours that ranks take on purpose while they are recorded.

A law is one text, as on a command line::

    exponential:mean=50us                     one detour in every iteration
    exponential:mean=50us,probability=0.1     in one of ten iterations
    fixed:length=1ms,probability=0.01
    periodic:period=10ms,length=100us         on a clock, with a random phase on every rank
    trace:machine.json                        detours that 'hindmost probe noise' recorded

and, with each of these, ``ranks=0,2-5`` for chosen ranks and ``asleep`` for detours that leave the
core to others. ``injection.h`` takes the detours; `planned_ns` repeats its draws.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.recorder.noise_trace import NoiseTrace, read_trace
from hindmost.text import SECONDS, choose, percent

OPTION = "--inject"
NOTHING = "none"
"""In place of a law: no noise."""
LONGEST_NS = 3_600_000_000_000
"""Of a detour or a period: an hour."""
MOST_RANK = 100_000_000
TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|ms|s)")
RANKS = re.compile(r"\d+(-\d+)?")
MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


class Law(IntEnum):
    """The mechanisms of ``injection.h``."""

    NONE = 0
    EXPONENTIAL = 1
    FIXED = 2
    TIMED = 3


KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "exponential": (("mean",), ("probability",)),
    "fixed": (("length", "probability"), ()),
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
class RankInjection:
    """What is injected into one rank in one run.

    Attributes
    ----------
    law : Law
        ``NONE`` on a rank that was not chosen.
    asleep : bool
    stream : int
        Of random draws, from seed, repeat and rank.
    length_ns : int
        Of a fixed detour, or the mean of exponential ones.
    probability : float
        Of a detour in an iteration.
    start_ns, each_ns : int64 array, shape (detour,), nanoseconds
        Detours on a clock: starts and lengths, repeated every ``span_ns``.
    span_ns, first_ns : int
        The recording begins at ``first_ns`` of the span.
    """

    law: Law
    asleep: bool = False
    stream: int = 0
    length_ns: int = 0
    probability: float = 1.0
    start_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    each_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    span_ns: int = 0
    first_ns: int = 0

    def begin(self, library: ctypes.CDLL) -> None:
        """Let the recorder inject from its next stretch on; this object must outlive it."""
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        library.hindmost_inject.argtypes = [
            ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_double, ctypes.c_double,
            pointer, pointer, number, number, number,
        ]  # fmt: skip
        library.hindmost_inject(
            int(self.law),
            int(self.asleep),
            self.stream,
            float(self.length_ns),
            self.probability,
            self.start_ns.ctypes.data,
            self.each_ns.ctypes.data,
            self.start_ns.size,
            self.span_ns,
            self.first_ns,
        )


def inject_nothing(library: ctypes.CDLL) -> None:
    """End the injection."""
    RankInjection(law=Law.NONE).begin(library)


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """Noise to inject into a run.

    Attributes
    ----------
    kind : str
        See `KINDS`.
    times_ns : dict of str to int
        ``mean``, ``length`` and ``period``, nanoseconds.
    probability : float
    ranks : tuple of (int, int)
        First and last of the chosen ranks; empty for all.
    asleep : bool
        Whether a detour sleeps; else it computes.
    trace : NoiseTrace or None
    """

    kind: str
    times_ns: Mapping[str, int] = field(default_factory=dict)
    probability: float = 1.0
    ranks: tuple[tuple[int, int], ...] = ()
    asleep: bool = False
    trace: NoiseTrace | None = None

    def __str__(self) -> str:
        """Return the law as text: `read_law` reads it, except for a trace, which has a digest."""
        words = [f"{name}={exact_time(ns)}" for name, ns in self.times_ns.items()]
        if self.probability < 1.0 or "probability" in KINDS[self.kind][0]:
            words.append(f"probability={self.probability:g}")
        if self.trace is not None:
            words += [self.trace.name, f"digest={self.trace.digest}"]
        if self.ranks:
            parts = [f"{a}" if a == b else f"{a}-{b}" for a, b in self.ranks]
            words.append(f"ranks={','.join(parts)}")
        return f"{self.kind}:{','.join([*words, *(['asleep'] if self.asleep else [])])}"

    def check_ranks(self, count: int) -> None:
        """Raise a UsageError if a chosen rank does not exist."""
        last = max((b for _, b in self.ranks), default=0)
        if last >= count:
            raise UsageError(
                f"{OPTION} {self}: there is no rank {last}; the run has ranks 0 to {count - 1}."
            )

    def of_rank(self, rank: int, *, seed: int, repeat: int) -> RankInjection:
        """Return what is injected into a rank; equal arguments give equal detours.

        Solvers of one repeat get the same draws, so that they are compared under the same noise.
        """
        if self.ranks and not any(a <= rank <= b for a, b in self.ranks):
            return RankInjection(law=Law.NONE)
        stream = mixed(mixed(mixed(seed & MASK) + repeat) + rank)
        given = dict(self.times_ns)
        if self.kind in ("exponential", "fixed"):
            return RankInjection(
                law=Law.EXPONENTIAL if self.kind == "exponential" else Law.FIXED,
                asleep=self.asleep,
                stream=stream,
                length_ns=given["mean" if self.kind == "exponential" else "length"],
                probability=self.probability,
            )
        if self.trace is not None:
            start, each, span_ns = self.trace.of_rank(rank)
        else:
            start, each = np.zeros(1, np.int64), np.array([given["length"]], np.int64)
            span_ns = given["period"]
        first_ns = int(draws(stream, np.zeros(1, np.int64))[0] * span_ns)
        return RankInjection(
            law=Law.TIMED if start.size else Law.NONE,
            asleep=self.asleep,
            stream=stream,
            start_ns=start,
            each_ns=each,
            span_ns=span_ns,
            first_ns=first_ns,
        )


def mixed(number: int) -> int:
    """Return 64 bits that depend on a number: splitmix64."""
    z = (number + GOLDEN) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def draws(stream: int, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the draws of a stream with these numbers, from 0 to below 1, as ``injection.h`` does.

    Parameters
    ----------
    numbers : int64 array, shape (draw,)
    """
    with np.errstate(over="ignore"):
        z = np.uint64(stream) + (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return np.asarray((z >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def planned_ns(injection: RankInjection, iterations: int) -> NDArray[np.int64]:
    """Return the lengths of the detours of the first iterations, 0 for none.

    A recorded detour is never shorter; it is longer by what a clock, a sleep or another process
    adds. Detours on a clock depend on how long iterations take, so they are not planned.

    Returns
    -------
    int64 array, shape (iteration,), nanoseconds
        Exact but for rounding to a nanosecond.
    """
    number = np.arange(iterations, dtype=np.int64)
    if injection.law is Law.NONE:
        return np.zeros(iterations, np.int64)
    if injection.law is Law.TIMED:
        raise UsageError("Detours on a clock are not planned: they depend on the run.")
    taken = draws(injection.stream, 2 * number) < injection.probability
    length = np.full(iterations, float(injection.length_ns))
    if injection.law is Law.EXPONENTIAL:
        length *= -np.log1p(-draws(injection.stream, 2 * number + 1))
    return np.where(taken | (injection.probability >= 1.0), length, 0.0).astype(np.int64)


# Reading a law.


def read_law(text: str) -> Injection:
    """Return the noise that a text asks for.

    Raises
    ------
    UsageError
        It is no law; the message says what is wrong, and gives an example.
    DataError
        A trace cannot be read.
    """
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise UsageError(f"{OPTION} {text}: unknown law '{kind}'; {choose(KINDS, kind)}.")
    needed, optional = KINDS[kind]
    words = words_of(rest)
    file = words.pop(0)[0] if kind == "trace" and words and words[0][1] is None else ""
    given: dict[str, str] = {}
    asleep = False
    known = (*needed, *optional, "ranks")
    for name, value in words:
        if name == "asleep" and value is None:
            asleep = True
        elif name not in known or not value:
            options = choose((*(f"{each}=..." for each in known), "asleep"))
            shown = name if value is None else f"{name}={value}"
            raise wrong(text, kind, f"'{shown}' is no part of the law {kind}; {options}")
        elif name in given:
            raise wrong(text, kind, f"'{name}' is given twice")
        else:
            given[name] = value
    for name in needed:
        if name not in given:
            raise wrong(text, kind, f"the law {kind} needs {name}=")
    if kind == "trace" and not file:
        raise wrong(text, kind, "the law trace needs a file")
    law = Injection(
        kind=kind,
        times_ns={
            name: time_ns(text, kind, name, given[name])
            for name in (*needed, *optional)
            if name in given and name != "probability"
        },
        probability=read_probability(text, kind, given.get("probability", "1")),
        ranks=read_ranks(text, kind, given.get("ranks", "")),
        asleep=asleep,
        trace=read_trace(Path(file), OPTION) if kind == "trace" else None,
    )
    if kind == "periodic" and law.times_ns["length"] >= law.times_ns["period"]:
        share = law.times_ns["length"] / law.times_ns["period"]
        raise wrong(
            text, kind, f"detours fill {percent(share, 0)} of the time; length must be below period"
        )
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


def wrong(text: str, kind: str, why: str) -> UsageError:
    """Return an error on a law."""
    return UsageError(f"{OPTION} {text}: {why}. For example: {EXAMPLES[kind]}")


def time_ns(text: str, kind: str, name: str, value: str) -> int:
    """Return a time in nanoseconds."""
    found = TIME.fullmatch(value)
    if found is None:
        raise wrong(text, kind, f"{name} is '{value}'; write a time with its unit, as 50us or 1ms")
    ns = round(float(found[1]) * dict(SECONDS)[found[2]] * 1e9)
    if not 1 <= ns <= LONGEST_NS:
        raise wrong(text, kind, f"{name} is '{value}'; it must be at least 1ns, at most 3600s")
    return ns


def read_probability(text: str, kind: str, value: str) -> float:
    """Return the probability of a detour in an iteration."""
    try:
        share = float(value)
    except ValueError:
        share = math.nan
    if not 0.0 < share <= 1.0:
        raise wrong(text, kind, f"probability is '{value}'; it must be above 0 and at most 1")
    return share


def read_ranks(text: str, kind: str, value: str) -> tuple[tuple[int, int], ...]:
    """Return first and last of ranks written as ``0,2-5``, in ascending order; empty for all."""
    ranges = []
    for word in value.split(",") if value else ():
        if not RANKS.fullmatch(word) or len(word) > 20:
            raise wrong(text, kind, f"ranks is '{value}'; write ranks as 0,2-5")
        first, _, last = word.partition("-")
        ranges.append((int(first), int(last or first)))
        if not ranges[-1][0] <= ranges[-1][1] <= MOST_RANK:
            raise wrong(text, kind, f"ranks is '{value}'; write ranks in ascending order, as 0,2-5")
    return tuple(sorted(ranges))


def exact_time(ns: int) -> str:
    """Write nanoseconds in the largest unit that needs no fraction: ``50us``, ``1500us``."""
    for sign, size in SECONDS:
        unit_ns = round(size * 1e9)
        if ns % unit_ns == 0:
            return f"{ns // unit_ns}{sign}"
    return f"{ns}ns"
