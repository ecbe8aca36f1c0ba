"""Several commands in one launch of ranks: starting ranks takes longer than what most tests run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import starter

PROGRAM = """
import ctypes, json, os, sys
from pathlib import Path
from unittest.mock import patch
from hindmost.harness import petsc
parallel = petsc.start()
from hindmost.__main__ import main
options, flush = parallel.PETSc.Options(), ctypes.CDLL(None).fflush

def perform(name, words, hook):
    for handle, what in ((1, "out"), (2, "err")):
        file = os.open(f"{name}.{what}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, handle)
        os.close(file)
    # PETSc has started: its options of this command come by another way, and go again.
    own = words[words.index("--") + 1 :] if "--" in words else []
    before = set(options.getAll())
    options.insertString(" ".join(own))
    sys.argv = ["hindmost", *words]
    exec(hook, {})
    status = main()
    patch.stopall()
    for option in set(options.getAll()) - before:
        options.delValue(option)
    flush(None)
    return status

commands, hooks = json.loads(Path("commands.json").read_text())
told = {
    name: perform(f"said-{at}", words, hooks.get(name, ""))
    for at, (name, words) in enumerate(commands.items())
}
everybody = parallel.communicator.gather(told)
if everybody:
    Path("statuses.json").write_text(json.dumps(everybody))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command of several left: the greatest status of its ranks, and what these said."""

    returncode: int
    stdout: str
    stderr: str


def run_several(
    folder: Path,
    count: int,
    commands: Mapping[str, Sequence[str | Path]],
    hooks: Mapping[str, str] | None = None,
) -> dict[str, Done]:
    """Run commands of hindmost one after another on the same ranks, in a folder of their own.

    Only such that end in order on all ranks: what ends the others ends all that comes after.

    Parameters
    ----------
    hooks : mapping of str to str, optional
        Python to run before a command; its patches of ``unittest.mock`` are undone afterwards.
    """
    words = {name: [str(word) for word in each] for name, each in commands.items()}
    (folder / "commands.json").write_text(json.dumps([words, hooks or {}]))
    done = starter(folder)(count, script=PROGRAM)
    assert done.returncode == 0, done.stderr + "".join(
        path.read_text() for path in sorted(folder.glob("said-*.err"))
    )
    statuses = json.loads((folder / "statuses.json").read_text())
    return {
        name: Done(
            returncode=max(each[name] for each in statuses),
            stdout=(folder / f"said-{at}.out").read_text(),
            stderr=(folder / f"said-{at}.err").read_text(),
        )
        for at, name in enumerate(commands)
    }
