"""A commented study for each scheduler, which can be planned as it is."""

from __future__ import annotations

import re
from importlib.resources import files

from hindmost.jobs.schedulers import SCHEDULERS

CHOSEN = re.compile(r'^machine = "\$machine" *', re.MULTILINE)
"""Where the study names its machine: the first of those that follow."""
COMMENTS = 28
"""Column of the comments."""


def example(scheduler: str | None = None) -> str:
    """Return the text of a study with a machine of a scheduler; None for one of each."""
    folder = files("hindmost.jobs.study.example")
    study, *machines = (
        (folder / f"{part}.toml").read_text(encoding="utf-8")
        for part in ("study", *([scheduler] if scheduler else SCHEDULERS.names))
    )
    first = re.findall(r"^\[machine\.([\w-]+)\]", machines[0], re.MULTILINE)[0]
    chosen = f'machine = "{first}"'.ljust(COMMENTS)
    return "".join((CHOSEN.sub(chosen, study), *machines))
