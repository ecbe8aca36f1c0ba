"""What a thread does, by the functions on its stack."""

import numpy as np
import pytest

from hindmost.harness.attach import samples
from hindmost.harness.attach.samples import StackNames
from hindmost.harness.runfile.bodies import RankBodies, RankEvents
from hindmost.harness.runfile.contexts import CallContexts, CodePlace, Module
from hindmost.harness.runfile.samples import CodeStack, IterationPart, SampleKind
from hindmost.models.events import EventKind

APP, LIBC, LIBOMP, LIBGOMP = "app", "libc.so.6", "libomp.so.5", "libgomp.so.1"


def kind_of(
    monkeypatch: pytest.MonkeyPatch, *frames: tuple[str, str]
) -> tuple[CodeStack, SampleKind]:
    """Return what samples.py makes of frames from the outermost on: module and function."""
    modules = list(dict.fromkeys(module for module, _ in frames))
    count = len(frames)
    function = 64 * (1 + np.arange(count))
    contexts = CallContexts(
        modules=tuple(Module(path=f"/lib/{module}", identity="") for module in modules),
        codes=(),
        module=np.array([modules.index(module) for module, _ in frames], np.int32),
        offset=function + 16,
        function=function,
        size=np.full(count, 64),
        start=np.array([0, 0, count]),
        frames=np.arange(count, dtype=np.uint32),
        places=(),
    )

    def lines_of(_: Module, addresses: list[int]) -> dict[int, tuple[CodePlace, ...]]:
        """Name them as debug information would."""
        found: dict[int, tuple[CodePlace, ...]] = {}
        for address in addresses:
            at = max(address // 64 - 1, 0)
            found[address] = (CodePlace(function=frames[at][1], file="a.c", line=at + 1),)
        return found

    monkeypatch.setattr(samples, "lines_of", lines_of)
    ((stack, kind),) = StackNames().of(contexts, np.array([1]))
    return stack, kind


MAIN, REGION = (APP, "main"), (APP, "share")


@pytest.mark.parametrize(
    "frames",
    [
        (MAIN, (LIBOMP, "__kmp_join_barrier")),
        (MAIN, (LIBOMP, "__kmp_suspend_64"), (LIBC, "pthread_cond_wait")),
        (MAIN, (LIBGOMP, "gomp_team_barrier_wait_end"), (LIBC, "syscall")),
        (MAIN, (APP, "__kmp_join_barrier"), (APP, "kmp_flag_64<false, true>::wait(kmp_info*)")),
        (MAIN, (APP, "bool __kmp_wait_template<kmp_flag_64<false> >"), (LIBC, "sched_yield")),
        (MAIN, (APP, "__kmpc_barrier"), (LIBC, "sched_yield")),
        (MAIN, (APP, "GOMP_parallel"), (APP, "gomp_barrier_wait_end")),
    ],
)
def test_threads_wait_in_the_runtime_of_openmp(
    monkeypatch: pytest.MonkeyPatch, frames: tuple[tuple[str, str], ...]
) -> None:
    """Linked into the program or not; the first frame outside the C library decides."""
    stack, kind = kind_of(monkeypatch, *frames)
    assert kind is SampleKind.OPENMP
    assert [place.function for place in stack.places] == ["main"]


@pytest.mark.parametrize(
    ("frames", "region"),
    [
        ((MAIN, (LIBOMP, "__kmp_invoke_microtask"), REGION, (LIBC, "memcpy")), 1),
        ((MAIN, (APP, "__kmp_invoke_microtask"), REGION), 1),
        ((MAIN, REGION, (APP, "my_gomp_like")), 0),
        ((MAIN, REGION, (APP, "kmpfit")), 0),
        ((MAIN, REGION, (APP, "GOMPERTZ")), 0),
    ],
)
def test_work_is_in_the_functions_of_the_program(
    monkeypatch: pytest.MonkeyPatch, frames: tuple[tuple[str, str], ...], region: int
) -> None:
    stack, kind = kind_of(monkeypatch, *frames)
    assert (kind, stack.region) == (SampleKind.WORK, region)
    assert "share" in [place.function for place in stack.places]


def test_a_region_of_clang_has_the_name_of_the_function_that_forks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = (MAIN, (LIBOMP, "__kmp_invoke_microtask"), (APP, ".omp_outlined..8"))
    stack, _ = kind_of(monkeypatch, *names)
    assert [place.function for place in stack.places] == ["main", "main"]
    assert [place.line for place in stack.places] == [3, 1]


def test_a_call_that_is_part_of_an_event_has_its_context() -> None:
    """An exchange (context 1) whose wait has context 2, and a sum (3); 4 is seen outside only."""
    count = 50
    work = np.tile(np.array([1e-3, 2e-3], np.float32), (count, 1))
    spent = np.full((count, 2), 1e-4, np.float32)
    context = np.tile(np.array([1, 3], np.uint32), (count, 1))
    kind = np.full((count, 2), EventKind.REDUCE, np.uint8)
    start = 3.2e-3 * np.arange(count)
    bodies = RankBodies(
        start=start,
        duration=np.full(count, 3.2e-3),
        phase_duration=np.zeros((count, 5), np.float32),
        position=np.zeros(count, np.int32),
        kind=np.zeros(count, np.uint8),
        restart_duration=np.zeros(0),
        lead_in_s=0.0,
        lead_out_s=0.0,
        solve_time_s=1.0,
        events=RankEvents(kind=kind, work=work, duration=spent, context=context),
    )
    time_s = np.concatenate([start + 2e-3, start + 0.5e-3, [9.0]])
    before = np.repeat([2, 3, 4], [count, count, 1])
    found = samples.events_before(time_s, before, bodies, np.arange(5))
    assert found.tolist() == [0, 1, 1, 3, 4]
    part = samples.parts_at(time_s[:count], bodies, np.arange(count) == 7)
    assert part[7] == IterationPart.SLOW
    assert [part[0], part[count // 2], part[-1]] == [*IterationPart][:3]
