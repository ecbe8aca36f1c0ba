"""What a person reads first of an attached program."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.report.first_screens import words
from tests.conftest import run_values
from tests.documents import as_declared

from hindmost.analysis.runs.attached import AttachedProgram, AttachedRun, attached_programs
from hindmost.analysis.runs.check import findings_of
from hindmost.analysis.runs.configuration import configuration, group_runs
from hindmost.analysis.runs.cores import core_wait
from hindmost.analysis.runs.finding import Finding, Severity, Topic
from hindmost.analysis.runs.summary import summarise_run
from hindmost.analysis.show.facts import RecurringWork
from hindmost.analysis.show.phrases import text
from hindmost.analysis.whatif.prediction import predict_solves
from hindmost.cli import main
from hindmost.errors import DataError, UsageError
from hindmost.harness.attach.convert import tell_recorded
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import Run, open_run
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.events import EventKind

ATTACHED = {
    "execution": "node 7 1",
    "name": "app",
    "program": ["./app", "-n", "7"],
    "prefix": "",
    "solves": 4,
    "seconds": 0.012,
    "finished": True,
    "snes_steps": [0, 3],
    "without_iterations": 1,
    "solves_skipped": 0,
    "reasons": {"CONVERGED_RTOL": 4},
    "inner": [{"prefix": "mg_", "type": "preonly", "count": 160, "seconds": 0.006}],
    "program_s": 0.024,
    "pipelined": ["pgmres"],
}
BODIES = 120


def phases_of(work_us: tuple[float, ...], halo_us: float, step_us: float) -> dict[str, Any]:
    """Return the variables of a run whose ranks meet in every body; one solve every 30."""
    ranks = len(work_us)
    values = run_values(iterations=BODIES, ranks=ranks, restart=30, seed=1)
    phases = np.zeros((BODIES, ranks, len(PHASES)))
    for rank, work in enumerate(work_us):
        phases[:, rank, PHASES.index("local")] = work * 1e-6
        phases[:, rank, PHASES.index("halo")] = halo_us * 1e-6
        phases[:, rank, PHASES.index("wait")] = (step_us - halo_us - work) * 1e-6
    duration = np.full((BODIES, ranks), step_us * 1e-6)
    gaps = np.asarray(values["restart_duration"])
    lead = np.full(ranks, 10e-6)
    begins = np.cumsum(duration, axis=0) - duration + np.repeat(np.arange(4), 30)[:, None] * 20e-6
    dropped = ("event_", "instructions", "cycles")
    return {
        **{name: value for name, value in values.items() if not name.startswith(dropped)},
        "duration": duration,
        "start": lead + begins,
        "phase_duration": phases,
        "lead_in": lead,
        "lead_out": lead,
        "solve_time": 2 * lead + duration.sum(axis=0) + gaps.sum(axis=0),
        "solve": np.repeat(np.arange(4), 30),
        "snes_step": np.repeat(np.arange(4), 30),
    }


@pytest.fixture
def write(tmp_path: Path, header: Header) -> Any:
    """Return what writes an attached run."""

    def written(
        work_us: tuple[float, ...] = (50.0, 50.0, 50.0),
        halo_us: float = 5.0,
        step_us: float = 60.0,
        synchronisation: Any = "blocking",
        spec: dict[str, Any] | None = None,
        complete: bool = True,
        values: dict[str, Any] | None = None,
        **attached: Any,
    ) -> Run:
        said = {
            "mpi_seen": True,
            "pid": 7,
            "petsc_options": [],
            "attached": {**ATTACHED, **attached},
        }
        written = {**phases_of(work_us, halo_us, step_us), **(values or {})}
        about = replace(
            header,
            workload="app",
            ranks=len(work_us),
            iterations=BODIES,
            restart=30,
            synchronisation=synchronisation,
            complete=complete,
            spec={**said, **(spec or {})},
        )
        return open_run(write_whole(tmp_path, about, written))

    return written


def story(run: Run) -> tuple[AttachedRun, str]:
    (program,) = attached_programs([run])
    return program.runs[0], lines_of(program)


def lines_of(program: AttachedProgram) -> str:
    """Return the sentences, a line for each paragraph."""
    return "\n".join(program.lines()).replace("\n      ", " ")


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_the_time_of_one_rank_is_work_and_what_it_had_no_core_for(write: Any, share: float) -> None:
    solve_s = BODIES * 60e-6 + 80e-6
    run = write((60.0,), 0.0, values={"core_wait": np.array([share * solve_s])})
    _, text = story(run)
    (line,) = re.findall(r"over all ranks: (.*?)\.", " ".join(text.split()))
    assert ("40 % time without a core" in line) == bool(share)
    assert sum(map(int, re.findall(r"(\d+) %", line))) in (99, 100, 101)


def test_how_many_solves_and_where_their_time_goes(write: Any) -> None:
    found, text = story(write())
    time_s = BODIES * 60e-6 + 80e-6
    assert "app: ./app -n 7, 3 ranks, 2026-01-02 03:04:05 UTC" in text
    assert "4 solves by gmres, 120 iterations in all, Newton steps 0 to 3, 1 without" in text
    assert "take 7.28 ms, 30 % of the program's 24.0 ms." in text
    assert found.shares["local"] == pytest.approx(BODIES * 50e-6 / time_s, rel=1e-5)
    assert found.shares["outside"] == pytest.approx(80e-6 / time_s, rel=1e-3)
    assert sum(found.shares.values()) == pytest.approx(1.0)
    told = " ".join(text.split())
    assert (
        "over all ranks: 82 % work, 16 % serialisation and other time in MPI, 1 % outside" in told
    )
    assert "By call: 8 % wait in collectives, 8 % halo exchange." in told
    assert "mg_ (preonly, 160 times) 50 %" in text


def test_attach_closes_with_the_share_that_show_begins_with(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in (write(), write(solves=0)):
        tell_recorded(run.path)
        assert run.of_program == ", 30 % of the program's 24.0 ms"
        assert capsys.readouterr().err.splitlines()[0].endswith(f"120 iterations{run.of_program}")
        assert run.of_program in story(run)[1]


def test_the_straggler_works_and_the_others_wait(write: Any) -> None:
    found, text = story(write((40.0, 54.0, 41.0)))
    assert found.straggler == 1
    assert found.excess_work == pytest.approx(54 / 40.5 - 1)
    told = " ".join(text.split())
    assert (
        "Rank 1 is the straggler: it works 1.33 times as long as the others (median); waiting for "
        "it costs 15 % of the time." in told
    )
    assert "Messages and collectives take 10 % of its time, 33 % of the others'." in " ".join(
        text.split()
    )
    # With the mean work on every rank the straggler would be 9 us faster in each iteration.
    assert found.imbalance == pytest.approx(BODIES * 9e-6 / (BODIES * 60e-6 + 80e-6), rel=1e-4)
    assert "Next: see what equal work would save: hindmost whatif" in text
    # 1.33 times the work of the others may be a slower core; 4 times may not.
    assert "That is more work, a pause or a slower core: to tell, pin the ranks the other" in told
    assert "slower core" not in story(write((13.0, 54.0, 14.0)))[1]


def test_a_node_all_of_whose_ranks_work_longer_is_named(write: Any) -> None:
    hosts = {"host": ["a", "b", "a", "b"]}
    told = " ".join(story(write((40.0, 54.0, 41.0, 53.0), values=hosts))[1].split())
    assert "Node b is the straggler: its 2 ranks work 1.32 times as long as those" in told
    told = " ".join(story(write((40.0, 54.0, 41.0, 41.0), values=hosts))[1].split())
    assert "Rank 1 on b is the straggler: it works 1.32 times as long as the others" in told


@pytest.mark.parametrize(("slow_us", "named"), [(10.0, True), (1.0, False)])
def test_a_link_that_takes_much_of_the_time_is_named(
    write: Any, slow_us: float, named: bool
) -> None:
    work = np.tile(np.array([40.0, 41.0, 60.0 - slow_us]) * 1e-6, (BODIES, 1))[:, :, None]
    events = {
        "host": ["a", "a", "b"],
        "event_kind": np.full((BODIES, 1), EventKind.REDUCE, np.uint8),
        "event_work": work.astype(np.float32),
        "event_duration": (60e-6 - work).astype(np.float32),
    }
    text = story(write((40.0, 41.0, 60.0 - slow_us), values=events))[1]
    assert ("The network between a and b: 10.0 us a reduction (17 % of" in text) == named


def test_no_rank_is_blamed_for_what_all_wait(write: Any) -> None:
    found, text = story(write((30.0, 31.0, 30.5)))
    assert found.straggler is None
    assert "No rank is a straggler" in text
    told = " ".join(text.split())
    assert (
        "MPI works 1.02 times as long as the others (median); equal work would save 0.8 %" in told
    )


def test_more_work_that_costs_nothing_makes_no_straggler(write: Any) -> None:
    found, text = story(write((1.0, 1.5, 1.0)))
    assert (found.excess_work or 0.0) > 0.2
    assert found.straggler is None
    assert "No rank is a straggler" in text


@pytest.mark.parametrize(
    ("code", "severity", "remedy"),
    [
        ("load", "note", "Next: see what equal work would save"),
        ("crowded", "error", "Next: look."),  # the sentences say that it is
        ("outliers", "error", "Next: look (busy)."),
    ],
)
def test_a_disturbed_run_is_to_be_repeated_first(
    write: Any, code: str, severity: Severity, remedy: str
) -> None:
    """A note is not: the quickest iterations, which are all alike, show who has more work."""
    run = write((30.0, 45.0, 30.5), spec={"failure": ""})
    (program,) = attached_programs([run], [finding(code, severity, "busy", run.path)])
    assert remedy in lines_of(program).splitlines()[-1]
    text = lines_of(program)
    assert text.lower().count("busy") == (severity == "error")
    assert "Rank 1 is the straggler" in text


@pytest.mark.parametrize(("waited_ms", "doubted"), [(0.01, False), (1.0, True), (np.nan, False)])
def test_a_disturbance_that_cannot_explain_a_straggler_is_no_doubt(
    write: Any, waited_ms: float, doubted: bool
) -> None:
    # Rank 1 has 14.75 us more than the median of the others in each of 120 iterations: 1.77 ms.
    waited = {"core_wait": 1e-3 * np.array([0.0, waited_ms, 0.0])}
    run = write((30.0, 45.0, 30.5), spec={"failure": ""}, values=waited)
    (program,) = attached_programs([run], [finding("cores-taken", "note", "busy", run.path)])
    text = lines_of(program)
    assert ("Rank 1 is the straggler" in text) != doubted
    assert (program.runs[0].straggler is None) == doubted
    assert ("Up to 56 % of that may be waiting for a core." in text) == doubted
    assert ("Next: look" in text) == doubted
    assert ("Next: see what equal work would save" in text) != doubted


def meeting(*longer: tuple[slice, int, float]) -> dict[str, Any]:
    """Return the times of three ranks of 30 us of work, some longer in some iterations.

    Parameters
    ----------
    *longer : tuple of (slice, int, float)
        Which iterations, on which rank, and by how many microseconds.
    """
    work = np.tile([30e-6, 30e-6, 30.5e-6], (BODIES, 1))
    for rows, rank, by_us in longer:
        work[rows, rank] += 1e-6 * by_us
    duration = np.repeat(work.max(axis=1, keepdims=True) + 5e-6, 3, axis=1)
    phases = np.zeros((BODIES, 3, len(PHASES)))
    phases[:, :, PHASES.index("local")] = work
    phases[:, :, PHASES.index("wait")] = duration - work
    return {
        "phase_duration": phases,
        "duration": duration,
        "start": 10e-6 + np.cumsum(duration, axis=0) - duration,
        "solve_time": 20e-6 + duration.sum(axis=0),
        "restart_duration": np.zeros((0, 3)),
        "position": np.arange(BODIES),
    }


@pytest.mark.parametrize("more", [(), ((slice(9, None, 10), 2, 60.0),)])
def test_a_rank_that_is_slow_for_a_part_of_the_run_is_no_straggler(write: Any, more: Any) -> None:
    """Iterations of another rank that come back longer take nothing from that."""
    found, text = story(write(values=meeting((slice(20, 110), 1, 15.0), *more)))
    assert found.straggler is None
    told = " ".join(text.split())
    assert ("Every 10th iteration (9, 19, … 119) is 60.0 us longer on rank 2" in told) == bool(more)
    times = "1.24" if more else "1.36"
    assert f"shown to be a straggler. Rank 1: it works {times} times as long as the others" in told
    assert "That is not so in its quickest iterations" in told
    assert "Next: repeat on an idle machine before anything else." in text


def test_iterations_that_come_back_longer_are_a_rank_s_work(write: Any) -> None:
    """By count, of a rank: 90 us in every third iteration are as much as all others work in it."""
    found, text = story(write(values=meeting((slice(0, None, 3), 1, 90.75))))
    assert found.straggler == 1
    assert found.excess_work == pytest.approx(60.25 / 30.25 - 1.0)
    assert "Rank 1 is the straggler: it works 2.0 times as long as" in " ".join(text.split())


def test_sweeps_that_alternate_on_all_ranks_are_said_once_with_their_size(write: Any) -> None:
    sweeps = [(slice(0, None, 2), rank, 8.0 + rank) for rank in range(3)]
    found, _ = story(write(values=meeting(*sweeps)))
    assert found.straggler is None
    said = [text(fact) for fact in found.facts if isinstance(fact, RecurringWork)]
    (first,) = (each.partition(". The program")[0] for each in said)
    assert first == (
        "Every 2nd iteration (0, 2, … 118) is 8.00 to 10.0 us longer on ranks 0, 1, 2: 600 us"
    )


def test_time_without_a_core_is_a_share_of_the_time_it_was_counted_in(write: Any) -> None:
    # The kernel counted 12 ms in 20 ms of the program, 7 ms of which are in its loop.
    loop = {
        "name": "solve (cg.c:9)",
        "iterations": BODIES,
        "share": 0.35,
        "few": False,
        "by_code": True,
        "loops": [],
    }
    waited = {"core_wait": np.array([0.0, 12e-3, 0.0])}
    found = core_wait(write(loop=loop, seconds=20e-3, values=waited))
    assert found is not None
    assert found.rank == 1
    assert [found.most, found.share] == pytest.approx([0.6, 0.2])
    assert "of the program's time, rank 1 60 %" in str(found)
    nodes = {**waited, "host": ["a", "b", "a"]}
    assert ", rank 1 on b 60 %" in str(core_wait(write(loop=loop, seconds=20e-3, values=nodes)))


def test_work_that_may_be_waiting_is_said_with_it(write: Any) -> None:
    run = write((30.0, 31.0, 30.5))
    polls = finding("polling", "error", "15 % of the time lies between calls", run.path)
    (program,) = attached_programs([run], [polls])
    said = " ".join(lines_of(program).split())
    assert "halo exchange. But 15 % of the time lies between calls." in said
    assert said.count("lies between calls") == 1


def finding(code: str, severity: Severity, text: str, path: Path) -> Finding:
    return Finding(
        file=str(path),
        code=code,
        severity=severity,
        text=text,
        advice="look",
        doubts=(Topic.TIMES,),
    )


@pytest.mark.parametrize(
    ("codes", "first"),
    [
        ({"outliers": "note", "crowded": "error"}, "crowded"),
        ({"load": "note", "recurring": "note"}, "recurring"),
        ({"crowded": "note", "repeats-differ": "error"}, "repeats-differ"),
        ({"load": "note", "drift": "error"}, "drift"),
        ({"outliers": "note", "books-open": "error"}, "books-open"),
    ],
)
def test_the_worst_finding_is_acted_on_first(
    write: Any, codes: dict[str, Severity], first: str
) -> None:
    run = write((30.0, 45.0, 30.5), spec={"failure": ""})
    found = [finding(code, severity, code, run.path) for code, severity in codes.items()]
    named = [replace(each, advice=f"look at {each.code}") for each in found]
    (program,) = attached_programs([run], named)
    assert f"Next: look at {first}" in lines_of(program).splitlines()[-1]


def test_a_blocking_solver_is_sent_to_the_replay(write: Any) -> None:
    _, text = story(write((30.0, 31.0, 30.5), prefix="u_"))
    assert "see what a pipelined solver would save: hindmost whatif" in text
    assert "attach once more with -u_ksp_type pgmres" in text


def test_nothing_is_said_of_what_is_not_known(write: Any) -> None:
    found, text = story(write(spec={"mpi_seen": False}, solves_skipped=3, finished=False))
    assert found.straggler is None or "No rank is named" in text
    _, alone = story(write((50.0,)))
    assert "one rank, so nobody waits" in alone
    assert "pipelined" not in alone
    assert "did not end by MPI_Finalize" in text
    assert "3 further solves" in text


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"foreign_calls": 1200}, "1,200 MPI calls of other threads are in no iteration"),
        (
            {"foreign_calls": 1, "foreign_threads": 2},
            "1 MPI call of 2 other threads are in no iteration",
        ),
        ({"mpi_seen": False}, "MPI calls were not seen"),
    ],
)
def test_no_share_of_work_where_waiting_may_not_be_recorded(
    write: Any, spec: dict[str, Any], why: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The recorded thread may wait for others outside MPI: 95 % of its time is no work for that."""
    values = meeting((slice(None), 1, 60.0))
    if "mpi_seen" in spec:  # then nothing was seen to wait either
        phases = values["phase_duration"]
        phases[:, :, PHASES.index("local")] += phases[:, :, PHASES.index("wait")]
        phases[:, :, PHASES.index("wait")] = 0.0
    run = write(values=values, spec=spec, solves=0)
    found, text = story(run)
    told = " ".join(text.split())
    assert found.straggler is None
    assert f"No rank is named as a straggler: {why}" in told
    assert "% outside the recorded MPI calls, work or not" in told
    assert not re.search(r"% (local )?work[,.;]", told)
    assert main(["show", str(run.path), "--json"]) == 0
    shown = as_declared("show", capsys.readouterr().out)
    (program,) = (each for each in shown["programs"][0]["runs"])
    (summary,) = shown["runs"]
    for shares in (program["share"], summary["phase_share"]):
        assert "local" not in shares
    assert program["culprit"] is None
    assert why in summary["efficiency_withheld"]
    main(["show", "--ranks", str(run.path)])
    assert why[1:] in " ".join(capsys.readouterr().out.split())
    main(["show", "--efficiency", str(run.path)])
    assert why in " ".join(capsys.readouterr().out.split())
    page = tmp_path / "page.html"
    assert main(["report", str(run.path), "--out", str(page)]) == 0
    assert "of the time is work" not in words(page.read_text())
    if "foreign_calls" in spec:
        with pytest.raises(DataError, match="are in no iteration"):
            main(["whatif", str(run.path), "--noise", "none"])


