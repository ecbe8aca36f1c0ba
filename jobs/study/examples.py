"""A commented study for each scheduler, which can be planned as it is."""

from __future__ import annotations

from importlib.resources import files

from hindmost.jobs.schedulers import SCHEDULERS


def example(scheduler: str | None = None) -> str:
    """Return the text of a study with a machine of a scheduler; None for one of each."""
    folder = files("hindmost.jobs.study.example")
    parts = ["study", *([scheduler] if scheduler else SCHEDULERS.names)]
    return "".join((folder / f"{part}.toml").read_text(encoding="utf-8") for part in parts)
