"""``hindmost study``: the verbs of a study, each a module of its own."""

from __future__ import annotations

import argparse

from hindmost.errors import UsageError

EXAMPLES = """\
examples:
  hindmost study plan study.toml          # runs, order, allocations and their cost; runs nothing
  hindmost study submit study.toml        # creates the folder NAME/ and submits its scripts
  hindmost study status NAME              # progress, and what to do next
  hindmost study submit NAME              # submits what remains, and only that
  hindmost study cancel NAME
  hindmost study collect NAME             # gathers all run files in NAME/collected

'hindmost study plan --help' describes one of them.
"""
WORDS = ("plan", "submit", "status", "cancel", "collect")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments: a word that leads to another module."""
    parser.description = "Plan, submit, follow, cancel and collect a study: many runs in jobs."
    parser.add_argument("word", choices=WORDS, help="what to do")


def perform(arguments: argparse.Namespace) -> int:
    """Refuse: only a word that comes first leads on."""
    raise UsageError(f"'{arguments.word}' comes first: hindmost study {arguments.word} ...")
