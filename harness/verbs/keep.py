"""``--keep``: the share of the ranks whose full records go into a run file."""

from __future__ import annotations

import argparse


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
