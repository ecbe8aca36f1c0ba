"""What a run of an attached program says to a person first, in sentences.

How many solves or iterations there were and where their time went, what costs it (`run_facts`), and
what to do next. Each sentence follows from numbers of the run file; where they do not allow it, the
sentence says so. What a change would save is told by ``whatif``.

Attached programs: all runs of one execution, with their sentences below one title.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from hindmost.analysis.runs.configuration import group_runs, is_attached
from hindmost.analysis.runs.efficiency.of_run import where_time_goes
from hindmost.analysis.runs.efficiency.withheld import (
    UNKNOWN,
    told_shares,
    unclassified_calls,
    why_withheld,
)
from hindmost.analysis.runs.finding import (
    DISTURBED,
    MAX_SHOWN,
    WORTH_SAYING,
    Finding,
    Topic,
    of_file,
)
from hindmost.analysis.runs.run_facts import facts_of
from hindmost.analysis.runs.straggler import StragglerVerdict, pooled, verdict_of
from hindmost.analysis.runs.stretches import Stretch, stretches_of
from hindmost.analysis.runs.summary import efficiency_of, when
from hindmost.analysis.runs.tallies import MAX_IN_MEMORY
from hindmost.analysis.show.facts import Fact, RepeatedCulprit
from hindmost.analysis.show.phrases import (
    CALLS,
    OTHERS,
    FactEntry,
    Sentence,
    factor,
    folded,
    sentences,
    within,
)
from hindmost.analysis.show.table import LEADING, MAX_LISTED, WIDTH
from hindmost.harness.runfile.reader import Run
from hindmost.harness.runfile.time_left import time_use_of
from hindmost.models.inference import MATTERS
from hindmost.models.ranks.culprit import over_others
from hindmost.models.ranks.efficiencies import OUTSIDE
from hindmost.printable import shell_word
from hindmost.text import counted, percent, seconds

IN_WORDS = {
    "local": "local work",
    UNKNOWN: "outside the recorded MPI calls, work or not",
    "wait": "wait in collectives",
    "halo": "halo exchange",
    "post": "starts of non-blocking collectives",
}
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
    facts : tuple of Fact
        What costs its time.
    alone : bool
        Whether it is the only run of the program.
    """

    run: Run
    attached: dict[str, Any]
    verdict: StragglerVerdict | None
    findings: tuple[Finding, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    facts: tuple[Fact, ...] = ()
    alone: bool = True

    JSON = (
        "file=run.path solver=run.header.solver solves? iterations=run.header.iterations "
        "solve_time_s=run.solve_time_s share=shares straggler culprit=verdict.culprit excess_work "
        "imbalance stretches=most_stretches facts=entries text"
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
    def is_whole_program(self) -> bool:
        """Whether no loop is measured, but all that the program did."""
        return bool(self.attached.get("no_loop"))

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
        polls = (finding for finding in self.findings if finding.code == "polling")
        return next((poll for poll in polls if poll.severity == "error"), None)

    @property
    def worst(self) -> Finding | None:
        """The finding to act on first, an error before a note; None if there is none."""
        acted = [
            finding
            for finding in self.findings
            if finding.code in FIRST
            or (finding.severity == "error" and Topic.TIMES in finding.doubts)
        ]

        def rank(each: Finding) -> tuple[bool, int]:
            return each.severity != "error", (*FIRST, each.code).index(each.code)

        return min(acted, key=rank, default=None)

    def paragraphs(self) -> list[list[Sentence]]:
        """Return the sentences; those on one thing together."""
        facts = [sentences(fact) for fact in self.facts]
        return [
            *(
                [[Sentence(each) for each in self.waiting()], *facts, [Sentence(self.what())]]
                if self.is_whole_program
                else []
            ),
            *([[Sentence(self.why_incomplete())]] if not self.run.header.complete else []),
            *([] if self.is_whole_program else [[Sentence(self.what())]]),
            *([[Sentence(self.calls_kept())]] if self.run.summed else []),
            *([[Sentence(text, OTHERS)] for text in self.other_loops()] if self.alone else []),
            self.where(),
            *([[Sentence(self.nobody())]] if self.nobody() else []),
            *([] if self.is_whole_program else facts),
            *([[Sentence(text)] for text in (*self.counted_work(), *self.inner())]),
            *([[Sentence(self.time_use())]] if self.time_use() else []),
            [Sentence(self.next())],
        ]

    @property
    def entries(self) -> list[FactEntry]:
        """The facts as JSON has them."""
        return [*map(FactEntry, self.facts)]

    @property
    def codes(self) -> set[str]:
        """Codes of findings that the sentences contain, so that no list below repeats them."""
        polling = {"polling"} if self.polling else set[str]()
        return polling.union(*(fact.codes for fact in self.facts))

    def why_incomplete(self) -> str:
        """Say that this is not all of it, and why."""
        return f"INCOMPLETE: {self.run.header.spec.get('failure') or 'records were lost'}."

    def calls_kept(self) -> str:
        """Say of how many iterations all calls are known."""
        summed, bodies = self.run.summed, self.run.bodies
        if self.is_whole_program:
            where = "" if self.run.has("stretch_rank") else ", not where in the code they were made"
            return (
                f"The program made more calls than its budget holds: their sums are known{where} "
                "(attach --all keeps all)."
            )
        return (
            f"Calls are known one by one in {bodies - summed:,} of {counted(bodies, 'iteration')}, "
            "by sums in the others (attach --all keeps all)."
        )

    def what(self) -> str:
        """Say how much there is of what."""
        header, attached = self.run.header, self.attached
        time = seconds(self.run.solve_time_s)
        if self.is_whole_program:
            return (
                f"The whole program takes {time}{self.run.of_program}. It is not divided into "
                f"iterations: {attached['no_loop']}"
            )
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
        named = self.run.header.loops()[:MAX_SHOWN]
        return [f"Other loops: {'; '.join(named)}."] if named else []

    def where(self) -> list[Sentence]:
        """Say where the time went, by cause and in which calls."""
        found = efficiency_of(self.run)
        whole_s = max(self.run.solve_time_s, 1e-300)
        parts_s = {} if found is None else where_time_goes(self.run, found)
        shares = self.shares
        outside = shares.pop("outside")
        if parts_s:
            outside = parts_s.pop(OUTSIDE, 0.0) / whole_s
            del shares["local"]
        in_words = {**IN_WORDS, "unclassified": unclassified_calls(self.run)}
        by_call = largest(
            {in_words.get(name, f"phase {name}"): share for name, share in shares.items()}
        )
        causes = largest({name: part_s / whole_s for name, part_s in parts_s.items()})
        parts = causes or by_call
        if outside >= WORTH_SAYING:
            what = " (set-up, restarts, ends)" if self.solves else ""
            if not self.run.header.complete:
                what = " (also those that were not kept)"
            parts = [*parts, f"{percent(outside, 0)} {OUTSIDE}{what}"]
        said = [Sentence(f"Where the time goes, over all ranks: {', '.join(parts)}.")]
        if causes and len(by_call) > 1:
            said.append(Sentence(f"By call: {', '.join(by_call)}.", CALLS))
        if self.polling:
            said.append(Sentence(f"But {self.polling.text}."))
        return said

    def waiting(self) -> list[str]:
        """Say which rank spends most time in MPI at one place, and for whom ranks wait there."""
        if self.run.header.ranks < 2 or not self.stretches:
            return []
        longest = max(self.stretches, key=lambda each: float(each.wait_s.max()))
        rank = int(longest.wait_s.argmax())
        share = float(longest.wait_s[rank]) / max(self.run.solve_time_s, 1e-300)
        if share < WORTH_SAYING:
            return []
        text = f"Rank {rank} spends {percent(share, 0)} of the time in MPI at {longest.before}."
        for_whom = longest.for_whom()
        if for_whom is None:
            return [text]
        whom, part = for_whom
        return [text, f"{percent(part, 0)} of all ranks' time there is waiting for rank {whom}."]

    def nobody(self) -> str:
        """Say why nobody can be a straggler; empty where somebody can."""
        run, verdict = self.run, self.verdict
        if run.header.ranks == 1:
            return "There is one rank, so nobody waits."
        if verdict is None:
            return (
                f"The file is large; for stragglers: hindmost show {shell_word(run.path)} --ranks"
            )
        if verdict.withheld:
            return f"No rank is named as a straggler: {verdict.withheld}."
        return ""

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

    def time_use(self) -> str:
        """Say how the time until the limit was used; empty if there was none."""
        use = time_use_of(self.attached)
        return "" if use is None or use.limit_s is None else use.ending()

    def next(self) -> str:
        """Say what to do next."""
        shares, path = self.shares, shell_word(self.run.path)
        if why_withheld(self.run):
            return f"Next: hindmost check {path}"
        first = self.worst
        culprit = None if self.verdict is None else self.verdict.culprit
        sure = culprit is not None and culprit.sure
        if sure and first is not None and first.severity != "error":
            first = None if first.code in DISTURBED else first
        if first is not None:
            because = "" if first.code in self.codes else f" ({first.text})"
            return f"Next: {first.advice}{because}."
        if culprit is not None and not sure:
            return "Next: repeat on an idle machine before anything else."
        prefix = self.attached.get("prefix", "")
        variants = [each for each in self.attached.get("pipelined", []) if isinstance(each, str)]
        if culprit is not None and culprit.share >= MATTERS:
            sampled = self.run.has("sample_rank")
            function = "" if sampled else "; in which function and thread: attach with --sample"
            return (
                f"Next: see what equal work would save: hindmost whatif {path}; and where the "
                f"ranks differ: hindmost show --ranks {path}{function}"
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
        return " ".join(one.text for paragraph in self.paragraphs() for one in paragraph)

    @property
    def most_stretches(self) -> tuple[Stretch, ...]:
        """Those with most work."""
        return self.stretches[:MAX_LISTED]


def largest(shares: dict[str, float]) -> list[str]:
    """Write the shares that are worth saying, the largest first."""
    order = sorted(shares, key=lambda name: (shares[name], name), reverse=True)
    return [f"{percent(shares[name], 0)} {name}" for name in order if shares[name] >= WORTH_SAYING]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedProgram:
    """One execution of an attached program, with all of its runs.

    Attributes
    ----------
    name : str
    runs : tuple of AttachedRun
        The longest first.
    """

    name: str
    runs: tuple[AttachedRun, ...]

    def lines(
        self,
        below: Mapping[Path, Sequence[str]] = MappingProxyType({}),
        remark: str = "",
        room: float = math.inf,
    ) -> list[str]:
        """Return the title and the sentences.

        Parameters
        ----------
        below : mapping of Path to sequence of str
            What else is said of each run, below its sentences.
        remark : str
            In what it differs from others, if the command is too long to show it.
        room : float
            Lines of each run, of which the most important sentences are taken.
        """
        first = self.runs[0]
        attached, header = first.attached, first.run.header
        command = " ".join(attached.get("program", [])) or self.name
        if len(command) > WIDTH // 2:  # so that the title stays on one line
            command = f"{command[: WIDTH // 2 - 3]}..." + (f" ({remark})" if remark else "")
        ranks = int(attached.get("of_ranks") or header.ranks)
        began = min(run.run.header.t0_utc for run in self.runs)
        lines = [f"{self.name}: {command}, {counted(ranks, 'rank')}, {when(began)}"]
        if attached.get("finished") is False or attached.get("aborted") is not None:
            how = "" if attached.get("aborted") is None else f" (MPI_Abort {attached['aborted']})"
            lines.append(
                f"  The program did not end by MPI_Finalize{how}; this is what it recorded before."
            )
        if len(self.runs) > 1:
            total = sum(run.solves for run in self.runs)
            of_solves = f"{counted(total, 'solve')} in {len(self.runs)} files, by solver, options "
            what = f"{of_solves}prefix and size" if total else f"{len(self.runs)} of its loops"
            lines.append(f"  {what}. The longest first:")
        lines = folded(lines)
        for each in self.runs[:LEADING]:
            if len(self.runs) > 1:
                lines += folded([f"  {each.run.path.name}:"])
            more = folded([line.strip() for line in below.get(each.run.path, ())], indent="  ")
            left = room - len(more) - (len(lines) if each is first else 0)
            lines += [*within(left, each.paragraphs(), indent="  "), *more]
        if len(self.runs) > LEADING:
            lines.append(f"  {counted(len(self.runs) - LEADING, 'file')} more, of less time.")
        skipped = attached.get("solves_skipped", 0)
        if skipped:
            words = (
                f"{counted(skipped, 'further solve')} of the program, on all ranks together, not "
                "recorded, as --only, --every or --most asked."
            )
            lines += folded([words], indent="  ")
        return lines


def attached_programs(
    runs: Iterable[Run], findings: Sequence[Finding] = ()
) -> list[AttachedProgram]:
    """Return the attached programs among runs, in the order in which they come."""
    programs: dict[tuple[Path, str, str], list[AttachedRun]] = {}
    for run in runs:
        if is_attached(run) and run.bodies:
            said = run.header.spec["attached"]
            name = str(said.get("name") or run.header.workload)
            key = (run.path.parent, name, str(said.get("execution", "")))
            large = run.bodies * run.columns > MAX_IN_MEMORY
            stretches = () if large else stretches_of(run)
            own = tuple(of_file(findings, run.path))
            found = AttachedRun(
                run=run,
                attached=said,
                verdict=None if large else verdict_of(run),
                stretches=stretches,
                findings=own,
                facts=facts_of(run, own),
            )
            programs.setdefault(key, []).append(found)
    return [
        AttachedProgram(
            name=name,
            runs=tuple(
                replace(each, alone=len(found) == 1)  # the loops of a run are those of others
                for each in sorted(found, key=lambda each: -each.run.solve_time_s)
            ),
        )
        for (_, name, _), found in programs.items()
    ]


def repeated_culprits(programs: Iterable[AttachedProgram]) -> list[RepeatedCulprit]:
    """Return in how many repeats of a configuration which rank takes longest."""
    runs = [run for program in programs for run in program.runs]
    verdicts = {run.run: run.verdict for run in runs if run.verdict is not None}
    return [
        one
        for group in group_runs(verdicts)
        for one in pooled([verdicts[run] for run in group.runs])
    ]
