"""The efficiencies against published figures and cases that can be reckoned by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindmost.errors import DataError
from hindmost.models.ranks.efficiencies import Computation, ComputationScaling, Efficiencies
from hindmost.records import to_document

PRINTED = [
    # What a critical-path tool (output "[pop] sere:... te:...") printed of one code on 64 to 1024
    # processes, found in a public repository: mean and maximum computation, critical path and
    # total time; then its own load balance, serialisation, transfer, communication, parallel.
    (32.554688, 33.338641, 39.388323, 40.009749, 0.976485, 0.846409, 0.984468, 0.833263, 0.813669),
    (13.426047, 14.003071, 18.433987, 19.656685, 0.958793, 0.759633, 0.937797, 0.712382, 0.683027),
    (7.402236, 7.826016, 11.941295, 14.083169, 0.945850, 0.655374, 0.847913, 0.555700, 0.525609),
    (4.234199, 4.605570, 8.514002, 13.792879, 0.919365, 0.540941, 0.617275, 0.333909, 0.306984),
    (2.769027, 3.137317, 7.168600, 17.400619, 0.882610, 0.437647, 0.411974, 0.180299, 0.159134),
]


@pytest.mark.parametrize("row", PRINTED, ids=["64", "128", "256", "512", "1024"])
def test_agrees_with_what_another_tool_printed(row: tuple[float, ...]) -> None:
    mean, most, ideal, whole, *told = row
    here = Efficiencies(
        ranks=64, run_time_s=whole, mean_local_s=mean, max_local_s=most, ideal_s=ideal
    )
    ours = [
        here.load_balance, here.serialisation, here.transfer, here.communication, here.parallel,
    ]  # fmt: skip
    assert ours == pytest.approx(told, abs=2e-6)


def test_two_ranks_of_fixed_ratio_lose_a_quarter_to_balance() -> None:
    here = Efficiencies.of_ranks(np.array([40.0, 80.0]), 100.0, 90.0)
    assert here.load_balance == pytest.approx(0.75)
    assert here.lost_s == pytest.approx(
        {"load_balance": 20.0, "serialisation": 10.0, "transfer": 10.0}
    )
    assert here.explain() == (
        "Of 100 s on 2 ranks, 60.0 s are work (parallel efficiency 60.0 %); 20.0 s to load "
        "imbalance, 10.0 s to serialisation and 10.0 s to other time in MPI are lost."
    )
    unsplit = Efficiencies.of_ranks(np.array([40.0, 80.0]), 100.0)
    assert unsplit.serialisation is None
    assert unsplit.lost_s == pytest.approx({"load_balance": 20.0, "communication": 20.0})


positive = st.floats(1e-6, 1e6)


@pytest.mark.parametrize(
    "times",
    [
        {"run_time_s": 0.0},
        {"run_time_s": float("nan")},
        {"mean_local_s": 3.0},
        {"mean_local_s": -1.0},
        {"ideal_s": -1.0},
    ],
)
def test_times_that_cannot_be_are_refused(times: dict[str, float]) -> None:
    usual = {"run_time_s": 4.0, "mean_local_s": 1.0, "max_local_s": 2.0}
    with pytest.raises(DataError):
        Efficiencies(ranks=2, **{**usual, **times})


def test_a_rank_without_work_loses_nothing_by_balance() -> None:
    idle = Efficiencies.of_ranks(np.zeros(3), 1.0, 0.0)
    assert (idle.load_balance, idle.serialisation, idle.parallel) == (1.0, 1.0, 0.0)


def test_computation_scaling_is_the_product_of_its_factors() -> None:
    # Strong scaling: 10 % more instructions, at three quarters of the IPC, 5 % slower cores.
    reference = Computation(local_s=100.0, instructions=3e11, cycles=2e11)
    instructions, ipc, frequency = 3.3e11, 1.5 * 0.75, 2e9 * 0.95
    cycles = instructions / ipc
    more = Computation(local_s=cycles / frequency, instructions=instructions, cycles=cycles)
    scaling = ComputationScaling.against(more, reference)
    assert scaling.instructions == pytest.approx(1 / 1.1)
    assert scaling.ipc == pytest.approx(0.75)
    assert scaling.frequency == pytest.approx(0.95)
    assert scaling.counted_share == pytest.approx(1.0)
    assert scaling.computation == pytest.approx(0.75 * 0.95 / 1.1)
    itself = ComputationScaling.against(reference, reference)
    assert set(to_document(itself).values()) == {1.0}


def test_weak_scaling_is_held_against_the_size() -> None:
    reference, larger = Computation(local_s=10.0, size=1.0), Computation(local_s=50.0, size=4.0)
    scaling = ComputationScaling.against(larger, reference)
    assert scaling.computation == pytest.approx(0.8)
    assert scaling.instructions is None


@given(st.lists(positive, min_size=8, max_size=8))
def test_waiting_that_was_counted_is_a_factor_of_its_own(numbers: list[float]) -> None:
    pairs = (numbers[:4], numbers[4:])
    run, reference = (
        Computation(local_s=a, counted_s=a + b, instructions=c, cycles=d) for a, b, c, d in pairs
    )
    scaling = ComputationScaling.against(run, reference)
    product = scaling.instructions * scaling.ipc * scaling.frequency * scaling.counted_share  # type: ignore[operator]
    assert product == pytest.approx(scaling.computation, rel=1e-9)
