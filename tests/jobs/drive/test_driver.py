"""The driver: which runs it does, what it makes of their ends, when it stops."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.jobs.conftest import Make, NoLauncher, writes

from hindmost.errors import MissingError, UsageError
from hindmost.jobs.core.durable import locked
from hindmost.jobs.drive import process
from hindmost.jobs.drive.driver import drive
from hindmost.jobs.folder import StudyFolder
from hindmost.jobs.outcomes import Cause, Completion
from hindmost.processes import ENDED, STATE, stat_fields

Start = Callable[..., "subprocess.Popen[bytes]"]


def drive_here(study: StudyFolder, **more: object) -> int:
    options = {"end_s": 1e12, "grace_s": 0.3, **more}
    return drive(study, "a0", NoLauncher(), **options)  # type: ignore[arg-type]


def causes(study: StudyFolder, run: str = "run-0") -> list[Cause]:
    return [outcome.cause for outcome in study.records()[run].outcomes]


def wait_for(condition: Callable[[], bool], limit_s: float = 20.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return stat_fields(pid)[STATE] not in ENDED
    except OSError:
        return False


def is_running(study: StudyFolder) -> bool:
    return any(record.running for record in study.records().values())


def test_runs_are_done_in_order_and_say_where(make: Make) -> None:
    tell = 'env | grep ^HINDMOST_ | sort > "$0"/told.txt; echo "$HINDMOST_RUN_ID" >> ../../../order'
    study = make([("sh", "-c", tell, "{out}")] * 4)
    assert drive_here(study) == 0
    assert (study.path / "order").read_text().split() == [f"run-{n}" for n in range(4)]
    records = study.records()
    for run in study.plan.runs:
        outcome = records[run.id].done
        assert outcome is not None
        assert (outcome.attempt, outcome.allocation, outcome.files) == (1, "a0", ("told.txt",))
        told = dict(
            line.split("=", 1) for line in (study.run(run.id) / "told.txt").read_text().splitlines()
        )
        assert told["HINDMOST_RUN_ID"] == run.id
        assert told["HINDMOST_BLOCK"] == str(run.block)
        assert json.loads(told["HINDMOST_CONFIGURATION"]) == run.configuration
        assert told["HINDMOST_ALLOCATION"] == "a0"
        assert told["HINDMOST_JOB_ID"] == outcome.job
        assert told["HINDMOST_STUDY"] == "pretended"
        assert told["HINDMOST_NODES"].split(",") == list(outcome.nodes)
    assert sorted(path.name for path in study.run("run-0").iterdir()) == [
        "outcome-1.json",
        "output.txt",
        "told.txt",
    ]


@pytest.mark.parametrize(
    ("command", "expected", "status"),
    [
        (("sh", "-c", "echo no such solver; exit 2"), [Cause.FAILED], 1),
        (("/no/such/command",), [Cause.FAILED], 1),
        (("sh", "-c", "exit 75"), [Cause.STOPPED], 75),
        (("sh", "-c", "kill -SEGV $$"), [Cause.CRASHED] * 3, 1),
        (("sh", "-c", "echo slurmstepd: error: Detected 1 oom_kill event; kill -KILL $$"),
         [Cause.MEMORY], 1),
        (("sh", "-c", "echo srun: error: Node failure on n1; exit 1"), [Cause.NODE_FAILED], 75),
        (("sh", "-c", "exit 0", "{out}"), [Cause.FAILED], 1),
        (("sh", "-c", 'mkdir "$0"/inside', "{out}"), [Cause.FAILED], 1),
        (("sh", "-c", "echo 'No space left on device'; exit 3"), [Cause.STOPPED], 75),
    ],
)  # fmt: skip
def test_every_end_has_its_cause(
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    expected: list[Cause],
    status: int,
) -> None:
    monkeypatch.setattr(process, "TOLD_WITHIN_S", 0.05)
    study = make([command])
    assert drive_here(study) == status
    assert causes(study) == expected


@pytest.mark.parametrize(("later_s", "status"), [(0.1, 1), (1.0, 143)])
def test_ranks_that_were_told_before_the_driver_were_stopped(
    make: Make, later_s: float, status: int
) -> None:
    study = make([("sh", "-c", f"(sleep {later_s}; kill -TERM $PPID) & exit {status}")])
    assert drive_here(study) == 75
    assert causes(study) == [Cause.STOPPED]


def test_asking_for_the_status_keeps_no_driver_away(make: Make) -> None:
    study = make([writes(0)])
    study.driver_lock("a0").touch()
    asking = threading.Event()

    def ask() -> None:
        with locked(study.driver_lock("a0"), ""):
            asking.set()
            time.sleep(0.3)

    other = threading.Thread(target=ask)
    other.start()
    asking.wait()
    assert drive_here(study) == 0
    other.join()


def test_a_crash_is_tried_again_after_the_others(make: Make) -> None:
    once = "echo $HINDMOST_RUN_ID >> ../../../order; test $HINDMOST_ATTEMPT -gt 1 || exit 9; "
    study = make([("sh", "-c", once + 'echo x > "$0"/x.txt', "{out}"), *map(writes, (1, 2))])
    assert drive_here(study) == 0
    assert causes(study) == [Cause.CRASHED, Cause.DONE]
    assert study.records()["run-0"].outcomes[0].status == 9
    assert not is_running(study)


def test_a_run_ends_at_its_limit_even_if_it_does_not_listen(make: Make) -> None:
    deaf = ("sh", "-c", "trap '' TERM; while :; do sleep 0.05; done")
    study = make([deaf, writes(1)], limit_s=0.3)
    assert drive_here(study) == 1
    assert causes(study) == [Cause.RUN_LIMIT]
    assert causes(study, "run-1") == [Cause.DONE]


def test_nothing_that_a_run_started_outlives_it(make: Make, tmp_path: Path) -> None:
    stray = tmp_path / "stray"
    study = make([("sh", "-c", f"setsid sh -c 'echo $$ > {stray}; sleep 60' & sleep 0.3")])
    assert drive_here(study) == 0
    assert not is_alive(int(stray.read_text()))


def test_no_run_is_begun_that_may_not_end_in_time(make: Make) -> None:
    study = make([writes(n) for n in range(3)], limit_s=30.0, stop_before_s=20.0)
    for seconds, done in ((20.0, 0), (40.0, 1), (51.0, 3)):
        near_s = time.monotonic() + seconds
        assert drive_here(study, end_s=near_s) == (0 if done == 3 else 75)
        completions = study.completions(study.records())
        assert list(completions.values()).count(Completion.DONE) == done


def test_the_end_of_the_allocation_stops_a_run_that_goes_on(make: Make) -> None:
    study = make([("sleep", "0.6"), ("sleep", "60")], limit_s=1.2)
    assert drive_here(study, end_s=time.monotonic() + 2.6, grace_s=1.2) == 75
    assert [causes(study, run) for run in study.planned] == [[Cause.DONE], [Cause.STOPPED]]


def test_usr1_lets_the_running_one_end_and_begins_no_other(make: Make, start_driver: Start) -> None:
    study = make([writes(n, seconds=0.5) for n in range(3)])
    driver = start_driver(study)
    wait_for(lambda: is_running(study))
    driver.send_signal(signal.SIGUSR1)
    assert driver.wait(timeout=20) == 75
    assert [causes(study, run) for run in study.planned] == [[Cause.DONE], [], []]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_term_stops_the_running_one_gently(
    make: Make, start_driver: Start, tmp_path: Path, number: signal.Signals
) -> None:
    gently = f"trap 'echo told > {tmp_path}/told; exit 0' TERM; touch {tmp_path}/on; sleep 9 & wait"
    study = make([("sh", "-c", gently), writes(1)])
    driver = start_driver(study)
    wait_for((tmp_path / "on").exists)
    driver.send_signal(number)
    assert driver.wait(timeout=20) == 75
    assert (tmp_path / "told").exists()
    # It ended with 0, but nobody knows whether it had finished.
    assert causes(study) == [Cause.STOPPED]
    assert causes(study, "run-1") == []


def test_a_second_driver_is_refused(
    make: Make, start_driver: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make([("sleep", "30")])
    driver = start_driver(study)
    wait_for(lambda: is_running(study))
    assert study.has_driver("a0")
    monkeypatch.setattr("hindmost.jobs.drive.driver.PATIENCE_S", 0.1)
    with pytest.raises(UsageError, match="Another driver is running for allocation a0"):
        drive_here(study)
    driver.terminate()
    assert driver.wait(timeout=20) == 75
    assert not study.has_driver("a0")


def test_a_killed_driver_takes_its_run_with_it(make: Make, start_driver: Start) -> None:
    study = make([("sh", "-c", "echo $$ > pid; exec sleep 60")])
    driver = start_driver(study)
    wait_for(lambda: is_running(study) and any(study.run("run-0").glob(".part-run/pid")))
    place = study.run("run-0") / ".part-run" / "pid"
    wait_for(lambda: bool(place.read_text().strip()))
    process = int(place.read_text())
    driver.kill()
    driver.wait()
    wait_for(lambda: not is_alive(process))


def test_scratch_is_used_and_left_clean(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMEWHERE", str(tmp_path / "fast"))
    where = 'echo "$0" > "$0"/where.txt'
    study = make([("sh", "-c", where, "{out}")], scratch="$SOMEWHERE/mine")
    assert drive_here(study) == 0
    written = (study.run("run-0") / "where.txt").read_text()
    assert written.startswith(str(tmp_path / "fast" / "mine" / "hindmost-pretended-run-0-"))
    assert list((tmp_path / "fast" / "mine").iterdir()) == []


def test_run_files_of_other_ranks_are_refused(make: Make, run_file: Path) -> None:
    copy = ("sh", "-c", f'cp {run_file} "$0"/', "{out}")
    for ranks, status in ((3, 0), (2, 1)):
        study = make([copy], ranks=ranks, name=f"of-{ranks}")
        assert drive_here(study) == status
    assert "has 3 ranks, planned were 2" in study.records()["run-0"].outcomes[0].message
    assert not any(study.run("run-0").glob("*.h5"))


def test_damaged_run_files_are_refused(make: Make, run_file: Path) -> None:
    study = make([("sh", "-c", f'head -c 9000 {run_file} > "$0"/cut.h5', "{out}")])
    assert drive_here(study) == 1
    assert causes(study) == [Cause.FAILED]


@pytest.mark.parametrize(
    ("scratch", "value"),
    [
        ("$HINDMOST_NOWHERE/x", None),
        ("${HINDMOST_NOWHERE}", ""),
        ("$HINDMOST_NOWHERE/x", "relative"),
    ],
)
def test_a_scratch_that_is_no_folder_is_not_held_against_the_run(
    make: Make, monkeypatch: pytest.MonkeyPatch, scratch: str, value: str | None
) -> None:
    monkeypatch.delenv("HINDMOST_NOWHERE", raising=False)
    if value is not None:
        monkeypatch.setenv("HINDMOST_NOWHERE", value)
    study = make([writes(0)], scratch=scratch)
    with pytest.raises(MissingError, match="not an absolute path"):
        drive_here(study)
    assert causes(study) == []


def test_a_launcher_that_a_scheduler_ended_may_say_that_all_is_well(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # TERM comes to the ranks first, and only then to the driver.
    monkeypatch.setattr(process, "TOLD_WITHIN_S", 10.0)
    study = make([("sh", "-c", f"touch {tmp_path}/ended", "{out}")])

    def tell() -> None:
        wait_for((tmp_path / "ended").exists)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGTERM)

    teller = threading.Thread(target=tell)
    teller.start()
    assert drive_here(study) == 75
    teller.join()
    assert causes(study) == [Cause.STOPPED]


def test_what_a_killed_driver_left_running_is_ended(
    make: Make, start_driver: Start, tmp_path: Path
) -> None:
    left = tmp_path / "left"
    begin = f"sleep 60 & echo $! > {left}.part; mv {left}.part {left}; wait"
    study = make([("sh", "-c", f"test -e {left} || {{ {begin}; }}")])
    driver = start_driver(study)
    wait_for(lambda: left.exists() and is_running(study))
    driver.kill()
    driver.wait()
    stray = int(left.read_text())
    assert is_alive(stray)
    assert drive_here(study) == 0
    assert not is_alive(stray)
    assert causes(study) == [Cause.STOPPED, Cause.DONE]
