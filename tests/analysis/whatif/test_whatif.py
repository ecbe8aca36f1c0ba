"""``hindmost whatif``: what it computes of run files, says and refuses."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.whatif.files import answer, document, event_values, machine_file, said
from tests.conftest import LOCAL, alone_values, run_values

from hindmost.analysis.whatif.options import Named, changes_of
from hindmost.analysis.whatif.prediction import repeat_width
from hindmost.analysis.whatif.study import program_of
from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.events import EventKind
from hindmost.models.simulation.change import Detours

RANKS = 3


@pytest.fixture
def run(tmp_path: Path, header: Header) -> Path:
    """Return a blocking run: 200 bodies of 50 to 60 us, whose reductions cost 3 us."""
    values = run_values(iterations=200, ranks=RANKS, restart=20, seed=1)
    return write_whole(tmp_path, header, values)


@pytest.fixture
def with_halos(tmp_path: Path, header: Header) -> Path:
    """Return a run of exchanges that cost 10 us, each followed by a reduction of 3 us."""
    work = np.random.default_rng(1).uniform(50e-6, 60e-6, (200, RANKS))
    before, inside = np.zeros((200, RANKS, 3)), np.zeros((200, RANKS, 3))
    before[:, :, 0] = work
    padded = np.pad(work, ((0, 0), (1, 1)))
    received = np.maximum(work, np.maximum(padded[:, :-2], padded[:, 2:]) + 10e-6)
    inside[:, :, 1] = received - work
    inside[:, :, 2] = received.max(axis=1, keepdims=True) + 3e-6 - received
    kinds = [EventKind.SEND, EventKind.RECEIVE, EventKind.REDUCE]
    values = event_values(kinds, before, inside, cycle=20) | {"edge_bytes": np.full(4, 1000)}
    return write_whole(tmp_path, header, values)


def test_without_a_change_the_recorded_time_comes_back(
    run: Path, with_halos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for found in answer(capsys, run, with_halos):
        assert found["predicted_s"] == pytest.approx(found["recorded_s"], rel=1e-4)
        assert found["interval_s"] is None
        assert found["changes"] == {}


@pytest.mark.parametrize(
    ("unknown", "replays"), [([3], True), ([3, 59, 60], True), (range(60), False)]
)
def test_iterations_whose_events_are_not_known_are_left_out(
    tmp_path: Path,
    header: Header,
    capsys: pytest.CaptureFixture[str],
    unknown: Sequence[int],
    replays: bool,
) -> None:
    """Their time stays, whatever the change: half the speed doubles the work of all others."""
    values = run_values(iterations=200, ranks=RANKS, restart=20, seed=1)
    for name in ("whole", "torn"):
        (tmp_path / name).mkdir()
    whole = write_whole(tmp_path / "whole", header, values)
    rows = np.array(unknown)
    kind, work, inside = (
        np.array(values[f"event_{name}"]) for name in ("kind", "work", "duration")
    )
    values |= {"event_kind": kind, "event_work": work, "event_duration": inside}
    spent = work[rows].sum(axis=2), inside[rows].sum(axis=2)
    kind[rows], work[rows], inside[rows] = 0, 0.0, 0.0
    kind[rows, 0], (work[rows, :, 0], inside[rows, :, 0]) = EventKind.UNKNOWN, spent
    spec = header.spec | {"events_left_out": "a call was of some ranks"}
    torn = write_whole(tmp_path / "torn", replace(header, spec=spec), values)
    if not replays:
        with pytest.raises(DataError, match="60 of 200 iterations, because a call was of some"):
            program_of(open_run(torn))
        return
    (once,) = answer(capsys, torn)
    assert once["predicted_s"] == pytest.approx(once["recorded_s"], rel=1e-4)
    shown = said(capsys, torn)
    count = f"{rows.size} of 200 iterations {'is' if rows.size == 1 else 'are'} not replayed"
    assert f"{count}, because a call was of some ranks" in shown
    (all_slow,), (slow,) = (answer(capsys, each, "--speed", "x0.5") for each in (whole, torn))
    # Waiting in the bodies that are left out stays as it was; work there is twice as long, too.
    share = rows.size / 200
    assert slow["predicted_s"] == pytest.approx(all_slow["predicted_s"], rel=0.5 * share)


def test_json_is_what_the_contract_says(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = answer(capsys, run, "--latency", "x3", "--speed", "rank 1: x0.5")
    names = {"file", "recorded_s", "predicted_s", "interval_s", "changes", "critical_path"}
    assert names <= found.keys()
    assert found["changes"] == {"latency": "x3", "speed": "rank 1: x0.5"}
    path = found["critical_path"]
    assert isinstance(path, list)
    # Rank 1 takes over 100 us per body and the others at most 60, so all of its work counts.
    assert path[0]["rank"] == 1
    work = run_values(iterations=200, ranks=RANKS, restart=20, seed=1)["event_work"]
    assert path[0]["work_s"] == pytest.approx(2.0 * np.asarray(work)[:, 1].sum(), rel=1e-4)
    assert sum(each["network_s"] for each in path) == pytest.approx(200 * 9e-6, rel=1e-3)


def test_a_sweep_of_latencies_adds_what_reductions_cost(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(capsys, run, "--latency", "1,2,4,+5us")
    one, two, four, more = (float(str(each["predicted_s"])) for each in found)
    assert two - one == pytest.approx(200 * 3e-6, rel=1e-3)
    assert four - one == pytest.approx(3 * (two - one), rel=1e-3)
    # 3 ranks: the message of rank 0 goes through rank 1 to rank 2, or back to rank 0.
    assert more - one == pytest.approx(200 * 10e-6, rel=1e-3)


def test_bytes_of_messages_follow_the_machine_file(
    with_halos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = machine_file(tmp_path)
    base, half = answer(capsys, with_halos, "--machine", machine, "--bandwidth", "1,x0.5")
    # Half of the 10 us are 1000 bytes at 1 ns each; they take twice the time.
    grown = float(str(half["predicted_s"])) - float(str(base["predicted_s"]))
    assert grown == pytest.approx(200 * 5e-6, rel=0.02)


def test_sentences_come_first(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["whatif", str(run), "--latency", "x2"]) == 0
    printed = capsys.readouterr().out
    title, recorded, predicted, *_ = printed.splitlines()
    assert title.startswith("gmres on laplacian-1d: 300 unknowns, 3 ranks")
    assert "a replay without a change" in recorded
    assert predicted.startswith("With latency x2: predicted ")
    assert "\nCritical path, in brackets without the change: work " in printed
    assert "Assumed: What messages and reductions typically cost" in printed
    assert " latency x2 " in said(capsys, run, "--latency", "1,2")


@pytest.mark.parametrize("loop", [False, True])
def test_every_run_has_the_answers_whatever_its_size(
    tmp_path: Path,
    header: Header,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    loop: bool,
) -> None:
    """Only a report leaves out large runs. A loop that is no solver has no pipelined partner."""
    monkeypatch.setattr("hindmost.analysis.whatif.gains.MAX_EVENTS", 10)
    named = replace(header, solver="loop" if loop else "minres")
    values = run_values(iterations=200, ranks=RANKS, restart=20, seed=1)
    printed = said(capsys, write_whole(tmp_path, named, values))
    for each in ("no noise", "equal work", "an ideal network"):
        assert f"With {each} the replay takes " in printed
    assert ("With the pipelined solver: undecided" in printed) == (not loop)


def test_a_machine_file_must_have_the_network_that_is_asked_for(
    with_halos: Path, tmp_path: Path
) -> None:
    machine = machine_file(tmp_path, network=None)
    with pytest.raises(DataError, match="no network"):
        main(["whatif", str(with_halos), "--machine", str(machine), "--bandwidth", "2"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--latency", "twice"], "--latency twice: write a factor"),
        (["--latency", "x-2"], "latency of x-2"),
        (["--latency", "+5"], "'5' is not a time"),
        (["--latency", "1e999"], "latency of xinf; factors are 0, or 1e-06"),
        (["--latency", "1,"], "--latency 1,: a value is missing"),
        (["--bandwidth", "0"], "bandwidth of x0"),
        (["--bandwidth", "2"], "omit --bandwidth"),
        (["--speed", "rank one: x2"], "write a factor for all ranks"),
        (["--speed", "rank 7: x2"], "speed of rank 7; the run has 3 ranks"),
        (["--speed", "rank 1: x2", "--speed", "rank 1: x3"], "rank 1 has two factors"),
        (["--pipeline-depth", "0"], "whole number from 1 to 64"),
        (["--pipeline-depth", "2"], "record the pipelined solver"),
        (["--noise", "cauchy:mean=1ms"], "choose none, x2, not-injected, exponential, fixed"),
        (["--noise", "exponential:mean=1"], "write a time with its unit"),
        (["--noise", "exponential:length=1ms"], "is no part of the law exponential"),
        (["--noise", "fixed:length=1ms"], "needs probability= or rate="),
        (["--noise", "fixed:length=1ms,probability=2"], "must be above 0 and at most 1"),
        (["--noise", "exponential"], "needs mean="),
        (["--noise", "periodic:period=1ms,length=1us"], "predicted by iterations and on all ranks"),
        (["--noise", "exponential:mean=1ms,ranks=1"], "predicted by iterations and on all ranks"),
        (["--iterations", "0"], "0 iterations; a solve has at least 1"),
        (["--noise", "not-injected"], "No noise was injected into this run"),
        (["--noise", "not-injected"], r"\.h5: No noise"),
        (["--solver", "pipecg"], "pipecg cannot be predicted from runs of gmres"),
        (["--solver", "pgmres"], "0 of 200 iterations have the events of PETSc's gmres"),
        (["--speed", "x2", "--speed", "x3"], "all ranks have two factors"),
        (["--latency", "-5us"], "what begins with '-' is read as an option"),
    ],
)
def test_bad_values_are_refused(run: Path, words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        main(["whatif", str(run), *words])


def test_another_length_is_known_no_better_than_the_bodies_it_rests_on(
    run: Path, tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bodies of 53 to 63 us, and one in 20 that takes 10 ms more: these decide, and are few."""
    values = run_values(iterations=200, ranks=RANKS, restart=20, seed=1)
    late = np.where(np.random.default_rng(3).random(200) < 0.05, 10e-3, 0.0)[:, None]
    for name in ("duration", "event_work"):
        recorded = np.asarray(values[name])
        values[name] = recorded + late.reshape(200, *[1] * (recorded.ndim - 1))
    phases = np.array(values["phase_duration"])
    phases[:, :, LOCAL] += late
    values["phase_duration"] = phases
    values["start"] = np.asarray(values["start"]) + np.cumsum(late, axis=0) - late
    values["solve_time"] = np.asarray(values["solve_time"]) + late.sum()
    (tmp_path / "late").mkdir()
    detours = write_whole(tmp_path / "late", header, values)
    widths = []
    for file in (run, detours):
        (found,) = answer(capsys, file, "--iterations", "20000")
        low_s, high_s = np.asarray(found["interval_s"])
        widths.append(high_s / low_s)
        assert "how much whole runs vary" in str(found["assumptions"])
    assert 1.0 < widths[0] < 1.05
    # Some 10 of them tell their rate to about a third of it; 90 % are 1.7 times that, both ways.
    assert 2.0 < widths[1] < 5.0


