"""``hindmost attach``: record a program that knows nothing of hindmost."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import signal
import socket
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from uuid import uuid4

from hindmost.errors import MissingError, UsageError
from hindmost.files import make_folder, write_atomically
from hindmost.harness.attach.beside import follow_node
from hindmost.harness.attach.environment import (
    STATUS,
    export_lines,
    link_words,
    variables,
)
from hindmost.harness.attach.outcome import (
    Outcome,
    cut_off,
    ended_early,
    problem,
    read_outcome,
    reports_gone,
    singletons,
)
from hindmost.harness.attach.program import (
    PUT_OFF,
    Ended,
    become_program,
    end_as,
    hold_signals,
    release_signals,
    run_program,
)
from hindmost.harness.launch import assigned_rank, check_size
from hindmost.harness.recorder.build import OBJECT, one_at_a_time, recorder_library
from hindmost.harness.recorder.prebuilt import library_to_preload
from hindmost.output import warn, write_lines
from hindmost.processes import START, is_alive, stat_fields
from hindmost.text import read_share

if TYPE_CHECKING:
    from hindmost.harness.attach.limit import StopRequest

SETTINGS_PREFIX, SETTINGS_SUFFIX = ".attach-", ".settings"
LIBRARY = "library"
"""The first word of the settings; the compiled recorder follows."""
OWNER = "owner"
"""Before the host, process and start of the one that removes a file when its program has ended."""
PAGES = "pages"
"""Before the folder of `hindmost.harness.attach.pairs`, which ranks of the node share."""
BOARD = "board"
"""Before the file in which ranks tell each other that they are attached: the settings of rank 0."""
JOB = ("PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID")
"""Variables that tell what one launcher started from what another did."""
PATIENCE_S = 10.0
"""How long a rank waits for the first one to prepare; then it does so itself."""
PAUSE_S, MAX_PAUSE_S = 0.01, 0.5
"""Between the first two looks whether it has; each pause is twice the one before."""

EXAMPLES = """\
examples:
  mpiexec -n 4 hindmost attach --out runs -- ./app -ksp_type gmres
  srun hindmost attach --out runs -- python app.py
  mpiexec -n 4 hindmost attach --out runs --only ice_ --every 10 -- ./app
  mpiexec -n 4 hindmost attach --out runs --iterate-at MPI_Allreduce -- ./app
  mpiexec -n 4 hindmost attach --out runs --sample -- ./app
  mpiexec -n 4 hindmost attach --out runs --inject exponential:mean=50us -- ./app
  hindmost attach --out runs -- mpiexec -n 4 ./app
  eval "$(hindmost attach --print env --out runs)"; mpiexec -n 4 ./app
  hindmost attach --convert runs
  mpicc -static app.c $(hindmost attach --print link)

