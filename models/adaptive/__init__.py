"""Run-time prediction of an adaptive code: machine, work, predictors, and what they decide.

`Predictor` predicts any loop, `Panel` compares several predictors, and `choose` selects a
configuration before a run. `OfflineModel` computes the time of a cycle from machine, application
and pattern.
"""

from hindmost.models.adaptive.application import Application, Count, Exchange
from hindmost.models.adaptive.checkpoints import CheckpointCost
from hindmost.models.adaptive.choose import Choice, choose
from hindmost.models.adaptive.interference import CycleKind, CycleVerdict
from hindmost.models.adaptive.machine import Machine
from hindmost.models.adaptive.offline import OfflineModel, PhaseTimes
from hindmost.models.adaptive.panel import Panel
from hindmost.models.adaptive.predictor import Predictor
from hindmost.models.adaptive.predictors import PREDICTORS
from hindmost.models.adaptive.work import PHASES, Spent, Work

__all__ = [
    "PHASES",
    "PREDICTORS",
    "Application",
    "CheckpointCost",
    "Choice",
    "Count",
    "CycleKind",
    "CycleVerdict",
    "Exchange",
    "Machine",
    "OfflineModel",
    "Panel",
    "PhaseTimes",
    "Predictor",
    "Spent",
    "Work",
    "choose",
]
