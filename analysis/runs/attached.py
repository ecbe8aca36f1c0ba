"""What the runs of an attached program say to a person first, in sentences.

How many solves or iterations there were and where their time went, which rank is the straggler and
whether it waits or works, and what to do next. Each sentence follows from numbers of the run file;
where they do not allow it, the sentence says so. What a change would save is told by ``whatif``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hindmost.analysis.runs.configuration import is_attached
from hindmost.analysis.runs.cores import TAKEN, core_wait
from hindmost.analysis.runs.efficiency.withheld import unclassified_calls, why_withheld
from hindmost.analysis.runs.finding import (
    MATTERS,
    MOST_SHOWN,
    WORTH_SAYING,
    Finding,
    Topic,
    of_file,
)
from hindmost.analysis.runs.links import link_words
from hindmost.analysis.runs.model_input import MOST_IN_MEMORY
from hindmost.analysis.runs.stretches import (
    Stretch,
    extra_words,
    growth_words,
    stretches_of,
)
from hindmost.analysis.runs.summary import efficiency_of, links_of, when
from hindmost.analysis.show.table import MOST_LISTED
from hindmost.harness.runfile.bodies import IN_MPI, WAITING, sum_of_phases
from hindmost.harness.runfile.reader import Run
from hindmost.printable import shell_word
from hindmost.text import counted, percent, seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTimes:
    """The bodies of a run, summed for each rank.

    Attributes
    ----------
    work_s, wait_s, time_s : float64 array, shape (rank,), seconds
        Time outside MPI, wait in halo exchange and collectives, and all of the bodies.
    typical_s : float64 array, shape (rank,), seconds
        Time outside MPI if every body had the median of the rank's.
    amount : float64 array, shape (rank,), or None
        Work that the program counted, in its own unit.
    """

    work_s: NDArray[np.float64]
    typical_s: NDArray[np.float64]
    wait_s: NDArray[np.float64]
    time_s: NDArray[np.float64]
    amount: NDArray[np.float64] | None = None


def rank_times(run: Run) -> RankTimes | None:
    """Sum the bodies of a run for each rank; None if it is too large to be read for a glance."""
    if run.bodies * run.columns > MOST_IN_MEMORY:
        return None
    phases = run.variable("phase_duration")
    own = sum_of_phases(phases, [name not in IN_MPI for name in run.phases])
    sums = phases.sum(axis=0, dtype=np.float64)
    amount = run.variable("work_amount").sum(axis=0) if run.has("work_amount") else np.zeros(1)
    return RankTimes(
        work_s=own.sum(axis=0),
        typical_s=np.median(own, axis=0) * len(own),
        wait_s=sums[:, [run.phases.index(name) for name in WAITING]].sum(axis=1),
        time_s=sums.sum(axis=1),
        amount=amount if (amount > 0).all() else None,
    )


MOST_OF_EXCESS = 0.5
"""Share of a straggler's additional work from which on what may explain it is said."""
LEFT_OUT_FIRST = ("loops", "growth", "calls", "places")
"""What sentences name, in the order in which it is left out where there are too many lines."""
IN_WORDS = {
    "local": "local work",
    "wait": "wait in collectives",
    "halo": "halo exchange",
    "post": "starts of non-blocking collectives",
}
CAUSES = {
    "load_balance": "load imbalance",
    "serialisation": "waiting in turn",
    "transfer": "other time in MPI",
    "communication": "waiting in turn and other time in MPI",
}
"""What the factors of efficiency are called, as on the bars of a report."""
DISTURBED = ("crowded", "cores-taken", "outliers", "load", "slow-stretch")
"""Codes of findings that call for a repeat before conclusions."""
FIRST = ("crowded", "cores-taken", "recurring", *DISTURBED[2:])
"""Codes of findings to act on first, of equal severity in this order."""
REMEDIES = {
    "crowded": "repeat with a core for every rank before anything else",
    "cores-taken": (
        "repeat on a quiet machine, where the ranks start no threads of their own "
        "(OPENBLAS_NUM_THREADS=1), before anything else"
    ),
    "recurring": "write less often or asynchronously, if that is output or a checkpoint",
    "drift": "find out whether the program does more later, or the machine became slower",
    "repeats-differ": "repeat on a quieter machine before anything else",
    "outliers": (
        "if these iterations do no more than others (output, a checkpoint), repeat on a quiet "
        "machine before anything else"
    ),
}
"""What to do about those that a quiet machine alone does not cure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The work by which a rank is a straggler or is none.

    Attributes
    ----------
    work_s : float64 array, shape (rank,), seconds
    whole_s : float
        Time of the iterations.
    quickest : bool
        Whether only the quickest iterations count.
    """

    work_s: NDArray[np.float64]
    whole_s: float
    quickest: bool = False

    @property
    def excess(self) -> float:
        """Most work of a rank above the mean of all, as a share of that."""
        return float(self.work_s.max()) / max(float(self.work_s.mean()), 1e-300) - 1.0

    @property
    def imbalance(self) -> float:
        """Most work of a rank above the mean of all, as a share of the whole time."""
        return float(self.work_s.max() - self.work_s.mean()) / max(self.whole_s, 1e-300)

    @property
    def names_one(self) -> bool:
        """Whether a rank works clearly more than the mean, at a cost."""
        return self.excess > MATTERS and self.imbalance > WORTH_SAYING


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedRun:
    """The solves of one kind, or the loop, of an attached program.

    Attributes
    ----------
    run : Run
    attached : dict
        What its header says of the program.
    times : RankTimes or None
    findings : tuple of Finding
    stretches : tuple of Stretch
        Where in the code work lies; empty if that is not known, or the run is large.
    """

    run: Run
    attached: dict[str, Any]
    times: RankTimes | None
    findings: tuple[Finding, ...] = ()
    stretches: tuple[Stretch, ...] = ()

    JSON = (
        "file=run.path solver=run.header.solver solves? iterations=run.header.iterations "
        "solve_time_s=run.solve_time_s share=shares straggler excess_work=timed.excess "
        "imbalance=timed.imbalance stretches=most_stretches text"
    )

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
        return {**inside, "outside": max(1.0 - sum(inside.values()), 0.0)}

    @property
    def disturbed(self) -> list[Finding]:
        """What calls for a repeat before conclusions."""
        return [each for each in self.findings if each.code in DISTURBED]

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

    @property
    def recurring(self) -> list[str]:
        """What is said of iterations that come back longer."""
        return self.recurring_words()

    def recurring_words(self, *, places: bool = True) -> list[str]:
        """Say which iterations come back longer, and between which calls they are.

        The iterations of a stretch show some that noise elsewhere hides.
        """
        bodies = self.run.bodies
        texts = [each.text for each in self.findings if each.code == "recurring"]
        found = [
            (back, stretch, rank)
            for stretch in self.stretches
            for rank, every in stretch.recurring.items()
            for back in every
            if back.cost_s >= WORTH_SAYING * self.undisturbed_s
        ]
        for back, stretch, rank in sorted(found, key=lambda each: -each[0].cost_s):
            words = back.rule.explain(bodies)
            of_rule = [at for at, text in enumerate(texts) if text.startswith(words)]
            if not of_rule:
                where = f", {stretch}" if places else ""
                texts.append(
                    f"{words} is {seconds(back.longer_s[0])} longer on rank {rank}{where}: "
                    f"{seconds(back.cost_s)}"
                )
            for at in of_rule if places else ():
                if "between" not in texts[at]:
                    texts[at] += f"; {seconds(back.longer_s[0])} of it {stretch}"
        return texts

    @property
    def straggler(self) -> int | None:
        """The rank that works clearly more than the mean, at a cost; None if none does."""
        times = self.times
        if times is None or self.run.header.ranks < 2 or why_withheld(self.run):
            return None
        worst = int(np.argmax(self.judged.work_s))
        return worst if self.judged.names_one else None

    @property
    def judged(self) -> Judged:
        """What decides whether a rank is a straggler.

        Where the run was disturbed, and their quickest iterations name one, these do: others may be
        long on any rank.
        """
        assert self.times is not None
        every = Judged(work_s=self.times.work_s, whole_s=self.run.solve_time_s)
        quickest_s = self.quickest_s
        if quickest_s is None:
            return every
        quickest = Judged(work_s=quickest_s, whole_s=float(quickest_s.max()), quickest=True)
        return quickest if quickest.names_one else every

    @property
    def quickest_s(self) -> NDArray[np.float64] | None:
        """Work of each rank if all iterations were among its quickest: (rank,), seconds.

        None where the run was not disturbed, or it is not known.
        """
        if not self.disturbed or not self.stretches:
            return None
        found = self.run.bodies * np.sum([each.quickest_s for each in self.stretches], axis=0)
        return found if found.max() > 0.0 else None

    @property
    def undisturbed_s(self) -> float:
        """Time of the iterations, or of the work of the quickest ones where the run was disturbed.

        What costs time is a share of this one: disturbances do not make it matter less.
        """
        quickest_s = self.quickest_s
        return self.run.solve_time_s if quickest_s is None else float(quickest_s.max())

    @property
    def may_be_disturbed(self) -> bool:
        """Whether a disturbance may be what makes the straggler one."""
        return bool(self.doubt())

    def doubt(self) -> str:
        """Say how much of a straggler's additional work a disturbance may be; empty if little.

        It is not if its typical bodies have most of the additional work, and waiting for a core
        does not account for it.
        """
        worst, times = self.straggler, self.times
        if worst is None or times is None or self.recurring or self.judged.quickest:
            return ""
        if self.quickest_s is not None:
            return " Its quickest iterations do not show that: perhaps a disturbance, not its work."
        if core_wait(self.run) is None or self.crowded:
            return " The run was disturbed: this may not be its work." if self.disturbed else ""
        waited, unusual = self.waited, self.unusual
        if waited > MOST_OF_EXCESS:
            return f" Up to {percent(min(waited, 1.0), 0)} of that may be waiting for a core."
        if unusual > MOST_OF_EXCESS:
            return (
                f" {percent(min(unusual, 1.0), 0)} of that is in unusually long iterations, "
                "perhaps disturbances."
            )
        return ""

    @property
    def waited(self) -> float:
        """Share of the straggler's additional work that may be waiting for a core."""
        return self._of_excess(self.run.variable("core_wait"))

    @property
    def unusual(self) -> float:
        """Share of the straggler's additional work that its typical iteration does not have."""
        assert self.times is not None
        return 1.0 - self._of_excess(self.times.typical_s)

    def _of_excess(self, spent_s: NDArray[np.float64]) -> float:
        """Return what a straggler spends above the mean, as a share of its additional work."""
        assert self.times is not None
        work_s, worst = self.times.work_s, self.straggler
        return float((spent_s[worst] - spent_s.mean()) / (work_s[worst] - work_s.mean()))

    @property
    def crowded(self) -> bool:
        """Whether there were more ranks than cores."""
        return any(each.code == "crowded" for each in self.findings)

    @property
    def excess(self) -> float:
        """Work of the rank that works most, above the mean of all, as a share of that."""
        return 0.0 if self.times is None else self.judged.excess

    @property
    def imbalance(self) -> float:
        """Most work of a rank above the mean of all, as a share of the solve time."""
        return 0.0 if self.times is None else self.judged.imbalance

    def lines(self, left_out: Collection[str] = ()) -> list[str]:
        """Return the sentences.

        Parameters
        ----------
        left_out : collection of str
            Of `LEFT_OUT_FIRST`, what they do not name.
        """
        return [
            *self.why_incomplete(),
            self.what(),
            *(() if "loops" in left_out else self.other_loops()),
            self.where(calls="calls" not in left_out),
            self.who(places="places" not in left_out),
            *self.network(),
            *(() if "growth" in left_out else self.grown()),
            *self.counted_work(),
            *self.inner(),
            self.next(),
        ]

    @property
    def said(self) -> set[str]:
        """Codes of findings that the sentences contain, so that no list below repeats them."""
        found = {"recurring"} if self.recurring else set()
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

    def what(self) -> str:
        """Say how much there is of what."""
        header, attached = self.run.header, self.attached
        time = seconds(self.run.solve_time_s)
        if not self.solves:
            name = (attached.get("loop") or {}).get("name")
            each = f" ({header.iteration_is})" if header.iteration_is else ""
            if name and self.of_program():  # which says what part of the time that is
                each = f" {name}"
            verb = "takes" if self.run.bodies == 1 else "take"
            return (
                f"{counted(self.run.bodies, 'iteration')} of its loop{each} {verb} {time}"
                f"{self.of_program()}."
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
            f"{verb} {time}{self.of_program()}."
        )

    def other_loops(self) -> list[str]:
        """Name the loops of the program that are measured on request."""
        named = self.run.header.loops()[:MOST_SHOWN]
        return [f"Other loops: {'; '.join(named)}."] if named else []

    def of_program(self) -> str:
        """Say what part of the program that is, if it is known."""
        whole = self.attached.get("program_s", 0.0)
        share = self.run.solve_time_s / whole if whole > 0.0 else 0.0
        if not WORTH_SAYING <= share <= 1.0 + WORTH_SAYING:  # ranks begin at different times
            return ""
        return f", {percent(min(share, 1.0), 0)} of the program's {seconds(whole)}"

    def where(self, *, calls: bool = True) -> str:
        """Say where the time went, by cause and in which calls."""
        shares = self.shares
        outside = shares.pop("outside")
        in_words = {**IN_WORDS, "unclassified": unclassified_calls(self.run)}
        named = sorted(
            ((share, in_words.get(name, f"phase {name}")) for name, share in shares.items()),
            reverse=True,
        )
        words = [f"{percent(share, 0)} {name}" for share, name in named if share >= WORTH_SAYING]
        parts = self.causes()
        causes = [f"{percent(share, 0)} {name}" for name, share in parts if share >= WORTH_SAYING]
        if causes:
            words = [each for each in words if not each.endswith(IN_WORDS["local"])]
            outside = max(1.0 - sum(share for _, share in parts), 0.0)
        if outside >= WORTH_SAYING:
            what = " (set-up, restarts, ends)" if self.solves else ""
            if not self.run.header.complete:
                what = " (also those that were not kept)"
            (causes or words).append(f"{percent(outside, 0)} outside iterations{what}")
        said = f"Where the time goes, over all ranks: {', '.join(causes or words)}."
        without = [
            each.text for each in self.findings if each.code in self.said & {"crowded", TAKEN}
        ]
        if without:  # then calls say little of the program
            return f"{said} Included in all: {without[0]}."
        if calls and causes and len(words) > 1:
            said += f" By call: {', '.join(words)}."
        return said + (f" But {self.polling.text}." if self.polling else "")

    def causes(self) -> list[tuple[str, float]]:
        """Return work, what the rest is lost to, and their shares, largest first; may be empty."""
        found = None if self.run.header.ranks < 2 else efficiency_of(self.run)
        if found is None:
            return []
        parts = {"work": found.mean_local_s} | {
            CAUSES[name]: lost_s for name, lost_s in found.lost_s.items()
        }
        whole_s = max(self.run.solve_time_s, 1e-300)
        shares = [(name, part_s / whole_s) for name, part_s in parts.items()]
        return sorted(shares, key=lambda each: -each[1])

    def who(self, *, places: bool = True) -> str:
        """Say which rank is the straggler, whether it waits or works, and where in the code."""
        run, times = self.run, self.times
        if run.header.ranks == 1:
            return "There is one rank, so nobody waits."
        withheld = why_withheld(run)
        if withheld:
            return f"No rank is named as a straggler: {withheld}."
        if times is None:
            return (
                f"The file is large; for stragglers: hindmost show {shell_word(run.path)} --ranks"
            )
        share = times.wait_s / np.maximum(times.time_s, 1e-300)
        worst = self.straggler
        if worst is None:
            waiting = float(times.wait_s.sum() / max(float(times.time_s.sum()), 1e-300))
            whole = "No rank is a straggler" + (" over all iterations" if self.recurring else "")
            return (
                f"{whole}: the rank with the most time outside MPI has "
                f"{percent(self.excess)} more than the mean, which is {percent(self.imbalance)} "
                f"of the {'solve' if self.solves else 'loop'} time. The ranks wait "
                f"{percent(waiting, 0)} of their iterations."
                f"{self.of_recurring('But ', places=places)}"
            )
        others = np.delete(share, worst)
        host = f" on {run.hosts[worst]}" if len(set(run.hosts)) > 1 else ""
        quickest = self.judged.quickest
        when = " in its quickest iterations, too" if quickest else ""
        return (
            f"Rank {worst}{host} is the straggler{when}: it spends {percent(self.excess, 0)} more "
            f"time outside MPI than the mean. It waits {percent(float(share[worst]), 0)} of its "
            f"time, the others {percent(float(others.mean()), 0)}.{self.of_node(worst)}"
            f"{extra_words(self.stretches if places else (), worst, quickest=quickest)}"
            f"{self.of_recurring(places=places)}{self.doubt()}"
        )

    def of_node(self, worst: int) -> str:
        """Say if the ranks of a straggler's node all work clearly more than any other rank."""
        here = np.array(self.run.hosts) == self.run.hosts[worst]
        if self.times is None or here.sum() < 2 or here.all():
            return ""
        work = self.times.work_s
        if work[here].min() <= (1.0 + MATTERS) * work[~here].max():
            return ""
        return (
            f" Every rank of {self.run.hosts[worst]} works longer than all ranks elsewhere: the "
            "node is slow, or has more to do."
        )

    def network(self) -> list[str]:
        """Say what communication between nodes takes, if it takes much of the time."""
        links = links_of(self.run)
        most = max((each.share for each in links if len(each.nodes) == 2), default=0.0)
        said = link_words(links) if most >= MATTERS else ""
        return [f"The network {said}."] if said else []

    def grown(self) -> list[str]:
        """Say where work grows from iteration to iteration, if that costs time."""
        said = growth_words(self.run, self.stretches, WORTH_SAYING * self.undisturbed_s)
        return [said] if said else []

    def of_recurring(self, also: str = "", *, places: bool) -> str:
        """Say which iterations come back longer, and where: the other ranks wait for them."""
        return "".join(
            f" {also}{each if also else each[:1].upper() + each[1:]}."
            for each in self.recurring_words(places=places)
        )

    def counted_work(self) -> list[str]:
        """Say how much work the program counts, and how long a unit of it takes."""
        times = self.times
        if times is None or times.amount is None:
            return []
        each = times.amount / self.run.bodies
        rate_s = times.work_s / times.amount
        most = int(np.argmax(rate_s))
        said = (
            f"The program counts {each.mean():,.0f} units of work an iteration on the mean rank "
            f"({each.min():,.0f} to {each.max():,.0f}). A unit takes "
            f"{seconds(float(times.work_s.sum() / times.amount.sum()))} of local work"
        )
        if self.run.columns > 1:
            said += f", most on rank {most}: {seconds(float(rate_s[most]))}"
        worst = self.straggler
        if worst is not None:
            more = percent(float(each[worst] / each.mean()) - 1.0, 0)
            said += f". Rank {worst} counts {more} more units than the mean"
        return [f"{said}."]

    def inner(self) -> list[str]:
        """Say what part of the time solves inside of these take, if there are any."""
        whole = max(self.attached.get("seconds", 0.0), 1e-300)
        words = [
            f"{each['prefix'] or 'no prefix'} ({each['type']}, {each['count']:,} times) "
            f"{percent(each['seconds'] / whole, 0)}"
            for each in self.attached.get("inner", [])[:MOST_RUNS]
            if each["seconds"] >= MATTERS * whole
        ]
        return [f"Solves inside of these, on the first rank: {', '.join(words)}."] if words else []

    def next(self) -> str:
        """Say what to do next."""
        shares, path = self.shares, shell_word(self.run.path)
        if why_withheld(self.run):
            return f"Next: hindmost check {path}"
        first = self.worst
        systematic = self.straggler is not None and not self.may_be_disturbed
        if systematic and first is not None and first.severity != "error":
            first = None if first.code in DISTURBED else first
        if first is not None:
            remedy = REMEDIES.get(first.code, "")
            if not remedy:
                remedy = (
                    "repeat on a quiet machine before anything else"
                    if first.code in DISTURBED
                    else first.advice
                )
            if first.code in self.said:
                return f"Next: {remedy}."
            return f"Next: {remedy}: {first.text}."
        if self.may_be_disturbed:
            return "Next: repeat on a quiet machine before anything else."
        prefix = self.attached.get("prefix", "")
        variants = [each for each in self.attached.get("pipelined", []) if isinstance(each, str)]
        if self.straggler is not None and self.imbalance >= MATTERS:
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
        where = {
            "outside": "look at what is done once per solve or restart, such as the set-up of the "
            "preconditioner (-log_view)."
            if self.solves
            else "look at what the program does outside of these iterations.",
            "halo": (
                f"see which ranks wait for whose messages: hindmost show --ranks {path}"
                if self.stretches
                else f"see what messages cost: hindmost show --efficiency {path}"
            ),
            "wait": f"see where ranks lose time to each other: hindmost show --efficiency {path}",
        }
        most = max(where, key=lambda name: shares.get(name, 0.0))
        if shares.get(most, 0.0) >= MATTERS:
            return f"Next: {where[most]}"
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

    @property
    def timed(self) -> AttachedRun | None:
        """Itself; None if the times of its ranks are not known."""
        return self if self.times is not None else None