def test_values_are_read_as_they_are_written() -> None:
    assert [change.change.latency for change in changes_of(latency="x2, 0.5")] == [2.0, 0.5]
    (named,) = changes_of(latency="+5us", noise="exponential:mean=50us,probability=0.1")
    assert named.change.more_latency_s == pytest.approx(5e-6)
    assert named.change.detours is not None
    assert named.change.detours.mean_s == pytest.approx(5e-6)
    assert named.title == "latency +5.00 us, noise exponential:mean=50us,probability=0.1"
    (named,) = changes_of(noise="fixed:length=1ms,probability=1e-4", speed=["x2", "rank 3: 0.5"])
    assert named.change.detours == Detours(length_s=1e-3, probability=1e-4)
    assert (named.change.every_speed, named.change.speed) == (2.0, {3: 0.5})
    (named,) = changes_of(noise="none", pipeline_depth="3")
    assert (named.change.noise, named.change.depth) == (0.0, 3)
    assert isinstance(named, Named)


def test_an_older_file_without_events_is_replayed_by_bodies_or_refused(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    values = run_values(iterations=200, ranks=RANKS, restart=20, seed=1)
    for name in ("event_kind", "event_work", "event_duration"):
        del values[name]
    blocking = write_whole(tmp_path, header, values)
    assert not open_run(blocking).has("event_kind")
    (found,) = answer(capsys, blocking, "--latency", "x2")
    assert found["predicted_s"] == pytest.approx(float(str(found["recorded_s"])) + 200 * 3e-6)
    pipelined = replace(header, solver="pgmres", synchronisation="pipelined", lag=1)
    with pytest.raises(DataError, match="no events of single iterations"):
        main(["whatif", str(write_whole(tmp_path, pipelined, values)), "--noise", "none"])


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--iterations", "700"],
        ["--noise", "fixed:length=20us,probability=0.5"],
        ["--noise", "none", "--latency", "x2"],
        ["--speed", "x0.5"],
    ],
    ids=" ".join,
)
def test_a_prediction_from_one_run_is_its_replay(
    run: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    both = document(capsys, run, *words)
    (replayed,), (found,) = both["runs"], both["predictions"]
    assert found["predicted_s"] == replayed["predicted_s"]
    assert found["changes"] == replayed["changes"]
    assert found["name"] == "replay"
    assert [each["name"] for each in found["beside"]] == ["naive", "redrawn-uniform"]


def test_a_prediction_stands_in_a_table_with_the_others(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", str(run), "--iterations", "1000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("With 1,000 iterations: predicted ")
    (first,) = (at for at, line in enumerate(lines) if line.startswith("model "))
    assert [line.split()[0] for line in lines[first + 1 : first + 4]] == [
        "replay",
        "naive",
        "redrawn-uniform",
    ]
    assert "Assumed: A place in the restart cycle costs the same in every cycle." in lines


def test_what_cannot_be_replayed_is_predicted_from_means_of_its_places(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = replace(header, workload="alone")
    file = write_whole(tmp_path, alone, alone_values((1.0, 1.1, 1.2), 40))
    printed = said(capsys, file, "--iterations", "60")
    assert "Not replayed, but put together from these means" in printed
    with pytest.raises(DataError, match="nothing can be replayed"):
        main(["whatif", str(file), "--noise", "none"])
    # It does not keep others from their answer.
    other = write_whole(tmp_path, header, run_values(iterations=40, ranks=3, restart=20, seed=1))
    assert main(["whatif", str(other), str(file), "--speed", "x2"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("gmres on laplacian-1d")
    assert "No MPI call in which ranks wait for each other" in captured.err


def test_repeats_that_are_not_explained_are_left_out(
    run: Path, tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    values = run_values(iterations=200, ranks=RANKS, restart=20, seed=1)
    values["solve_time"] = 1.05 * np.asarray(values["solve_time"])
    broken = write_whole(tmp_path, header, values)
    printed = said(capsys, run, broken, "--noise", "none")
    assert "assumes that later runs vary no more than the parts of this one" in printed
    left = f"Left out: {broken}: replayed without a change"
    assert "".join(left.split()) in "".join(printed.split())  # lines are broken in long paths
    with pytest.raises(DataError, match="do not explain its time"):
        main(["whatif", str(broken), "--noise", "none"])


def test_nine_in_ten_repeats_lie_within_the_interval_of_those_before() -> None:
    # Whole solves are 5 % apart, as on machines that others use.
    logs = np.random.default_rng(4).normal(0.0, 0.05, (2000, 6))
    for count in (2, 5):
        inside = [
            abs(last - np.median(before)) <= repeat_width(np.exp(before))
            for before, last in zip(logs[:, :count], logs[:, 5], strict=True)
        ]
        assert 0.87 < np.mean(inside) < 0.93


@pytest.mark.parametrize("at", ["", ",at=calls"])
def test_only_detours_at_one_point_of_an_iteration_are_removed(
    tmp_path: Path, header: Header, at: str
) -> None:
    values = run_values(iterations=200, ranks=RANKS, restart=20, seed=1)
    none = np.zeros((200, RANKS))
    law = f"exponential:mean=20us,probability=0.1{at}"
    disturbed = replace(header, spec={**header.spec, "injected": law})
    path = write_whole(
        tmp_path, disturbed, {**values, "injected": none, "injected_outside": none[0]}
    )
    if not at:
        assert main(["whatif", str(path), "--noise", "not-injected"]) == 0
        return
    with pytest.raises(UsageError, match="without at=calls"):
        main(["whatif", str(path), "--noise", "not-injected"])
