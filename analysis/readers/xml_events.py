"""XML read in pieces, from untrusted files.

Expat, without any document type: with it go entities that expand to gigabytes and those that name
other files, and results of tests have none. Nothing of a document is kept but the element that is
being read, so that memory does not grow with the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from hindmost.errors import DataError

LARGEST_BYTES = 1 << 28
DEEPEST = 64
LONGEST_TEXT = 1 << 16
"""Characters of an element's own text that are kept: measurements are short, and output is long."""
PIECE = 1 << 16


class ElementBegin(NamedTuple):
    """The begin of an element."""

    name: str
    attributes: Mapping[str, str]


class ElementEnd(NamedTuple):
    """The end of an element, and its own text without that of the elements in it."""

    name: str
    text: str


class _Events:
    """Events that expat has found and that were not yielded yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: list[ElementBegin | ElementEnd] = []
        self.texts: list[list[str]] = []
        self.lengths: list[int] = []
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EntityDeclHandler = self.doctype
        parser.StartElementHandler = self.begin
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        self.parser = parser

    def doctype(self, *ignored: object) -> None:
        raise DataError(
            f"{self.path}, line {self.parser.CurrentLineNumber}: it declares a document type or "
            "an entity, which test results do not need and which can fill the memory or include "
            "other files. Remove it."
        )

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.texts) >= DEEPEST:
            raise DataError(
                f"{self.path}, line {self.parser.CurrentLineNumber}: elements within more than "
                f"{DEEPEST} others; test results have fewer than ten levels."
            )
        self.texts.append([])
        self.lengths.append(0)
        self.found.append(ElementBegin(name, attributes))

    def text(self, text: str) -> None:
        if self.lengths[-1] < LONGEST_TEXT:
            self.texts[-1].append(text[:LONGEST_TEXT])
            self.lengths[-1] += len(text)

    def end(self, name: str) -> None:
        self.lengths.pop()
        self.found.append(ElementEnd(name, "".join(self.texts.pop())))


def xml_events(path: Path) -> Iterator[ElementBegin | ElementEnd]:
    """Yield the begins and ends of all elements of a file.

    Raises
    ------
    DataError
        The file cannot be read, is too large, is not XML, or declares a document type.
    """
    events = _Events(path)
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            if size > LARGEST_BYTES:
                raise DataError(
                    f"{path} has {size / 1e6:.0f} MB, and results of tests may have "
                    f"{LARGEST_BYTES / 1e6:.0f} MB: write them without the tests' output."
                )
            read = 0
            while piece := file.read(PIECE):
                read += len(piece)
                if read > LARGEST_BYTES:
                    raise DataError(f"{path} grows while it is read: read it when it is whole.")
                events.parser.Parse(piece, False)
                yield from events.found
                events.found = []
        events.parser.Parse(b"", True)
        yield from events.found
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is not well-formed XML: {error}. Write it again.") from error