The program must be dynamically linked, or have the recorder in it (--print link). Of a PETSc
program every outermost KSPSolve is recorded; of another MPI program the loop that iterates, which
is found in its code, or what lies between marks: MPI_Pcontrol(1), HINDMOST_ITERATION() of
hindmost.h, or the calls of --iterate-at. The exit status is the program's; it is 4 if the program
could not be recorded at all.
"""
COMMON = (
    "--out",
    "--iterate-at",
    "--only",
    "--every",
    "--most",
    "--sample",
    "--print",
    "--convert",
)
"""What --help lists; --help-all has the others."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Record the solves or iterations of a program on every rank, without rebuilding it. The "
        "program and its arguments follow '--'."
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder for the run files")
    parser.add_argument(
        "--only", metavar="PREFIX", help="record KSPs of this PETSc options prefix only"
    )
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="record each Nth solve (%(default)s)"
    )
    parser.add_argument("--most", type=int, metavar="N", help="record at most N solves (all)")
    parser.add_argument(
        "--iterate-at",
        default="",
        metavar="WHERE",
        help="a loop of the program by its name, as app::Solver::step; or an MPI function, at each "
        "Nth call of which an iteration ends, as MPI_Allreduce:2; or auto: find the loop, also of "
        "a PETSc program",
    )
    parser.add_argument(
        "--memory",
        default="256MB",
        metavar="SIZE",
        help="memory for the records of a solve or loop on each rank (%(default)s)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="keep all calls of a loop; else beyond 64 MB a rank sums for most iterations",
    )
    parser.add_argument(
        "--keep",
        default="",
        metavar="SHARE",
        help="keep full records of this share of the ranks in the run files, chosen when the "
        "program has ended, and profiles of all: 5%% (of all)",
    )
    parser.add_argument(
        "--inject",
        default="",
        metavar="LAW",
        help="inject noise into what is recorded, as exponential:mean=50us; see 'hindmost run "
        "--help-all'",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of that noise (%(default)s)"
    )
    parser.add_argument(
        "--sample",
        type=int,
        nargs="?",
        const=True,
        metavar="N",
        help="sample where all threads spend processor time, N times a second of it (as often as "
        "costs at most 0.3 %%, 100 to 1000), so that 'show' names the function and line of a "
        "straggler's extra work",
    )
    parser.add_argument(
        "--most-seconds",
        type=float,
        metavar="S",
        help="end the program S seconds after MPI_Init, by SIGTERM on every rank, and say in which "
        "call each rank was and for whom it waited (no limit)",
    )
    stop = parser.add_argument_group(
        "stopping before the time is up",
        "The program is told while its last safe iteration runs, by its own iterations so far.",
    )
    stop.add_argument(
        "--stop-before",
        default="",
        metavar="TIME",
        help="time after which the program must have ended, as 2h; or job: at the end of its "
        "job (default with another of these options)",
    )
    stop.add_argument(
        "--signal", default="", metavar="NAME", help="tell it by this signal to rank 0, as USR1"
    )
    stop.add_argument("--stop-file", default="", metavar="PATH", help="tell it by making this file")
    stop.add_argument(
        "--end-takes",
        default="",
        metavar="TIME",
        help="time to keep free for the end of the program (as in its last run, else 30s)",
    )
    parser.add_argument(
        "--mpicc",
        default="",
        metavar="PATH",
        help="compiler of the program's MPI (that of this environment)",
    )
    parser.add_argument(
        "--print",
        choices=("env", "include", "link"),
        metavar="WHAT",
        help="run nothing and print: env, the environment for a script of your own; include, the "
        "folder of hindmost.h and hindmost.f90; link, what links the recorder into a program that "
        "cannot be preloaded",
    )
    parser.add_argument(
        "--convert",
        type=Path,
        metavar="FOLDER",
        help="write run files from what a program left in a folder",
    )


def perform(arguments: argparse.Namespace) -> int:
    """Record a program."""
    if arguments.print == "include":
        from hindmost.harness import attach

        write_lines(str(Path(attach.__file__).resolve().parent))
        return 0
    if arguments.print == "link":
        write_lines(" ".join(link_words(recorder_library(arguments.mpicc, OBJECT))))
        return 0
    if arguments.convert is not None:
        return convert_left(arguments)
    if arguments.out is None:
        raise UsageError("Give a folder for the run files with --out. See: hindmost attach --help")
    program = list(arguments.program)
    if arguments.print == "env":
        if program:
            raise UsageError("--print env runs no program; remove what follows '--'.")
        return print_environment(arguments)
    if not program:
        raise UsageError("Give the program to record after '--'. See: hindmost attach --help")
    return record(arguments, program)


def settings_text(arguments: argparse.Namespace) -> str:
    """Return the settings of the recorder; see `AttachRequest.text`."""
    # They import numerical libraries, whose threads inherit the signals that are blocked by now.
    from hindmost.harness.attach.settings import AttachRequest
    from hindmost.harness.runfile.provenance import origins

    mine = assigned_rank()
    request = AttachRequest(
        out=arguments.out,
        only=arguments.only,
        every=arguments.every,
        most=arguments.most,
        iterate_at=arguments.iterate_at,
        memory=arguments.memory,
        all_calls=arguments.all,
        inject="" if arguments.inject == "none" else arguments.inject,
        seed=arguments.seed,
        most_seconds=arguments.most_seconds,
        sample=arguments.sample,
        keep=read_share(arguments.keep, "--keep") if arguments.keep else 1.0,
    )
    return request.text(None if mine.rank else origins("", mine.size, Path.cwd()))


