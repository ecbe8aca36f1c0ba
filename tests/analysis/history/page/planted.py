"""A history of known truth, and where its page has what in a window."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.analysis.browser import Browser

from hindmost.analysis.history.judged_series import Acknowledgement
from hindmost.analysis.readers.history import FailedRun, History, NightlySeries, SeriesName

HOSTILE = '</script><script>document.title = "taken"</script><b>&"\''
NIGHTS, STEP = 120, 113
FIRST_DAY = 18628  # 2021-01-01
READY = "document.documentElement.dataset.series"
PARENTS = {"Fill": "Total", "Solve": "Total", "Jacobian": "Fill"}
KNOWN = Acknowledgement(date="2021-04-24", case="other", reason="agreed <b>upon</b>")


def series_of(
    machine: str, case: str, timer: str, values: NDArray[np.float64], first: int = FIRST_DAY
) -> NightlySeries:
    nights = np.arange(values.size)
    parts = tuple({"Albany": f"a{night:03d}", "Trilinos": "t000"} for night in nights)
    return NightlySeries(
        name=SeriesName(machine=machine, case=case, timer=timer),
        unit="s",
        smaller_is_better=True,
        times=(first + nights) * 86400.0 + 3600.0,
        values=values,
        commits=tuple(f"Albany {part['Albany']}, Trilinos t000" for part in parts),
        commit_parts=parts,
        spread=None,
    )


def synthetic() -> History:
    """Return a history of known truth: one part of the total is 30 % slower in the last week."""
    random = np.random.default_rng(6)
    series = []
    for machine, case in (("blake", "beam"), ("blake", "other"), ("weaver", HOSTILE)):
        jacobian = random.lognormal(np.log(4.0), 0.01, NIGHTS)
        if machine == "blake":
            jacobian[STEP:] *= 1.3
        fill = jacobian + random.lognormal(np.log(2.0), 0.01, NIGHTS)
        solve = random.lognormal(np.log(3.0), 0.01, NIGHTS)
        if case == "other":
            solve[40] *= 1.5
        total = fill + solve
        for timer, values in (("Total", total), ("Fill", fill), ("Solve", solve)):
            series.append(series_of(machine, case, timer, values))
        series.append(series_of(machine, case, "Jacobian", jacobian))
    failed = FailedRun(
        time=FIRST_DAY * 86400.0, machine="blake", case="beam", reason=HOSTILE, file="a/b.json"
    )
    return History(
        source="nights",
        series=tuple(series),
        failures=(failed,),
        parents=PARENTS,
        warnings=(HOSTILE,),
    )


def text(browser: Browser, selector: str) -> str:
    return str(browser.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))


def show(browser: Browser, page: Path, address: str = "") -> None:
    browser.open(page.as_uri() + address, READY)
    assert browser.errors == []


def place(browser: Browser, expression: str) -> tuple[float, float]:
    """Return where something is in the window: its middle."""
    frame = browser.evaluate(
        f"(() => {{ const f = {expression}.getBoundingClientRect();"
        " return [f.left, f.top, f.width, f.height]; })()"
    )
    return frame[0] + frame[2] / 2, frame[1] + frame[3] / 2


def chart_place(
    browser: Browser, time: float, value: float, values: Sequence[float]
) -> tuple[float, float]:
    """Return where a night is in the chart of a series without outliers, from the axes' rules."""
    browser.evaluate("document.querySelector('#series-chart canvas').scrollIntoView()")
    left, top, width, height = browser.evaluate(
        "(() => { const f = document.querySelector('#series-chart canvas').getBoundingClientRect();"
        " return [f.left, f.top, f.width, f.height]; })()"
    )
    first, last = FIRST_DAY + 1 / 24, FIRST_DAY + NIGHTS - 1 + 1 / 24
    room = 0.02 * (last - first)
    across = (time - first + room) / (last - first + 2 * room)
    low, high = min(values), max(values)
    up = (value - low + 0.08 * (high - low)) / (1.16 * (high - low))
    return left + 54 + across * (width - 74), top + 8 + (1 - up) * (height - 46)
