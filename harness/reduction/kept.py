"""Write a run file with full records of all ranks, or of the share of them that is to keep some."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.part_file import RunName
from hindmost.harness.runfile.writer import Blocks, write_run_as

if TYPE_CHECKING:
    from hindmost.harness.reduction.decide import Kept


def write_kept(
    name: RunName, header: Header, blocks: Blocks, share: float, communicator: Any
) -> tuple[Path, Kept | None]:
    """Write a run file with full records of a share of the ranks; collective.

    Returns
    -------
    Path
        The file, on every rank.
    Kept or None
        What was decided; None where all are kept.

    Raises
    ------
    DataError
        The file cannot be written.
    """
    if share == 1.0:
        return write_run_as(name, header, blocks, communicator), None
    # A third of all that a run imports, which only runs with '--keep' wait for.
    from hindmost.harness.reduction.decide import decide
    from hindmost.harness.reduction.reduced_file import write_reduced
    from hindmost.models.ranks.selection import ranks_to_keep

    if ranks_to_keep(share, header.ranks) == header.ranks:
        return write_run_as(name, header, blocks, communicator), None
    kept = decide(blocks, share, communicator)
    return write_reduced(name, header, blocks, kept, communicator), kept