def settings_path(arguments: argparse.Namespace, rank: int) -> Path:
    """Return the file of settings, which all ranks know by their job and by what they are asked.

    Without a launcher, as with ``--print env``, the same request twice has one file. That of rank 0
    is for all that draw no noise of their own.
    """
    noise = (arguments.inject, arguments.seed)
    solves = (arguments.only, arguments.every, arguments.most)
    limits = (arguments.memory, arguments.all, arguments.most_seconds)
    asked = (
        solves,
        limits,
        arguments.sample,
        arguments.keep,
        arguments.iterate_at,
        noise,
        arguments.mpicc,
        arguments.print,
    )
    job = [os.environ.get(name, "") for name in JOB]
    of_rank = f"-{rank}" if rank else ""
    digest = hashlib.sha256(repr((asked, job)).encode()).hexdigest()[:12]
    name = f"{SETTINGS_PREFIX}{digest}{of_rank}"
    return Path(arguments.out).resolve() / f"{name}{SETTINGS_SUFFIX}"


def prepare(arguments: argparse.Namespace, settings: Path, pages: str = "") -> Path:
    """Compile the recorder where need be, and write its settings; return the recorder.

    Parameters
    ----------
    pages : str
        Folder of the pages of ranks; empty if nobody follows their loops.
    """
    text = settings_text(arguments)
    library = library_to_preload(arguments.mpicc)
    launched = assigned_rank().launcher
    board = settings_path(arguments, 0) if launched else settings
    make_folder(arguments.out, "--out")
    try:
        owner = "" if arguments.print else owner_line()  # of a script's, the script has them
        own = f"{LIBRARY} {library}\n{BOARD} {board}\n{owner}"
        write_atomically(settings, f"{own}{PAGES} {pages}\n{text}" if pages else f"{own}{text}")
    except OSError as error:
        raise UsageError(f"{settings} cannot be written ({error.strerror}).") from error
    return library


def owner_line() -> str:
    """Return a line by which others see whether this process still runs."""
    return f"{OWNER} {socket.gethostname()} {os.getpid()} {stat_fields()[START]}\n"


def clear_left(out: Path) -> None:
    """Remove the files of a process of this host that was killed before it could."""
    for path in out.glob(f"{SETTINGS_PREFIX}*"):
        with suppress(OSError, UnicodeDecodeError):
            found = re.search(rf"^{OWNER} (\S+) (\d+) (\d+)$", path.read_text(), re.MULTILINE)
            if found is None or found[1] != socket.gethostname():
                continue
            process = int(found[2])
            if not is_alive(process) or stat_fields(process)[START] != found[3]:
                path.unlink()


def print_environment(arguments: argparse.Namespace) -> int:
    """Print lines for a shell that record the MPI programs it starts."""
    settings = settings_path(arguments, 0)
    write_lines(*export_lines(prepare(arguments, settings), settings))
    return 0


def await_first(settings: Path) -> None:
    """Wait until the first rank has prepared; of a node one process at a time looks for it.

    Thousands of ranks would keep a parallel file system busy. The others wait for a lock, which
    takes no look.
    """
    deadline, pause_s = time.monotonic() + PATIENCE_S, PAUSE_S
    lock = Path(tempfile.gettempdir()) / f"hindmost-{os.getuid()}-{settings.stem}.lock"
    with ExitStack() as stack:
        with suppress(OSError):  # without a lock each looks
            stack.enter_context(one_at_a_time(lock))
        while not settings.exists() and time.monotonic() < deadline:
            time.sleep(pause_s)
            pause_s = min(2.0 * pause_s, MAX_PAUSE_S)
        lock.unlink(missing_ok=True)


def follow(arguments: argparse.Namespace, program: list[str], rank: int) -> None:
    """Become the program, on a rank that is not the first; the first prepares and converts."""
    settings, text = settings_path(arguments, rank if arguments.inject else 0), ""
    if not arguments.inject:
        await_first(settings)
        if not settings.exists():  # the first rank may still compile the recorder
            library_to_preload(arguments.mpicc)
    with suppress(OSError):
        text = settings.read_text()
    found = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    if PAGES in found:
        follow_node(Path(found[PAGES]))
    if LIBRARY in found:
        library = Path(found[LIBRARY])
    else:  # it draws its own noise, or the first rank is late or has ended
        settings = settings_path(arguments, rank)  # only the first rank's says where the run was
        library = prepare(arguments, settings)
    become_program(program, {**os.environ, **variables(library, settings)})


