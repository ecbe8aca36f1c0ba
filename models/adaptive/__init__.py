"""Run-time prediction of an adaptive code: machine, work, predictors, and what they decide.

`Predictor` predicts any loop, by several methods side by side if asked to. `OfflineModel` computes
the time of a cycle from machine and application.
"""

from hindmost.models.adaptive.interference import CycleKind, CycleVerdict
from hindmost.models.adaptive.machine import Machine
from hindmost.models.adaptive.offline import Application, Count, Exchange, OfflineModel
from hindmost.models.adaptive.predictor import CheckpointCost, Predictor
from hindmost.models.adaptive.predictors import PREDICTORS
from hindmost.models.adaptive.work import PHASES, Spent, Work

__all__ = [
    "PHASES",
    "PREDICTORS",
    "Application",
    "CheckpointCost",
    "Count",
    "CycleKind",
    "CycleVerdict",
    "Exchange",
    "Machine",
    "OfflineModel",
    "Predictor",
    "Spent",
    "Work",
]
