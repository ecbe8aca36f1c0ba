"""Changes as they are written on a command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from hindmost.errors import UsageError
from hindmost.models.adaptive.machine import Machine
from hindmost.models.laws.noise_law import read_noise_law
from hindmost.models.simulation.change import Change, Detours
from hindmost.text import SECONDS, counted, seconds

NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
FACTOR = re.compile(rf"x?(-?{NUMBER})")
MORE = re.compile(r"\+(.+)")
TIME = re.compile(rf"({NUMBER})\s*({'|'.join(sign for sign, _ in SECONDS)})")
OF_RANK = re.compile(r"rank\s+(\d+)\s*:\s*(.+)")
NOT_INJECTED = "not-injected"
"""Noise is left as it was recorded, without that which was injected."""
LAWS = {
    "exponential": "exponential:mean=50us[,probability=0.1]",
    "fixed": "fixed:length=1ms,probability=0.01",
}
"""Laws of noise, with examples; as ``hindmost run --inject`` has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A change, and what it is called.

    Attributes
    ----------
    change : Change
    words : tuple of (str, str)
        Name and value of everything that is changed; empty for nothing.
    """

    change: Change
    words: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        """What is changed, for a sentence."""
        said = [
            counted(int(value), "iteration") if name == "iterations" else f"{name} {value}"
            for name, value in self.words
        ]
        return ", ".join(said) or "no change"

    @property
    def without_noise(self) -> str:
        """What else is changed, for a sentence; empty for nothing."""
        others = tuple(word for word in self.words if word[0] != "noise")
        return replace(self, words=others).title if others else ""

    def of_target(self, machine: Machine | None) -> Named:
        """Return it for other numbers of ranks, where a law of noise is that of the target.

        It takes the place of the recorded noise. Without one, that of a machine file counts.
        """
        change, probed = self.change, None if machine is None else machine.noise
        detours = change.detours
        if detours is None and probed is not None and change.noise == 1.0 and probed.detours_per_s:
            length_s = probed.share / probed.detours_per_s
            detours = Detours(length_s=length_s, per_s=probed.detours_per_s)
        if detours is None:
            return self
        return replace(self, change=replace(change, noise=0.0, detours=detours))

    @property
    def changes(self) -> dict[str, str]:
        """The changes by name; several of one name are joined."""
        found = dict[str, str]()
        for name, value in self.words:
            key = name.replace(" ", "_")
            found[key] = f"{found[key]}; {value}" if key in found else value
        return found


def changes_of(
    *,
    latency: str | None = None,
    bandwidth: str | None = None,
    noise: str | None = None,
    speed: Sequence[str] = (),
    pipeline_depth: str | None = None,
    progress: bool = True,
    iterations: int | None = None,
    solver: str | None = None,
) -> list[Named]:
    """Return all combinations of the values of a command line.

    Raises
    ------
    UsageError
        A value that cannot be read.
    """
    latencies = split(latency, "--latency")
    bandwidths = split(bandwidth, "--bandwidth")
    depths = split(pipeline_depth, "--pipeline-depth")
    every, of_ranks = read_speeds(speed)
    deviation, uninjected, detours = read_noise(noise)
    changes = []
    for one, width, depth in product(latencies or [""], bandwidths or [""], depths or [""]):
        factor, more_s = read_latency(one) if one else (1.0, 0.0)
        bandwidth_factor = read_factor(width, "--bandwidth") if width else 1.0
        words = (
            ("latency", one and (f"+{seconds(more_s)}" if more_s else f"x{factor:g}")),
            ("bandwidth", width and f"x{bandwidth_factor:g}"),
            ("noise", noise),
            *(("speed", each) for each in speed),
            ("pipeline depth", depth),
            ("progress", "" if progress else "none"),
            ("solver", solver),
            ("iterations", "" if iterations is None else f"{iterations}"),
        )
        change = Change(
            latency=factor,
            more_latency_s=more_s,
            bandwidth=bandwidth_factor,
            speed=of_ranks,
            every_speed=every,
            noise=deviation,
            detours=detours,
            depth=read_depth(depth) if depth else None,
            progress=progress,
            uninjected=uninjected,
            solver=solver,
            iterations=iterations,
        )
        changes.append(Named(change=change, words=tuple((a, b) for a, b in words if b)))
    return changes


def split(values: str | None, option: str) -> list[str]:
    """Return the parts of a list with commas."""
    if values is None:
        return []
    parts = [each.strip() for each in values.split(",")]
    if not all(parts):
        raise UsageError(f"{option} {values}: a value is missing; write a list such as 1,2,4.")
    return parts


def read_factor(text: str, option: str) -> float:
    """Return a factor that is written as ``x2`` or ``2``."""
    found = FACTOR.fullmatch(text)
    if not found:
        raise UsageError(f"{option} {text}: write a factor, such as x2 or x0.5.")
    return float(found[1])


def read_latency(text: str) -> tuple[float, float]:
    """Return the factor of a latency, and what is added to it in seconds."""
    more = MORE.fullmatch(text)
    if more:
        return 1.0, read_time(more[1], f"--latency {text}")
    if not FACTOR.fullmatch(text):
        raise UsageError(
            f"--latency {text}: write a factor, such as x2, or what is added to every message, "
            "such as +5us."
        )
    return read_factor(text, "--latency"), 0.0


def read_time(text: str, where: str) -> float:
    """Return a time that is written as ``50us``, in seconds."""
    found = TIME.fullmatch(text.strip())
    if not found:
        raise UsageError(
            f"{where}: '{text}' is not a time; write a number and ns, us, ms or s, such as 50us."
        )
    return float(found[1]) * dict(SECONDS)[found[2]]


def read_speeds(speeds: Sequence[str]) -> tuple[float, dict[int, float]]:
    """Return the factor of the speed of all ranks, and those of single ranks."""
    every, of_ranks = None, dict[int, float]()
    for text in speeds:
        single = OF_RANK.fullmatch(text.strip())
        if single is None:
            if not FACTOR.fullmatch(text.strip()):
                raise UsageError(
                    f"--speed '{text}': write a factor for all ranks, such as x1.2, or for one, "
                    "such as 'rank 3: x0.8'."
                )
            if every is not None:
                raise UsageError("--speed: all ranks have two factors; give one.")
            every = read_factor(text.strip(), "--speed")
            continue
        rank = int(single[1])
        if rank in of_ranks:
            raise UsageError(f"--speed: rank {rank} has two factors; give one.")
        of_ranks[rank] = read_factor(single[2].strip(), f"--speed 'rank {rank}':")
    return 1.0 if every is None else every, of_ranks


def read_depth(text: str) -> int:
    """Return the depth of a pipeline."""
    if not text.isdecimal() or not 1 <= int(text) <= 64:
        raise UsageError(f"--pipeline-depth {text}: write a whole number from 1 to 64.")
    return int(text)


def read_noise(text: str | None) -> tuple[float, bool, Detours | None]:
    """Return the factor of all noise, whether injected noise is left out, and what is added."""
    if text is None:
        return 1.0, False, None
    if text in ("none", NOT_INJECTED):
        return float(text != "none"), text == NOT_INJECTED, None
    if text.startswith("x"):
        return read_factor(text, "--noise"), False, None
    law = read_noise_law(text, "--noise", others=("none", "x2", NOT_INJECTED))
    if law.kind not in LAWS or law.per_s or law.ranks or law.asleep or law.at_calls:
        raise UsageError(
            f"--noise {text}: noise is predicted by iterations and on all ranks: write it as "
            f"{' or '.join(LAWS.values())}."
        )
    exponential = law.kind == "exponential"
    return (
        1.0,
        False,
        Detours(length_s=law.length_s, probability=law.probability, exponential=exponential),
    )
