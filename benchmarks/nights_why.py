"""Regressions put into nights of a program, and whether history names their kind and place.

    python -m benchmarks.nights_why [FOLDER] [SEED]

A program of four stretches of work (``peers/injected_delays.c``) is recorded by ``hindmost attach``
on two ranks as often as it takes. Its results, drawn at random, are nights with a new commit each;
into the last ones a regression is put, as it would stand in the results of a run: ten of each kind,
which are more work in one stretch, more work of one rank in one stretch (the other waits for it),
more iterations, a machine on which all takes longer (every other one with another name), and
another option that makes one stretch longer. First the program itself is delayed in a stretch of
one rank, to see that the recorded results are then as they are made here.

*Right* is a change whose cause has the kind and names the place: the stretch by the calls at both
ends, the rank, the option with both values, both numbers of iterations, both hosts. Code is
*blamed* where the machine, the input or the iterations did it and a cause there is a rank or a
stretch.
FOLDER keeps the recorded runs for the next time.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks.injected_delays import BIN, CALLS, LIMIT_S, SOURCE

from hindmost.analysis.history.causes import Cause, CauseKind
from hindmost.analysis.history.change_groups import group_changes
from hindmost.analysis.history.page.data import most_costly
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.readers.format import CaseResult
from hindmost.analysis.readers.formats.run_history import (
    ITERATION,
    ITERATIONS,
    RUN_HISTORY,
    SOLVE,
)
from hindmost.analysis.readers.gather_history import HistoryGathering
from hindmost.analysis.readers.remarks import Remarks
from hindmost.harness.stack import current_stack

SEED, EACH, RUNS, BEFORE, AFTER = 48, 10, 24, 15, 5
"""Seed; regressions of a kind; recorded runs; nights before a regression and from it on."""
STEPS, STEP_S = 60, 10e-3
LEAST, MOST = 0.1, 0.3
"""Additional work of a step, as a share of its work."""
NEAR = 2
"""Nights by which a change may be off."""
DAY_S = 86400.0
FIRST_S = 1.7e9
PLAIN = (str(STEPS), "none", "0", "0", "0")
DELAYED = (str(STEPS), "constant", "2", "1", "0.002")
CODE = (CauseKind.STRETCH, CauseKind.RANK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """What is put into some nights.

    Attributes
    ----------
    kind : CauseKind
    stretch, rank : int
        Of the additional work; rank -1 is all.
    more : float
        As a share of the work of a step, or of what becomes longer.
    host : str
        The other machine's name; empty if it is the same.
    """

    kind: CauseKind
    stretch: int
    rank: int
    more: float
    host: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """What the cause must name."""
        ends = CALLS[self.stretch - 1], CALLS[self.stretch]
        place = (f"between {ends[0]} in main (injected_delays.c:", f"and {ends[1]} in main (")
        return {
            CauseKind.STRETCH: (*place, "all ranks"),
            CauseKind.RANK: (*place, f"rank {self.rank} "),
            CauseKind.ITERATIONS: (f"{self.steps} iterations in place of {STEPS}",),
            CauseKind.MACHINE: (self.host, "every stretch of"),
            CauseKind.INPUT: ("-sweeps not given -> 6", *place),
        }[self.kind]

    @property
    def steps(self) -> int:
        """The other number of iterations."""
        return round(STEPS * (1.0 + self.more))

    def put_into(self, entry: CaseResult) -> CaseResult:
        """Return a result with the regression."""
        session, values = entry.session, dict(entry.values)
        known = session.circumstances
        if self.kind == CauseKind.ITERATIONS:
            values[SOLVE] *= self.steps / STEPS
            values[ITERATIONS] = self.steps
            command = f"injected_delays {self.steps} {' '.join(PLAIN[1:])}"
            known = replace(
                known, iterations=self.steps, inputs={**known.inputs, "command": command}
            )
        elif self.kind == CauseKind.MACHINE:
            times = [name for name in values if name != ITERATIONS]
            values |= {name: (1.0 + self.more) * values[name] for name in times}
            if self.host:
                known = replace(known, machine={**known.machine, "host": self.host})
                session = replace(session, machine=self.host)
        else:
            more_s, before = self.more * STEP_S, f"{CALLS[self.stretch]} in main"
            name = next(stretch for stretch in known.stretches if f"and {before}" in stretch)
            stretch = known.stretches[name]
            alone = self.rank >= 0
            values[SOLVE] += STEPS * more_s
            values[ITERATION] += more_s
            values[name] += more_s
            values[stretch.mean] += more_s / 2 if alone else more_s
            if alone:
                values["halo" if self.stretch < 2 else "wait"] += more_s
                own = replace(stretch, longest=self.rank)
                known = replace(known, stretches={**known.stretches, name: own})
            if self.kind == CauseKind.INPUT:
                known = replace(known, inputs={**known.inputs, "-sweeps": "6"})
        return replace(entry, session=replace(session, circumstances=known), values=values)


def regressions(random: np.random.Generator) -> Iterator[Regression]:
    """Yield the regressions, drawn."""
    kinds = (*CODE, CauseKind.ITERATIONS, CauseKind.MACHINE, CauseKind.INPUT)
    for number in range(EACH):
        for kind in kinds:
            yield Regression(
                kind=kind,
                stretch=int(random.integers(len(CALLS))),
                rank=int(random.integers(2)) if kind == CauseKind.RANK else -1,
                more=float(random.uniform(LEAST, MOST)),
                host="elsewhere" if kind == CauseKind.MACHINE and number % 2 else "",
            )


def recorded(program: Path, folder: Path, words: Sequence[str]) -> CaseResult:
    """Run the program under attach, unless that was done; return its result."""
    if not list(folder.glob("*.h5")):
        start = [BIN / "mpiexec", "-n", "2", BIN / "hindmost", "attach", "--out", folder]
        command = [*map(str, start), "--", str(program), *words]
        subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
    (path,) = folder.glob("*.h5")
    (entry,) = RUN_HISTORY.read(path, "", Remarks())
    if not isinstance(entry, CaseResult):
        raise SystemExit(f"{path}: {entry}")
    return entry


def night(entry: CaseResult, number: int) -> CaseResult:
    """Return a result as that of a night with its own commit."""
    session = replace(entry.session, time=FIRST_S + number * DAY_S, commits={"": f"{number:07x}"})
    return replace(entry, session=session)


def explained(nights: list[CaseResult]) -> list[Cause]:
    """Return the causes of the changes where the regression is, the most costly first."""
    gathering = HistoryGathering()
    gathering.add(nights)
    groups = group_changes(judge_history(gathering.history("nights")))
    findings = [
        finding
        for group in groups
        for finding in group.findings
        if abs(finding.change.index - BEFORE) <= NEAR
    ]
    found = most_costly(findings)
    first = [found] if found is not None else []
    return [each.cause for each in [*first, *findings] if each.cause is not None]


def as_recorded(base: Sequence[CaseResult], delayed: CaseResult) -> str:
    """Say what is recorded of a delay, and what `Regression.put_into` makes of it."""
    stretch, rank, seconds = (float(word) for word in DELAYED[2:])
    made = Regression(
        kind=CauseKind.RANK, stretch=int(stretch), rank=int(rank), more=seconds / STEP_S
    ).put_into(base[0])
    names = [name for name in made.values if made.values[name] != base[0].values[name]]
    rows = [
        f"{name}: {(made.values[name] - base[0].values[name]) * 1e3:.2f} ms made, "
        f"{(delayed.values[name] - np.median([each.values[name] for each in base])) * 1e3:.2f} "
        "recorded"
        for name in names
    ]
    return "; ".join(rows)


def main(folder: Path, seed: int) -> None:
    """Print a line for each regression, and how many are right."""
    random = np.random.default_rng(seed)
    program = folder / "injected_delays"
    subprocess.run([current_stack().mpicc, "-g", "-O2", "-o", program, SOURCE], check=True)
    base = [recorded(program, folder / f"base-{number}", PLAIN) for number in range(RUNS)]
    print(as_recorded(base, recorded(program, folder / "delayed", DELAYED)), flush=True)  # noqa: T201
    right: Counter[str] = Counter()
    blamed = 0
    for what in regressions(random):
        drawn = [base[place] for place in random.choice(RUNS, BEFORE + AFTER, replace=False)]
        nights = [
            night(each if number < BEFORE else what.put_into(each), number)
            for number, each in enumerate(drawn)
        ]
        causes = explained(nights)
        cause = causes[0] if causes else None
        text = "no change" if cause is None else cause.text
        good = cause is not None and cause.kind == what.kind
        good = good and all(name in text for name in what.names)
        in_vain = what.kind not in CODE and any(cause.kind in CODE for cause in causes)
        right[str(what.kind)] += good
        blamed += in_vain
        verdict = "right" if good else "BLAMED" if in_vain else "wrong"
        print(f"{verdict:7}{what.kind}: {text}", flush=True)  # noqa: T201
        if not good:
            print(f"       {what}")  # noqa: T201
    kinds = ", ".join(f"{kind} {count} of {EACH}" for kind, count in right.items())
    print(f"{right.total()} right ({kinds}); code blamed in vain: {blamed}")  # noqa: T201


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    if len(sys.argv) > 1:
        place = Path(sys.argv[1])
        place.mkdir(exist_ok=True)
        main(place, seed)
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch), seed)
