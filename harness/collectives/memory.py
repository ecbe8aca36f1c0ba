"""Whether the buffers of a collective fit: known before any of them is made."""

from __future__ import annotations

import os

from hindmost.errors import UsageError
from hindmost.harness.collectives.operations import ITEM_BYTES, Collective

SHARE = 0.25
"""Of a node's memory, for the buffers of all its ranks: MPI's own buffers need room as well."""
MOST_A_RANK = 2**31
"""Bytes of a rank's buffers: beyond it counts of MPI no longer fit everywhere."""


def memory_of_node() -> int:
    """Return the bytes of memory that this node has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(
    collective: Collective, size: int, ranks: int, *, ranks_here: int, memory_bytes: int
) -> None:
    """Refuse buffers that do not fit.

    Parameters
    ----------
    size : int
        Bytes, as ``--bytes`` has them.
    ranks : int
        In all.
    ranks_here : int
        On the node that has most of them.
    memory_bytes : int
        Of the node that has least.

    Raises
    ------
    UsageError
        With the largest size that would fit.
    """
    needed = collective.buffer_bytes(size, ranks)
    most = min(MOST_A_RANK, int(SHARE * memory_bytes) // ranks_here)
    if needed <= most:
        return
    fits = most // collective.blocks(ranks) // ITEM_BYTES * ITEM_BYTES
    remedy = f"choose --bytes of at most {fits}" if fits else "no size fits"
    raise UsageError(
        f"{collective.name} of {size} bytes on {ranks} ranks needs buffers of {needed:,} bytes on "
        f"every rank, and {most:,} are allowed (a quarter of the node's memory for its "
        f"{ranks_here} ranks, and 2 GiB a rank): {remedy}, or fewer ranks, or leave "
        f"{collective.name} out with --operations."
    )
