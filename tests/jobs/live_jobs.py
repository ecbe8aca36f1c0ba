"""Jobs of a real scheduler: waited for, and ended in all the ways that need no waiting."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from hindmost.jobs.schedulers.scheduler import Job, JobState, Scheduler

GOING_ON = frozenset({JobState.PENDING, JobState.RUNNING})
Submit = Callable[..., str]


def wait(
    scheduler: Scheduler,
    ids: Sequence[str],
    limit_s: float = 60.0,
    *,
    while_in: frozenset[JobState] = GOING_ON,
) -> dict[str, Job]:
    """Return the jobs when none is in those states any longer."""
    end = time.monotonic() + limit_s
    while True:
        jobs = scheduler.look(ids)
        if not any(job.state in while_in for job in jobs.values()) or time.monotonic() > end:
            return jobs
        time.sleep(0.1)


def jobs_of_all_ends(
    scheduler: Scheduler,
    submit: Submit,
    folder: Path,
    *,
    never_was: str,
    on_second: str,
    depend: str,
    more: dict[str, tuple[str, ...]],
) -> Iterator[dict[str, Job]]:
    """Yield jobs by what they are; what still waits or runs is cancelled afterwards.

    Parameters
    ----------
    never_was : str
        An id that no job has.
    on_second, depend : str
        Directives of a job on the second node, and of one that depends on another one, such as
        ``afterok:1``.
    more : dict of str to tuple of str
        Directives of jobs that the scheduler does not start.
    """
    watch = partial(wait, scheduler)
    asleep = submit(folder, "exec sleep 60", on_second)
    failed = submit(folder, "sleep 2; exit 7")
    waiting, dropped = (submit(folder, "exit 0", f"{depend}afterany:{asleep}") for _ in "ab")
    ids = {
        "done": submit(folder, "exit 0"),
        "failed": failed,
        "left": submit(folder, "exit 75"),
        "killed": submit(folder, "kill -SEGV $$"),
        "never to begin": submit(folder, "exit 0", f"{depend}afterok:{failed}"),
        **{
            name: submit(folder, "exit 0", *(each.format(failed=failed) for each in words))
            for name, words in more.items()
        },
    }
    ended = watch(list(ids.values()))
    held_back = scheduler.look([waiting])[waiting]
    watch([asleep], while_in=frozenset({JobState.PENDING}))
    running = scheduler.look([asleep])[asleep]
    scheduler.cancel([never_was, dropped, asleep, ids["done"]])
    cancelled = watch([asleep, dropped])
    yield {
        **{name: ended[id] for name, id in ids.items()},
        "running": running,
        "waiting": held_back,
        "cancelled": cancelled[asleep],
        "dropped": cancelled[dropped],
        "unknown": scheduler.look([never_was])[never_was],
        "one of many": scheduler.look([failed, never_was, ids["done"]])[never_was],
        "done still": scheduler.look([ids["done"]])[ids["done"]],
    }
    scheduler.cancel([waiting, *ids.values()])
