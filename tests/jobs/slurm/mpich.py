"""An environment with MPICH, mpi4py and msgspec and nothing else, kept between test runs."""

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

CONSTRAINTS = Path(__file__).parents[3] / "setup" / "constraints" / "source.txt"


def mpich_python() -> Path | None:
    """Return the interpreter of the environment; None where its wheels cannot be had."""
    pinned = [
        line for line in CONSTRAINTS.read_text().splitlines() if line.startswith(("mp", "msgspec"))
    ]
    key = hashlib.sha256("\n".join((*pinned, sys.version)).encode()).hexdigest()[:12]
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "hindmost" / "tests" / f"mpich-{key}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python = folder / "bin" / "python"
        if not (folder / "whole").exists():
            base = getattr(sys, "_base_executable", None) or sys.executable
            pip = (python, "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS)
            try:
                for words in (
                    (base, "-m", "venv", "--clear", folder),
                    (*pip, "mpich", "mpi4py", "msgspec"),
                ):
                    subprocess.run(words, check=True, capture_output=True, timeout=300)
            except (OSError, subprocess.SubprocessError):
                return None
            (folder / "whole").touch()
        return python
