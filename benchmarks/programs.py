"""Loops that `attach --iterate-at auto` finds in programs of others, and their own counts.

    make bench-programs PROGRAMS=FOLDER [PAIRS=5]

FOLDER has a file for each program, which is built and installed already, such as ``comd.toml``:

    command = "./CoMD-mpi -x 20 -y 20 -z 20 -N 100 -n 10"
    folder = "/opt/comd/bin"    # where it runs; that of this file by default
    truth = 100                 # its iterations; or a pattern with the number as its group,
                                # of what it prints or writes to a file of YAML
    ranks = 2

Each program is run on its ranks, and the choice of iterations is compared with the truth. With
PAIRS, each is run so many times without and with `attach`, in turn, and two wall times are
compared: of the slowest rank from the start of the program to its end, and of the whole command,
with the start of `attach` and the conversion. This wants an idle machine with a core for each rank.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import hindmost
from hindmost.documents import read_document
from hindmost.errors import UsageError
from hindmost.harness.runfile.reader import Run
from hindmost.records import from_document

BIN = Path(sys.executable).parent
LIMIT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program of somebody else.

    Attributes
    ----------
    command : str
    truth : int or str
        Its iterations, or a pattern of what it prints or writes, with the number as its group.
    folder : str
        Where it runs, from the folder of its file.
    ranks : int
    """

    command: str
    truth: int | str
    folder: str = "."
    ranks: int = 2


def main(programs: Path, pairs: int = 0) -> None:
    """Print a row for each program that a file of the folder describes."""
    files = sorted(programs.glob("*.toml"))
    if not files:
        raise UsageError(
            f"{programs} has no file NAME.toml of a program; see benchmarks/programs.py."
        )
    heads = f"{'own count':>10}{'chosen':>10}  {'verdict':10}  loop"
    if pairs:
        heads = (
            f"{'plain, s':>10}{'attach, s':>10}{'more':>9}{'quickest':>10}  {'command, s':>16}  "
        )
        heads += "of each pair, %"
    print(f"{'program':16}{heads}")  # noqa: T201
    with tempfile.TemporaryDirectory() as scratch:
        for file in files:
            document = read_document(file)
            with document.errors():
                program = from_document(Program, document.data)
            out = Path(scratch) / file.stem
            here = file.parent / program.folder
            print(f"{file.stem:16}{row(program, here, out, pairs)}", flush=True)  # noqa: T201


def row(program: Program, here: Path, out: Path, pairs: int) -> str:
    """Record a program, and compare its iterations, or its time with that without."""
    if pairs:
        return times(program, here, out, pairs)
    done = run(program, here, out)
    truth = program.truth
    if isinstance(truth, str):
        said = [path.read_text() for path in here.glob("*.yaml")]
        printed = re.search(truth, "\n".join([done.stdout, *said]))
        truth = int(printed[1]) if printed else 0
    runs = [hindmost.open(path) for path in sorted(out.glob("*.h5"))]
    if not runs:
        return f"{truth:>10}{'-':>10}  refused: {done.stderr.strip()[-200:]}"
    return f"{truth:>10}{verdict(runs[0], truth)}"


TIMED = 'b=$(date +%s%N); "$@"; r=$?; echo own $(($(date +%s%N) - b)) >&2; exit $r'
"""A program's own time, whatever started it."""


def run(program: Program, here: Path, out: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program, recorded if there is a folder for its run files."""
    start = [str(BIN / "mpiexec"), "--oversubscribe", "-n", str(program.ranks)]
    if out is not None:
        recorded = ("attach", "--iterate-at", "auto", "--out", str(out), "--")
        start += [str(BIN / "hindmost"), *recorded]
    return subprocess.run(
        [*start, "sh", "-c", TIMED, "sh", *shlex.split(program.command)],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


def times(program: Program, here: Path, out: Path, pairs: int) -> str:
    """Compare wall times; every second pair begins with the one that is recorded."""
    own_s, command_s = np.zeros((2, pairs, 2))
    for pair in range(pairs):
        for recorded in (pair % 2, 1 - pair % 2):
            began = time.monotonic()
            done = run(program, here, out if recorded else None)
            done.check_returncode()
            command_s[pair, recorded] = time.monotonic() - began
            took_ns = max(int(each) for each in re.findall(r"own (\d+)", done.stderr))
            own_s[pair, recorded] = took_ns / 1e9
    plain_s, attach_s = np.median(own_s, axis=0)
    quickest = 100.0 * (np.divide(*own_s.min(axis=0)[::-1]) - 1.0)
    whole = " -> ".join(f"{each:.2f}" for each in np.median(command_s, axis=0))
    more = 100.0 * (own_s[:, 1] / own_s[:, 0] - 1.0)
    each = " ".join(f"{one:+.1f}" for one in more)
    shares = f"{np.median(more):>+8.1f}%{quickest:>+9.1f}%"
    return f"{plain_s:>10.2f}{attach_s:>10.2f}{shares}  {whole:>16}  {each}"


def verdict(run: Run, truth: int) -> str:
    """Say whether the iterations are the program's own, or offered."""
    loop = run.header.spec["attached"]["loop"]
    offered = any(each["role"] and each["iterations"] == truth for each in loop["loops"])
    whole = truth and loop["iterations"] % truth == 0 and loop["iterations"] // truth < 5
    said = "offered" if offered else "wrong"
    if whole:
        sets = loop["iterations"] // truth
        said = "right" if sets == 1 else f"{sets} sets"
    return f"{loop['iterations']:>10}  {said:10}  {loop['name']}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int((*sys.argv, "0")[2]))
