"""One experiment over ranks, from experiments over message sizes.

    python examples/scaling/over_ranks.py OUT.jsonl RANKS=FILE...

Each operation at each message size becomes a kernel, such as ``gather->4096``, over the
parameter p.
"""

# ruff: noqa: T201

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from hindmost.analysis.readers.read import read_experiment
from hindmost.errors import UsageError


def lines_of(ranks: int, path: Path) -> list[str]:
    """Return the measurements of a file as JSON lines."""
    return [
        json.dumps(
            {
                "params": {"p": ranks},
                "callpath": f"{series.kernel}->{size:g}",
                "metric": series.metric,
                "value": float(value),
            }
        )
        for series in read_experiment(path).series
        for size, values in zip(series.points[:, 0], series.values, strict=True)
        for value in values[np.isfinite(values)]
    ]


def main(words: list[str]) -> None:
    """Gather files, in the order given."""
    if len(words) < 2 or not all("=" in word for word in words[1:]):
        raise UsageError("Name the file to write, then RANKS=FILE for each number of ranks.")
    lines = []
    for word in words[1:]:
        ranks, _, path = word.partition("=")
        lines += lines_of(int(ranks), Path(path))
    Path(words[0]).write_text("\n".join(lines) + "\n")
    print(f"{words[0]}: {len(lines)} measurements at {len(words) - 1} numbers of ranks")


if __name__ == "__main__":
    main(sys.argv[1:])
