"""Changes in nightly times: when, by how much, and how sure; arrays in, results out."""

from hindmost.models.changepoint.changes import (
    ChangePoint,
    Jump,
    OutlierRun,
    Regime,
    Trend,
)
from hindmost.models.changepoint.detect import (
    METHODS,
    default_settings,
    detect,
    least_change,
)
from hindmost.models.changepoint.detection import Detection
from hindmost.models.changepoint.revisions import Event

__all__ = [
    "METHODS",
    "ChangePoint",
    "Detection",
    "Event",
    "Jump",
    "OutlierRun",
    "Regime",
    "Trend",
    "default_settings",
    "detect",
    "least_change",
]
