"""``--keep``: the share of the ranks whose full records go into a run file."""

from __future__ import annotations

import argparse

from hindmost.errors import UsageError


def add_keep(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare the argument.

    Parameters
    ----------
    what : str
        What has ended when the choice is made.
    """
    parser.add_argument(
        "--keep",
        default="100%",
        metavar="SHARE",
        help=f"keep full records of this share of the ranks only, chosen when {what} has ended, "
        "and profiles of all: 5%% (%(default)s)",
    )


def share_of(text: str) -> float:
    """Return a share of what is written as ``5%`` or ``0.05``; 0 for what is neither."""
    try:
        return float(text[:-1]) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        raise UsageError(f"--keep {text}: write a share, such as 5% or 0.05.") from None
