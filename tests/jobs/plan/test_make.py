"""Plans: ids, blocks, packing, sizes and costs."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindmost.documents import parse_document
from hindmost.errors import UsageError
from hindmost.jobs.core.machine import MachineProfile
from hindmost.jobs.core.plan import Allocation, Plan, PlannedRun, Value
from hindmost.jobs.plan.make import layout_on, make_plan, run_id, shuffle
from hindmost.jobs.study import machines
from hindmost.jobs.study.read import study_of
from hindmost.jobs.study.study import Study
from hindmost.jobs.verbs.plan import warnings

TEXT = """\
[study]
name = "try"
seed = {seed}
repeats = {repeats}
order = "{order}"
[machine.big]
scheduler = "slurm"
cores_per_node = 4
[sweep]
ranks = [2, 4, 8]
solver = ["gmres", "pgmres", "cg"]
problem = "diagonal"
unknowns = 1e5
iterations = 100
[pack]
by = {by}
runs = {runs}
[limits]
job = "{job}m"
run = "5m"
stop_before = "2m"
"""


def study(
    *, seed: int = 7, repeats: int = 4, order: str = "random-blocks", by: str = '"ranks"',
    runs: int = 0, job: int = 60,
) -> Study:  # fmt: skip
    text = TEXT.format(seed=seed, repeats=repeats, order=order, by=by, runs=runs, job=job)
    return study_of(parse_document(text, "study.toml"))


def runs_of(plan: Plan, allocation: Allocation) -> list[PlannedRun]:
    by_id = {run.id: run for run in plan.runs}
    return [by_id[name] for name in allocation.runs]


def test_ids_depend_on_configuration_and_repeat_only() -> None:
    configuration: dict[str, Value] = {"ranks": 2, "solver": "gmres", "unknowns": 100000}
    turned = dict(reversed(configuration.items()))
    assert run_id(configuration, 3) == run_id(turned, 3) == "gmres-p2-u100000-r03-7083d87a63"
    one, other = make_plan(study(seed=1)), make_plan(study(seed=2, repeats=9, by='"all"'))
    assert {run.id for run in one.runs} < {run.id for run in other.runs}
    command = {run.id: run.command for run in other.runs}
    assert all(command[run.id] == run.command for run in one.runs)


def test_ids_can_be_names_of_files() -> None:
    assert run_id({"deck": "../a b", "ranks": 1}, 0).startswith("a-b-p1-r00-")
    assert run_id({"ranks": 1}, 0).startswith("run-p1-r00-")


def test_every_block_holds_each_configuration_once() -> None:
    plan = make_plan(study(repeats=6))
    for block in range(6):
        there = [tuple(r.configuration.items()) for r in plan.runs if r.block == block]
        assert len(there) == len(set(there)) == 9
    assert [run.block for run in plan.runs] == sorted(run.block for run in plan.runs)
    orders = {tuple(r.command for r in plan.runs if r.block == block) for block in range(6)}
    assert len(orders) == 6


def test_as_written_is_the_order_of_the_file() -> None:
    plan = make_plan(study(order="as-written", repeats=2))
    pairs = [(run.ranks, run.configuration["solver"]) for run in plan.runs]
    assert pairs == [(p, s) for p in (2, 4, 8) for s in ("gmres", "pgmres", "cg")] * 2


def test_the_order_of_a_seed_stays_for_ever() -> None:
    values = list("abcdefgh")
    shuffle(values, random.Random(20261121))
    assert "".join(values) == "efagdcbh"


def test_the_words_are_filled_and_out_is_left() -> None:
    run = make_plan(study(order="as-written")).runs[0]
    assert " ".join(run.command) == (
        "hindmost run diagonal --solver gmres --unknowns 100000 --iterations 100 --out {out}"
    )


def test_what_is_put_in_stays_one_word() -> None:
    text = TEXT.format(seed=1, repeats=1, order="as-written", by='"all"', runs=0, job=60)
    text = text.replace('"diagonal"', "'a b; {solver} $(rm) \"'")
    text += '[run]\ncommand = ["x", "{problem}", "{ranks}/{nodes}/{ranks_per_node}/{repeat}"]\n'
    text += 'options = ["-n", "{iterations}"]\n'
    run = make_plan(study_of(parse_document(text, "s.toml"))).runs[-1]
    assert run.command == ("x", 'a b; {solver} $(rm) "', "8/2/4/0", "--", "-n", "100")


def test_solvers_are_compared_in_one_allocation() -> None:
    plan = make_plan(study())
    # 12 runs of 5 min and 2 min at the end are more than an hour: the last block goes apart.
    assert [len(allocation.runs) for allocation in plan.allocations] == [9, 3] * 3
    assert [allocation.nodes for allocation in plan.allocations] == [1, 1, 1, 1, 2, 2]
    for allocation in plan.allocations:
        runs = runs_of(plan, allocation)
        assert {run.allocation for run in runs} == {allocation.id}
        assert len({run.ranks for run in runs}) == 1
        assert len({run.block for run in runs}) * 3 == len(runs)
    assert [allocation.walltime_s for allocation in plan.allocations] == [48 * 60, 18 * 60] * 3
    longer = make_plan(study(job=62)).allocations
    assert [(len(each.runs), each.walltime_s) for each in longer] == [(12, 62 * 60)] * 3


def test_by_all_asks_for_the_most_nodes() -> None:
    plan = make_plan(study(by='"all"', job=600))
    (allocation,) = plan.allocations
    assert (allocation.nodes, allocation.ranks_per_node, allocation.id) == (2, 4, "a000")


@settings(max_examples=60, deadline=None)
@given(
    repeats=st.integers(1, 12),
    by=st.sampled_from(['"ranks"', '"all"', '"none"', '["solver"]', '["ranks", "solver"]']),
    most=st.integers(0, 12),
    job=st.integers(7, 200),
)
def test_packing_keeps_its_promises(repeats: int, by: str, most: int, job: int) -> None:
    said = study(repeats=repeats, by=by, runs=most, job=job)
    plan = make_plan(said)
    ids = [name for allocation in plan.allocations for name in allocation.runs]
    assert sorted(ids) == sorted(run.id for run in plan.runs)
    assert len({allocation.id for allocation in plan.allocations}) == len(plan.allocations)
    order = {run.id: number for number, run in enumerate(plan.runs)}
    apart: dict[tuple[object, ...], set[str]] = {}
    for allocation in plan.allocations:
        runs = runs_of(plan, allocation)
        assert allocation.walltime_s <= said.limits.job_s
        assert not most or len(runs) <= most
        assert [order[run.id] for run in runs] == sorted(order[run.id] for run in runs)
        begun = 0.0
        for run in runs:  # each can be begun in time if those before take their limits
            assert begun + run.limit_s <= allocation.walltime_s - allocation.stop_before_s + 1e-6
            begun += run.limit_s
    for run in plan.runs:
        apart.setdefault((run.block, run.ranks), set()).add(run.allocation)
    split = {block for (block, _), places in apart.items() if len(places) > 1}
    assert [int(warning.split()[0]) for warning in warnings(plan)] == [len(split)] * bool(split)


def machine(**fields: object) -> MachineProfile:
    usual = {"name": "m", "scheduler": "slurm", "launcher": "srun", "cores_per_node": 4}
    return MachineProfile(**{**usual, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ranks", "each", "size"),
    [(1, None, (1, 1)), (4, None, (4, 1)), (5, None, (3, 2)), (8, None, (4, 2)), (9, None, (3, 3)),
     (2, 1, (1, 2)), (2, 4, (2, 1))],
)  # fmt: skip
def test_sizes(ranks: int, each: int | None, size: tuple[int, int]) -> None:
    assert layout_on(machine(), ranks, each) == size


@given(ranks=st.integers(1, 5000), cores=st.integers(1, 200))
def test_a_size_holds_all_ranks_on_the_fewest_nodes(ranks: int, cores: int) -> None:
    size = layout_on(machine(cores_per_node=cores), ranks)
    assert size[0] <= cores
    assert size[1] * size[0] >= ranks > (size[1] - 1) * cores


def test_sizes_that_are_refused() -> None:
    with pytest.raises(UsageError, match=r"9 ranks need 3 nodes of 'm' \(4 cores each\)"):
        layout_on(machine(nodes=2), 9)
    with pytest.raises(UsageError, match="5 ranks on a node of 'm', which has 4 cores"):
        layout_on(machine(), 5, 5)
    crowded = machine(nodes=2, oversubscribe=True)
    assert layout_on(crowded, 9) == (5, 2)
    assert layout_on(replace(crowded, nodes=None), 5, 5) == (5, 1)


def test_machines_are_chosen_or_refused() -> None:
    assert make_plan(study()).machine.name == "big"
    with pytest.raises(UsageError, match=r"did you mean big\?"):
        make_plan(study(), "bigg")
    two = study()
    local = replace(two.machines["local"], cores_per_node=2)
    two = replace(two, machines={**two.machines, "local": local})
    with pytest.raises(UsageError, match="4 ranks need 2 nodes of 'local'"):
        make_plan(two, "local")
    with pytest.raises(
        UsageError, match=r"choose big or local with --machine, or set machine in its .study."
    ):
        make_plan(replace(study(), only_machine=""))


def test_core_hours_by_hand() -> None:
    plan = make_plan(study(repeats=1, by='"ranks"'))
    # Three allocations of 3 runs of 5 min, 1 min for the start and 2 at the end; nodes of 4 cores,
    # 1, 1 and 2.
    assert plan.core_hours == pytest.approx((1 + 1 + 2) * 4 * 18 / 60)
    shared = replace(plan, machine=replace(plan.machine, exclusive=False))
    assert shared.core_hours == pytest.approx((2 + 4 + 8) * 18 / 60)


@pytest.mark.parametrize("oversubscribe", [False, True])
def test_this_machine_has_no_more_cores_than_it_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, oversubscribe: bool
) -> None:
    for cpu in range(4):  # two cores of two threads
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{cpu % 2},{cpu % 2 + 2}\n")
    monkeypatch.setattr(machines, "CPUS", tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert machines.cores_here() == 2
    text = (
        'schema = 1\n[study]\nname = "s"\n[machine.here]\nscheduler = "local"\n'
        f"cores_per_node = 4\noversubscribe = {str(oversubscribe).lower()}\n"
        '[sweep]\nranks = 4\nsolver = "cg"\nproblem = "diagonal"\nunknowns = 9\niterations = 9\n'
    )
    said = study_of(parse_document(text, "s.toml"))
    if oversubscribe:
        assert make_plan(said).runs[0].ranks == 4
    else:
        with pytest.raises(UsageError, match="this machine has 2 usable cores"):
            make_plan(said)
