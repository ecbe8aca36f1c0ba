"""The process that calls verbs on hostile files: it may hang, or take all memory that it is given.

``python -m tests.fuzz.calls FOLDER KIND,KIND SEED FILES SECONDS [heavy]`` adds one line of JSON to
``FOLDER/faults.jsonl`` for each call that ended as no call should, and one with the number of calls
after each kind. ``FOLDER/under-way`` names the call that is being made.
"""

import contextlib
import io
import json
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.kinds import KINDS, Call

from hindmost.errors import HindmostError

STATUSES = (None, 0, 1, 2, 3, 4, 75)
"""What calls end with; 70 is a defect of hindmost."""
LONGEST_S = 30.0
"""Of processor time, a watchdog: no call on files of some kilobytes takes a tenth of it."""
MORE_BYTES = 2 << 30
"""Address space beyond what the process has when all is imported."""
CALLS_A_FILE = 3


class TooLongError(BaseException):
    """A call has not ended."""


def limit_memory() -> None:
    """Let the process have a bounded amount of memory more than it has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    room = pages * resource.getpagesize() + MORE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (room, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def give_up(*_: object) -> None:
    raise TooLongError


def fault_of(call: Call) -> str:
    """Make a call; returns what is wrong with how it ended, nothing if it is as documented."""
    err = io.StringIO()
    status: object = None
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            status = call()
    except HindmostError as error:
        status = error.exit_status
    except OSError as error:
        status = 3 if error.strerror else None
    except SystemExit as ended:
        status = ended.code
    except TooLongError:
        return f"not ended after {LONGEST_S:.0f} s: {traceback.format_exc()[-3000:]}"
    except BaseException:
        return traceback.format_exc()[-3000:]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    if "Traceback (most recent" in err.getvalue():
        return err.getvalue()[-3000:]
    return "" if status in STATUSES else f"status {status}: {err.getvalue()[-1000:]}"


def main(
    folder: Path, kinds: list[str], *, seed: int, files: int, seconds: float, heavy: bool
) -> None:
    """Change files of some kinds and make calls, until there were enough or the time is over."""
    for kind in kinds:
        inside = folder / kind
        inside.mkdir()
        made = calls_on(kind, inside, seed=seed, files=files, seconds=seconds, heavy=heavy)
        tell(folder, {"done": made, "kind": kind})


def calls_on(kind: str, folder: Path, *, seed: int, files: int, seconds: float, heavy: bool) -> int:
    """Make calls on changed files of a kind; returns how many were made."""
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    specimen = KINDS[kind](folder)
    calls = specimen.calls | (specimen.heavy if heavy else {})
    for name, call in calls.items():
        if wrong := fault_of(call):  # what is compiled or imported is no part of the limits
            tell(folder.parent, {"kind": kind, "call": name, "wrong": wrong})
    limit_memory()
    made, until = 0, time.process_time() + seconds
    for number in range(files):
        if time.process_time() > until:
            break
        random = np.random.default_rng([seed, number])
        try:
            change = specimen.change(random)
        except Exception:  # changes that do not go together
            continue
        for name in random.permutation(list(calls))[:CALLS_A_FILE]:
            about = {"kind": kind, "seed": [seed, number], "call": str(name), "change": change}
            (folder.parent / "under-way").write_text(json.dumps(about))
            made += 1
            if wrong := fault_of(calls[str(name)]):
                tell(folder.parent, {**about, "wrong": wrong})
    return made


def tell(folder: Path, line: dict[str, Any]) -> None:
    """Add a line to what was found."""
    with (folder / "faults.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    signal.signal(signal.SIGPROF, give_up)
    _, where, kinds, seed, files, seconds, *more = sys.argv
    main(
        Path(where),
        kinds.split(","),
        seed=int(seed),
        files=int(files),
        seconds=float(seconds),
        heavy="heavy" in more,
    )
