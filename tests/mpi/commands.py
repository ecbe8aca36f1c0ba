"""Several commands in one launch of ranks: starting ranks takes longer than what most tests run."""

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

def perform(said, folder, words, hook):
    for handle, what in ((1, "out"), (2, "err")):
        file = os.open(f"{said}.{what}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, handle)
        os.close(file)
    # PETSc has started: its options of this command come by another way, and go again.
    own = words[words.index("--") + 1 :] if "--" in words else []
    before = set(options.getAll())
    options.insertString(" ".join(own))
    sys.argv, sys.path[0] = ["hindmost", *words], folder
    os.chdir(folder)
    exec(hook, {})
    status = main()
    patch.stopall()
    for option in set(options.getAll()) - before:
        options.delValue(option)
    flush(None)
    return status

here = Path.cwd()
commands = json.loads(Path("commands.json").read_text())
told = [perform(here / f"said-{at}", *command) for at, command in enumerate(commands)]
everybody = parallel.communicator.gather(told)
if everybody:
    (here / "statuses.json").write_text(json.dumps(everybody))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a command of several left: the greatest status of its ranks, and what these said."""

    returncode: int
    stdout: str
    stderr: str


Commands = Mapping[str, Sequence[str | Path]]


def run_several(folder: Path, count: int, commands: Commands) -> dict[str, Done]:
    """Run commands of hindmost one after another on the same ranks, in a folder of their own."""
    (done,) = run_in_folders(folder, count, [(folder, commands, {})])
    return done


def run_in_folders(
    folder: Path, count: int, asked: Sequence[tuple[Path, Commands, Mapping[str, str]]]
) -> list[dict[str, Done]]:
    """Run commands of hindmost one after another on the same ranks.

    Only such that end in order on all ranks: what ends the others ends all that comes after.

    Parameters
    ----------
    asked : sequence of tuple
        A folder, the commands that run in it, and Python to run before some of them: its patches
        of ``unittest.mock`` are undone afterwards.
    """
    each = [
        (str(inside), [str(word) for word in words], hooks.get(name, ""))
        for inside, commands, hooks in asked
        for name, words in commands.items()
    ]
    (folder / "commands.json").write_text(json.dumps(each))
    done = starter(folder)(count, script=PROGRAM)
    said = [
        tuple((folder / f"said-{at}.{what}") for what in ("out", "err")) for at in range(len(each))
    ]
    assert done.returncode == 0, done.stderr + "".join(
        err.read_text() for _, err in said if err.exists()
    )
    statuses = zip(*json.loads((folder / "statuses.json").read_text()), strict=True)
    ended = (
        Done(returncode=max(status), stdout=out.read_text(), stderr=err.read_text())
        for status, (out, err) in zip(statuses, said, strict=True)
    )
    return [{name: next(ended) for name in commands} for _, commands, _ in asked]
