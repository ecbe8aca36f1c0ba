"""What an interval of a replay decides about a change."""

from __future__ import annotations

import pytest

from hindmost.analysis.whatif.gains import Remedies, Remedy, gain_lines


@pytest.mark.parametrize(
    ("low_s", "high_s", "verdict"),
    [(0.8, 0.9, ""), (0.9, 1.1, ": undecided"), (1.3, 1.5, ": it would cost time")],
)
def test_a_change_saves_costs_or_is_undecided(low_s: float, high_s: float, verdict: str) -> None:
    middle_s = 0.5 * (low_s + high_s)
    remedy = Remedy(recorded_s=1.0, predicted_s=middle_s, low_s=low_s, high_s=high_s, network_s=0.0)
    assert remedy.verdict == verdict
    assert remedy.sure == (not verdict)


@pytest.mark.parametrize(
    ("remedies", "reason"),
    [
        (Remedies(), "too few iterations do the same to tell what is typical of them"),
        (Remedies(refused="a single rank waits for nobody"), "a single rank waits for nobody"),
    ],
)
def test_there_is_a_reason_where_nothing_is_known(remedies: Remedies, reason: str) -> None:
    assert gain_lines(remedies) == [f"What a change would save is unknown: {reason}."]
