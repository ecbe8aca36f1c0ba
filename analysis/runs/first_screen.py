"""The first screen of a report, put together from conclusions of all kinds."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.analysis.runs.conclusion import Certainty, Conclusion, worth_saying
from hindmost.analysis.runs.finding import MATTERS, MOST_SHOWN, Finding, by_code, text_of_all
from hindmost.analysis.show.overview import Judgement, Statement
from hindmost.analysis.show.page import Heading, Paragraph, Part
from hindmost.analysis.show.table import Column, Table
from hindmost.text import counted, percent, seconds

DATA = "data"
"""The section on the data, as an anchor."""
CROWDED = "crowded"
"""The code of more ranks than cores: then all times in MPI are those of the scheduler."""
SURE = (Certainty.MEASURED, Certainty.PREDICTED)


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
        certain = [each for each in losses if each.certainty in SURE]
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
    known = not first.brief or any(first.brief.startswith(each.text) for each in errors[:1])
    why = "" if known else f": {small(first.brief)}"
    return (
        f"{prefix}{small(first.title)} {maybe} {share_words(first, 0)} of the time{of} "
        f"({cost_words(first)}){why}."
    )


def between(low: str, high: str) -> str:
    """Write a range; one value if its ends read the same."""
    if low == high:
        return high
    unit = high.rpartition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"


def cost_words(conclusion: Conclusion) -> str:
    """Write what something costs, as a range where only that is known."""
    if conclusion.range_s is None or conclusion.estimated:
        return seconds(abs(conclusion.cost_s))
    low_s, high_s = conclusion.range_s
    return between(seconds(low_s), seconds(high_s)) if low_s > 0.0 else f"up to {seconds(high_s)}"


def share_words(conclusion: Conclusion, digits: int = 1) -> str:
    """Write the share of the time, as a range where only that is known."""
    share = abs(conclusion.share or 0.0)
    if conclusion.range_s is None or conclusion.estimated or not conclusion.cost_s > 0.0:
        return percent(share, digits)
    return range_words(conclusion, digits)


def range_words(conclusion: Conclusion, digits: int = 1) -> str:
    """Write the range of the share of the time; empty if there is none."""
    ends = share_range(conclusion)
    if ends is None:
        return ""
    low, high = (percent(each, digits) for each in ends)
    return between(low, high) if ends[0] > 0.0 else f"up to {high}"


def share_range(conclusion: Conclusion) -> tuple[float, float] | None:
    """Return the range of the share of the time; None if there is none."""
    share = abs(conclusion.share or 0.0)
    if conclusion.range_s is None or not conclusion.cost_s > 0.0:
        return None
    low, high = (share * each / conclusion.cost_s for each in conclusion.range_s)
    return low, high


def small(text: str) -> str:
    """Continue a sentence."""
    return text[:1].lower() + text[1:]


def capital(text: str) -> str:
    """Begin a sentence with a capital."""
    return text[:1].upper() + text[1:]


def sign_of(conclusion: Conclusion) -> str:
    """Return the sign of a difference; a part of a time has none."""
    if not conclusion.relative:
        return ""
    return "+" if conclusion.cost_s > 0.0 else "−"


def statements_of(conclusions: Sequence[Conclusion]) -> list[Statement]:
    """Return what is worth saying, the largest first."""
    return [
        Statement(
            title=each.title,
            text=each.text,
            remedy=each.remedy,
            of=each.of,
            amount=each.amount or sign_of(each) + cost_words(each),
            share=each.share,
            share_words="" if each.share is None else share_words(each),
            share_range=None if each.share is None else share_range(each),
            range_words=f"interval {range_words(each)}".replace(" %", "\u00a0%")
            if each.estimated and share_range(each) is not None
            else "",
            certainty=str(each.certainty),
            basis=each.basis,
            sure=each.certainty in SURE,
            links=[(link.anchor, link.text) for link in each.links],
        )
        for each in worth_saying(conclusions)
    ]


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
