"""XML read in pieces: of a document only the element that is being read is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import ParseError, iterparse

from hindmost.errors import DataError
from hindmost.files import open_regular


class ElementBegin(NamedTuple):
    """The begin of an element."""

    name: str
    attributes: Mapping[str, str]


class ElementEnd(NamedTuple):
    """The end of an element, and its own text without that of the elements in it."""

    name: str
    text: str


def xml_events(path: Path) -> Iterator[ElementBegin | ElementEnd]:
    """Yield the begins and ends of all elements of a file.

    Entities of other files are not read, and expat bounds what others expand to.

    Raises
    ------
    DataError
        The file cannot be read, or is not XML.
    """
    try:
        with open_regular(path) as file:
            for kind, element in iterparse(file, ("start", "end")):
                name = element.tag.rpartition("}")[2]
                if kind == "start":
                    yield ElementBegin(name, dict(element.attrib))
                else:
                    yield ElementEnd(name, element.text or "")
                    element.clear()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ParseError, ValueError, LookupError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is not well-formed XML: {error}. Write it again.") from error
