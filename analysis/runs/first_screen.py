"""The first screen of a report, put together from conclusions of all kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hindmost.analysis.runs.finding import (
    MATTERS,
    MOST_SHOWN,
    WORTH_SAYING,
    Finding,
    about,
    by_code,
    text_of_all,
)
from hindmost.analysis.show.conclusion import Certainty, Conclusion
from hindmost.analysis.show.overview import Judgement
from hindmost.analysis.show.page import Heading, Paragraph, Part
from hindmost.analysis.show.table import Column, Table
from hindmost.text import counted, percent

DATA = "data"
"""The section on the data, as an anchor."""
CROWDED = "crowded"
"""The code of more ranks than cores: then all times in MPI are those of the scheduler."""


def judge_data(findings: Sequence[Finding], files: int) -> Judgement:
    """Return whether the data are good enough to conclude from, and what is wrong with them."""
    errors = [each for each in findings if each.severity == "error"]
    of = counted(files, "file")
    if not findings:
        return Judgement(grade="good", text=f"The data are good: no finding in {of}.")
    worst = errors or list(findings)
    alike = by_code(worst)
    said = [
        text_of_all(found) + (f" (in {bad} of {files} files)" if bad < files else "")
        for found in alike[:MOST_SHOWN]
        for bad in [len({each.file for each in found})]
    ]
    more = len(alike) - len(said)
    listed = "; ".join(said) + (f"; {more} more" if more > 0 else "")
    if errors:
        bad = len({each.file for each in errors})
        whose = f"The data of {bad} of {of}" if bad < files else "The data"
        return Judgement(
            grade="fair" if bad < files else "poor",
            text=f"{whose} do not support firm conclusions: {listed}.",
            advice=f"{capital(worst[0].advice)}.",
            anchor=DATA,
        )
    return Judgement(grade="fair", text=f"The data are usable with care: {listed}.", anchor=DATA)


def headline_of(
    conclusions: Sequence[Conclusion], work_share: float | None, findings: Sequence[Finding]
) -> str:
    """Return the most important thing in one sentence.

    Parameters
    ----------
    conclusions : sequence of Conclusion
        The largest first.
    work_share : float or None
        Of the configuration that the first is of, None if unknown.
    findings : sequence of Finding
        On the data; an error comes first.
    """
    losses = [each for each in conclusions if each.cost_s > 0.0 and not each.relative]
    first = next(iter(losses), None)
    if first is not None and first.certainty is Certainty.OPEN:  # one that is certain says more
        certain = [each for each in losses if each.sure]
        first = next((each for each in certain if (each.share or 0.0) >= MATTERS), first)
    errors = [each for each in findings if each.severity == "error"]
    if first is not None:  # errors in the data of others are no doubt about this one
        own = [each for each in errors if not first.files or each.file in first.files]
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
    of = f" of {first.of}" if first.of else ""
    maybe = "may cost" if first.certainty is Certainty.OPEN else "costs"
    why = f": {small(first.brief)}" if first.brief else ""
    if errors and first.brief.startswith(errors[0].text):  # the cause comes before the figure
        prefix, why = f"{errors[0].text}: {prefix}", ""
    return (
        f"{prefix}{small(first.title)} {maybe} {first.share_words(0)} of the time{of} "
        f"({first.cost_words}){why}."
    )


def small(text: str) -> str:
    """Continue a sentence."""
    return text[:1].lower() + text[1:]


def capital(text: str) -> str:
    """Begin a sentence with a capital."""
    return text[:1].upper() + text[1:]


def doubted(conclusion: Conclusion, findings: Iterable[Finding]) -> Conclusion:
    """Return a conclusion with what findings about its files take from its certainty."""
    own = [each for each in findings if not conclusion.files or each.file in conclusion.files]
    doubts = about(own, conclusion.topics)
    codes = list(dict.fromkeys(each.code for each in doubts if each.severity == "error"))
    if codes:
        return replace(
            conclusion,
            certainty=Certainty.DOUBTFUL,
            basis=f"{conclusion.basis}; errors in the data: {', '.join(codes)}",
        )
    if doubts:
        notes = ", ".join(dict.fromkeys(each.code for each in doubts))
        return replace(conclusion, basis=f"{conclusion.basis}; notes on the data: {notes}")
    return conclusion


def worth_saying(conclusions: Iterable[Conclusion]) -> list[Conclusion]:
    """Return conclusions, the largest cost or gain first, without losses that hardly matter."""
    return sorted(
        (each for each in conclusions if each.share is None or abs(each.share) >= WORTH_SAYING),
        key=lambda each: (-abs(each.cost_s), -abs(each.share or 0.0)),
    )


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
