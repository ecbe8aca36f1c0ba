"""Text from files, as it may stand on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return text in which what is no letter of any script stands as Python writes it.

    Names of hosts and metrics come from files of others: none of them is to move the cursor, or to
    set a title. Ends of lines stay.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
