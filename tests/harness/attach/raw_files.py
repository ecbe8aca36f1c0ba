"""Raw files as the recorder of an attached program writes them, made by hand."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.harness.recorder.library import RECORD
from hindmost.harness.runfile.reader import Run

CALLS = {
    "MPI_Allreduce": "COLLECTIVE",
    "MPI_Startall": "STARTALL",
    "MPI_Waitall": "WAIT_ALL",
    "MPI_Iallreduce": "ICOLLECTIVE",
    "MPI_Wait": "WAIT_ONE",
    "MPI_File_sync": "FILE_IO",
}
HALO, WAIT, POST, OTHER = range(4)
PHASE_OF = (WAIT, HALO, HALO, POST, WAIT, OTHER)
COLLECTIVES = ("MPI_Iallreduce", "MPI_Wait")
PROGRAM, CLOCK, SECTION, RECORDS, NORMS, EDGES, END, OPTIONS, PART, PART_RECORDS = range(1, 11)
MODULES, CODES, PLACES, CHAIN_ENDS, CHAINS, CONTEXTS, PART_CONTEXTS, POLLS, BACK = range(11, 20)
US = 1000


def frame(kind: int, payload: bytes, number: int, rank: int = 0) -> bytes:
    """Return a frame with a right checksum."""
    head = struct.pack("<4sIQIII", b"HMRN", kind, len(payload), number, rank, 0)
    return head + struct.pack("<I", zlib.crc32(head + payload)) + payload


def framed(parts: list[tuple[int, bytes]], rank: int = 0) -> list[bytes]:
    """Return the numbered frames of a rank."""
    return [frame(kind, payload, at, rank) for at, (kind, payload) in enumerate(parts)]


@dataclass
class Stream:
    """The records of a section, made one after the other; times in nanoseconds."""

    begin: int
    at: int = 0
    records: list[tuple[int, ...]] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.at = self.begin

    def work(self, ns: int) -> Stream:
        """Let time pass outside of MPI."""
        self.at += ns
        return self

    def call(self, name: str, ns: int) -> Stream:
        """Make an MPI call."""
        number = list(CALLS).index(name)
        count = int(name in COLLECTIVES)
        self.records.append((self.at, self.at + ns, -1 - number, 0, PHASE_OF[number], 0, count))
        self.at += ns
        return self

    def mark(self, what: str | int, value: int = 0) -> Stream:
        """Note an instant."""
        letter = ord(what) if isinstance(what, str) else what
        self.records.append((self.at, value, letter, 0, 0, 0, 0))
        return self

    def monitor(self, iteration: int, norm: float) -> Stream:
        """Call the monitor of a solver."""
        self.norms.append(norm)
        return self.mark("I", iteration)

    @property
    def array(self) -> NDArray[np.void]:
        return np.array(self.records, RECORD)


def gmres(begin: int, iterations: int, *, restart: int = 30, work: int, step: int) -> Stream:
    """Return a GMRES whose iterations take ``step`` on every rank, of which ``work`` is local."""
    stream = Stream(begin).work(500).call("MPI_Allreduce", 1500)
    for iteration in range(iterations):
        if iteration % restart == 0:
            stream.work(US).mark("N")  # also between two cycles
        stream.monitor(iteration, 10.0**-iteration)
        stream.call("MPI_Startall", 100).work(work // 2).call("MPI_Waitall", 400)
        stream.work(work - work // 2).mark("O").call("MPI_Allreduce", step - work - 500).mark("N")
    stream.monitor(iterations, 10.0**-iterations)
    return stream.work(2 * US)


def cg(begin: int, iterations: int, *, work: int, step: int) -> Stream:
    """Return a CG: a body lasts from monitor to monitor."""
    stream = Stream(begin).work(US)
    for iteration in range(iterations + 1):
        stream.monitor(iteration, 2.0**-iteration)
        if iteration < iterations:
            stream.work(work).call("MPI_Allreduce", step - work)
    return stream.work(US)


@dataclass
class Raw:
    """The raw file of a node with one rank, frame by frame."""

    rank: int
    size: int
    program: dict[str, Any] = field(default_factory=dict)
    parts: list[tuple[int, bytes]] = field(default_factory=list)
    sections: int = 0
    offset_ns: int = 0

    def __post_init__(self) -> None:
        said = {
            "version": 4,
            "rank": self.rank,
            "size": self.size,
            "pid": 4_000_000 + self.rank,
            "host": "node-0",
            "program": ["/home/me/app", "-n", "7"],
            "mpi_library": "Open MPI v4.1.4",
            "petsc_version": "3.18.5",
            "scalar": "real",
            "call_names": list(CALLS),
            "call_classes": list(CALLS.values()),
            "cpu": self.rank,
            "cpuset": "0-3",
            "later": "unknown keys are passed over",
        }
        self.json(PROGRAM, {**said, **self.program}).clock(0)

    def add(self, kind: int, payload: bytes) -> Raw:
        self.parts.append((kind, payload))
        return self

    def json(self, kind: int, value: Any) -> Raw:
        return self.add(kind, json.dumps(value).encode())

    def clock(self, own_ns: int, trip_ns: int = 200) -> Raw:
        """Add a reading of the clock; rank 0's is its own."""
        offset_ns, trip_ns = (self.offset_ns, trip_ns) if self.rank else (0, 0)
        return self.add(CLOCK, struct.pack("<qqq", own_ns, own_ns + offset_ns, trip_ns))

    def section(
        self, stream: Stream, edges: tuple[tuple[int, int, int], ...] = (), **facts: Any
    ) -> Raw:
        """Add a section with what was recorded of it; ``rest``: what is not in its parts."""
        records = facts.pop("rest", stream.array)
        self.said(SECTION, stream, facts).add(RECORDS, records.tobytes())
        self.sections += 1
        if stream.norms:
            self.add(NORMS, np.array(stream.norms).tobytes())
        return self.add(
            EDGES, b"".join(struct.pack("<iiqq", to, 0, n, size) for to, n, size in edges)
        )

    def said(self, kind: int, stream: Stream, facts: dict[str, Any]) -> Raw:
        """Add what is said of a section."""
        said = {
            "what": "solve",
            "type": "gmres",
            "prefix": "",
            "solve": self.sections,
            "comm_size": self.size,
            "comm_rank": self.rank,
            "comm_leader": 0,
            "snes_step": -1,
            "time_step": -1,
            "rows": 400,
            "nonzeros": 600,
            "mat_type": "mpiaij",
            "pc_type": "jacobi",
            "restart": 30,
            "rtol": 1e-5,
            "atol": 1e-50,
            "most": 10_000,
            "norm_type": 1,
            "reason": "CONVERGED_RTOL",
            "iterations": sum(1 for record in stream.records if record[2] == ord("O")),
            "begin_ns": stream.begin,
            "end_ns": stream.at,
            "begin_utc_ns": 1_700_000_000_000_000_000 + stream.begin,
            "seen": len(stream.records),
            "kept": len(stream.records),
            "switches": 1,
            "core_wait_ns": 5,
            "foreign_calls": 0,
            "other_ns": {},
            "polls": 0,
            "load_before": 0.5,
            "load_after": 0.6,
            "complete": True,
            "inner": [],
        }
        return self.json(kind, {**said, **facts})

    def contexts(self, records: int, **given: Any) -> Raw:
        """Add call contexts of the section before: ``main`` calls ``step``, which is of Python.

        Its records have contexts 1 and 2 in turn; ``given`` replaces what a frame says.
        """
        module = {"path": "/home/me/app", "identity": "beef"}
        code = {"file": "/home/me/app.py", "function": "step", "first_line": 3}
        said: dict[str, Any] = {
            "modules": {"first": 0, "entries": [module]},
            "codes": {"first": 0, "entries": [code]},
            "places": [(0x1010, 0x1000, 64, 0, 0), (7, 0, 0, -1, 0)],
            "ends": [1, 3],
            "chains": [0, 1, 0],  # the innermost first
            "contexts": [1 + at % 2 for at in range(records)],
            "polls": [0, 5, 0],
            **given,
        }
        self.json(MODULES, said["modules"]).json(CODES, said["codes"])
        self.add(PLACES, b"".join(struct.pack("<qqqii", *each) for each in said["places"]))
        arrays = ((CHAIN_ENDS, "ends", "<u4"), (CHAINS, "chains", "<u4"))
        for kind, name, form in (*arrays, (CONTEXTS, "contexts", "<u4"), (POLLS, "polls", "<i8")):
            self.add(kind, np.array(said[name], form).tobytes())
        return self

    def end(self, **facts: Any) -> Raw:
        """Add the end of a program that finished."""
        said = {
            "finalized": True,
            "mpi_calls": 100,
            "solves_seen": self.sections,
            "aborted": None,
        }
        return self.clock(10**9).json(END, {**said, **facts})

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"node-{self.rank:07d}.raw"
        path.write_bytes(b"".join(framed(self.parts, self.rank)))
        return path


