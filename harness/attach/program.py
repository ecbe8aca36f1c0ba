"""Start a program in place of this process, as far as launcher, terminal and shell can tell.

The program inherits all open files (MPICH's launcher talks to its ranks over one), gets the signals
that this process is sent, and this process ends as it ended.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from hindmost.errors import UsageError

FORWARDED = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGXCPU,
)
RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these; a program expects their default."""
PUT_OFF = (signal.SIGTERM, signal.SIGHUP)
"""With these a launcher ends the ranks of a program that fails; Open MPI does so as soon as one has
ended. What was recorded is converted first."""
FROM_KERNEL = 128
"""``SI_KERNEL``: the terminal sent the signal to the whole foreground group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How the program that was started has ended, as its parent saw it.

    Attributes
    ----------
    words : tuple of str
        Its command line.
    process : int
    image : str
        What the system calls the program that the process was in the end, its first 15 letters;
        empty if it does not tell.
    status : int
        Exit status; the negative number of the signal that ended it.
    """

    words: tuple[str, ...]
    process: int
    image: str
    status: int


def hold_signals() -> set[signal.Signals]:
    """Block the signals that are to be forwarded; return those that were blocked before.

    To be called before any thread starts, as those of a numerical library: they would take signals.
    """
    if signal.getsignal(signal.SIGCHLD) is not signal.SIG_DFL:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*FORWARDED, signal.SIGCHLD})
    return {signal.Signals(each) for each in before}


def run_program(
    words: Sequence[str],
    environment: Mapping[str, str],
    blocked: set[signal.Signals],
    poll: Callable[[], None] | None = None,
    every_s: float = 1.0,
) -> Ended:
    """Run a program until it ends.

    Parameters
    ----------
    words : sequence of str
        The command line.
    environment : mapping
    blocked : set of signals
        Those that the program is to have blocked; see `hold_signals`, which was called before.
    poll : callable, optional
        Called again and again while the program runs.
    every_s : float
        How often.

    Raises
    ------
    UsageError
        It cannot be started.
    """
    try:
        child = os.posix_spawnp(
            words[0], list(words), environment, setsigmask=blocked, setsigdef=RESTORED
        )
    except OSError as error:
        raise not_started(words[0], error) from error
    waited = {*FORWARDED, signal.SIGCHLD}
    while True:
        if poll is None:
            info = signal.sigwaitinfo(waited)
        elif (at_once := signal.sigtimedwait(waited, every_s)) is None:
            poll()
            continue
        else:
            info = at_once
        if info.si_signo == signal.SIGCHLD:
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                image = ""
                with suppress(OSError):  # it can be read as long as nobody has waited
                    comm = Path(f"/proc/{child}/comm").read_text(errors="replace")
                    image = comm.removesuffix("\n")
                _, status = os.waitpid(child, 0)
                return Ended(
                    words=tuple(words),
                    process=child,
                    image=image,
                    status=os.waitstatus_to_exitcode(status),
                )
        elif info.si_code != FROM_KERNEL or os.getpgid(child) != os.getpgrp():
            with suppress(ProcessLookupError):
                os.kill(child, info.si_signo)


def become_program(words: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by a program.

    Raises
    ------
    UsageError
        It cannot be started.
    """
    for number in RESTORED:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(words[0], list(words), environment)
    except OSError as error:
        raise not_started(words[0], error) from error


def not_started(word: str, error: OSError) -> UsageError:
    """Say why a program cannot be started."""
    why = error.strerror
    if isinstance(error, FileNotFoundError) and shutil.which(word):
        why = "the interpreter that it names is not there"
    return UsageError(f"{word} cannot be started: {why}.")


def release_signals(blocked: set[signal.Signals]) -> None:
    """Undo `hold_signals`, but for some; signals that came since the program ended take effect."""
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def end_as(status: int) -> int:
    """Return an exit status; end this process by the signal that ended the program."""
    if status >= 0:
        return status
    number = -status
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left its own core file
    with suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return 128 + number
