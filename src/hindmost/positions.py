"""Where the keys and values of a TOML text stand; Python's own reader does not say.

The text is one that `tomllib` has read, so this walks through it without judging it: it knows just
enough of the grammar to tell keys, values, tables, arrays and strings apart.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from dataclasses import dataclass, field

from hindmost.rules import KeyPath

_BLANK = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
# A closing delimiter may follow up to two quotes that belong to the string.
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})(?!")'
    r"|'''.*?'''(?:'{0,2})(?!')"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_BARE = re.compile(r"[^,\]}#\n]*")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text: line and column in characters, from 1, and the offset from 0."""

    line: int
    column: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """Where everything stands.

    Attributes
    ----------
    keys : dict of KeyPath to Place
        Where each key begins that is written out; a table's, in its first header.
    values : dict of KeyPath to Place
        Where each value begins, those in arrays and inline tables as well.
    """

    keys: dict[KeyPath, Place]
    values: dict[KeyPath, Place]


@dataclass(slots=True)
class _Walk:
    """A walk through a text that is valid TOML, with line ends of one character."""

    text: str
    at: int = 0
    keys: dict[KeyPath, int] = field(default_factory=dict)
    values: dict[KeyPath, int] = field(default_factory=dict)
    lengths: dict[KeyPath, int] = field(default_factory=dict)
    """Of arrays of tables, so far."""

    def whole(self) -> None:
        """Walk through the whole text."""
        table: KeyPath = ()
        self.skip(_BLANK)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip(_BLANK)

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Go past what a pattern matches here, and return it."""
        found = pattern.match(self.text, self.at)
        if found is None:  # cannot be in valid TOML; stay where we are is an endless loop
            raise ValueError(f"not TOML at character {self.at}")
        self.at = found.end()
        return found[0]

    def header(self) -> KeyPath:
        """Read ``[a.b]`` or ``[[a.b]]``; return the path of the table that it opens."""
        many = self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        path: KeyPath = ()
        parts = self.dotted_key()
        for number, (part, begin) in enumerate(parts, 1):
            path = (*path, part)
            self.keys.setdefault(path, begin)
            self.values.setdefault(path, begin)
            last = number == len(parts)
            if last and many:
                self.lengths[path] = self.lengths.get(path, 0) + 1
            if path in self.lengths:
                path = (*path, self.lengths[path] - 1)
                self.values.setdefault(path, begin)
        self.at += 2 if many else 1
        return path

    def pair(self, table: KeyPath) -> None:
        """Read ``a.b = value``."""
        path = table
        for part, begin in self.dotted_key():
            path = (*path, part)
            self.keys.setdefault(path, begin)
            self.values.setdefault(path, begin)
        self.at += 1  # the sign of equality
        self.skip(_SPACE)
        self.value(path)

    def dotted_key(self) -> list[tuple[str, int]]:
        """Read a key and what follows it up to its end; return the parts and their offsets."""
        parts = []
        while True:
            self.skip(_SPACE)
            begin = self.at
            word = self.skip(_KEY)
            quoted = word[0] in "\"'"
            parts.append((next(iter(tomllib.loads(f"{word}=0"))) if quoted else word, begin))
            self.skip(_SPACE)
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def value(self, path: KeyPath) -> None:
        """Read a value."""
        self.values[path] = self.at
        opening = self.text[self.at]
        if opening == "[":
            self.array(path)
        elif opening == "{":
            self.inline_table(path)
        elif opening in "\"'":
            self.skip(_STRING)
        else:
            self.skip(_BARE)

    def array(self, path: KeyPath) -> None:
        """Read an array, over as many lines as it has."""
        self.at += 1
        number = 0
        self.skip(_BLANK)
        while self.text[self.at] != "]":
            self.value((*path, number))
            number += 1
            self.skip(_BLANK)
            if self.text[self.at] == ",":
                self.at += 1
                self.skip(_BLANK)
        self.at += 1

    def inline_table(self, path: KeyPath) -> None:
        """Read an inline table."""
        self.at += 1
        self.skip(_BLANK)
        while self.text[self.at] != "}":
            self.pair(path)
            self.skip(_BLANK)
            if self.text[self.at] == ",":
                self.at += 1
                self.skip(_BLANK)
        self.at += 1


def find_positions(text: str) -> Positions:
    """Find where keys and values stand.

    Parameters
    ----------
    text : str
        TOML that `tomllib.loads` takes; lines may end as on Windows.
    """
    walk = _Walk(text.replace("\r\n", "\n"))
    walk.whole()
    starts = [0]
    starts += [found.end() for found in re.finditer("\n", walk.text)]

    def place(offset: int) -> Place:
        low = bisect_right(starts, offset) - 1
        return Place(low + 1, offset - starts[low] + 1, offset)

    return Positions(
        keys={path: place(offset) for path, offset in walk.keys.items()},
        values={path: place(offset) for path, offset in walk.values.items()},
    )
