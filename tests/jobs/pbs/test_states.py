"""What became of jobs of a real OpenPBS."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.jobs.across_nodes import THEM
from tests.jobs.pbs import server
from tests.jobs.pbs.waiting import output, submit, wait
from tests.jobs.two_nodes import ADDRESSES, CommandError

from hindmost.errors import MissingError, UsageError
from hindmost.jobs.schedulers.pbs import PBS
from hindmost.jobs.schedulers.scheduler import Job, JobState

NEVER_WAS = "999999.n0"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Job]]:
    """Return jobs that end in all the ways that need no waiting, by what they are."""
    folder = tmp_path_factory.mktemp("jobs")
    asleep = submit(folder, "exec sleep 60", "-l select=vnode=n1")
    failed = submit(folder, "sleep 2; exit 7")
    waiting = submit(folder, "exit 0", f"-W depend=afterany:{asleep}")
    dropped = submit(folder, "exit 0", f"-W depend=afterany:{asleep}")
    ids = {
        "done": submit(folder, "exit 0"),
        "failed": failed,
        "left": submit(folder, "exit 75"),
        "killed": submit(folder, "kill -SEGV $$"),
        "too many nodes": submit(folder, "exit 0", "-l select=9", "-l place=scatter"),
        "held": submit(folder, "exit 0", "-h"),
        "never to begin": submit(folder, "exit 0", f"-W depend=afterok:{failed}"),
    }
    ended = wait(list(ids.values()))
    held_back = PBS.query([waiting])[waiting]
    wait([asleep], while_in=frozenset({JobState.PENDING}))
    running = PBS.query([asleep])[asleep]
    PBS.cancel([NEVER_WAS, dropped, asleep, ids["done"]])
    cancelled = wait([asleep, dropped])
    yield {
        **{name: ended[id] for name, id in ids.items()},
        "running": running,
        "waiting": held_back,
        "cancelled": cancelled[asleep],
        "dropped": cancelled[dropped],
        "unknown": PBS.query([NEVER_WAS])[NEVER_WAS],
        "one of many": PBS.query([failed, NEVER_WAS, ids["done"]])[NEVER_WAS],
        "done still": PBS.query([NEVER_WAS, ids["done"]])[ids["done"]],
    }
    PBS.cancel([waiting, *ids.values()])


@pytest.mark.parametrize(
    ("name", "state", "reason"),
    [
        ("done", JobState.COMPLETED, "exit 0"),
        ("done still", JobState.COMPLETED, "exit 0"),
        ("failed", JobState.FAILED, "exit 7"),
        ("left", JobState.LEFT, "exit 75"),
        ("killed", JobState.FAILED, "exit 139"),
        ("too many nodes", JobState.STUCK, "an Never Run"),
        ("held", JobState.STUCK, "state H"),
        ("never to begin", JobState.DEPENDENCY, "state F"),
        ("running", JobState.RUNNING, "Job run at"),
        ("waiting", JobState.PENDING, "state H"),
        ("cancelled", JobState.CANCELLED, "state F"),
        ("dropped", JobState.CANCELLED, "state F"),
        ("unknown", JobState.UNKNOWN, "unknown to PBS"),
        ("one of many", JobState.UNKNOWN, "unknown to PBS"),
    ],
)
def test_state_and_reason(jobs: dict[str, Job], name: str, state: JobState, reason: str) -> None:
    job = jobs[name]
    assert (job.state, reason in job.reason) == (state, True), job
    if state is JobState.RUNNING:
        assert job.nodes == "n1"


def test_queues_and_limits_that_refuse(tmp_path: Path) -> None:
    for directive, complaint in (
        ("-q closed", "not enabled"),
        ("-q nowhere", "Unknown queue"),
        ("-q short -l walltime=05:00:00", "violates queue"),
        ("-q theirs", "Unauthorized"),
    ):
        with pytest.raises(UsageError, match=rf"qsub refused .*{complaint}"):
            submit(tmp_path / "x", "exit 0", directive)


def test_the_end_of_its_time(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    waits, limit = "while :; do sleep 0.2; done", "-l walltime=00:00:05"
    leaves = submit(folder, f"trap 'echo told; exit 75' TERM; {waits}", limit)
    stays = submit(folder, f"trap '' TERM; {waits}", limit)
    ended = wait([leaves, stays], 120.0)
    assert ended[stays].state is JobState.TIME_LIMIT, ended
    assert ended[leaves].state in (JobState.TIME_LIMIT, JobState.LEFT), ended
    assert "told" in output(folder, leaves)


def test_a_job_on_both_nodes(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    command = f"{server.environment()['PATH'].split(':')[0]}/pbsdsh -- hostname"
    id = submit(folder, command, "-l select=2:ncpus=1", "-l place=scatter")
    job = wait([id])[id]
    assert (job.state, job.nodes) == (JobState.COMPLETED, "n0,n1")
    assert sorted(output(folder, id).split()) == ["n0", "n1"]


def test_jobs_of_somebody_else(tmp_path: Path) -> None:
    script = "printf '#PBS -S /bin/sh -o /dev/null -j oe\nexec sleep 30\n' | qsub"
    theirs = server.ask(*THEM, "sh", "-c", script).strip()
    mine = submit(tmp_path / "x", "exec sleep 30")
    wait([theirs, mine], while_in=frozenset({JobState.PENDING}))
    assert PBS.query([theirs])[theirs].state is JobState.RUNNING
    with pytest.raises(CommandError, match="nauthorized"):
        server.ask(*THEM, "qdel", mine)
    PBS.cancel([theirs, mine])
    assert wait([theirs])[theirs].state is JobState.CANCELLED


def test_without_history(tmp_path: Path) -> None:
    server.ask("qmgr", "-c", "set server job_history_enable = False")
    try:
        asleep = submit(tmp_path / "x", "exec sleep 60")
        done = submit(tmp_path / "x", "exit 0")
        known = frozenset(JobState) - {JobState.UNKNOWN}
        assert wait([done], while_in=known)[done].state is JobState.UNKNOWN
        assert PBS.query([done, asleep])[asleep].state is JobState.RUNNING
        PBS.cancel([done, asleep])
        assert wait([asleep], while_in=known)[asleep].state is JobState.UNKNOWN
    finally:
        server.ask("qmgr", "-c", "set server job_history_enable = True")


def test_a_server_that_is_down_for_a_while(tmp_path: Path) -> None:
    id = submit(tmp_path / "x", "sleep 8; exit 75")
    wait([id], while_in=frozenset({JobState.PENDING}))
    server.stop_server()
    try:
        with pytest.raises(MissingError, match="cannot connect to server"):
            PBS.query([id])
        with pytest.raises(MissingError, match="connect to cluster"):
            PBS.cancel([id])
        with pytest.raises(MissingError, match="cannot connect to server"):
            submit(tmp_path / "x", "exit 0")
    finally:
        server.start_server()
    assert wait([id])[id].state is JobState.LEFT


def test_nodes_that_are_offline_and_that_die(tmp_path: Path) -> None:
    on_second = "-l select=vnode=n1"
    server.ask("pbsnodes", "-o", "n1")
    waiting = submit(tmp_path / "x", "exit 0", on_second)
    held = wait([waiting], 5.0)[waiting]
    assert held.state is JobState.PENDING, held
    server.ask("pbsnodes", "-r", "n1")
    assert wait([waiting])[waiting].state is JobState.COMPLETED
    id = submit(tmp_path / "x", "exec sleep 200", on_second)
    wait([id], while_in=frozenset({JobState.PENDING}))
    server.kill_mom("n1")
    try:
        job = wait([id], 120.0)[id]
        assert job.state is JobState.NODE_FAILED, job
    finally:
        server.start_daemon("mom", on="n1")
        server.wait_for("the second node", lambda: server.free_nodes() == len(ADDRESSES))
