from __future__ import annotations
from dataclasses import dataclass
@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    points: object
def predict_intervals(fitted, at, *, level=0.9):
    raise NotImplementedError
