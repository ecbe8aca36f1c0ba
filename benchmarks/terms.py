"""SIGTERM at random times, as of a time limit: whether anything of the records is lost.

    python -m benchmarks.terms [TRIALS] [ON_RANKS] [SEED]

Each trial starts the recorder with an MPI of one rank that does nothing (``peers/stub_mpi.c``): a
loop of a million calls a second. It is ended by SIGTERM some milliseconds after it began to record:
half of the signals go to the process, half to its second thread. The program counts its iterations
in a file of its own. Nothing is *lost* if the rank's raw file is whole, to its end, and has all
iterations that the program had counted.

Then the same with two real ranks of ``peers/quick_calls.c``, in turn without and with a thread of
OpenMP: the signal goes to all ranks, and all of them have to be in one run file.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hindmost
from hindmost.errors import DataError
from hindmost.harness.attach.convert import convert_all
from hindmost.harness.attach.raw import Frame
from hindmost.harness.attach.raw_program import read_program
from hindmost.harness.attach.sections import sections_of
from hindmost.harness.attach.settings import AttachRequest
from hindmost.harness.recorder.build import FLAGS, SOURCES
from hindmost.harness.recorder.pattern import MONITOR
from hindmost.harness.stack import current_stack
from hindmost.output import write_lines

BIN = Path(sys.executable).parent
PEERS = Path(__file__).with_name("peers")
STUB, QUICK_CALLS = PEERS / "stub_mpi.c", PEERS / "quick_calls.c"
RANKS = 2
SHARED = struct.Struct("<qq")
"""What the program shares: the number of its last iteration, and that of its second thread."""
TRIALS, ON_RANKS, SEED = 10_000, 300, 42
SECONDS = (0.0, 0.05)
"""When a signal comes, after the first iteration."""
LIMIT_S = 60.0
MIN_ITERATIONS = 2
"""Of each rank before the signal: one mark is no iteration."""


def compiled_stub(folder: Path, *flags: str) -> Path:
    """Return the program, compiled with the recorder."""
    program = folder / "stub"
    command = [current_stack().mpicc, *FLAGS, "-g", *flags, "-DHINDMOST_LINKED"]
    sources = [str(STUB), str(SOURCES[0])]
    subprocess.run([*command, "-o", str(program), *sources, "-lpthread", "-ldl"], check=True)
    return program


def settings_for(folder: Path, **request: Any) -> Path:
    """Write the settings of a recorder that leaves its raw folders in one folder."""
    path = folder / "settings"
    path.write_text(AttachRequest(out=folder / "out", **request).text(None))
    return path


def start(program: Path, folder: Path, *words: str, **request: Any) -> subprocess.Popen[str]:
    """Start the program with a new folder for what it leaves; see `AttachRequest`."""
    (folder / "out").mkdir(parents=True)
    (folder / "shared").write_bytes(bytes(SHARED.size))
    return subprocess.Popen(
        [program, folder / "shared", *words],
        env={**os.environ, "HINDMOST_ATTACH": str(settings_for(folder, **request))},
        stderr=subprocess.PIPE,
        text=True,
    )


def terminated(
    program: Path, folder: Path, *, after_s: float, other_thread: bool, iterate_at: str
) -> tuple[range, str]:
    """End the program by a signal some time after its first iteration.

    Returns
    -------
    range
        Iterations that it had done when the signal came: while another thread's handler writes, it
        goes on.
    str
        What it wrote to stderr, as a sanitizer does.
    """
    process = start(program, folder, "for-ever", "20", "40", iterate_at=iterate_at)
    with (folder / "shared").open("r+b") as file, mmap.mmap(file.fileno(), SHARED.size) as memory:
        deadline = time.monotonic() + LIMIT_S
        while not all(SHARED.unpack_from(memory)) and time.monotonic() < deadline:
            time.sleep(0.0005)
        time.sleep(after_s)
        before, thread = SHARED.unpack_from(memory)
        if other_thread:
            tgkill(process.pid, thread, signal.SIGTERM)
        else:
            process.terminate()
        _, complaints = process.communicate(timeout=LIMIT_S)
        after, _ = SHARED.unpack_from(memory)
    if process.returncode != -signal.SIGTERM:
        complaints += f"\nit ended with {process.returncode}"
    return range(before, after + 1), complaints


def tgkill(process: int, thread: int, number: int) -> None:
    """Send a signal to one thread of a process."""
    ctypes.CDLL(None).syscall(234, process, thread, number)  # SYS_tgkill of x86-64


def faults_of(folder: Path, done: range) -> Iterator[str]:
    """Yield what is wrong with what the program left.

    Parameters
    ----------
    done : range
        Iterations that it had done.
    """
    try:
        (raw,) = (folder / "out").glob("*.raw")
        program = read_program(raw)
    except (DataError, ValueError) as error:
        yield f"cannot be read: {error}"
        return
    rank = program.here[min(program.here)]
    if rank.torn or program.unreadable:
        yield f"torn: {rank.torn or program.unreadable[0]}"
    if rank.end is None:
        yield "no end"
    groups, left_out, odd = sections_of(program)
    if odd:
        yield odd
    if left_out:
        yield f"left out: {left_out[0]}"
    if len(groups) != 1 or len(rank.sections) != 1:
        yield f"{len(groups)} runs of {len(rank.sections)} sections"
        return
    section = rank.sections[0]
    records = section.array(Frame.RECORDS)
    if records.size != section.facts.kept or records.size != section.facts.seen:
        yield f"{records.size} records of {section.facts.seen}, {section.facts.kept} kept"
    noted = section.array(Frame.CONTEXTS)
    if noted.size != records.size or not 0 < noted.min(initial=1) <= noted.max(initial=1) < (
        rank.contexts.count
    ):
        yield "a call without its context"
    marks = records["end_ns"][records["what"] == ord(MONITOR)]
    if rank.program.mark_call:  # no marks are made: each iteration ends with one MPI_Allreduce
        allreduce = -1 - rank.program.call_names.index("MPI_Allreduce")
        marks = np.arange(np.count_nonzero(records["what"] == allreduce) + 1)
    if not np.array_equal(marks, np.arange(marks.size)):
        yield "its marks are not numbered in order"
    if not done[0] - 1 <= marks.size - 1 <= done[-1] + 1:
        yield f"{marks.size - 1} iterations of {done}"


def trial(program: Path, folder: Path, chance: random.Random) -> list[str]:
    """Return what one trial lost."""
    done, complaints = terminated(
        program,
        folder,
        after_s=chance.uniform(*SECONDS),
        other_thread=chance.random() < 0.5,
        iterate_at=chance.choice(["", "auto"]),
    )
    return [*faults_of(folder, done), *complaints.strip().splitlines()[:5]]


def trial_on_ranks(programs: Sequence[Path], folder: Path, chance: random.Random) -> list[str]:
    """Return what one trial with real ranks lost."""
    (folder / "shared").mkdir(parents=True)
    program = chance.choice(programs)
    launched: list[str | Path] = [BIN / "mpiexec", "-n", str(RANKS), program, folder / "shared"]
    attach: list[str | Path] = [BIN / "hindmost", "attach", "--print", "env"]
    lines = subprocess.run(
        [*attach, "--out", folder / "out"], check=True, capture_output=True, text=True
    ).stdout
    process = subprocess.Popen(
        ["sh", "-c", f'{lines}\nexec "$@"', "sh", *launched],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    files = [folder / "shared" / str(rank) for rank in range(RANKS)]
    deadline = time.monotonic() + LIMIT_S

    def counted() -> list[tuple[int, int]]:
        return [
            SHARED.unpack(file.read_bytes())
            for file in files
            if file.exists() and file.stat().st_size == SHARED.size
        ]

    while len(counted()) < RANKS or min(done for _, done in counted()) < MIN_ITERATIONS:
        if time.monotonic() > deadline:
            process.kill()
            return ["it did not start"]
        time.sleep(0.001)
    time.sleep(chance.uniform(*SECONDS))
    before = counted()
    for rank, _ in before:
        os.kill(rank, signal.SIGTERM)
    process.wait(timeout=LIMIT_S)
    faults: list[str] = []
    try:
        (run,) = convert_all(folder / "out", folder / "out", faults.append)
    except (DataError, ValueError) as error:
        return [*faults, str(error)]
    faults = [fault for fault in faults if "when the program was ended" not in fault]
    kept, least = hindmost.open(run).bodies, min(done for _, done in before)
    return [*faults, *([] if kept >= least - 2 else [f"{kept} iterations of {least}"])]


def losses(trial: Callable[[Path, random.Random], list[str]], trials: int, seed: int) -> int:
    """Print what is wrong after many trials; return with how many of them."""
    chance, found = random.Random(seed), Counter[str]()
    lost = 0
    for _ in range(trials):
        with tempfile.TemporaryDirectory() as name:
            faults = trial(Path(name) / "trial", chance)
        found.update(dict.fromkeys(faults, 1))
        lost += bool(faults)
    for fault, count in found.most_common():
        write_lines(f"{count:6,}  {fault}")
    return lost


def main(trials: int = TRIALS, on_ranks: int = ON_RANKS, seed: int = SEED) -> None:
    """Run the trials and print what was lost."""
    with tempfile.TemporaryDirectory() as name:
        stub = compiled_stub(Path(name))
        lost = losses(partial(trial, stub), trials, seed)
        write_lines(f"SIGTERM {trials:,} times, the recorder alone: {lost:,} lost something")
        programs = [Path(name) / "plain", Path(name) / "openmp"]
        for program, flags in zip(programs, ([], ["-fopenmp"]), strict=True):
            command: list[str | Path] = [
                current_stack().mpicc,
                "-O2",
                *flags,
                "-o",
                program,
                QUICK_CALLS,
            ]
            subprocess.run(command, check=True)
        lost = losses(partial(trial_on_ranks, programs), on_ranks, seed)
        write_lines(f"SIGTERM {on_ranks:,} times, {RANKS} ranks: {lost:,} lost something")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
