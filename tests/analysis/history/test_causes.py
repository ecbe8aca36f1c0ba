"""Causes of changes: what changed with them, and which part of an iteration."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hindmost.analysis.history.causes import Cause, CauseKind
from hindmost.analysis.history.change_groups import group_changes
from hindmost.analysis.history.state_file import read_state, write_state
from hindmost.analysis.history.study import judge_history
from hindmost.analysis.readers.format import CaseResult, Session
from hindmost.analysis.readers.formats.run_history import DISTURBANCES, LONGEST, MEAN
from hindmost.analysis.readers.gather_history import HistoryGathering
from hindmost.analysis.readers.history import Circumstances, History, StretchTimers
from hindmost.analysis.report.report import Contents, report_page
from hindmost.analysis.show.html_renderer import page_html

NIGHTS, AT, RANKS, ITERATIONS = 30, 22, 4, 100
DAY_S = 86400.0
WORK_S = {"between a and b": 4e-3, "between b and a": 6e-3}
Night = Callable[[CaseResult], CaseResult]


def result(number: int, noise: float) -> CaseResult:
    """Return the results of a night: two stretches of equal work on all ranks."""
    timers = {f"work {name}{which}" for name in WORK_S for which in (LONGEST, MEAN)}
    values = {name: WORK_S[name[5:].split(",")[0]] * noise for name in timers}
    known = Circumstances(
        question="heat loop 4",
        inputs={"-n": "100"},
        machine={"host": "blake", "kernel": "6.1"},
        software={"MPI": "4.1"},
        iterations=ITERATIONS,
        ranks=RANKS,
        stretches={
            f"work {name}{LONGEST}": StretchTimers(
                mean=f"work {name}{MEAN}", place=f"{name} (heat.c:40)", longest=number % RANKS
            )
            for name in WORK_S
        },
    )
    session = Session(
        machine="blake",
        time=1.7e9 + number * DAY_S,
        file=f"{number}.h5",
        commits={"": f"{number:07x}"},
        circumstances=known,
    )
    values |= {"halo": 1e-3 * noise, DISTURBANCES: 1e-4 * noise}
    return session.result("heat", {"solve": 11.1e-3 * ITERATIONS * noise, **values})


def history(change: Night, nights: range = range(NIGHTS), *, seed: int = 3) -> History:
    """Return nights, changed from night `AT` on."""
    noise = np.random.default_rng(seed).lognormal(0.0, 0.003, NIGHTS)
    gathering = HistoryGathering()
    made = [result(number, float(noise[number])) for number in nights]
    gathering.add(
        each if number < AT else change(each) for number, each in zip(nights, made, strict=True)
    )
    return gathering.history("nights")


def cause(change: Night) -> Cause:
    """Return the cause of the change of the solve time."""
    for group in group_changes(judge_history(history(change))):
        for finding in group.findings:
            if finding.judged.series.name.timer == "solve" and finding.cause is not None:
                return finding.cause
    raise AssertionError("no change of the solve time")


def longer(parts: Mapping[str, float], **circumstances: object) -> Night:
    """Return nights whose timers take so much longer (s)."""

    def night(entry: CaseResult) -> CaseResult:
        known = replace(entry.session.circumstances, **circumstances)  # type: ignore[arg-type]
        values = {name: value + parts.get(name, 0.0) for name, value in entry.values.items()}
        session = replace(
            entry.session,
            circumstances=known,
            machine=str(known.machine["host"]),
        )
        return replace(entry, session=session, values=values)

    return night


STRETCH = "work between b and a"
BY_RANK_3 = {
    STRETCH + LONGEST: StretchTimers(
        mean=STRETCH + MEAN, place="between b and a (heat.c:40)", longest=3
    )
}
OTHERS = {"solve": 0.2, "halo": 1.5e-3}


def test_work_of_one_rank() -> None:
    own = {STRETCH + LONGEST: 2e-3, STRETCH + MEAN: 0.5e-3}
    found = cause(longer({**OTHERS, **own}, stretches=BY_RANK_3))
    assert (found.kind, found.rank) == (CauseKind.RANK, 3)
    assert found.place == "between b and a (heat.c:40)"
    assert found.share == pytest.approx(1.0, abs=0.02)
    assert found.text.startswith("18 of the 18 % is work of rank 3 between b and a (heat.c:40)")
    # The waiting of the others is no further part.
    assert "halo" not in found.text


def test_work_of_several_and_of_all_ranks() -> None:
    for ranks, words in ((2, "about 2 of 4 ranks"), (4, "all ranks")):
        own = {STRETCH + LONGEST: 2e-3, STRETCH + MEAN: 0.5e-3 * ranks}
        found = cause(longer({"solve": 0.2, **own}))
        assert (found.kind, found.rank) == (CauseKind.STRETCH, None)
        assert f"is work of {words} between b and a" in found.text
    # One rank has more in every night, but not the same.
    own = {STRETCH + LONGEST: 2e-3, STRETCH + MEAN: 0.5e-3}
    assert "one rank, not always the same" in cause(longer({"solve": 0.2, **own})).text


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("machine", {"host": "green"}, "host blake -> green"),
        ("machine", {"host": "blake", "kernel": "6.9"}, "kernel 6.1 -> 6.9"),
        ("software", {"MPI": "5.0"}, "MPI 4.1 -> 5.0"),
        ("inputs", {"-n": "200"}, "-n 100 -> 200"),
        ("inputs", {"-n": "100", "-f": "1"}, "-f not given -> 1"),
    ],
)
def test_what_changed_with_it_comes_before_code(
    name: str, value: dict[str, str], words: str
) -> None:
    own = {STRETCH + LONGEST: 2e-3, STRETCH + MEAN: 2e-3}
    found = cause(longer({"solve": 0.2, **own}, **{name: value}))
    assert found.kind == {"inputs": "input"}.get(name, name)
    assert words in found.changed
    assert words in found.text
    assert "work of all ranks between b and a" in found.text


def test_more_iterations_and_a_slower_machine() -> None:
    found = cause(longer({"solve": 11.1e-3 * 30}, iterations=130))
    assert found.kind == CauseKind.ITERATIONS
    assert found.text == "30 of the 30 % is 130 iterations in place of 100"
    slower = {
        f"work {name}{which}": 0.2 * s for name, s in WORK_S.items() for which in (LONGEST, MEAN)
    }
    found = cause(longer({"solve": 0.2, **slower}))
    assert (found.kind, found.place) == (CauseKind.MACHINE, "")
    assert found.text.startswith(
        "every stretch of 5 % of the work or more takes 1.20 times as long on all ranks: the "
        "machine"
    )


def test_a_busier_host_comes_before_code() -> None:
    own = {STRETCH + LONGEST: 2e-3, STRETCH + MEAN: 2e-3}
    for load, kind in ((0.3, CauseKind.STRETCH), (3.0, CauseKind.DISTURBANCES)):
        gathering = HistoryGathering()
        for number in range(NIGHTS):
            one = result(number, 1.0 + 0.001 * (number % 3))
            changed = {"solve": 0.2, **own} if number >= AT else {}
            busy = load if number >= AT else 0.1
            gathering.add([longer(changed, load=busy)(one)])
        study = judge_history(gathering.history("nights"))
        causes = [finding.cause for group in group_changes(study) for finding in group.findings]
        assert causes
        assert {cause.kind for cause in causes if cause is not None} == {kind}
        if kind == CauseKind.DISTURBANCES:
            assert causes[0] is not None
            assert "3.0 runnable tasks a core before the runs, in place of 0.1" in causes[0].text


def test_disturbances_waiting_and_what_nothing_explains() -> None:
    found = cause(longer({"solve": 0.2, DISTURBANCES: 2e-3}))
    assert found.kind == CauseKind.DISTURBANCES
    found = cause(longer({"solve": 0.2, "halo": 2e-3}))
    assert found.kind == CauseKind.WAITING
    assert "time in MPI (halo)" in found.text
    found = cause(longer({"solve": 0.2}))
    assert found.kind == CauseKind.UNKNOWN
    assert np.isnan(found.share)


def test_what_differs_on_some_nights_only_explains_nothing() -> None:
    def night(entry: CaseResult) -> CaseResult:
        known = entry.session.circumstances
        number = int(entry.session.file[:-3])
        machine = {**known.machine, "kernel": "6.9" if number % 2 else "6.1"}
        own = {STRETCH + LONGEST: 2e-3, STRETCH + MEAN: 2e-3}
        return longer({"solve": 0.2, **own}, machine=machine)(entry)

    found = cause(night)
    assert (found.kind, found.changed) == (CauseKind.STRETCH, ())


def test_the_circumstances_stay_in_the_state(tmp_path: Path) -> None:
    """A change is explained alike from all nights, and night by night with a state."""
    own = {STRETCH + LONGEST: 2e-3, STRETCH + MEAN: 0.5e-3}
    changed = longer({"solve": 0.2, **own}, machine={"host": "green"}, stretches=BY_RANK_3)
    path = tmp_path / "state"
    for nights in (range(20), *(range(at, at + 1) for at in range(20, NIGHTS))):
        study = judge_history(history(changed, nights), state=read_state(path))
        assert study.state is not None
        write_state(path, study.state)
    assert {each.series.name.machine for each in study.judged} == {"green"}
    (group,) = group_changes(study)
    assert cause(changed) in [finding.cause for finding in group.findings]
    assert not study.silent_machines()


def test_configurations_of_one_folder_stay_cases() -> None:
    """Every night has both: they do not succeed one another."""
    gathering = HistoryGathering()
    for number in range(NIGHTS):
        one = result(number, 1.0)
        known = replace(one.session.circumstances, inputs={"-n": "200"})
        other = replace(one, case="heat 200", session=replace(one.session, circumstances=known))
        gathering.add([one, other])
    study = judge_history(gathering.history("nights"))
    assert {each.series.name.case for each in study.judged} == {"heat", "heat 200"}


def test_runs_on_hosts_in_turn_are_one_series() -> None:
    gathering, random = HistoryGathering(), np.random.default_rng(5)
    for number in range(NIGHTS):
        one = result(number, 1.0 + 0.001 * (number % 3))
        known = replace(one.session.circumstances, machine={"host": f"ci{random.integers(9)}"})
        session = replace(one.session, circumstances=known, machine=known.machine["host"])
        gathering.add([replace(one, session=session)])
    study = judge_history(gathering.history("nights"))
    assert {each.nights for each in study.judged} == {NIGHTS}


def test_the_page_has_states_and_causes_in_words(tmp_path: Path) -> None:
    own = {STRETCH + LONGEST: 2e-3, STRETCH + MEAN: 0.5e-3}
    changed = longer({"solve": 0.2, **own}, stretches=BY_RANK_3)
    path = tmp_path / "state"
    for nights in (range(AT + 1), *(range(at, at + 1) for at in range(AT + 1, NIGHTS))):
        study = judge_history(history(changed, nights), state=read_state(path))
        assert study.state is not None
        write_state(path, study.state)
    html = page_html(report_page(Contents(history=study))).replace("\xa0", " ")
    assert "18 of the 18 % is work of rank 3 between b and a (heat.c:40)" in html
    assert re.search(r"seen 2023-12-0\d, confirmed 2023-12-\d\d", html)