def test_work_that_the_program_counts(write: Any) -> None:
    amounts = np.tile([1000.0, 1200.0, 800.0], (BODIES, 1))
    _, text = story(write((40.0, 54.0, 40.0), solves=0, values={"work_amount": amounts}))
    assert "counts 1,000 units of work an iteration on the mean rank (800 to 1,200). A" in text
    assert "A unit takes 44.7 ns of local work, most on rank 2: 50.0 ns. Rank 1" in text
    assert "Rank 1 counts 1.33 times the units of the others (median)." in text
    assert "slower core" not in text  # the units tell


def test_an_incomplete_run_says_so_first(write: Any) -> None:
    failure = "the marks do not agree: rank 0 made 4 marks, rank 1 5"
    _, text = story(write(complete=False, spec={"failure": failure}))
    assert text.splitlines()[1] == f"  INCOMPLETE: {failure}."


def test_one_restart(write: Any) -> None:
    summary = summarise_run(write())
    several = replace(summary, restarts=1, between="restarts and changes of solve").lines()
    assert any(line.endswith(", 1 restart or change of solve") for line in several)
    assert any(line.endswith(", 1 restart") for line in replace(summary, restarts=1).lines())
    assert any(line.endswith(", 3 restarts") for line in summary.lines())


def test_a_loop_has_iterations_and_no_solver(write: Any) -> None:
    _, text = story(write((30.0, 31.0, 30.5), solves=0))
    assert "120 iterations of its loop take" in text
    assert "% of the loop time. Messages and collectives take" in text
    assert "pipelined" not in text


