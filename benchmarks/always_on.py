"""A recorder that is in every job must never fail one: faults of ours, and what the program does.

    make bench-always-on          # 1,000 tries (some 10 min)

Each try runs one MPI program in an environment as ``attach --print env`` leaves it, with one fault:
settings that are damaged or gone, a folder that is gone or full (for root), little memory, a
recorder that is damaged or for another MPI, a signal at any moment. The program's output and exit
status must be those that it has without hindmost.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hindmost.harness.attach.environment import PRELOAD, SETTINGS
from hindmost.harness.recorder.build import recorder_library
from hindmost.harness.recorder.prebuilt import build_recorders
from hindmost.harness.stack import current_stack
from hindmost.output import write_lines

PROGRAM = """
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
static volatile sig_atomic_t asked;
static void ask(int number) { asked = number; }
int main(int count, char **words) {
  double own = 1, all = 0;
  signal(SIGUSR1, ask);
  MPI_Init(&count, &words);
  for (int step = 0; step < 3000; step++) {
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    own = all + step;
  }
  printf("%g %d\\n", all, asked == SIGUSR1);
  MPI_Finalize();
  return 7;
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One try: where it is, what the program gets, and what happens to it."""

    folder: Path
    settings: Path
    out: Path
    environment: dict[str, str]
    chance: random.Random


def damaged_settings(trial: Trial) -> None:
    """Change bytes of the settings, and cut them."""
    data = bytearray(trial.settings.read_bytes())
    for _ in range(trial.chance.randint(1, 40)):
        data[trial.chance.randrange(len(data))] = trial.chance.randrange(256)
    trial.settings.write_bytes(data[: trial.chance.randint(0, len(data))])


def no_settings(trial: Trial) -> None:
    """Remove the settings."""
    trial.settings.unlink()


def no_folder(trial: Trial) -> None:
    """Remove the folder; half of the time a file stands there."""
    trial.settings.rename(trial.folder / "settings")
    trial.environment[SETTINGS] = str(trial.folder / "settings")
    shutil.rmtree(trial.out)
    if trial.chance.random() < 0.5:
        trial.out.touch()


def damaged_recorder(trial: Trial) -> None:
    """Cut the recorder's file."""
    whole = Path(trial.environment[PRELOAD]).read_bytes()
    cut = trial.folder / "recorder.so"
    cut.write_bytes(whole[: trial.chance.choice((0, 10, 64, 600))])
    trial.environment[PRELOAD] = str(cut)


def other_recorders(trial: Trial) -> None:
    """Preload the library that chooses, where no recorder is for this MPI."""
    trial.environment[PRELOAD] = os.environ["HINDMOST_CHOOSER"]


def nothing(trial: Trial) -> None:
    """Leave it."""
    del trial


def full_folder(trial: Trial) -> None:
    """Put a file system of 8 KB where the folder is."""
    text = trial.settings.read_text()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", trial.out], check=True)
    trial.settings.write_text(text)


def little_memory() -> None:
    """Limit the address space of the program."""
    room = 420 << 20  # the program alone needs less; the recorder's records do not fit
    resource.setrlimit(resource.RLIMIT_AS, (room, room))


FAULTS: dict[str, tuple[Callable[[Trial], None], Callable[[], None] | None]] = {
    "settings damaged": (damaged_settings, None),
    "no settings": (no_settings, None),
    "no folder": (no_folder, None),
    "recorder damaged": (damaged_recorder, None),
    "another MPI": (other_recorders, None),
    "folder full": (full_folder, None),
    "little memory": (nothing, little_memory),
    "a signal": (nothing, None),
}


def run(program: Path, trial: Trial, fault: str) -> tuple[str, int]:
    """Run the program with a fault; return its output and its status."""
    prepare, limit = FAULTS[fault]
    prepare(trial)
    process = subprocess.Popen(
        [program],
        env=trial.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=limit,
        text=True,
        cwd=trial.folder,
    )
    if fault == "a signal":
        time.sleep(0.05 + 0.4 * trial.chance.random())
        process.send_signal(signal.SIGUSR1)
    output, _ = process.communicate(timeout=120)
    return output, process.returncode


def main(tries: int, seed: int) -> int:
    """Try each fault as often as the others; say what differed."""
    chance = random.Random(seed)
    faults = [fault for fault in FAULTS if fault != "folder full" or os.geteuid() == 0]
    changed: Counter[str] = Counter()
    done: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source, program = folder / "program.c", folder / "program"
        source.write_text(PROGRAM)
        subprocess.run([current_stack().mpicc, "-O1", "-o", program, source], check=True)
        (own,) = build_recorders(folder / "recorders", [current_stack().mpicc])
        own.unlink()
        (chooser,) = (folder / "recorders").iterdir()
        os.environ["HINDMOST_CHOOSER"] = str(chooser)
        alone = subprocess.run([program], capture_output=True, text=True, check=False)
        for number in range(tries):
            fault = faults[number % len(faults)]
            place = folder / str(number)
            out = place / "runs"
            out.mkdir(parents=True)
            words: list[str | Path] = [
                sys.executable,
                "-m",
                "hindmost",
                "attach",
                "--print",
                "env",
                "--out",
                out,
            ]
            if not number:
                subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
                (model,) = out.glob(".attach-*.settings")
                text = model.read_text()
                first = str(out)
            settings = out / "job.settings"
            settings.write_text(text.replace(first, str(out)))
            environment = {**os.environ, PRELOAD: str(recorder_library()), SETTINGS: str(settings)}
            trial = Trial(
                folder=place, settings=settings, out=out, environment=environment, chance=chance
            )
            output, status = run(program, trial, fault)
            done[fault] += 1
            as_alone = status == alone.returncode and output.split()[:1] == alone.stdout.split()[:1]
            if fault != "a signal":
                as_alone &= output == alone.stdout
            if not as_alone:
                changed[fault] += 1
                write_lines(f"{fault} ({number}): status {status}, output {output!r}", flush=True)
            if fault == "folder full":
                subprocess.run(["umount", out], check=True)
            shutil.rmtree(place)
    for fault in FAULTS:
        write_lines(f"{fault:20} {done[fault]:5} tries, {changed[fault]} changed the program")
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:])) if sys.argv[1:] else main(1000, 1))
