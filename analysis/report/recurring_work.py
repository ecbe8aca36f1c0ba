"""Conclusions on iterations that come back longer, as with output or a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.analysis.report.looked_at import LookedAt
from hindmost.analysis.runs.check import does_the_same
from hindmost.analysis.runs.check_bodies import named, read_body_times, read_work_course, recurs
from hindmost.analysis.runs.conclusion import Conclusion
from hindmost.harness.runfile.bodies import INJECTED
from hindmost.text import seconds


def recurring(looked: LookedAt) -> Iterator[Conclusion]:
    """Yield what iterations cost that the program makes longer after every so many.

    The replay without noise keeps them: the program does this.
    """
    run = looked.run
    times = read_body_times(run, same_work=does_the_same(run))
    if not (recurs(times) or run.has(INJECTED)):
        return
    work = read_work_course(run)
    if work is None:
        return
    for each in work.recurring:
        words = each.rule.explain(run.bodies)
        ranks = named(work.ranks[list(each.columns)])
        brief = f"{words} is {seconds(max(each.longer_s))} longer on {ranks}"
        yield looked.loss(
            "Recurring work",
            each.cost_s,
            f"{brief[:1].upper()}{brief[1:]}. The program does this itself, as output or a "
            "checkpoint, and it is no noise.",
            f"Done less often or asynchronously, it would cost up to {seconds(each.cost_s)} less.",
            looked.links(map="Map of iterations", work="Work map"),
            brief=brief,
            basis="recorded work of these iterations over that of their neighbours",
        )
