"""Run the long commands of a set-up, and show what they do and for how long."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from choice import SetupError


def say(text: str) -> None:
    """Tell the person one thing."""
    print(f"set-up: {text}", flush=True)


def run(
    command: Sequence[str | Path],
    *,
    what: str,
    log: Path,
    expected: str = "",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> None:
    """Run a command, its output into a log, and say how far it is.

    Parameters
    ----------
    what : str
        What the command does, for the person who waits.
    log : Path
        Receives the output; named when the command fails.
    expected : str
        How long it may take, in words.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    title = f"{what} ({expected})" if expected else what
    say(title)
    begun = shown = time.monotonic()
    with log.open("ab") as sink:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=sink,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
            cwd=cwd,
        )
        try:
            while process.poll() is None:
                time.sleep(0.2)
                now = time.monotonic()
                if now - shown > 30.0:
                    shown = now
                    say(f"{title}: {int(now - begun)} s so far; {last_line(log)}")
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if process.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise SetupError(f"{what}: failed (exit {process.returncode}).\n{tail}\nAll of it: {log}")


def last_line(log: Path) -> str:
    """Return the last thing that a log says, short enough for a line."""
    with log.open("rb") as source:
        source.seek(max(0, log.stat().st_size - 400))
        lines = source.read().decode(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return said[-1][-60:] if said else ""
