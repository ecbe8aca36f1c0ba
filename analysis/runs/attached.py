"""What a run of an attached program says to a person first, in sentences.

How many solves or iterations there were and where their time went, which rank is the straggler and
whether it waits or works, and what to do next. Each sentence follows from numbers of the run file;
where they do not allow it, the sentence says so. What a change would save is told by ``whatif``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.analysis.runs.check_bodies import longer_words, named, recurring_of
from hindmost.analysis.runs.cores import TAKEN, core_wait
from hindmost.analysis.runs.efficiency.of_run import where_time_goes
from hindmost.analysis.runs.efficiency.withheld import (
    UNKNOWN,
    told_shares,
    unclassified_calls,
    why_withheld,
)
from hindmost.analysis.runs.finding import MATTERS, MOST_SHOWN, WORTH_SAYING, Finding, Topic
from hindmost.analysis.runs.first_screen import capital
from hindmost.analysis.runs.links import link_words
from hindmost.analysis.runs.straggler import (
    StragglerVerdict,
    factor,
    times_words,
    work_or_core,
)
from hindmost.analysis.runs.stretches import Stretch, extra_words, growth_words
from hindmost.analysis.runs.summary import efficiency_of, links_of
from hindmost.analysis.show.table import LEADING, MOST_LISTED
from hindmost.harness.runfile.reader import Run
from hindmost.models.ranks.culprit import over_others
from hindmost.models.ranks.efficiencies import OUTSIDE
from hindmost.models.ranks.extrema import MOST_OF_ALL
from hindmost.models.recurring import Rule
from hindmost.printable import shell_word
from hindmost.text import counted, percent, seconds

LEFT_OUT_FIRST = ("loops", "calls", "waits", "places")
"""What sentences name, in the order in which it is left out where there are too many lines."""
IN_WORDS = {
    "local": "local work",
    UNKNOWN: "outside the recorded MPI calls, work or not",
    "wait": "wait in collectives",
    "halo": "halo exchange",
    "post": "starts of non-blocking collectives",
}
DISTURBED = ("crowded", "cores-taken", "outliers", "load", "slow-stretch")
"""Codes of findings that call for a repeat before conclusions."""
FIRST = ("crowded", "cores-taken", "recurring", *DISTURBED[2:])
"""Codes of findings to act on first, of equal severity in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedRun:
    """The solves of one kind, or the loop, of an attached program.

    Attributes
    ----------
    run : Run
    attached : dict
        What its header says of the program.
    verdict : StragglerVerdict or None
        None if the run is too large to be read for a glance.
    findings : tuple of Finding
    stretches : tuple of Stretch
        Where in the code work lies; empty if that is not known, or the run is large.
    left_out : collection of str
        What sentences do not name, of `LEFT_OUT_FIRST`.
    """

    run: Run
    attached: dict[str, Any]
    verdict: StragglerVerdict | None
    findings: tuple[Finding, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    left_out: Collection[str] = ()

    JSON = (
        "file=run.path solver=run.header.solver solves? iterations=run.header.iterations "
        "solve_time_s=run.solve_time_s share=shares straggler culprit=verdict.culprit excess_work "
        "imbalance stretches=most_stretches text"
    )

    @property
    def straggler(self) -> int | None:
        """The rank that has more work, at a cost, without a doubt; None if none has."""
        return None if self.verdict is None else self.verdict.straggler

    @property
    def excess_work(self) -> float | None:
        """Most own work of a rank over the median of the others', less 1; None if unknown."""
        if self.verdict is None:
            return None
        if self.verdict.culprit is not None:
            return self.verdict.culprit.times - 1.0
        return float(over_others(self.verdict.costs.own_s).max()) - 1.0

    @property
    def imbalance(self) -> float | None:
        """Most own work of a rank above the mean, as a share of the time; None if unknown."""
        if self.verdict is None:
            return None
        own_s = self.verdict.costs.own_s
        return float(own_s.max() - own_s.mean()) / max(self.run.solve_time_s, 1e-300)

    @property
    def disturbed(self) -> bool:
        """Whether something calls for a repeat before conclusions."""
        return any(each.code in DISTURBED for each in self.findings)

    @property
    def crowded(self) -> bool:
        """Whether there were more ranks than cores."""
        return any(each.code == "crowded" for each in self.findings)

    @property
    def undisturbed_s(self) -> float:
        """Time of the iterations, or of the work of the quickest ones if that is less.

        What costs time is a share of this one: disturbances do not make it matter less.
        """
        if self.verdict is None or not self.disturbed:
            return self.run.solve_time_s
        parts = [each.quickest for each in self.stretches] or [self.verdict.costs.quickest]
        quickest_s = self.run.bodies * float(np.sum([one.whole_s for one in parts], axis=0).max())
        return min(quickest_s, self.run.solve_time_s) or self.run.solve_time_s

    @property
    def solves(self) -> int:
        """Solves in the run; 0 for a loop."""
        return int(self.attached.get("solves", 0))

    @property
    def shares(self) -> dict[str, float]:
        """Shares of the time of all solves, of all ranks together, by what it went to.

        What lies outside of iterations comes last: set-up, restarts, changes of solve.
        """
        whole = max(float(self.run.solve_time.sum()), 1e-300)
        inside = {name: spent / whole for name, spent in self.run.summary["phase_s"].items()}
        outside = max(1.0 - sum(inside.values()), 0.0)
        return {**told_shares(self.run, inside), "outside": outside}

    @property
    def polling(self) -> Finding | None:
        """That so much of the work may be waiting that its share is no answer; None otherwise."""
        polls = (each for each in self.findings if each.code == "polling")
        return next((each for each in polls if each.severity == "error"), None)

    @property
    def worst(self) -> Finding | None:
        """The finding to act on first, an error before a note; None if there is none."""
        acted = [
            each
            for each in self.findings
            if each.code in FIRST or (each.severity == "error" and Topic.TIMES in each.doubts)
        ]

        def rank(each: Finding) -> tuple[bool, int]:
            return each.severity != "error", (*FIRST, each.code).index(each.code)

        return min(acted, key=rank, default=None)

    def lines(self) -> list[str]:
        """Return the sentences."""
        return [
            *self.why_incomplete(),
            self.what(),
            *self.calls_kept(),
            *(() if "loops" in self.left_out else self.other_loops()),
            self.where(),
            self.who(),
            *self.network(),
            *self.grown(),
            *self.counted_work(),
            *self.inner(),
            self.next(),
        ]

    @property
    def said(self) -> set[str]:
        """Codes of findings that the sentences contain, so that no list below repeats them."""
        found = {"recurring"} if self.recurring() else set[str]()
        taken = core_wait(self.run)
        if self.crowded:
            found.add("crowded")
        elif taken is not None and taken.most >= MATTERS:
            found.add(TAKEN)
        if self.polling:
            found.add("polling")
        return found | ({"drift"} if self.grown() else set())

    def why_incomplete(self) -> list[str]:
        """Say that this is not all of it, and why."""
        if self.run.header.complete:
            return []
        return [f"INCOMPLETE: {self.run.header.spec.get('failure') or 'records were lost'}."]

    def calls_kept(self) -> list[str]:
        """Say of how many iterations all calls are known, if not of all."""
        summed, bodies = self.run.summed, self.run.bodies
        if not summed:
            return []
        return [
            f"Calls are known one by one in {bodies - summed:,} of {counted(bodies, 'iteration')}, "
            "by sums in the others (attach --all keeps all)."
        ]

    def what(self) -> str:
        """Say how much there is of what."""
        header, attached = self.run.header, self.attached
        time = seconds(self.run.solve_time_s)
        if not self.solves:
            name = (attached.get("loop") or {}).get("name")
            each = f" ({header.iteration_is})" if header.iteration_is else ""
            if name:
                each = f" {name}"
            passes = (f", {header.passes}", ",") if header.passes else ("", "")
            verb = "takes" if self.run.bodies == 1 else "take"
            return (
                f"{counted(self.run.bodies, 'iteration')}{passes[0]} of its loop{each}{passes[1]} "
                f"{verb} {time}{self.run.of_program}."
            )
        parts = [counted(header.iterations, "iteration") + " in all"]
        for name, key in (("Newton step", "snes_steps"), ("time step", "time_steps")):
            if key in attached:
                first, last = attached[key]
                parts.append(f"{name} {first}" if first == last else f"{name}s {first} to {last}")
        if attached.get("without_iterations"):
            parts.append(f"{attached['without_iterations']} without an iteration")
        prefix = f" (options prefix {attached['prefix']})" if attached.get("prefix") else ""
        verb = "takes" if self.solves == 1 else "take"
        return (
            f"{counted(self.solves, 'solve')} by {header.solver}{prefix}, {', '.join(parts)}, "
            f"{verb} {time}{self.run.of_program}."
        )

    def other_loops(self) -> list[str]:
        """Name the loops of the program that are measured on request."""
        named = self.run.header.loops()[:MOST_SHOWN]
        return [f"Other loops: {'; '.join(named)}."] if named else []

    def where(self) -> str:
        """Say where the time went, by cause and in which calls."""
        found = None if self.run.header.ranks < 2 else efficiency_of(self.run)
        whole_s = max(self.run.solve_time_s, 1e-300)
        parts_s = {} if found is None else where_time_goes(self.run, found)
        shares = self.shares
        outside = shares.pop("outside")
        if parts_s:
            outside = parts_s.pop(OUTSIDE, 0.0) / whole_s
            del shares["local"]
        in_words = {**IN_WORDS, "unclassified": unclassified_calls(self.run)}
        by_call = largest(
            {in_words.get(name, f"phase {name}"): each for name, each in shares.items()}
        )
        causes = largest({name: part_s / whole_s for name, part_s in parts_s.items()})
        said = causes or by_call
        if outside >= WORTH_SAYING:
            what = " (set-up, restarts, ends)" if self.solves else ""
            if not self.run.header.complete:
                what = " (also those that were not kept)"
            said = [*said, f"{percent(outside, 0)} {OUTSIDE}{what}"]
        text = f"Where the time goes, over all ranks: {', '.join(said)}."
        without = [
            each.text for each in self.findings if each.code in self.said & {"crowded", TAKEN}
        ]
        if without:  # then calls say little of the program
            return f"{text} Included in all: {without[0]}."
        if "calls" not in self.left_out and causes and len(by_call) > 1:
            text += f" By call: {', '.join(by_call)}."
        return text + (f" But {self.polling.text}." if self.polling else "")

    def who(self) -> str:
        """Say which rank is the straggler, whether it waits or works, and where in the code."""
        run, verdict = self.run, self.verdict
        if run.header.ranks == 1:
            return "There is one rank, so nobody waits."
        if verdict is None:
            return (
                f"The file is large; for stragglers: hindmost show {shell_word(run.path)} --ranks"
            )
        if verdict.withheld:
            return f"No rank is named as a straggler: {verdict.withheld}."
        costs, found = verdict.costs, verdict.culprit
        if found is None:
            most = factor(float(over_others(costs.own_s).max()))
            waiting = float(costs.wait_s.sum() / max(float(costs.time_s.sum()), 1e-300))
            whole = "No rank is a straggler" + (" over all iterations" if self.recurring() else "")
            return (
                f"{whole}: the rank with the most time outside MPI works {most} times as long as "
                f"the others (median); equal work would save {percent(self.imbalance or 0.0)} of "
                f"the {'solve' if self.solves else 'loop'} time. Messages and collectives take "
                f"{percent(waiting, 0)} of the ranks' iterations.{self.of_recurring('But ')}"
            )
        share = costs.wait_s / np.maximum(costs.time_s, 1e-300)
        own, others = (
            percent(float(of.mean()), 0)
            for of in (share[[*found.ranks]], np.delete(share, [*found.ranks]))
        )
        waits = where = ""
        if "waits" not in self.left_out:
            waits = f" Messages and collectives take {own} of its time, {others} of the others'."
        if "places" not in self.left_out:
            where = extra_words(self.stretches, found.rank, quickest=found.quickest)
        name, works = capital(verdict.name), times_words(found, run.header.ranks)
        works = works if found.node else f"it {works}"
        who = f"{name} is the straggler: {works}"
        if not found.sure:
            who = f"No rank is shown to be a straggler. {name}: {works}"
        return (
            f"{who}; {verdict.cost_words}.{waits}{where}"
            f"{verdict.doubt and f' {verdict.doubt}'}{self.of_recurring()}"
            f"{work_or_core(found, counts_work=run.has('work_amount'))}"
        )

    def network(self) -> list[str]:
        """Say what communication between nodes takes, if it takes much of the time."""
        links = links_of(self.run)
        most = max((each.share for each in links if len(each.nodes) == 2), default=0.0)
        said = link_words(links) if most >= MATTERS else ""
        return [f"The network {said}."] if said else []

    def grown(self) -> list[str]:
        """Say where work grows from iteration to iteration, if that costs time."""
        said = growth_words(
            self.run,
            self.stretches,
            self.least_s,
            disturbed=self.disturbed,
            places="places" not in self.left_out,
        )
        return [said] if said else []

    def recurring(self) -> list[str]:
        """Say which iterations come back longer, and between which calls they are.

        The rules are the same on all ranks and in all stretches; those of stretches show some that
        noise elsewhere hides.
        """
        texts: dict[Rule, tuple[float, str]] = {}
        whole = [] if self.verdict is None else [("", each) for each in recurring_of(self.run)]
        places = [(f", {one}", each) for one in self.stretches for each in one.recurring]
        found = [each for each in (*whole, *places) if each[1].cost_s >= self.least_s]
        for rule in dict.fromkeys(each.rule for _, each in found):
            alike = [each for each in found if each[1].rule == rule]
            back = alike[0][1]  # of whole iterations, if they show it
            where, most = max(alike, key=lambda each: (each[0] != "", each[1].cost_s))
            if "places" in self.left_out or most.cost_s < MOST_OF_ALL * back.cost_s:
                where = ""
            ranks = named(np.array(back.columns))
            texts[rule] = (
                back.cost_s,
                (
                    f"{rule.explain(self.run.bodies)} is {longer_words(back)} longer on {ranks}"
                    f"{where}: {seconds(back.cost_s)}"
                ),
            )
        return [text for _, text in sorted(texts.values(), key=lambda each: -each[0])]

    @property
    def least_s(self) -> float:
        """Time from which on a cost is told."""
        return WORTH_SAYING * self.undisturbed_s

    def of_recurring(self, also: str = "") -> str:
        """Say which iterations come back longer, and where: the other ranks wait for them."""
        return "".join(f" {also}{each if also else capital(each)}." for each in self.recurring())

    def counted_work(self) -> list[str]:
        """Say how much work the program counts, and how long a unit of it takes."""
        if self.verdict is None or not self.run.has("work_amount"):
            return []
        amount = self.run.variable("work_amount").sum(axis=0)
        if not (amount > 0).all():
            return []
        each, own_s = amount / self.run.bodies, self.verdict.costs.own_s
        rate_s = own_s / amount
        most = int(np.argmax(rate_s))
        said = (
            f"The program counts {each.mean():,.0f} units of work an iteration on the mean rank "
            f"({each.min():,.0f} to {each.max():,.0f}). A unit takes "
            f"{seconds(float(own_s.sum() / amount.sum()))} of local work"
        )
        if self.run.columns > 1:
            said += f", most on rank {most}: {seconds(float(rate_s[most]))}"
        worst = self.straggler
        if worst is not None:
            times = factor(float(over_others(each)[worst]))
            said += f". Rank {worst} counts {times} times the units of the others (median)"
        return [f"{said}."]

    def inner(self) -> list[str]:
        """Say what part of the time solves inside of these take, if there are any."""
        whole = max(self.attached.get("seconds", 0.0), 1e-300)
        words = [
            f"{each['prefix'] or 'no prefix'} ({each['type']}, {each['count']:,} times) "
            f"{percent(each['seconds'] / whole, 0)}"
            for each in self.attached.get("inner", [])[:LEADING]
            if each["seconds"] >= MATTERS * whole
        ]
        return [f"Solves inside of these, on the first rank: {', '.join(words)}."] if words else []

    def next(self) -> str:
        """Say what to do next."""
        shares, path = self.shares, shell_word(self.run.path)
        if why_withheld(self.run):
            return f"Next: hindmost check {path}"
        first = self.worst
        culprit = None if self.verdict is None else self.verdict.culprit
        doubt = "" if self.verdict is None else self.verdict.doubt
        sure = culprit is not None and culprit.sure
        if sure and first is not None and first.severity != "error":
            first = None if first.code in DISTURBED else first
        if first is not None:
            because = "" if first.code in self.said else f" ({first.text})"
            return f"Next: {first.advice}{because}."
        if doubt:
            return "Next: repeat on an idle machine before anything else."
        prefix = self.attached.get("prefix", "")
        variants = [each for each in self.attached.get("pipelined", []) if isinstance(each, str)]
        if culprit is not None and culprit.share >= MATTERS:
            return (
                f"Next: see what equal work would save: hindmost whatif {path}; and where the "
                f"ranks differ: hindmost show --ranks {path}"
            )
        header = self.run.header
        blocking = self.solves and header.ranks > 1 and header.synchronisation == "blocking"
        if blocking and variants and shares.get("wait", 0.0) >= MATTERS:
            return (
                f"Next: see what a pipelined solver would save: hindmost whatif {path}. To measure "
                f"it, attach once more with -{prefix}ksp_type {variants[0]}, then hindmost compare."
            )
        waiting = shares.get("halo", 0.0) + shares.get("wait", 0.0)
        if max(waiting, shares["outside"]) >= MATTERS:
            if waiting >= shares["outside"]:
                section = "--ranks" if self.stretches else "--efficiency"
                return f"Next: see which ranks wait, and for what: hindmost show {section} {path}"
            if not self.solves:
                return "Next: look at what the program does outside of these iterations."
            return (
                "Next: look at what is done once per solve or restart, such as the set-up of the "
                "preconditioner (-log_view)."
            )
        return (
            "Next: communication is not what costs time here; fewer or cheaper iterations "
            "(preconditioner, tolerance) would save more."
            if self.solves
            else "Next: communication is not what costs time here; the work itself is."
        )

    def text(self) -> str:
        """Return all sentences."""
        return " ".join(self.lines())

    @property
    def most_stretches(self) -> tuple[Stretch, ...]:
        """Those with most work."""
        return self.stretches[:MOST_LISTED]


def largest(shares: dict[str, float]) -> list[str]:
    """Write the shares that are worth saying, the largest first."""
    order = sorted(shares, key=lambda name: (shares[name], name), reverse=True)
    return [f"{percent(shares[name], 0)} {name}" for name in order if shares[name] >= WORTH_SAYING]
