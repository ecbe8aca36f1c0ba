"""The first screen of a report, put together from facts of all kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from hindmost.analysis.runs.cores import CROWDED
from hindmost.analysis.runs.finding import (
    DISTURBED,
    MAX_SHOWN,
    WORTH_SAYING,
    Finding,
    about,
    by_code,
    text_of_all,
)
from hindmost.analysis.show import phrases
from hindmost.analysis.show.facts import Certainty, Fact, ordered
from hindmost.analysis.show.overview import Judgement
from hindmost.analysis.show.page import Heading, Paragraph, Part
from hindmost.analysis.show.table import Column, Table
from hindmost.models.inference import MATTERS
from hindmost.text import capital, counted, percent, small

AnyFact = TypeVar("AnyFact", bound=Fact)
DATA = "data"
"""The section on the data, as an anchor."""


def judge_data(findings: Sequence[Finding], files: int) -> Judgement:
    """Return whether the data are good enough to conclude from, and what is wrong with them."""
    errors = [finding for finding in findings if finding.severity == "error"]
    of = counted(files, "file")
    if not findings:
        return Judgement(grade="good", text=f"The data are good: no finding in {of}.")
    worst = errors or list(findings)
    alike = by_code(worst)
    said = [
        text_of_all(found) + (f" (in {bad} of {files} files)" if bad < files else "")
        for found in alike[:MAX_SHOWN]
        for bad in [len({each.file for each in found})]
    ]
    more = len(alike) - len(said)
    listed = "; ".join(said) + (f"; {more} more" if more > 0 else "")
    if errors:
        bad = len({error.file for error in errors})
        whose = f"The data of {bad} of {of}" if bad < files else "The data"
        return Judgement(
            grade="fair" if bad < files else "poor",
            text=f"{whose} do not support firm conclusions: {listed}.",
            advice=f"{capital(worst[0].advice)}.",
            anchor=DATA,
        )
    return Judgement(grade="fair", text=f"The data are usable with care: {listed}.", anchor=DATA)


def leading_loss(facts: Sequence[Fact]) -> Fact | None:
    """Return the costliest loss; where it is not certain, the costliest that is and matters."""
    losses = [fact for fact in facts if fact.cost_s > 0.0 and not fact.relative]
    certain = (fact for fact in losses if fact.sure and (fact.share or 0.0) >= MATTERS)
    first = next(iter(losses), None)
    return first if first is None or first.sure else next(certain, first)


def headline_of(
    facts: Sequence[Fact], work_share: float | None, findings: Sequence[Finding]
) -> str:
    """Return the most important thing in one sentence.

    Parameters
    ----------
    facts : sequence of Fact
        In their order.
    work_share : float or None
        Of the configuration that the first is of, None if unknown.
    findings : sequence of Finding
        On the data; an error comes first.
    """
    first = leading_loss(facts)
    errors = [finding for finding in findings if finding.severity == "error"]
    if first is not None:  # errors in the data of others are no doubt about this one
        own = [error for error in errors if not first.files or error.file in first.files]
        errors = own if first.certainty is Certainty.DOUBTFUL else []
    if errors and errors[0].code == CROWDED:  # figures of the scheduler are no headline
        return f"{capital(errors[0].text)}, so {errors[0].advice}."
    prefix = "at face value, " if errors else ""  # the line on the data says why
    if first is None or (first.share or 0.0) < MATTERS:
        if work_share is None:
            return f"{prefix}no cause of lost time stands out."
        return (
            f"{prefix}{percent(work_share, 0)} of the time is work; no loss above 5 % stands out."
        )
    run_name = f" of {first.run_name}" if first.run_name else ""
    maybe = "may cost" if first.certainty is Certainty.OPEN else "costs"
    why = f": {small(words)}" if (words := phrases.brief(first)) else ""
    return (
        f"{prefix}{small(first.quantity)} {maybe} {phrases.share(first, 0)} of the time{run_name} "
        f"({phrases.cost(first)}){why}."
    )


def doubted(fact: AnyFact, findings: Iterable[Finding]) -> AnyFact:
    """Return a fact with what findings about its files take from its certainty.

    Disturbances take nothing from what the quickest iterations show.
    """
    own = [finding for finding in findings if not fact.files or finding.file in fact.files]
    doubts = [each for each in about(own, fact.topics) if each.code not in fact.codes]
    errors = [doubt.code for doubt in doubts if doubt.severity == "error"]
    codes = [code for code in dict.fromkeys(errors) if not (fact.steady and code in DISTURBED)]
    if codes:
        return replace(
            fact,
            certainty=Certainty.DOUBTFUL,
            basis=f"{fact.basis}; errors in the data: {', '.join(codes)}",
        )
    if doubts:
        shown = "; the quickest iterations show it" if errors else ""
        notes = ", ".join(dict.fromkeys(doubt.code for doubt in doubts))
        return replace(fact, basis=f"{fact.basis}{shown}; notes on the data: {notes}")
    return fact


def worth_saying(facts: Iterable[Fact]) -> list[Fact]:
    """Return facts in their order, without losses that hardly matter."""
    return ordered(fact for fact in facts if fact.share is None or abs(fact.share) >= WORTH_SAYING)


def data_parts(findings: Sequence[Finding]) -> list[Part]:
    """Return the section on the data: every finding with its advice."""
    if not findings:
        return []
    errors_first = sorted(findings, key=lambda each: each.severity != "error")
    return [
        Heading("Data quality", anchor=DATA),
        Table(
            columns=(
                Column("severity"),
                Column("finding", "wide"),
                Column("advice", "wide"),
                Column("in doubt", "wide"),
                Column("files", "right"),
                Column("code"),
            ),
            rows=[
                (
                    found[0].severity,
                    text_of_all(found),
                    found[0].advice,
                    ", ".join(found[0].doubts),
                    str(len({each.file for each in found})),
                    found[0].code,
                )
                for found in by_code(errors_first)
            ],
        ),
        Paragraph(
            "error: draw no conclusion from the numbers in doubt. note: conclude with care. "
            "'hindmost check' lists the findings of each file.",
            quiet=True,
        ),
    ]
