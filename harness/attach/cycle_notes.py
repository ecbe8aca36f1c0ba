"""What the adaptive kernel says of each cycle beside its marks, as raw files have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from hindmost.harness.attach.raw import Frame, RawRank, json_at
from hindmost.harness.recorder.library import NS
from hindmost.harness.runfile.bodies import PHASES, RankBodies
from hindmost.harness.runfile.contents import Edges
from hindmost.harness.runfile.cycles import COUNTS, PULSE, Predictions, RankCycles
from hindmost.records import RecordError, from_document

KEY = "cycles"
"""Of what a recording says of itself: `CycleNames`."""
Count = Annotated[int, Meta(ge=0, le=1 << 53)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleNames:
    """The names of what notes have numbers of.

    Attributes
    ----------
    phases, predictors : tuple of str
    """

    phases: tuple[str, ...]
    predictors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleNote:
    """What a rank says of a cycle.

    Attributes
    ----------
    wall_ns, cpu_ns : tuple of int
        Wall and processor time by phase, which is that of the innermost.
    counts : tuple of int
        See `COUNTS`.
    mesh : int
        Number of the mesh.
    pulse_s : float
        Read after the cycle.
    predicted : tuple of float or None
        Seconds by predictor, None where it had no data yet; empty but on rank 0.
    edges : tuple of (int, int)
        Who sends to this rank in one exchange on the mesh, and how many bytes; only in the first
        cycle on a mesh.
    """

    wall_ns: tuple[Count, ...]
    cpu_ns: tuple[int, ...]
    counts: Annotated[tuple[Count, ...], Meta(min_length=len(COUNTS), max_length=len(COUNTS))]
    mesh: Annotated[int, Meta(ge=0, lt=1 << 31)]
    pulse_s: float
    predicted: tuple[float | None, ...] = ()
    edges: tuple[tuple[Annotated[int, Meta(ge=0, lt=1 << 31)], Count], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleNotes:
    """The notes of a rank.

    Attributes
    ----------
    rank : int
    names : CycleNames
    notes : sequence of CycleNote
        One a cycle, from the first on.
    """

    rank: int
    names: CycleNames
    notes: Sequence[CycleNote]

    @classmethod
    def of(cls, raw: RawRank, about: Mapping[str, Any]) -> CycleNotes | None:
        """Return the notes of a rank, until the first that cannot be; None if it makes none."""
        try:
            names = from_document(CycleNames, about.get(KEY))
        except RecordError:
            return None
        if names.phases[: len(PHASES)] != PHASES:
            return None
        notes = list[CycleNote]()
        for at in raw.noted.get(Frame.NOTES, ()):
            try:
                note = from_document(CycleNote, json_at(raw.file.data, at))
            except ValueError:
                break
            senders = [sender for sender, _ in note.edges]
            known = {len(note.wall_ns), len(note.cpu_ns)} == {len(names.phases)}
            if not known or max(senders, default=0) >= raw.program.size:
                break
            notes.append(note)
        return cls(rank=raw.program.rank, names=names, notes=notes)

    def bodies(self, bodies: RankBodies) -> RankBodies:
        """Return bodies whose phases are those of the kernel."""
        wall = np.array([note.wall_ns for note in self.notes[: bodies.duration.size]]) * NS
        local = PHASES.index("local")
        wall[:, local] = np.maximum(wall[:, local] + bodies.duration - wall.sum(axis=1), 0.0)
        return replace(bodies, phases=self.names.phases, phase_duration=wall.astype(np.float32))

    def cycles(self, count: int) -> RankCycles:
        """Return the first cycles."""
        notes, predictors = self.notes[:count], self.names.predictors
        counts = np.array([note.counts for note in notes], np.int64)
        predicted = np.full((count, len(predictors)), np.nan)
        for row, note in zip(predicted, notes, strict=True):
            row[: len(note.predicted)] = note.predicted[: row.size]  # None becomes NaN
        return RankCycles(
            counts={name: counts[:, place] for place, name in enumerate(COUNTS)},
            phase_cpu=(np.array([note.cpu_ns for note in notes]) * NS).astype(np.float32),
            pulses={PULSE: np.array([note.pulse_s for note in notes], np.float32)},
            epoch=np.array([note.mesh for note in notes], np.int32),
            predictions=Predictions(names=predictors, predicted=predicted),
        )

    def incoming(self, count: int) -> Edges:
        """Return who sends to the rank on the meshes of the first cycles."""
        edges = [(*edge, note.mesh) for note in self.notes[:count] for edge in note.edges]
        source, size, mesh = np.array(edges, np.int64).reshape(-1, 3).T
        return Edges(
            source=source.astype(np.int32),
            target=np.full(source.size, self.rank, np.int32),
            bytes=size,
            messages=np.ones(source.size, np.int32),
            epoch=mesh.astype(np.int32),
        )
