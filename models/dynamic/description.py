"""A machine as JSON, and back with every field checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

from hindmost.errors import DataError, UnknownSchemaError
from hindmost.models.dynamic.machine import (
    AllreduceTime,
    EventCost,
    GrindPoint,
    Link,
    Machine,
    Network,
    Noise,
    Piece,
    SpeedPoint,
)

SCHEMA = "hindmost-machine"
VERSION = 1
QUANTILES = 4
"""Of the durations of detours: 0.5, 0.9, 0.99 and 1."""

T = TypeVar("T")


def describe(machine: Machine) -> dict[str, Any]:
    """Return a machine as what JSON can hold; `read` gives it back."""
    return {"schema": SCHEMA, "version": VERSION, **plain(asdict(machine))}


def plain(value: Any) -> Any:
    """Return tuples as lists, all the way down."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, tuple | list) else value


def read(content: Any) -> Machine:
    """Return the machine of a description; see `Machine.from_json`."""
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        found = content.get("schema") if isinstance(content, dict) else type(content).__name__
        raise DataError(
            f"This does not describe a machine: its schema is {found!r}; allowed is '{SCHEMA}', "
            "which `hindmost probe` writes."
        )
    version = content.get("version")
    if isinstance(version, int) and version > VERSION:
        raise UnknownSchemaError(
            f"The description of the machine has version {version}; this hindmost reads up to "
            f"{VERSION}. Take a newer hindmost, or probe again."
        )
    fields = Fields(content, "machine")
    if version != VERSION or isinstance(version, bool):
        raise fields.wrong("version", f"{VERSION}")
    return Machine(
        name=fields.text("name"),
        ranks_per_node=fields.count("ranks_per_node", 1),
        network=fields.part("network", read_network),
        grind=fields.parts("grind", read_grind),
        events=fields.parts("events", read_event),
        noise=fields.part("noise", read_noise),
        speed=read_speeds(content, fields),
        checkpoint_latency_s=fields.optional("checkpoint_latency_s", zero=True),
        checkpoint_bytes_per_s=fields.optional("checkpoint_bytes_per_s"),
    )


class Fields:
    """The fields of one part of a description.

    Parameters
    ----------
    where : str
        The part's place, for messages.
    """

    def __init__(self, content: Any, where: str, known: frozenset[str] | None = None) -> None:
        if not isinstance(content, dict):
            raise DataError(
                f"In the machine's description {where} is {content!r}; it must be an object."
            )
        self._content, self._where = content, where
        for name in content:
            if known is not None and name not in known:
                raise DataError(
                    f"In the machine's description {where} has a field '{name}'; allowed are: "
                    f"{', '.join(sorted(known))}."
                )

    def wrong(self, name: str, allowed: str) -> DataError:
        """Return the error for a field."""
        found = repr(self._content[name]) if name in self._content else "missing"
        return DataError(
            f"In the machine's description {self._where}.{name} is {found}; allowed is: {allowed}."
        )

    def text(self, name: str) -> str:
        """Return a word that is not empty."""
        value = self._content.get(name)
        if not isinstance(value, str) or not value:
            raise self.wrong(name, "a text that is not empty")
        return value

    def count(self, name: str, least: int) -> int:
        """Return an integer that is large enough."""
        value = self._content.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.wrong(name, f"an integer of at least {least}")
        return value

    def number(self, name: str, *, zero: bool = False, most: float = math.inf) -> float:
        """Return a finite number that is positive, or may be zero as well."""
        value: Any = self._content.get(name)
        bad = isinstance(value, bool) or not isinstance(value, int | float)
        if (
            bad
            or not math.isfinite(value)
            or value < 0
            or value > most
            or (value == 0 and not zero)
        ):
            allowed = "a finite number of at least 0" if zero else "a finite number above 0"
            raise self.wrong(name, allowed + (f", at most {most:g}" if most < math.inf else ""))
        return float(value)

    def optional(self, name: str, *, zero: bool = False) -> float | None:
        """Return a number, or None for null and for a field that is not there."""
        return None if self._content.get(name) is None else self.number(name, zero=zero)

    def part(self, name: str, of: Callable[[Any, str], T]) -> T | None:
        """Return a part, or None for null and for a field that is not there."""
        value = self._content.get(name)
        return None if value is None else of(value, f"{self._where}.{name}")

    def needed(self, name: str, of: Callable[[Any, str], T]) -> T:
        """Return a part that must be there."""
        value = self.part(name, of)
        if value is None:
            raise self.wrong(name, "an object")
        return value

    def parts(self, name: str, of: Callable[[Any, str], T]) -> tuple[T, ...]:
        """Return a list of parts; none where the field is not there."""
        value = self._content.get(name, [])
        if not isinstance(value, list):
            raise self.wrong(name, "a list")
        return tuple(of(part, f"{self._where}.{name}[{k}]") for k, part in enumerate(value))


