"""The kinds of files that are read, how each is changed, and what is called on it."""

import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.random import Generator
from tests.analysis.adaptive.files import write_machine
from tests.analysis.readers.experiment_files import SMALL, WRITERS
from tests.analysis.readers.experiment_files import assert_sound as sound_experiment
from tests.analysis.readers.history_files import WRITTEN
from tests.analysis.readers.history_files import assert_sound as sound_history
from tests.analysis.readers.saved_files import archive, document, version_4
from tests.analysis.watch.notes import RUNNING, note
from tests.fuzz.hdf5_files import hostile_copy
from tests.fuzz.texts import change_one
from tests.jobs.conftest import STUDY, plan_of

from hindmost.analysis.readers.read import read_experiment, read_history
from hindmost.cli import main
from hindmost.documents import parse_document
from hindmost.errors import HindmostError
from hindmost.harness.adaptive.checkpoint import read_part, read_setting
from hindmost.harness.adaptive.decks import deck_of
from hindmost.harness.runfile.checksum import append_checksum
from hindmost.harness.runfile.time_left import NOTE
from hindmost.harness.solo import Solo
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcomes import Cause, RunOutcome, write_outcome
from hindmost.jobs.study.read import shipped_studies

EARLIER = Path(__file__).parent.parent / "harness" / "earlier_files"
Call = Callable[[], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Specimen:
    """Files of one kind.

    Attributes
    ----------
    change : callable
        Puts changed files in the place of those before, and says what it changed.
    calls : dict of str to callable
        What is called on them.
    heavy : dict of str to callable
        What takes seconds each time, as drawing and fitting does.
    """

    change: Callable[[Generator], str]
    calls: dict[str, Call]
    heavy: dict[str, Call] = field(default_factory=dict)


def verb(*words: str | Path) -> Call:
    """Return the call of a verb."""
    return lambda: main([str(word) for word in words])


def run_files(folder: Path, *names: str, extra: dict[str, Call] | None = None) -> Specimen:
    """Return run files that earlier versions wrote."""
    whole = []
    for name in names:
        path = folder / f"{name}.whole"
        path.write_bytes(gzip.decompress((EARLIER / f"{name}.h5.gz").read_bytes()))
        whole.append(path)
    target, good = folder / "run.h5", folder / "good.h5"
    good.write_bytes(whole[0].read_bytes())
    target.write_bytes(whole[0].read_bytes())

    def change(random: Generator) -> str:
        return hostile_copy(whole[random.integers(len(whole))], target, random)

    calls = {
        "show": verb("show", target),
        "show --json": verb("show", target, "--json"),
        "check": verb("check", target),
        "efficiency": verb("show", "--efficiency", target, good),
        "efficiency --json": verb("show", "--efficiency", target, "--json"),
        "ranks": verb("show", "--ranks", target),
        "ranks --out": verb("show", "--ranks", target, "--out", folder / "ranks.html"),
        "history": verb("history", target, good),
        "scale": verb("scale", target, good),
    }
    heavy = {"report": verb("report", target, good, "--out", folder / "report.html")}
    return Specimen(change=change, calls=calls, heavy=heavy | (extra or {}))


def krylov(folder: Path) -> Specimen:
    """Return run files of solvers."""
    target, good = folder / "run.h5", folder / "good.h5"
    extra = {
        "fit --json": verb("fit", target, "--json"),
        "compare": verb("compare", target, good),
        "plot": verb("plot", target, "--out", folder),
    }
    return run_files(folder, "version-1-gmres", "version-1-pgmres", extra=extra)


def reduced(folder: Path) -> Specimen:
    """Return run files with some ranks only, and of own loops."""
    return run_files(folder, "version-2-reduced", "version-1-loop")


def adaptive(folder: Path) -> Specimen:
    """Return run files of adaptive runs."""
    target = folder / "run.h5"
    extra = {
        "report": verb("report", target, "--out", folder / "page.html"),
        "plot": verb("plot", target, "--out", folder),
    }
    return run_files(folder, "version-1-adaptive", extra=extra)


def checkpoint(folder: Path) -> Specimen:
    """Return checkpoints of adaptive runs."""
    whole, target = folder / "state.whole", folder / "state.h5"
    places = np.arange(16, dtype="i4")
    with h5py.File(whole, "w") as file:
        file.attrs.update({"schema": "hindmost-checkpoint", "schema_version": 1, "cycle": 1})
        file.attrs.update({"time": 0.5, "deck": DECK, "choices": "{}", "base": [4, 4]})
        file.attrs["cells"] = [16]
        file["i"], file["j"] = places % 4, places // 4
        file["level"] = np.zeros(16, "i1")
        file["state"] = np.ones((16, 4))
    append_checksum(whole)
    target.write_bytes(whole.read_bytes())

    def read() -> None:
        setting = read_setting(target)
        deck_of(parse_document(setting.deck, str(target)))
        read_part(target, setting, Solo())

    return Specimen(
        change=lambda random: hostile_copy(whole, target, random), calls={"restart": read}
    )


DECK = """
name = "small"
summary = "a test"
columns = 4
rows = 4
spacing = 0.25
levels = 1
steps = 2
"""


def watched(folder: Path) -> Specimen:
    """Return notes of programs that run."""
    target = note(folder, RUNNING) / NOTE
    text = target.read_text()

    calls = {
        "watch": verb("watch", folder, "--once"),
        "watch --json": verb("watch", folder, "--once", "--json"),
    }
    return Specimen(change=lambda random: change_one({target: text}, random), calls=calls)


def machine(folder: Path) -> Specimen:
    """Return files of machines, and decks."""
    path, deck = write_machine(folder / "machine.json"), folder / "deck.toml"
    words = ("whatif", "--adaptive", "--machine", path, "--deck", deck, "--ranks", "4")
    whole = {path: path.read_text(), deck: DECK}
    deck.write_text(DECK)
    return Specimen(
        change=lambda random: change_one(whole, random),
        calls={"whatif --adaptive": verb(*words, "--cycles", "10", "--budget", "10m")},
    )


def study(folder: Path) -> Specimen:
    """Return studies, and folders of studies with runs that are done and that failed."""
    source = folder / "study.toml"
    source.write_text(
        shipped_studies()["adaptive" if "adaptive" in shipped_studies() else min(shipped_studies())]
    )
    made = StudyFolder.create(folder / "study", plan_of([["true"]] * 4, allocations=2), STUDY)
    made.add_job("a0", "12", "local")
    for number, cause in enumerate((Cause.DONE, Cause.FAILED, Cause.CRASHED, Cause.FORGIVEN)):
        made.run(f"run-{number}").mkdir()
        outcome = RunOutcome(
            run=f"run-{number}",
            cause=cause,
            status=number,
            attempt=1,
            seconds=1.5,
            allocation="a0",
            job="12",
            nodes=("here",),
            files=(),
            message="no such solver",
        )
        write_outcome(made.run(f"run-{number}"), outcome)
    texts = [path for path in made.path.rglob("*") if path.suffix in (".json", ".jsonl")]
    whole = {each: each.read_text() for each in [source, *texts]}
    return Specimen(
        change=lambda random: change_one(whole, random),
        calls={
            "plan": verb("study", "plan", source),
            "status": verb("study", "status", made.path),
            "status --json": verb("study", "status", made.path, "--json"),
            "collect": verb("study", "collect", made.path),
        },
    )


def scaling(folder: Path) -> Specimen:
    """Return measurements over parameters, in every format of text."""
    whole = {
        folder / f"{name.replace(' ', '-')}.txt": write(SMALL)
        for name, (_, write) in WRITERS.items()
    }
    made = each_alone(folder, whole, {"scale": ("scale",), "scale --json": ("scale", "--json")})
    named = folder / "target" / "named.json"
    made.calls["what is read is sound"] = lambda: sound_experiment(read_experiment(named))
    return made


def saved(folder: Path) -> Specimen:
    """Return saved experiments of Extra-P, of which some bytes are changed or the end is cut."""
    target = folder / "saved.extra-p"
    packed = json.dumps(document(SMALL))
    whole = [version_4(SMALL), version_4(SMALL, kept=True)]
    target.write_bytes(whole[0])
    named = folder / "experiment.json"

    def change(random: Generator) -> str:
        number = int(random.integers(len(whole) + 1))
        if number == len(whole):
            named.write_text(packed)
            said = change_one({named: packed}, random)
            target.write_bytes(archive({named.name: named.read_bytes()}))
            return f"the document: {said}"
        data = bytearray(whole[number])
        places = random.integers(len(data), size=random.integers(4))
        for place in places:
            data[place] = random.integers(256)
        end = int(random.integers(len(data))) if random.random() < 0.3 else len(data)
        target.write_bytes(data[:end])
        return f"number {number}: bytes {places.tolist()}, cut at {end}"

    return Specimen(change=change, calls={"scale": verb("scale", target)})


def results(folder: Path) -> Specimen:
    """Return nightly results, in every format of text."""
    whole = {folder / f"{name}.json": text for name, text in WRITTEN.items()}
    calls = {"history": ("history",), "history --json": ("history", "--json")}
    made = each_alone(folder, whole, calls)
    named = folder / "target" / "named.json"
    made.calls["what is read is sound"] = lambda: sound_history(read_history(named))
    return made


def tables(folder: Path) -> Specimen:
    """Return tables with a row for every rank."""
    csv = "rank,host,compute [s],bytes [byte],messages\n" + "".join(
        f"{rank},n{rank // 2},{1 + 0.1 * rank},{rank * 8},{rank}\n" for rank in range(6)
    )
    caliper = "".join(f"__rec=ctx,mpi.rank={rank},region=main,time=1.{rank}\n" for rank in range(4))
    petsc = "Stage Name,Event Name,Rank,Count,Time,Num Messages,3\n" + "".join(
        f"Main Stage,{event},{rank},1,1.{rank},0.\n"
        for event in ("summary", "MatMult")
        for rank in range(3)
    )
    whole = {
        folder / "ranks.csv": csv,
        folder / "ranks.cali": caliper,
        folder / "petsc.csv": petsc,
    }
    ranks = ("show", "--ranks")
    return each_alone(folder, whole, {"ranks": ranks, "ranks --json": (*ranks, "--json")})


def each_alone(folder: Path, whole: dict[Path, str], calls: dict[str, tuple[str, ...]]) -> Specimen:
    """Return files of which one at a time is changed and read."""
    target = folder / "target"
    target.mkdir()
    named = target / "named.json"
    named.write_text(next(iter(whole.values())))

    def change(random: Generator) -> str:
        path = list(whole)[random.integers(len(whole))]
        return f"{path.name} as {change_one({named: whole[path]}, random)}"

    return Specimen(
        change=change,
        calls={name: verb(words[0], named, *words[1:]) for name, words in calls.items()},
    )


def state(folder: Path) -> Specimen:
    """Return states of histories, and notes on them."""
    data, kept, known = (folder / name for name in ("nights.csv", "state.json", "known.toml"))
    rows = "".join(f"2026-01-{day:02},m1,c,t,{1.0 + (day > 15)}\n" for day in range(1, 29))
    data.write_text("date,machine,case,timer,value\n" + rows)
    known.write_text(KNOWN)
    words = ("history", data, "--state", kept, "--ack", known)
    with suppress(HindmostError):
        main([str(word) for word in words])
    whole = {path: path.read_text() for path in (kept, known) if path.exists()}
    return Specimen(
        change=lambda random: change_one(whole, random), calls={"history --state": verb(*words)}
    )


KNOWN = """
version = 1
[[known]]
date = "2026-01-16"
machine = "m1"
case = "c"
timer = "t"
reason = "a new compiler"
"""
KINDS: dict[str, Callable[[Path], Specimen]] = {
    "krylov": krylov,
    "reduced": reduced,
    "adaptive": adaptive,
    "checkpoint": checkpoint,
    "watched": watched,
    "machine": machine,
    "study": study,
    "scaling": scaling,
    "saved": saved,
    "results": results,
    "tables": tables,
    "state": state,
}