def two_ranks(**program: Any) -> list[Raw]:
    """Return the empty raw files of two ranks."""
    return [Raw(rank, 2, program=program) for rank in range(2)]


def write_all(ranks: list[Raw], folder: Path) -> Path:
    """End and write the raw files of all ranks."""
    for rank in ranks:
        rank.end().write(folder)
    return folder


def balance(run: Run) -> float:
    """Return the most that the parts of a run miss its time by, in seconds."""
    parts = run.lead_in + run.durations.sum(axis=0) + run.restart_durations.sum(axis=0)
    return float(np.abs(parts + run.lead_out - run.solve_time).max())


def entered(folder: Path, entries: int, trips: int, loops: int = 1, ranks: int = 1) -> Path:
    """Write the records of ranks whose outer loop enters inner ones, each so often.

    Calls of two places are in each iteration of an inner loop, and of one before these.
    """
    calls = entries * (1 + 2 * trips)
    inside = np.tile([2, 3], (entries, trips)) + 2 * (np.arange(entries) % loops)[:, None]
    contexts = np.column_stack([np.ones(entries, np.int64), inside]).ravel()
    records = np.zeros(calls, RECORD)
    records["begin_ns"] = 20 * US * (1 + np.arange(calls))
    records["end_ns"] = records["begin_ns"] + US
    records["what"], records["phase"] = -1, WAIT
    stream = Stream(10 * US).work(20 * US * (calls + 2))
    number = 2 + 2 * loops
    places = [(0x1010 + 16 * at, 0x1000, 1 << 20, 0, 0) for at in range(number)]
    facts: dict[str, Any] = {"what": "loop", "type": "loop", "seen": calls, "kept": calls}
    folder.mkdir(exist_ok=True)
    for each in range(ranks):
        rank = Raw(each, ranks, program={"mark_call": "auto"}).section(
            stream, rest=records, **facts
        )
        rank.contexts(
            calls,
            places=places,
            ends=range(1, number + 1),
            chains=range(number),
            contexts=contexts,
            polls=[0] * (number + 1),
        )
        rank.end(clock_ns=stream.at + US).write(folder)
    return folder