def read_network(content: Any, where: str) -> Network:
    """Return a network."""
    known = ("within", "within_both_ways", "across", "across_both_ways", "allreduce")
    fields = Fields(content, where, frozenset(known))
    return Network(
        within=fields.needed("within", read_link),
        within_both_ways=fields.needed("within_both_ways", read_link),
        across=fields.part("across", read_link),
        across_both_ways=fields.part("across_both_ways", read_link),
        allreduce=fields.parts("allreduce", read_allreduce),
    )


def read_link(content: Any, where: str) -> Link:
    """Return a link, its pieces in the order of their sizes from 0 on."""
    fields = Fields(content, where, frozenset({"pieces"}))
    pieces = fields.parts("pieces", read_piece)
    sizes = [piece.from_bytes for piece in pieces]
    if not sizes or sizes[0] != 0 or sizes != sorted(set(sizes)):
        raise fields.wrong("pieces", "pieces whose from_bytes begin at 0 and rise")
    return Link(pieces=pieces)


def read_piece(content: Any, where: str) -> Piece:
    """Return a piece of a link."""
    fields = Fields(content, where, frozenset({"from_bytes", "latency_s", "per_byte_s"}))
    return Piece(
        from_bytes=fields.count("from_bytes", 0),
        latency_s=fields.number("latency_s", zero=True),
        per_byte_s=fields.number("per_byte_s", zero=True),
    )


def read_allreduce(content: Any, where: str) -> AllreduceTime:
    """Return the time of an allreduce."""
    fields = Fields(content, where, frozenset({"ranks", "bytes", "seconds"}))
    return AllreduceTime(
        ranks=fields.count("ranks", 1),
        bytes=fields.count("bytes", 0),
        seconds=fields.number("seconds"),
    )


def read_grind(content: Any, where: str) -> GrindPoint:
    """Return a point of a grind curve."""
    known = ("phase", "ranks_per_node", "cells", "seconds_per_cell")
    fields = Fields(content, where, frozenset(known))
    return GrindPoint(
        phase=fields.text("phase"),
        ranks_per_node=fields.count("ranks_per_node", 1),
        cells=fields.number("cells"),
        seconds_per_cell=fields.number("seconds_per_cell"),
    )


def read_event(content: Any, where: str) -> EventCost:
    """Return the cost of an event."""
    fields = Fields(content, where, frozenset({"event", "ranks_per_node", "seconds"}))
    return EventCost(
        event=fields.text("event"),
        ranks_per_node=fields.count("ranks_per_node", 1),
        seconds=fields.number("seconds", zero=True),
    )


def read_speeds(content: dict[str, Any], fields: Fields) -> tuple[SpeedPoint, ...]:
    """Return the speeds; files of before have one, ``speed_s``, of one rank alone."""
    speeds = fields.parts("speed", read_speed)
    counts = [each.ranks_per_node for each in speeds]
    if len(set(counts)) < len(counts):
        raise fields.wrong("speed", "one speed for each number of ranks_per_node")
    if "speed" in content:
        return speeds
    alone = fields.optional("speed_s")
    return () if alone is None else (SpeedPoint(ranks_per_node=1, seconds=alone),)


def read_speed(content: Any, where: str) -> SpeedPoint:
    """Return a reading of the speed."""
    fields = Fields(content, where, frozenset({"ranks_per_node", "seconds"}))
    return SpeedPoint(
        ranks_per_node=fields.count("ranks_per_node", 1), seconds=fields.number("seconds")
    )


def read_noise(content: Any, where: str) -> Noise:
    """Return the noise of an idle machine."""
    known = ("detours_per_s", "share", "detour_quantiles_s")
    fields = Fields(content, where, frozenset(known))
    quantiles = content.get("detour_quantiles_s", [])
    if not isinstance(quantiles, list) or len(quantiles) not in (0, QUANTILES):
        raise fields.wrong("detour_quantiles_s", "a list of 4 numbers: 0.5, 0.9, 0.99 and 1")
    each = Fields(
        {str(k): value for k, value in enumerate(quantiles)}, f"{where}.detour_quantiles_s"
    )
    return Noise(
        detours_per_s=fields.number("detours_per_s", zero=True),
        share=fields.number("share", zero=True, most=1.0),
        detour_quantiles_s=tuple(each.number(str(k), zero=True) for k in range(len(quantiles))),
    )
