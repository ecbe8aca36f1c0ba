"""Rules for the values of documents, and the error of a value that breaks one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Final

from hindmost.errors import DataError
from hindmost.printable import one_line

KeyPath = tuple[str | int, ...]
"""Keys, and places in lists from 0, from the outside in."""
ABSENT: Final = object()
"""Stands for the value of a key that a document lacks."""
UNKNOWN: Final = object()
"""Stands for the value of a key that a document should not have."""
SHOWN = 40
"""Characters of a value in a message."""
TEXT: Final = "text"


class RecordError(DataError):
    """A document has a value that its record may not have.

    Parameters
    ----------
    why : str
        The rule or the remedy, without a full stop.
    *path : str or int
        Where the value stands.
    found : object
        The value, `ABSENT` or `UNKNOWN`.
    """

    def __init__(self, why: str, *path: str | int, found: Any = ABSENT) -> None:
        self.why, self.path, self.found = why, path, found
        super().__init__(why)

    def below(self, *path: str | int) -> RecordError:
        """Return the error as the surrounding record sees it."""
        return RecordError(self.why, *path, *self.path, found=self.found)

    @property
    def what(self) -> str:
        """What is wrong: missing, unknown, or the value."""
        states = {id(ABSENT): "missing", id(UNKNOWN): "unknown"}
        return states.get(id(self.found)) or shown(self.found)

    def __str__(self) -> str:
        """Say where, what and why, as one sentence."""
        return f"{named(self.path) or 'the whole'} is {self.what}; {self.why}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a value may be, beyond its type.

    Attributes
    ----------
    least, above, most, below : float
        Bounds of a number, or of the length of a text or a list.
    choices : callable
        Returns the values that are allowed.
    holds : callable
        Tells whether a value is allowed; `words` says which are. A function with a name: lambdas
        in annotations do not see the names of their module.
    words : str
        What is allowed, for a message. By default it follows from the type and the bounds.
    unit : str
        Of a number, for a message.
    read : callable
        Turns what the document holds into the value, or raises a ValueError that says why not; a
        value that is right already has to pass.
    key : str
        The document's name for the field, where it differs.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    choices: Callable[[], Iterable[Any]] | None = None
    holds: Callable[[Any], bool] | None = None
    words: str = ""
    unit: str = ""
    read: Callable[[Any], Any] | None = None
    key: str = ""

    def allows(self, value: Any) -> bool:
        """Tell whether a value of the right type is allowed."""
        size = len(value) if isinstance(value, str | tuple) else value
        return (
            (self.least is None or size >= self.least)
            and (self.above is None or size > self.above)
            and (self.most is None or size <= self.most)
            and (self.below is None or size < self.below)
            and (self.holds is None or self.holds(value))
        )

    def of(self, kind: str) -> str:
        """Return what is allowed of a kind, for a message."""
        if self.words:
            return self.words
        if self.choices is not None:
            return f"one of {', '.join(map(shown, self.choices()))}"
        if kind == TEXT:
            return f"{kind} that is not empty" if self.least else kind
        bounds = ", ".join(
            f"{word} {bound:.15g}"
            for word, bound in (
                ("of at least", self.least),
                ("above", self.above),
                ("at most", self.most),
                ("below", self.below),
            )
            if bound is not None
        )
        if self.least is not None and self.most is not None:
            bounds = f"from {self.least:.15g} to {self.most:.15g}"
        return " ".join(filter(None, (kind, bounds, self.unit)))


def named(path: KeyPath) -> str:
    """Write a path as a person would: ``machine.site-a.setup[0]``."""
    words = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return one_line(words.removeprefix("."))


def shown(value: Any) -> str:
    """Return a value as JSON and TOML write it, on one short line."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError):  # more digits than Python writes, or keys that JSON lacks
        text = type(value).__name__
    text = text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
    return one_line(text)


def is_text(value: str) -> bool:
    """Tell whether a text can be written to a file: half of a surrogate pair cannot."""
    return value.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in value)


Text = Annotated[str, Rule(holds=is_text, words="text")]
"""Text that can be written to a file."""