MOST_RUNS = 3
"""Kinds of solves of a program that get sentences, those that take longest."""


MOST_LETTERS = 50
"""Of a command line, so that the title stays on one line."""


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
        left_out: Collection[str] = (),
    ) -> list[str]:
        """Return the title and the sentences.

        Parameters
        ----------
        below : mapping of Path to sequence of str
            What else is said of each run, below its sentences.
        left_out : collection of str
            See `AttachedRun.lines`.
        """
        if len(self.runs) > 1:  # of whose loops others are
            left_out = {*left_out, "loops"}
        first = self.runs[0]
        attached, header = first.attached, first.run.header
        command = " ".join(attached.get("program", [])) or self.name
        if len(command) > MOST_LETTERS:
            command = f"{command[: MOST_LETTERS - 3]}..."
        ranks = int(attached.get("of_ranks") or header.ranks)
        began = min(each.run.header.t0_utc for each in self.runs)
        lines = [f"{self.name}: {command}, {counted(ranks, 'rank')}, {when(began)}"]
        if attached.get("finished") is False or attached.get("aborted") is not None:
            how = "" if attached.get("aborted") is None else f" (MPI_Abort {attached['aborted']})"
            lines.append(
                f"  The program did not end by MPI_Finalize{how}; this is what it recorded before."
            )
        if len(self.runs) > 1:
            total = sum(each.solves for each in self.runs)
            of_solves = f"{counted(total, 'solve')} in {len(self.runs)} files, by solver, options "
            what = f"{of_solves}prefix and size" if total else f"{len(self.runs)} of its loops"
            lines.append(f"  {what}. The longest first:")
        for each in self.runs[:MOST_RUNS]:
            if len(self.runs) > 1:
                lines.append(f"  {each.run.path.name}:")
            own = (*each.lines(left_out), *below.get(each.run.path, ()))
            lines += [f"  {line.strip()}" for line in own]
        if len(self.runs) > MOST_RUNS:
            lines.append(f"  {counted(len(self.runs) - MOST_RUNS, 'file')} more, of less time.")
        skipped = attached.get("solves_skipped", 0)
        if skipped:
            lines.append(
                f"  {counted(skipped, 'further solve')} of the program, on all ranks together, not "
                "recorded, as --only, --every or --most asked."
            )
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
            times = rank_times(run)
            found = AttachedRun(
                run=run,
                attached=said,
                times=times,
                stretches=() if times is None else stretches_of(run),
                findings=tuple(of_file(findings, run.path)),
            )
            programs.setdefault(key, []).append(found)
    return [
        AttachedProgram(name=name, runs=longest_first(found))
        for (_, name, _), found in programs.items()
    ]


def longest_first(runs: Sequence[AttachedRun]) -> tuple[AttachedRun, ...]:
    """Return runs by their solve time."""
    return tuple(sorted(runs, key=lambda each: -each.run.solve_time_s))
