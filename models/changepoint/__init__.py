"""Changes in nightly times: when, by how much, and how sure; arrays in, results out."""

from hindmost.models.changepoint.detect import METHODS, detect
from hindmost.models.changepoint.events import Event
from hindmost.models.changepoint.results import Change, Detection, OutlierRun, Regime, Trend
from hindmost.models.changepoint.watch import Watch

__all__ = [
    "METHODS",
    "Change",
    "Detection",
    "Event",
    "OutlierRun",
    "Regime",
    "Trend",
    "Watch",
    "detect",
]