def test_several_solves_are_predicted_as_a_whole(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write()
    (group,) = group_runs([run])
    assert group.time_name == "time of 4 solves"
    (found,) = predict_solves(group)
    assert found.prediction.seconds == pytest.approx(run.solve_time_s, rel=1e-9)
    text = "\n".join(found.lines())
    assert "A later run of all 4 solves: predicted" in text
    assert "do not rely" not in text
    with pytest.raises(UsageError, match="has 4 solves"):
        main(["whatif", str(run.path), "--iterations", "60"])


def test_a_loop_is_not_called_a_solve(write: Any, header: Header) -> None:
    values = {**phases_of((30.0, 31.0, 30.5), 5.0, 60.0), "restart_duration": np.zeros((0, 3))}
    values["solve_time"] = 20e-6 + values["duration"].sum(axis=0)
    values["start"] = 10e-6 + np.cumsum(values["duration"], axis=0) - values["duration"]
    values["position"] = np.arange(BODIES)
    about = replace(
        header, workload="app", solver="loop", iterations=BODIES, restart=0, spec={"mpi_seen": True}
    )
    run = open_run(write_whole(write().path.parent, about, values))
    (group,) = group_runs([run])
    assert group.time_name == "loop time"
    text = "\n".join(summarise_run(run).lines())
    assert "loop time " in text
    assert "fastest" not in text
    assert "solve" not in text
    assert "restart" not in text
    (found,) = predict_solves(group)
    assert "solve" not in "\n".join(found.lines())


def test_runs_of_one_program_stand_together(write: Any, header: Header) -> None:
    runs = [write(), write(step_us=80.0), write(execution="node 8 2")]
    first, second = attached_programs(runs)
    assert [run.run for run in first.runs] == [runs[1], runs[0]]  # the longest first
    assert [run.run for run in second.runs] == [runs[2]]
    assert "8 solves in 2 files" in "\n".join(first.lines())
    (loops,) = attached_programs([write(solves=0, execution="node 9 3") for _ in range(2)])
    assert loops.lines()[1] == "  2 of its loops. The longest first:"


def test_show_says_it_first(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = write((40.0, 54.0, 41.0))
    assert main(["show", str(run.path.parent)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("app: ./app -n 7, 3 ranks, 2026")
    assert said.index("straggler") < said.index("  iteration ")
    assert "4 solves by gmres, 120 iterations in all" in said
    assert main(["show", str(run.path), "--json"]) == 0
    (program,) = as_declared("show", capsys.readouterr().out)["programs"]
    assert program["runs"][0]["straggler"] == 1


def test_repeats_have_as_many_solves(write: Any) -> None:
    runs = [write(), write(execution="node 8 2", seconds=0.3), write(solves=9)]
    assert [len(group.runs) for group in group_runs(runs)] == [2, 1]
    assert configuration(runs[0])["solves"] == "4"
    advice = " ".join(finding.advice for finding in findings_of(group_runs(runs)))
    assert "--warmup" not in advice
    assert "listen" not in advice


@pytest.mark.parametrize(
    "attached",
    [
        {"inner": [{"prefix": 1}]},
        {"solves": -1},
        {"snes_steps": [1]},
        {"program": "app"},
        {"seconds": float("inf")},
    ],
)
def test_a_header_that_cannot_be_is_refused(write: Any, attached: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="attached"):
        write(**attached)
