"""A judged history as OpenMetrics text, as a collector of text files reads it.

All are gauges without times of their own, so that Prometheus' node exporter takes them from a file
``NAME.prom``: the verdict, the level, the age of the newest result, the open changes, failed runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hindmost.analysis.history.study import HistoryStudy
from hindmost.models.changepoint.detection import VERDICTS

PREFIX = "hindmost_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """A family of metrics.

    Attributes
    ----------
    name, meaning : str
    samples : list of (mapping, float)
        Labels and value.
    """

    name: str
    meaning: str
    samples: list[tuple[Mapping[str, str], float]] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield its lines."""
        if not self.samples:
            return
        yield f"# TYPE {PREFIX}{self.name} gauge"
        yield f"# HELP {PREFIX}{self.name} {self.meaning}"
        for labels, value in self.samples:
            inside = ",".join(f'{name}="{escaped(text)}"' for name, text in labels.items())
            yield f"{PREFIX}{self.name}{{{inside}}} {value:.9g}"


def escaped(text: str) -> str:
    """Return a text as the value of a label."""
    for sign, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", " ")):
        text = text.replace(sign, written)
    return text


def open_metrics(study: HistoryStudy) -> str:
    """Return the text."""
    verdict = Gauge(name="verdict", meaning="1 for the verdict on a series in the last days.")
    level = Gauge(name="level", meaning="Level of a series now, in its unit (label unit).")
    newest = Gauge(name="newest_timestamp_seconds", meaning="Time of the newest result.")
    change = Gauge(name="open_change_ratio", meaning="Level after an open change over that before.")
    failed = Gauge(name="failed_runs", meaning="Failed runs of a case in the last days.")
    silent = Gauge(name="silent", meaning="1 for a case without a result that was due.")
    status = study.status()
    whole = Gauge(name="status", meaning="1 for the worst verdict on all.")
    whole.samples.extend([({"verdict": name}, float(name == status)) for name in VERDICTS])
    for judged in study.judged:
        name = judged.series.name
        labels = {"machine": name.machine, "case": name.case, "timer": name.timer}
        own = judged.status(study.since)
        verdict.samples.append(({**labels, "verdict": own}, 1.0))
        newest.samples.append((labels, float(judged.series.times[-1])))
        if judged.detection.regimes and math.isfinite(judged.detection.level_now):
            unit = {"unit": judged.series.unit}
            level.samples.append(({**labels, **unit}, judged.detection.level_now))
        for found in judged.detection.findings:
            if judged.is_open(found):
                date = {"date": judged.labels[found.last][:10]}
                change.samples.append(({**labels, **date}, 1.0 + found.effect))
    for (machine, case), count in study.failed_cases().items():
        failed.samples.append(({"machine": machine, "case": case}, float(count)))
    machines, cases = study.silent_machines(), study.silent_cases()
    for machine, case in study.results():
        missing = machine in machines or (machine, case) in cases
        silent.samples.append(({"machine": machine, "case": case}, float(missing)))
    return text_of([whole, verdict, level, newest, change, failed, silent])


def text_of(gauges: Iterable[Gauge]) -> str:
    """Return families of metrics as a text."""
    lines = [line for gauge in gauges for line in gauge.lines()]
    return "\n".join([*lines, "# EOF", ""])
