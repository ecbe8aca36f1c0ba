"""A series watched night by night: a log holds what was reported, and every revision of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hindmost.errors import DataError, UnknownSchemaError, UsageError
from hindmost.models.changepoint.detect import detect
from hindmost.models.changepoint.detection import Detection
from hindmost.models.changepoint.observations import Labels, check
from hindmost.models.changepoint.revisions import Event, ReportedChange, compare_with_reported
from hindmost.records import RecordError, from_document, to_document

VERSION = 1
Label = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The observations of a series so far, its changes as they were reported, and their log.

    A watch is immutable: `add` returns the next one. The reported changes are always those of one
    pass over all observations; where they differ from earlier reports, the log says so, and why.

    Attributes
    ----------
    method : str
    settings : dict
        Of `detect`.
    values : tuple of float, seconds
    times : tuple of float, days
        Empty where none were given.
    days, commits : tuples of labels
        Empty where none were given.
    smaller_is_better : bool
    verdicts : tuple of ReportedChange
    log : tuple of Event
    """

    method: str = "robust"
    settings: dict[str, Any] = field(default_factory=dict)
    values: tuple[float, ...] = ()
    times: tuple[float, ...] = ()
    days: tuple[Label, ...] = ()
    commits: tuple[Label, ...] = ()
    smaller_is_better: bool = True
    verdicts: tuple[ReportedChange, ...] = ()
    log: tuple[Event, ...] = ()

    @classmethod
    def start(
        cls,
        values: ArrayLike,
        *,
        times: ArrayLike | None = None,
        days: Labels | None = None,
        commits: Labels | None = None,
        smaller_is_better: bool = True,
        method: str = "robust",
        **settings: Any,
    ) -> Watch:
        """Begin with existing observations, in one pass; the parameters are those of `detect`."""
        series = check(values, times, days, commits)
        watch = cls(
            method=method,
            settings=settings,
            values=tuple(series.values.tolist()),
            times=() if times is None else tuple(series.times.tolist()),
            days=() if days is None else tuple(plain(label) for label in days),
            commits=() if commits is None else tuple(plain(label) for label in commits),
            smaller_is_better=smaller_is_better,
        )
        return watch.judged()[0]

    def add(
        self,
        value: float,
        *,
        time: float | None = None,
        day: Label = None,
        commit: Label = None,
    ) -> tuple[Watch, tuple[Event, ...]]:
        """Add one observation; return the next watch, and what changed.

        Parameters
        ----------
        value : float, seconds
        time : float, days, optional
        day, commit : label, optional
            Times and labels are given with every observation, or with none.

        Raises
        ------
        UsageError
            Only some of the observations have a time or a label.
        DataError
            The value is not a positive number, or the time is before the last one.
        """
        longer = replace(
            self,
            values=(*self.values, float(value)),
            times=self._with("times", self.times, None if time is None else float(time)),
            days=self._with("days", self.days, plain(day)),
            commits=self._with("commits", self.commits, plain(commit)),
        )
        return longer.judged()

    def _with(self, name: str, labels: tuple[Any, ...], label: Any) -> tuple[Any, ...]:
        """Append a label if the other observations have one."""
        if label is None and not labels:
            return ()
        if label is None or len(labels) != len(self.values):
            raise UsageError(
                f"{len(labels)} of {len(self.values)} observations have {name}: give one with "
                "every observation, or with none."
            )
        return (*labels, label)

    def detection(self) -> Detection:
        """Do one pass over all observations.

        Raises
        ------
        DataError
            There are none, or they are invalid.
        """
        return detect(
            np.array(self.values),
            times=self.times or None,
            days=self.days or None,
            commits=self.commits or None,
            smaller_is_better=self.smaller_is_better,
            method=self.method,
            **self.settings,
        )

    def judged(self) -> tuple[Watch, tuple[Event, ...]]:
        """Compare the reported changes with one pass over all observations."""
        verdicts, events = compare_with_reported(self.verdicts, self.detection())
        added = tuple(events)
        return replace(self, verdicts=tuple(verdicts), log=self.log + added), added

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain data, to be saved."""
        return {"version": VERSION, **to_document(self)}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Watch:
        """Return the watch that `to_json` saved.

        Raises
        ------
        UnknownSchemaError
            A newer version wrote it.
        DataError
            It is not the state of a watch.
        """
        if not isinstance(state.get("version"), int):
            raise DataError("This is not a saved watch: it has no version. Start a new one.")
        if state["version"] > VERSION:
            raise UnknownSchemaError(
                f"The saved watch has version {state['version']}, and this hindmost reads up to "
                f"{VERSION}: use the one that wrote it, or a newer one."
            )
        try:
            for key in ("settings", "values", "times", "days", "commits", "verdicts", "log"):
                if key not in state:
                    raise RecordError("a saved watch has all its observations and verdicts", key)
            return from_document(cls, {k: v for k, v in state.items() if k != "version"})
        except RecordError as error:
            why = str(error).rstrip(".")
            raise DataError(
                f"The saved watch is incomplete or has unknown keys ({why}): start a new one."
            ) from error


def plain(label: Any) -> Label:
    """Return a label as a type that JSON has."""
    if label is None or isinstance(label, str | int | float):
        return label
    if isinstance(label, np.generic):
        return plain(label.item())
    return str(label)
