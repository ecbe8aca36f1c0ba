"""What an interval of a replay decides about a change."""

import pytest

from hindmost.analysis.whatif.gains import BOTH, Remedies, Remedy, gain_lines, pooled


def remedy(low_s: float, high_s: float, change: str = "no noise") -> Remedy:
    return Remedy(
        change=change,
        recorded_s=1.0,
        predicted_s=0.5 * (low_s + high_s),
        low_s=low_s,
        high_s=high_s,
        network_s=0.0,
    )


@pytest.mark.parametrize(
    ("low_s", "high_s", "verdict"),
    [
        (0.8, 0.9, ""),
        (0.9, 1.1, f": undecided, because {BOTH}"),
        (1.3, 1.5, ": it would cost time"),
    ],
)
def test_a_change_saves_costs_or_is_undecided(low_s: float, high_s: float, verdict: str) -> None:
    assert remedy(low_s, high_s).verdict == verdict
    assert remedy(low_s, high_s).sure == (not verdict)


def test_every_question_has_its_line() -> None:
    """What is known, the largest gain first; then what is undecided, with its reason."""
    found = Remedies(
        quiet=remedy(0.8, 0.9),
        network=remedy(0.5, 0.6, "an ideal network"),
        undecided={"balanced": "rank 1 has no work. Record more", "partner": "none is known"},
    )
    assert [line.split(" the replay")[0] for line in gain_lines(found)] == [
        "With an ideal network",
        "With no noise",
        "With equal work: undecided, because rank 1 has no work. Record more.",
        "With the pipelined solver: undecided, because none is known.",
    ]
    assert [*found.why_undecided] == ["equal work", "the pipelined solver"]


def test_repeats_that_do_not_all_say_it_leave_it_undecided() -> None:
    why = {"quiet": "too few iterations. Record more"}
    both = pooled([Remedies(quiet=remedy(0.8, 0.9)), Remedies(undecided=why)])
    assert both.quiet is None
    assert both.undecided == why


def test_a_run_that_cannot_be_replayed_says_why() -> None:
    refused = Remedies(refused="a single rank waits for nobody")
    assert gain_lines(refused) == [
        "What a change would save is undecided: a single rank waits for nobody."
    ]
