"""A series watched night by night: what was told stands in a log, and no revision is silent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hindmost.errors import DataError, UnknownSchemaError, UsageError
from hindmost.models.changepoint.detect import detect
from hindmost.models.changepoint.events import Event, Verdict, compare_verdicts
from hindmost.models.changepoint.observations import Labels, check
from hindmost.models.changepoint.results import Detection

VERSION = 1
Label = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The observations of a series so far, the verdicts on them, and the log of how they came.

    It is not changed: `add` returns the next one. The verdicts are always those of one pass over
    all observations; where that differs from what was told before, the log says so, and why.

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
    verdicts : tuple of Verdict
    log : tuple of Event
    """

    method: str = "robust"
    settings: dict[str, Any] = field(default_factory=dict)
    values: tuple[float, ...] = ()
    times: tuple[float, ...] = ()
    days: tuple[Label, ...] = ()
    commits: tuple[Label, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    log: tuple[Event, ...] = ()

    @classmethod
    def start(
        cls,
        values: ArrayLike,
        *,
        times: ArrayLike | None = None,
        days: Labels | None = None,
        commits: Labels | None = None,
        method: str = "robust",
        **settings: Any,
    ) -> Watch:
        """Begin with what is there already, in one pass; the parameters are those of `detect`."""
        series = check(values, times, days, commits)
        watch = cls(
            method=method,
            settings=settings,
            values=tuple(series.values.tolist()),
            times=() if times is None else tuple(series.times.tolist()),
            days=() if days is None else tuple(plain(label) for label in days),
            commits=() if commits is None else tuple(plain(label) for label in commits),
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
        """Take one observation more; return the next watch, and what it changed.

        Parameters
        ----------
        value : float, seconds
        time : float, days, optional
        day, commit : label, optional
            Times and labels are given with every observation, or with none.

        Raises
        ------
        UsageError
            A time or a label is missing that the others have, or the other way round.
        DataError
            The value is no positive number, or the time is before the last one.
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
        """Append a label where the series has such."""
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
            There are none, or they are not what they should be.
        """
        return detect(
            np.array(self.values),
            times=self.times or None,
            days=self.days or None,
            commits=self.commits or None,
            method=self.method,
            **self.settings,
        )

    def judged(self) -> tuple[Watch, tuple[Event, ...]]:
        """Hold the verdicts against one pass over all observations."""
        verdicts, events = compare_verdicts(self.verdicts, self.detection())
        told = tuple(events)
        return replace(self, verdicts=tuple(verdicts), log=self.log + told), told

    def to_json(self) -> dict[str, Any]:
        """Return the state as plain data, to be saved."""
        return {
            "version": VERSION,
            "method": self.method,
            "settings": dict(self.settings),
            "values": list(self.values),
            "times": list(self.times),
            "days": list(self.days),
            "commits": list(self.commits),
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
            "log": [event.to_json() for event in self.log],
        }

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Watch:
        """Go on with a state that was saved.

        Raises
        ------
        UnknownSchemaError
            A newer version wrote it.
        DataError
            It is no state of a watch.
        """
        if not isinstance(state.get("version"), int):
            raise DataError("This is no saved watch: it has no version. Start anew.")
        if state["version"] > VERSION:
            raise UnknownSchemaError(
                f"The saved watch has version {state['version']}, and this hindmost reads up to "
                f"{VERSION}: use the one that wrote it, or a newer one."
            )
        try:
            return cls(
                method=state["method"],
                settings=dict(state["settings"]),
                values=as_tuple(state["values"]),
                times=as_tuple(state["times"]),
                days=as_tuple(state["days"]),
                commits=as_tuple(state["commits"]),
                verdicts=tuple(Verdict.from_json(record) for record in state["verdicts"]),
                log=tuple(Event(**record) for record in state["log"]),
            )
        except (KeyError, TypeError) as error:
            raise DataError(
                f"The saved watch lacks or misnames something ({error}): start anew."
            ) from error


def as_tuple(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return a list that was read as a tuple."""
    return tuple(values)


def plain(label: Any) -> Label:
    """Return a label as what JSON knows."""
    if label is None or isinstance(label, str | int | float):
        return label
    if isinstance(label, np.generic):
        return plain(label.item())
    return str(label)
