"""Decks by name, and decks of the user's in files."""

from __future__ import annotations

from pathlib import Path

from hindmost.errors import UsageError
from hindmost.harness.adaptive.decks.checks import GAUSSIAN, SEDOV, SOD
from hindmost.harness.adaptive.decks.deck import Deck, parse_base, parse_deck, read_deck
from hindmost.harness.adaptive.decks.timing import TIMING_A, TIMING_B, TIMING_C
from hindmost.registry import Registry
from hindmost.text import choose

__all__ = ["DECKS", "Deck", "find_deck", "parse_base", "parse_deck", "read_deck"]

DECKS: Registry[Deck] = Registry("deck", (TIMING_A, TIMING_B, TIMING_C, SOD, SEDOV, GAUSSIAN))
"""Every deck that is built in."""


def find_deck(word: str) -> Deck:
    """Return the deck of a name, or of a file that ends in .toml.

    Raises
    ------
    UsageError
        There is no such deck, or its file is not right.
    """
    if word.endswith(".toml") or "/" in word:
        return read_deck(Path(word))
    if word not in DECKS.names:
        raise UsageError(
            f"Unknown deck '{word}'; {choose(DECKS.names)}; or name a TOML file (.toml)."
        )
    return DECKS[word]
