"""Injected noise: laws of detours that ranks take on purpose while they are recorded.

`hindmost.models.laws.noise_law` says how a law is written. ``injection.h`` takes the detours.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field, fields
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import UsageError
from hindmost.harness.recorder.noise_trace import NoiseTrace, read_trace
from hindmost.models.laws.noise_law import NoiseLaw, read_noise_law

OPTION = "--inject"
NOTHING = "none"
"""In place of a law: no noise."""
DRAWN = 20_000
"""Detours of a law by time that are drawn; then they repeat."""
ASLEEP, AT_CALLS = 1, 2
MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


class Law(IntEnum):
    """The mechanisms of ``injection.h``."""

    NONE = 0
    EXPONENTIAL = 1
    FIXED = 2
    TIMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RankInjection:
    """What is injected into one rank in one run.

    Attributes
    ----------
    law : Law
        ``NONE`` on a rank that was not chosen.
    asleep : bool
    at_calls : bool
        Whether its points are MPI calls; else they are iterations.
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
    at_calls: bool = False
    stream: int = 0
    length_ns: int = 0
    probability: float = 1.0
    start_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    each_ns: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    span_ns: int = 0
    first_ns: int = 0

    @property
    def how(self) -> int:
        """The flags of ``injection.h``."""
        return ASLEEP * self.asleep + AT_CALLS * self.at_calls

    def begin(self, library: ctypes.CDLL) -> None:
        """Let the recorder inject from its next stretch on; this object must outlive it."""
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        library.hindmost_inject.argtypes = [
            ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_double, ctypes.c_double,
            pointer, pointer, number, number, number,
        ]  # fmt: skip
        library.hindmost_inject(
            int(self.law),
            self.how,
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
class Injection(NoiseLaw):
    """Noise to inject into a run: a law, with the trace that it names.

    Attributes
    ----------
    trace : NoiseTrace or None
    """

    trace: NoiseTrace | None = None

    def __str__(self) -> str:
        """Return the law as text: `read_law` reads it, except for a trace, which has a digest."""
        trace = [] if self.trace is None else [self.trace.name, f"digest={self.trace.digest}"]
        return f"{self.kind}:{','.join([*trace, *self.words()])}"

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
        if self.per_s:
            return self.by_time(stream)
        if self.kind in ("exponential", "fixed"):
            return RankInjection(
                law=Law.EXPONENTIAL if self.kind == "exponential" else Law.FIXED,
                asleep=self.asleep,
                at_calls=self.at_calls,
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
            at_calls=self.at_calls,
            stream=stream,
            start_ns=start,
            each_ns=each,
            span_ns=span_ns,
            first_ns=first_ns,
        )

    def by_time(self, stream: int) -> RankInjection:
        """Return detours at random times: gaps between them are exponential."""
        number = np.arange(DRAWN, dtype=np.int64)
        gaps_s = -np.log1p(-draws(stream, 2 * number)) / self.per_s
        length_ns = np.full(DRAWN, float(sum(self.times_ns.values())))  # a law has one time
        if self.kind == "exponential":
            length_ns *= -np.log1p(-draws(stream, 2 * number + 1))
        start_ns = np.rint(1e9 * np.cumsum(gaps_s)).astype(np.int64)
        return RankInjection(
            law=Law.TIMED,
            asleep=self.asleep,
            at_calls=self.at_calls,
            stream=stream,
            start_ns=start_ns,
            each_ns=length_ns.astype(np.int64),
            span_ns=int(start_ns[-1]) + 1,
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


def read_law(text: str) -> Injection:
    """Return the noise that a text asks for.

    Raises
    ------
    UsageError
        It is no law; the message says what is wrong, and gives an example.
    DataError
        A trace cannot be read.
    """
    law = read_noise_law(text, OPTION)
    trace = read_trace(Path(law.file), OPTION) if law.file else None
    return Injection(**{field.name: getattr(law, field.name) for field in fields(law)}, trace=trace)
