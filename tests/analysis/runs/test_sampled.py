"""What is said of samples: each sentence follows from what is known."""

from dataclasses import replace

import numpy as np
import pytest

from hindmost.analysis.show.facts import ExtraWork, UnequalWork
from hindmost.analysis.show.phrases import WORK_OR_CORE, text
from hindmost.models.ranks.attribution import Attribution
from hindmost.models.ranks.culprit import Culprit

FOUND = ExtraWork(
    attribution=Attribution(
        function=0,
        place=0,
        share=0.94,
        deviation=0.07,
        usual=0.3,
        samples=2000,
        needed=500,
        same_core=True,
        sure=True,
    ),
    place="flux_kernel (flux.f90:210)",
    extra_s=1.0,
    extra_cpu_s=1.0,
    own_cpu_s=2.0,
    core_wait_s=0.0,
    run_s=10.0,
    by_processor=False,
)
STRAGGLER = UnequalWork(
    quantity="Unequal work",
    subject="rank 1",
    culprit=Culprit(
        rank=1, ranks=(1,), times=1.5, cost_s=1.0, share=0.1, saved_s=1.0, last=0, chance=None
    ),
    cost_s=1.0,
    ranks=2,
    iterations=100,
    where="between exchange (heat.c:40) and dot (heat.c:61)",
    where_share=1.0,
)
BETWEEN = (
    "Rank 1 is the straggler: it works 1.50 times as long as the other rank; waiting for it costs "
    "10 % of the time. 100 % of its extra work lies between exchange (heat.c:40) and dot "
    "(heat.c:61)."
)


def said(extra: ExtraWork) -> str:
    return text(replace(STRAGGLER, extra=extra))


def test_a_chance_is_told_where_it_is_evidence() -> None:
    culprit = STRAGGLER.culprit
    assert culprit is not None
    for chance, words in ((1e-4, "under 0.1 %"), (8e-3, "up to 0.8 %"), (0.3, "")):
        told = text(replace(STRAGGLER, culprit=replace(culprit, chance=chance)))
        assert ("probability of this" in told) == bool(words)
        assert words in told


def test_a_function_is_named_with_its_interval() -> None:
    assert said(FOUND) == (
        f"{BETWEEN} 94 % (80 to 100) of its extra processor time there is spent in flux_kernel "
        "(flux.f90:210). What else the rank does takes no longer than on the others, so its core "
        "is not slower."
    )
    assert FOUND.decides
    other = replace(FOUND, attribution=replace(FOUND.attribution, same_core=False))
    assert said(other).endswith(WORK_OR_CORE)
    assert not other.decides
    assert not replace(FOUND, disturbed=True).decides


def test_few_samples_name_nothing_and_tell_how_many_are_needed() -> None:
    few = replace(FOUND.attribution, samples=500, needed=2000, sure=False)
    found = replace(FOUND, attribution=few)
    assert said(found) == (
        f"{BETWEEN} Not enough samples to name the function: it has 500 samples there and needs "
        f"about 2,000, 30.0 s more of the run. {WORK_OR_CORE}"
    )
    assert not found.decides
    assert "flux" not in said(found)


@pytest.mark.parametrize(
    ("core_wait_s", "words"),
    [
        (0.9, "waits for a core."),
        (0.0, "is blocked in the system (a file, a lock, a pause)."),
        (np.nan, "waits for a core, or is blocked in the system (a file, a lock, a pause)."),
        (0.3, "waits for a core, or is blocked in the system (a file, a lock, a pause)."),
    ],
)
def test_time_that_is_no_processor_time_has_another_cause(core_wait_s: float, words: str) -> None:
    found = replace(FOUND, extra_cpu_s=0.001, core_wait_s=core_wait_s)
    assert said(found) == (
        f"{BETWEEN} Its processor time is no longer there than the others': it {words} "
        f"{WORK_OR_CORE}"
    )
    part = replace(found, extra_cpu_s=0.2)
    assert "Only 20 % of that is processor time; else it " in said(part)
    assert "flux_kernel (flux.f90:210)" in said(part)
    assert not part.decides


def test_a_rank_may_wait_for_its_other_threads() -> None:
    found = replace(FOUND, extra_cpu_s=0.001, has_team=True)
    assert "it waits for its other threads, or is blocked in the system" in said(found)
    unknown = replace(found, core_wait_s=np.nan)
    assert "it waits for a core or for its other threads, or is blocked" in said(unknown)


def test_functions_that_all_take_longer_are_not_told_apart() -> None:
    alike = replace(FOUND.attribution, is_alike=True)
    found = replace(FOUND, attribution=alike, place="flux_kernel")
    assert said(found) == (
        f"{BETWEEN} All functions in flux_kernel take longer there. {WORK_OR_CORE}"
    )
    assert not found.decides
