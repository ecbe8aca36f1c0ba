"""The same conclusions from all calls of a program and from those that its budget keeps.

    python -m benchmarks.bounded_records [STEPS [FOLDER]]

``peers/virtual_time.c`` has the recorder linked in and runs in virtual time, so that both records
of a program have the same times to the nanosecond: once all of its calls, once those that a budget
of 1 MiB a rank keeps. Of each of the `PROGRAMS` a line says what `show` and `whatif` conclude from
either: the rank, the calls at both ends of the stretch, its share of the time, iterations that
come back longer, growth, and what equal work would save. They agree where the words are the same
and the shares and gains differ by less than `MAX_APART`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.terms import PEERS, settings_for

import hindmost
from hindmost.analysis.runs.attached import AttachedRun, attached_programs
from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import group_runs
from hindmost.analysis.show.facts import GrowingWork, RecurringWork, UnequalWork
from hindmost.analysis.whatif.gains import remedies_of
from hindmost.harness.attach.convert import convert_all
from hindmost.harness.recorder.build import FLAGS, OBJECT, recorder_library
from hindmost.harness.stack import current_stack
from hindmost.output import write_lines

BIN = Path(sys.executable).parent
SOURCE = PEERS / "virtual_time.c"
STEPS, RANKS, SEED = 24_000, 2, 31
MEMORY = "2MiB"
MAX_APART = 0.02
"""Of the run's time."""
PROGRAMS = (
    *((layout, "none", 0, 0.0) for layout in ("halo", "waitall", "rooted", "sweep")),
    *((layout, "constant", 1, 0.02) for layout in ("halo", "waitall", "rooted", "sweep")),
    *(("halo", "constant", 0, seconds) for seconds in (0.006, 0.05, 0.2)),
    *((layout, "every", 1, 0.02) for layout in ("halo", "waitall", "rooted")),
    *((layout, "growing", 0, 0.02) for layout in ("halo", "waitall", "sweep")),
    *((layout, "part", 1, 0.02) for layout in ("halo", "waitall")),
    ("halo", "detours", 1, 0.05),
)
"""Layout, kind, rank and seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusions:
    """What hindmost concludes from a run: words, and parts of its time."""

    words: tuple[str, ...]
    parts: tuple[float, ...]

    @classmethod
    def of(cls, run: AttachedRun) -> Conclusions:
        """Return those of a run."""
        words, parts = [], []
        for fact in run.facts:
            match fact:
                case UnequalWork(culprit=None):
                    words.append("no straggler")
                case UnequalWork():
                    sure = "" if fact.sure else " in doubt"
                    words.append(f"{fact.subject}{sure} {fact.where}")
                case RecurringWork(recurring=recurring):
                    words.append(f"{fact.subject} every {recurring.rule.every}th")
                case GrowingWork():
                    words.append(f"{fact.subject} grows")
                case _:
                    continue
            parts.append(fact.share or 0.0)
        gain = remedies_of(run.run).balanced
        words.append("no gain known" if gain is None else "gain")
        parts.append(0.0 if gain is None else gain.saved_s / run.run.solve_time_s)
        return cls(words=tuple(words), parts=tuple(parts))

    def agrees(self, other: Conclusions) -> bool:
        """Tell whether two runs lead to the same conclusions."""
        if self.words != other.words:
            return False
        pairs = zip(self.parts, other.parts, strict=True)
        return all(abs(one - two) < MAX_APART for one, two in pairs)

    def __str__(self) -> str:
        """Write them on a line."""
        pairs = zip(self.words, self.parts, strict=True)
        return "; ".join(f"{word} {100.0 * part:.1f} %" for word, part in pairs)


def compiled(folder: Path) -> Path:
    """Return the program, with the recorder in it."""
    program = folder / "virtual_time"
    command = [current_stack().mpicc, *FLAGS, "-g", "-O1", "-rdynamic", "-o", str(program)]
    parts = [str(SOURCE), str(recorder_library(form=OBJECT))]
    subprocess.run([*command, *parts, "-lpthread", "-ldl", "-lm"], check=True)
    return program


def recorded(program: Path, folder: Path, words: tuple[str, ...], memory: str) -> AttachedRun:
    """Return the run of a program, with the calls that a budget keeps, or all without one."""
    folder.mkdir(parents=True)
    settings = settings_for(folder, memory=memory or "512MB", all_calls=not memory)
    (folder / "out").mkdir()
    environment = {**os.environ, "HINDMOST_ATTACH": str(settings)}
    start = [str(BIN / "mpiexec"), "-n", str(RANKS), str(program), *words]
    subprocess.run(start, check=True, env=environment, capture_output=True, timeout=600)
    (file,) = convert_all(folder / "out", folder / "out")
    runs = [hindmost.open(file)]
    (found,) = attached_programs(runs, findings_of(group_runs(runs), read_large=False))
    return found.runs[0]


def main(steps: int, folder: Path) -> None:
    """Print what is concluded from either record of each program."""
    program = compiled(folder)
    agreed = 0
    for number, (layout, kind, rank, seconds) in enumerate(PROGRAMS):
        words = (layout, kind, str(rank), str(seconds), str(steps), str(SEED + number))
        runs = [
            recorded(program, folder / f"{number}-{name}", words, memory)
            for name, memory in (("all", ""), ("bounded", MEMORY))
        ]
        whole, bounded = map(Conclusions.of, runs)
        same = whole.agrees(bounded)
        agreed += same
        unit = runs[1].run.header.spec["attached"].get("summed", {}).get("unit", 1)
        full = runs[1].run.bodies - runs[1].run.summed
        write_lines(
            f"{layout} {kind} {seconds:g} rank {rank}: {'same' if same else 'NOT the same'} "
            f"(units of {unit}, {full:,} of {runs[1].run.bodies:,} in full)",
            f"    all     {whole}",
            f"    bounded {bounded}",
            flush=True,
        )
    write_lines(f"{agreed} of {len(PROGRAMS)} the same.")


if __name__ == "__main__":
    given = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        main(int(given[0]) if given else STEPS, Path(given[1] if len(given) > 1 else scratch))