def record(arguments: argparse.Namespace, program: list[str]) -> int:
    """Run the program with the recorder preloaded; then write the run files."""
    mine = assigned_rank()
    if mine.rank > 0:
        follow(arguments, program, mine.rank)
    blocked = hold_signals()
    original = dict(os.environ)
    settings, own = settings_path(arguments, 0), uuid4().hex[:8]
    if not mine.launcher:  # nobody else looks for them
        settings = settings.with_name(f"{settings.stem}-{own}{SETTINGS_SUFFIX}")
    told = settings.with_name(f"{settings.stem}-{own}.status")
    stop = stop_request(arguments)
    pages = TemporaryDirectory(prefix="hindmost-", ignore_cleanup_errors=True)
    try:
        library = prepare(arguments, settings, pages.name)
        told.touch(mode=0o600)
        told.write_text(owner_line())
        clear_left(arguments.out)
        added = {**variables(library, settings, original), STATUS: str(told)}
        environment = {**original, **added}
        ended = run_watched(program, environment, blocked, Path(pages.name), arguments, stop)
        outcome = read_outcome(told)
    finally:
        for path in (told, settings, *settings.parent.glob(f"{settings.stem}-*{SETTINGS_SUFFIX}")):
            path.unlink(missing_ok=True)
        pages.cleanup()
        release_signals({*blocked, *PUT_OFF})
    try:
        failed = 0
        if outcome.removed:
            warn(reports_gone(told, arguments.out))
        else:
            failed = finish(outcome, arguments, ended)
    finally:
        release_signals(blocked)
    return end_as(ended.status) if ended.status else failed


def stop_request(arguments: argparse.Namespace) -> StopRequest | None:
    """Return how the program is to be told to stop; None if it is not to be."""
    from hindmost.harness.attach.limit import StopRequest

    return StopRequest.of(
        arguments.stop_before, arguments.signal, arguments.stop_file, arguments.end_takes
    )


def run_watched(
    program: list[str],
    environment: dict[str, str],
    blocked: set[signal.Signals],
    pages: Path,
    arguments: argparse.Namespace,
    request: StopRequest | None,
) -> Ended:
    """Run the program and watch it; tell it to stop before its time is up, if that is asked for."""
    from hindmost.harness.attach.borders import NodeBorders
    from hindmost.harness.attach.stop import POLL_S, ProgramWatch

    watch = ProgramWatch(pages, request, arguments.out, warn)
    borders = NodeBorders(pages)

    def poll() -> None:
        watch.poll()
        borders.poll()

    ended = run_program(program, environment, blocked, poll, POLL_S)
    watch.end(ended.status)
    return ended


def finish(outcome: Outcome, arguments: argparse.Namespace, ended: Ended) -> int:
    """Convert what was recorded and say what was not.

    The status is 0 if the program could be recorded at all: its own counts, whatever was found.
    """
    reason = problem(outcome, ended)
    if reason:
        warn(reason)
    if not outcome.processes:
        return MissingError.exit_status
    mine = assigned_rank()
    alone = singletons(outcome, Path(ended.words[0]).name, mine)
    if alone:
        warn(alone)
    for process in outcome.processes:
        if process.failure:
            warn(cut_off(process, arguments.out))
        if process.rank:
            continue
        over = not mine.launcher
        if not process.finished:
            warn(ended_early(arguments.out, over=over))
        if process.finished or over:
            from hindmost.harness.attach.convert import convert_ended

            convert_ended(process, arguments.out, arguments.iterate_at)
    return 0


def convert_left(arguments: argparse.Namespace) -> int:
    """Convert what programs left in a folder, also those that ended early."""
    from hindmost.harness.attach.convert import convert_all
    from hindmost.harness.attach.raw import SUFFIX
    from hindmost.harness.attach.settings import iteration_call
    from hindmost.harness.mpi import start
    from hindmost.harness.rank_failures import perform_together
    from hindmost.harness.runfile.provenance import mpi_library

    folder, iterate_at = arguments.convert, arguments.iterate_at
    out = arguments.out or (folder.parent if folder.name.endswith(SUFFIX) else folder)
    call = iteration_call(iterate_at) if iterate_at else None
    keep = read_share(arguments.keep, "--keep") if arguments.keep else None
    mine = assigned_rank()
    if mine.size == 1:
        for file in convert_all(folder, out, warn, call, keep=keep):
            write_lines(str(file))
        return 0
    communicator = start()
    check_size(communicator.size, mpi_library(), mine)

    def perform_on_all() -> int:
        files = convert_all(folder, out, warn, call, communicator, keep)
        if communicator.rank == 0:
            write_lines(*map(str, files))
        return 0

    return perform_together(communicator.Dup(), perform_on_all)
