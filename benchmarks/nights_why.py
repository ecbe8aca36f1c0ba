"""Regressions put into nights of a program, and whether history names their kind and place.

    python -m benchmarks.nights_why [FOLDER] [SEED]

A program of four stretches of work (``peers/injected_delays.c``) is recorded by ``hindmost attach``
on two ranks: runs as they are, and for each of 50 regressions as many runs as a change needs to be
confirmed. There are ten of each kind: more work in one stretch, more work of one rank in one
stretch, more iterations, a machine that is slower (every other one with another name), and another
option. Nights are recorded results, those before the regression drawn from all runs as they are,
with a new commit each night.

*Right* is a change whose cause has the kind and names the place: the stretch by the calls at both
ends, the rank, the option with both values, both numbers of iterations, both hosts. Code is
*blamed* where the machine, the input or the iterations did it and the cause is a rank or a stretch.
FOLDER keeps the recorded runs for the next time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks.injected_delays import BIN, CALLS, LIMIT_S, SOURCE

from hindmost.analysis.history.causes import Cause, CauseKind
from hindmost.analysis.history.change_groups import group_changes
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.readers.format import CaseResult
from hindmost.analysis.readers.formats.run_history import RUN_HISTORY
from hindmost.analysis.readers.gather_history import HistoryGathering
from hindmost.analysis.readers.remarks import Remarks
from hindmost.harness.stack import current_stack

SEED, EACH, BASE, BEFORE, AFTER = 48, 10, 24, 15, 5
"""Seed; regressions of a kind; runs as they are; nights before a regression and from it on."""
STEPS, STEP_S = 60, 10e-3
LEAST, MOST = 0.1, 0.3
"""Additional work of a step, as a share of its work."""
DAY_S = 86400.0
FIRST_S = 1.7e9
CODE = (CauseKind.STRETCH, CauseKind.RANK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """What is put into some nights.

    Attributes
    ----------
    kind : CauseKind
    words : tuple of str
        Of the program's command line.
    factor : float
        How many times as long all work takes, as on another machine.
    host : str
        The other machine's name; empty if it is the same.
    names : tuple of str
        What the cause must name.
    """

    kind: CauseKind | None
    words: tuple[str, ...]
    factor: float = 1.0
    host: str = ""
    names: tuple[str, ...] = ()


PLAIN = Regression(kind=None, words=(str(STEPS), "none", "0", "0", "0"))


def regressions(random: np.random.Generator) -> Iterator[Regression]:
    """Yield the regressions, drawn."""
    for number in range(EACH):
        stretch, rank = (int(random.integers(end)) for end in (len(CALLS), 2))
        more = float(random.uniform(LEAST, MOST))
        ends = (CALLS[stretch - 1], CALLS[stretch])
        place = f"between {ends[0]} in main (injected_delays.c:", f"and {ends[1]} in main ("
        added = (str(STEPS), "constant", str(stretch))
        yield Regression(
            kind=CauseKind.STRETCH, words=(*added, "-1", f"{more * STEP_S:.6f}"), names=place
        )
        yield Regression(
            kind=CauseKind.RANK,
            words=(*added, str(rank), f"{more * STEP_S:.6f}"),
            names=(*place, f"rank {rank}"),
        )
        steps = round(STEPS * (1.0 + more))
        yield Regression(
            kind=CauseKind.ITERATIONS,
            words=(str(steps), *PLAIN.words[1:]),
            names=(str(STEPS), str(steps)),
        )
        host = "elsewhere" if number % 2 else ""
        yield Regression(
            kind=CauseKind.MACHINE,
            words=PLAIN.words,
            factor=1.0 + more,
            host=host,
            names=(host, "every stretch"),
        )
        sweeps = int(random.integers(5, 9))
        yield Regression(
            kind=CauseKind.INPUT,
            words=(*PLAIN.words, "-sweeps", str(sweeps)),
            names=("-sweeps", str(sweeps)),
        )


def recorded(program: Path, folder: Path, what: Regression) -> CaseResult:
    """Run the program under attach, unless that was done; return its result."""
    if not list(folder.glob("*.h5")):
        start = [BIN / "mpiexec", "-n", "2", BIN / "hindmost", "attach", "--out", folder]
        words = [*map(str, start), "--", str(program), *what.words]
        environment = {**os.environ, "DELAYS_FACTOR": str(what.factor)}
        subprocess.run(words, check=True, capture_output=True, timeout=LIMIT_S, env=environment)
    (path,) = folder.glob("*.h5")
    (entry,) = RUN_HISTORY.read(path, "", Remarks())
    if not isinstance(entry, CaseResult):
        raise SystemExit(f"{path}: {entry}")
    return entry


def night(entry: CaseResult, number: int, host: str) -> CaseResult:
    """Return a result as that of a night with its own commit, and perhaps on another machine."""
    session = entry.session
    known = session.circumstances
    if host:
        known = replace(known, machine={**known.machine, "host": host})
    session = replace(
        session,
        time=FIRST_S + number * DAY_S,
        machine=host or session.machine,
        commits={"": f"{number:07x}"},
        circumstances=known,
    )
    return replace(entry, session=session)


def explained(nights: list[CaseResult]) -> Cause | None:
    """Return the cause of the first change that the report names; None if none is found."""
    gathering = HistoryGathering()
    gathering.add(nights)
    groups = group_changes(judge_history(gathering.history("nights")))
    return groups[0].findings[0].cause if groups else None


def main(folder: Path, seed: int) -> None:
    """Print a line for each regression, and how many are right."""
    random = np.random.default_rng(seed)
    program = folder / "injected_delays"
    subprocess.run([current_stack().mpicc, "-g", "-O2", "-o", program, SOURCE], check=True)
    drawn = list(regressions(random))
    places = [(PLAIN, folder / f"base-{number}") for number in range(BASE)] + [
        (what, folder / f"{at}-{number}")
        for at, what in enumerate(drawn)
        for number in range(AFTER)
    ]
    results = [recorded(program, place, what) for what, place in places]
    base, after = results[:BASE], results[BASE:]
    right: Counter[str] = Counter()
    blamed = 0
    for at, what in enumerate(drawn):
        before = [base[place] for place in random.choice(BASE, BEFORE, replace=False)]
        later = after[at * AFTER : (at + 1) * AFTER]
        cause = explained(
            [night(each, number, "") for number, each in enumerate(before)]
            + [night(each, BEFORE + number, what.host) for number, each in enumerate(later)]
        )
        text = "no change" if cause is None else cause.text
        good = cause is not None and cause.kind == what.kind
        good = good and all(name in text for name in what.names)
        in_vain = cause is not None and cause.kind in CODE and what.kind not in CODE
        right[str(what.kind)] += good
        blamed += in_vain
        verdict = "right" if good else "BLAMED" if in_vain else "wrong"
        print(f"{verdict:7}{what.kind}: {text}", flush=True)  # noqa: T201
        if not good:
            print(f"       {' '.join(what.words)}, times {what.factor:.2f}")  # noqa: T201
    kinds = ", ".join(f"{kind} {count} of {EACH}" for kind, count in right.items())
    print(f"{right.total()} of {len(drawn)} right ({kinds}); code blamed in vain: {blamed}")  # noqa: T201


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    if len(sys.argv) > 1:
        place = Path(sys.argv[1])
        place.mkdir(exist_ok=True)
        main(place, seed)
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch), seed)
