"""Jobs without a scheduler: in their order, never two at once, and none that is taken for done."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hindmost.errors import MissingError
from hindmost.jobs.schedulers import local as module
from hindmost.jobs.schedulers.local import LOCAL, read, state_folder
from hindmost.jobs.schedulers.scheduler import JobState
from hindmost.processes import PARENT, stat_fields

GOING_ON = {JobState.PENDING, JobState.RUNNING}


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(module, "GRACE_S", 1.0)
    yield
    if state_folder().is_dir():
        LOCAL.cancel([folder.name for folder in state_folder().iterdir() if folder.is_dir()])


def submit(tmp_path: Path, *commands: str) -> str:
    path = tmp_path / "scripts" / f"{len(list(tmp_path.rglob('*.sh')))}.sh"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(("#!/bin/bash", *commands, "")))
    return LOCAL.submit(path)


def state(id: str) -> JobState:
    return LOCAL.query([id])[id].state


def wait(*ids: str, until: JobState | None = None) -> list[JobState]:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        states = [job.state for job in LOCAL.query(ids).values()]
        if all(state is until if until else state not in GOING_ON for state in states):
            break
        time.sleep(0.02)
    return states


def test_ends(tmp_path: Path) -> None:
    commands = ("exit 0", "exit 75", "exit 7", "kill -KILL $$", "nonesuch")
    ids = [submit(tmp_path, command) for command in commands]
    assert wait(*ids) == [
        JobState.COMPLETED,
        JobState.LEFT,
        JobState.FAILED,
        JobState.FAILED,
        JobState.FAILED,
    ]
    assert LOCAL.query(ids)[ids[3]].reason == "exit -9"
    LOCAL.cancel(ids)  # what ended stays as it is
    assert state(ids[0]) is JobState.COMPLETED


def test_one_after_another_in_order(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    log = tmp_path / "log"
    ids = [
        submit(tmp_path, f"echo {number} begins >> {log}; sleep 0.1; echo {number} ends >> {log}")
        for number in range(3)
    ]
    assert set(wait(*ids)) == {JobState.COMPLETED}
    assert log.read_text() == "".join(f"{number} begins\n{number} ends\n" for number in range(3))


def test_what_a_job_prints_goes_to_the_study(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    id = submit(tmp_path, "echo to out; echo $HINDMOST_JOB_ID >&2")
    wait(id)
    assert (tmp_path / "output" / f"0-{id}.out").read_text() == f"to out\n{id}\n"


def test_cancelling(tmp_path: Path) -> None:
    told = tmp_path / "told"
    running = submit(
        tmp_path, f"trap 'echo told > {told}; exit 75' TERM", "while :; do sleep 0.05; done"
    )
    waiting = submit(tmp_path, "exit 0")
    wait(running, until=JobState.RUNNING)
    assert state(waiting) is JobState.PENDING
    LOCAL.cancel([waiting])
    LOCAL.cancel([running])
    assert wait(running, waiting) == [JobState.CANCELLED, JobState.CANCELLED]
    assert told.read_text() == "told\n"


def test_what_does_not_listen_is_killed(tmp_path: Path) -> None:
    id = submit(tmp_path, "trap '' TERM", "while :; do sleep 0.05; done")
    wait(id, until=JobState.RUNNING)
    LOCAL.cancel([id])
    assert state(id) is JobState.CANCELLED


def parent_of(id: str) -> int:
    """Return the process of the keeper of a running job."""
    started = read(state_folder() / id, "started")
    assert started is not None
    return int(stat_fields(started["process"])[PARENT])


def test_a_keeper_that_was_killed_leaves_its_script_alone(tmp_path: Path) -> None:
    go, log = tmp_path / "go", tmp_path / "log"
    first = submit(tmp_path, f"while [ ! -e {go} ]; do sleep 0.05; done; echo 1 >> {log}")
    second = submit(tmp_path, f"echo 2 >> {log}")
    wait(first, until=JobState.RUNNING)
    os.kill(parent_of(first), signal.SIGKILL)
    assert state(first) is JobState.RUNNING
    assert state(second) is JobState.PENDING  # the script holds the lock as well
    go.touch()
    assert wait(second) == [JobState.COMPLETED]
    assert log.read_text() == "1\n2\n"
    # Nobody saw how it ended: it is no success.
    assert state(first) is JobState.FAILED
    assert "killed" in LOCAL.query([first])[first].reason


def test_jobs_submitted_at_once_run_one_after_another(tmp_path: Path) -> None:
    log = tmp_path / "log"
    path = tmp_path / "once.sh"
    path.write_text(f"#!/bin/bash\necho begins >> {log}; sleep 0.1; echo ends >> {log}\n")
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(LOCAL.submit, [path] * 4))
    assert set(wait(*ids)) == {JobState.COMPLETED}
    assert log.read_text() == "begins\nends\n" * 4


def test_unknown_jobs(tmp_path: Path) -> None:
    for id in ("20200101T000000.000000", "", "..", "a/b", "."):
        assert state(id) is JobState.UNKNOWN
    elsewhere = state_folder().parent / "other-host" / "20200101T000000.000001"
    elsewhere.mkdir(parents=True)
    for ask in (LOCAL.query, LOCAL.cancel):  # it may be alive: nobody may do its work as well
        with pytest.raises(MissingError, match="ask on other-host"):
            ask([elsewhere.name])
