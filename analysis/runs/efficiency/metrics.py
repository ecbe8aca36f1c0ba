"""The metrics of POP's hierarchy in their usual order, and grades of their values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hindmost.analysis.show.table import Graded
from hindmost.text import percent

GOOD, FAIR = 0.9, 0.8
"""An efficiency is good from the first on; below the second POP looks for the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric: its name in JSON, its label in tables, and its level in the hierarchy."""

    name: str
    label: str
    level: int

    @property
    def indented(self) -> str:
        """The label, indented by its level."""
        return "  " * self.level + self.label


METRICS = (
    Metric(name="global", label="global efficiency", level=0),
    Metric(name="parallel", label="parallel efficiency", level=1),
    Metric(name="load_balance", label="load balance", level=2),
    Metric(name="communication", label="communication efficiency", level=2),
    Metric(name="serialisation", label="serialisation efficiency", level=3),
    Metric(name="transfer", label="transfer efficiency", level=3),
    Metric(name="computation", label="computation scaling", level=1),
    Metric(name="instructions", label="instruction scaling", level=2),
    Metric(name="ipc", label="IPC scaling", level=2),
    Metric(name="frequency", label="frequency scaling", level=2),
    Metric(name="counted_share", label="waiting that was counted", level=2),
)
OF_RUN = tuple(each for each in METRICS if each.name in {
    "parallel", "load_balance", "communication", "serialisation", "transfer",
})  # fmt: skip
"""Metrics that need no reference run."""


class Grade(StrEnum):
    """How good an efficiency is; the values are classes of the page's style sheet."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"

    @classmethod
    def of(cls, value: float) -> Grade:
        """Return the grade of an efficiency, rounded to tenths of a percent as in tables."""
        value = round(value, 3)
        return cls.GOOD if value >= GOOD else cls.FAIR if value >= FAIR else cls.POOR

    @property
    def mark(self) -> str:
        """A character that shows the grade without colour."""
        return {Grade.GOOD: " ", Grade.FAIR: "~", Grade.POOR: "!"}[self]


GRADES = "~ below 90\u00a0%, ! below 80\u00a0%, where POP looks for the cause."
LEGEND = f"Indented efficiencies multiply to the one above them. {GRADES}"
LEGEND_ACROSS = (
    "parallel = load balance x communication; communication = serialisation x transfer. " + GRADES
)
"""For tables with an efficiency in each column."""
OF_SCALING = (
    "Scaling is relative to the first column, for work of the same size; above 100\u00a0% all "
    "ranks together spend less time on the same work."
)


def share(value: float | None) -> str:
    """Write an efficiency in percent with its mark; unknown ones are left empty."""
    if value is None:
        return ""
    grade = Grade.of(value)
    return Graded(percent(value), grade, grade.mark)
