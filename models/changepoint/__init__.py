"""Changes in nightly times: when, by how much, and how sure; arrays in, results out."""

from hindmost.models.changepoint.changes import (
    ChangePoint,
    OutlierRun,
    Regime,
    SmallShift,
    Trend,
    Unjudged,
)
from hindmost.models.changepoint.detect import (
    METHODS,
    detect,
    effective_settings,
    least_change,
)
from hindmost.models.changepoint.detection import Detection
from hindmost.models.changepoint.revisions import Event
from hindmost.models.changepoint.sequential import Watch

__all__ = [
    "METHODS",
    "ChangePoint",
    "Detection",
    "Event",
    "OutlierRun",
    "Regime",
    "SmallShift",
    "Trend",
    "Unjudged",
    "Watch",
    "detect",
    "effective_settings",
    "least_change",
]
