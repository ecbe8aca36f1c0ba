"""``hindmost whatif --ranks``: what it simulates of run files, says and refuses."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.whatif.files import (
    answer,
    document,
    draw_less,
    event_values,
    machine_file,
    said,
    slower_values,
)
from tests.models.simulation.programs import played

from hindmost.analysis.whatif.baseline import on_ranks
from hindmost.analysis.whatif.targets import (
    Scaling,
    learnt_factors,
    network_of,
    read_ranks,
    scalable,
    scaling_of,
)
from hindmost.cli import main
from hindmost.errors import UsageError
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.reader import open_run
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.events import EventKind
from hindmost.models.laws.law import law_of
from hindmost.models.noise.stationary import RedrawnUniform
from hindmost.models.simulation.partner import RECIPES, Unit, steps_of

BODIES = 100


@pytest.fixture(autouse=True)
def few_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    draw_less(monkeypatch, replicas=2, values=1 << 14)


def write(
    folder: Path, header: Header, ranks: int = 3, *, slower: float = 1.0, **spec: Any
) -> Path:
    """Write a blocking run whose bodies have 50 to 60 us of work, and reductions of 3 us."""
    about = replace(
        header, ranks=ranks, iterations=BODIES, restart=20, spec={**header.spec, **spec}
    )
    values = slower_values(slower, iterations=BODIES, ranks=ranks, restart=20)
    return write_whole(folder, about, values)


def write_solve(folder: Path, header: Header, solves: int = 1) -> Path:
    """Write solves by CG on 2 ranks, without halos: 0.2 us a vector, reductions of 3 us."""
    ranks, cost_s = 2, 3e-6
    steps = list(steps_of(RECIPES["cg"].body, halo=False, preconditioner=3.0))
    unit_s = np.zeros(len(Unit))
    unit_s[[Unit.VECTOR, Unit.LOCAL]] = 0.2e-6, 2e-6
    own = np.array([step.units(0.0) @ unit_s for step in steps])[:-1]
    noise = np.random.default_rng(2).uniform(1.0, 1.01, (BODIES, ranks, 1))
    work = own * noise
    inside = work.max(axis=1, keepdims=True) - work + cost_s
    about = replace(header, solver="cg", ranks=ranks, iterations=BODIES, restart=0)
    if solves > 1:
        spec = {"mpi_seen": True, "pid": 7, "pc_type": "jacobi", "attached": {"solves": solves}}
        about = replace(about, spec={**spec, "petsc_options": []})
    return write_whole(
        folder,
        about,
        {
            **event_values([EventKind.REDUCE] * 3, work, inside, cycle=BODIES),
            "position": np.arange(BODIES, dtype=np.int32) % (BODIES // solves),
            "restart_duration": np.zeros((solves - 1, ranks)),
            "edge_source": np.zeros(0, np.int32),
            "edge_target": np.zeros(0, np.int32),
            "edge_bytes": np.zeros(0, np.int64),
        },
    )


@pytest.fixture
def run(tmp_path: Path, header: Header) -> Path:
    return write(tmp_path, header)


WEAK = ("--ranks-per-node", "4", "--scaling", "weak")


def test_weak_scaling_keeps_the_work_and_adds_reductions(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (run, "--ranks", "3,16", "--scaling", "weak", "--machine", machine_file(tmp_path))
    same, more = answer(capsys, *words, "--noise", "none")
    assert same["ranks"] == 3
    assert more["nodes"] == 4
    assert more["origin"] == "simulated"
    assert more["extrapolated_from"] == {"ranks": 3, "iterations_of_ranks": 3 * BODIES}
    assert more["parts_s"]["work"] == pytest.approx(same["parts_s"]["work"])
    # 16 ranks on 4 nodes: two rounds of 1 us and two of 5 us, and 8 bytes in each; recorded: two
    # messages of 1 us, of the 3 us that a reduction takes. The third one stays.
    rounds_s = 2 * 1.008e-6 + 2 * (5e-6 + 4 * 8e-9) + 3e-6 - 2 * 1.008e-6
    assert more["parts_s"]["network"] == pytest.approx(BODIES * rounds_s, rel=1e-3)
    # Without noise the simulation is held to the replay without it.
    (replayed,) = answer(capsys, run, "--noise", "none")
    assert same["check_s"] == pytest.approx(replayed["predicted_s"], rel=0.05)
    (noisy,) = answer(capsys, run, "--ranks", "3", "--scaling", "weak")
    assert noisy["check_s"] == pytest.approx(noisy["recorded_s"], rel=0.02)
    assert noisy["without_noise_s"] == pytest.approx(noisy["recorded_s"], rel=0.1)


def test_strong_scaling_divides_the_work(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (run, "--ranks", "6", "--ranks-per-node", "4", "--noise", "none", "--scaling")
    (weak,), (strong,) = answer(capsys, *words, "weak"), answer(capsys, *words, "strong")
    assert strong["parts_s"]["work"] == pytest.approx(0.5 * weak["parts_s"]["work"])


def test_runs_on_five_numbers_of_ranks_say_how_work_grows(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    for ranks in (1, 2, 3, 4, 6):
        write(tmp_path, header, ranks, slower=12.0 / ranks, unknowns=1200)
    (found,) = answer(capsys, tmp_path, "--ranks", "12", "--ranks-per-node", "4")
    told = " ".join(found["assumptions"])
    assert "The work of a rank is forecast from runs on 1, 2, 3, 4, 6 ranks, on which it" in told
    # Of 6 ranks: twice 55 us.
    assert found["parts_s"]["work"] == pytest.approx(BODIES * 55e-6, rel=0.1)


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_runs_on_several_numbers_of_ranks_say_how_messages_grow(power: float) -> None:
    """Ranks that share a link: each message costs 3 us times their number to a power."""
    shown = []
    for ranks in (16, 8, 4, 2):
        kind, work = np.full((40, 1), EventKind.REDUCE, np.uint8), np.full((40, ranks, 1), 1e-4)
        cost_s = 3e-6 * ranks**power * np.log2(ranks)
        shown.append((played(kind, work, latency_s=float(cost_s)), 1))
    found = network_of(None, shown, (4, 64))
    assert found.network.within.time_s(8) == pytest.approx(3e-6 * 16**power, rel=1e-3)
    assert found.messages[4].typical == pytest.approx(0.25**power, rel=1e-3)
    far = found.messages[64]
    assert far.typical == pytest.approx(4.0**power, rel=0.01)
    assert far.low < far.typical < far.high
    assert "forecast from 2, 4, 8, 16 ranks" in found.basis
    assert network_of(None, shown[:1], (64,)).messages[64].high == pytest.approx(1.0)


@pytest.mark.parametrize(("rounds", "hidden"), [((0, 1, 1, 2), 2.0), ((2, 2, 2, 2), 1.0)])
def test_reductions_show_all_rounds_where_a_rank_stays_longest(
    rounds: tuple[int, ...], hidden: float
) -> None:
    """The last of four ranks finds the messages of the others there: 0, 1, 1 and 2 rounds."""
    kind, work = np.full((40, 1), EventKind.REDUCE, np.uint8), np.full((40, 4, 1), 1e-4)
    stays = np.broadcast_to(1e-6 * np.array(rounds)[:, None], work.shape)
    program = played(kind, work, stays=stays, latency_s=0.0)
    far = network_of(None, [(program, 1)], (64,)).messages[64]
    assert (far.low, far.typical, far.high) == pytest.approx((1.0, 1.0, hidden))


def test_work_that_falls_ends_at_the_largest_recorded_one() -> None:
    """Two points hardly tell 256 times as many ranks; growing work has no such end."""
    counts = np.array([1.0, 2.0])
    falling = learnt_factors(counts, np.array([3.0, 2.0]), (1, 2, 512))
    assert (falling[1].typical, falling[2].typical) == pytest.approx((1.5, 1.0))
    assert falling[512].low < falling[512].typical < falling[512].high <= 1.5
    assert learnt_factors(counts, np.array([2.0, 3.0]), (512,))[512].high > 10.0


def test_one_rank_does_not_show_what_several_do(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = write(tmp_path, header, 1)
    words = ("--ranks-per-node", "4", "--machine", machine_file(tmp_path))
    for ranks, told in (("8", True), ("1", False)):
        (found,) = answer(capsys, alone, "--ranks", ranks, *words)
        assumed = " ".join(found["assumptions"])
        assert ("shows neither how unequal the work of several is" in assumed) == told


def test_sizes_say_which_scaling_they_are_of(tmp_path: Path, header: Header) -> None:
    weak = [open_run(write(tmp_path, header, each, unknowns=100 * each)) for each in (1, 2, 3)]
    assert scaling_of(weak) is Scaling.WEAK
    assert scaling_of(weak[:1]) is None
    (together,) = scalable(weak[::-1])
    assert [run.header.ranks for run in together] == [1, 2, 3]


def test_sentences_come_first_and_say_what_is_extrapolated(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = said(capsys, run, "--ranks", "64..256", *WEAK, "--noise", "x2")
    assert "On 256 ranks (64 nodes; extrapolated from 3 ranks): predicted " in printed
    quiet, _, noisy = printed.partition("With noise x2: ")
    assert " on a quiet machine (" in quiet
    assert noisy.index("90 % prediction interval") < noisy.index("undisturbed work")
    assert "where ranks also wait for each other; those between nodes take longer" in printed
    assert f"what {BODIES} iterations of 3 ranks show, so it rests on the fitted tail" in printed
    assert f"fitted to {BODIES} recorded iterations of 3 ranks, by place in the res" in printed
    assert "Assumed: Weak scaling: every rank has the work of a recorded one." in printed


def test_laws_that_do_not_describe_the_run_are_named(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hindmost.models.simulation.simulated_solve.MISSES", 0.0)
    printed = said(capsys, run, "--ranks", "64,256", *WEAK)
    assert "On 256 ranks (64 nodes; extrapolated from 3 ranks): predicted " in printed
    assert "so the laws of local work do not describe it" in printed
    assert f"Record at least {4 * BODIES} iterations (here: {BODIES})" in printed
    (found,) = answer(capsys, run, "--ranks", "64", *WEAK)
    low_s, high_s = found["interval_s"]
    assert low_s <= found["predicted_s"] <= high_s


@pytest.mark.parametrize("with_machine", [False, True])
def test_ranks_that_shared_cores_say_little_of_others(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str], with_machine: bool
) -> None:
    """They waited for cores, which looks like noise and slow messages: only work is sure."""
    machine = machine_file(tmp_path)
    crowd = replace(header, environment={"machine": {"cores": 2, "load_before": 0.0}})
    words = [write(tmp_path, crowd), "--ranks", "64", *WEAK]
    words += ["--machine", machine] if with_machine else []
    printed = said(capsys, *words)
    assert "extrapolated from 3 ranks): predicted " in printed
    assert "3 ranks shared 2 cores. With cores of their own, work " in printed
    (found,) = document(capsys, *words)["predictions"]
    low_s, high_s = found["without_noise_interval_s"]
    work_s = BODIES * 55e-6
    assert low_s == pytest.approx(work_s, rel=0.1) if not with_machine else low_s > 1.1 * work_s
    assert found["interval_s"][1] > BODIES * (60e-6 + 6 * 1e-6)
    assert low_s <= found["without_noise_s"] <= high_s


def test_a_wide_interval_says_what_to_record(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hindmost.models.simulation.simulated_solve.WIDEST", 1.0)
    printed = said(capsys, run, "--ranks", "64", *WEAK)
    assert "With the recorded noise: " in printed
    assert f"Record at least {4 * BODIES} of them (here: {BODIES}) on an idle machine" in printed
    quiet = said(capsys, run, "--ranks", "64", *WEAK, "--noise", "none")
    assert "With the recorded noise" not in quiet
    assert "Record on more ranks" in quiet


def test_the_noise_of_the_target_takes_the_place_of_the_recorded_one(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a law, a detour of 1 ms in each iteration; or as probed, 2 ms in each second of work."""
    stated = ("--noise", "fixed:length=1ms,probability=1")
    (quiet,) = answer(capsys, run, "--ranks", "64", *WEAK, "--noise", "none")
    (found,) = answer(capsys, run, "--ranks", "64", *WEAK, *stated)
    assert found["without_noise_s"] == pytest.approx(quiet["predicted_s"])
    assert found["predicted_s"] - quiet["predicted_s"] == pytest.approx(BODIES * 1e-3, rel=0.01)
    assert "With noise fixed:length=1ms,probability=1: " in said(
        capsys, run, "--ranks", "64", *WEAK, *stated
    )
    machine = machine_file(tmp_path)
    probed = json.loads(machine.read_text())
    probed["noise"] = {"detours_per_s": 1.0, "share": 2e-3}
    machine.write_text(json.dumps(probed))
    words = (run, "--ranks", "64", *WEAK, "--machine", machine)
    assert "With the noise of the machine file: " in said(capsys, *words)
    (found,) = answer(capsys, *words)
    assert any("1 detours a second of 2.00 ms" in each for each in found["assumptions"])
    # In 64 ranks' 5.5 ms of work there are 0.35 detours on average.
    assert 0.0 < found["predicted_s"] - found["without_noise_s"] < 2e-2


def test_what_is_not_given_has_a_default_that_is_said(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (given,) = answer(capsys, run, "--ranks", "64", "--ranks-per-node", "3", "--scaling", "strong")
    (found,) = answer(capsys, run, "--ranks", "64")
    assert found["predicted_s"] == given["predicted_s"]
    assumed = " ".join(found["assumptions"])
    assert "Strong scaling (the default; or give --scaling weak)" in assumed
    assert "A node has 3 ranks" in assumed


def test_without_noise_nothing_rests_on_its_tail(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = answer(capsys, run, "--ranks", "64", *WEAK, "--noise", "none")
    assert not any("rests on the fitted tail" in each for each in found["assumptions"])


@pytest.mark.parametrize("solves", [1, 4])
def test_both_solvers_are_simulated_and_compared(
    solves: int, tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of CG's three reductions on many ranks, PIPECG has one, behind a product."""
    run = write_solve(tmp_path, header, solves)
    printed = said(capsys, run, "--ranks", "64", *WEAK, "--solver", "pipecg")
    assert "pipecg pays off on 64 ranks: an iteration takes 0." in printed
    assert "restart cycle" not in printed
    assert ("by place in the solve" in printed) == (solves > 1)
    one, two = answer(capsys, run, "--ranks", "64", *WEAK, "--solver", "pipecg")
    assert (one["changes"], two["changes"]) == ({}, {"solver": "pipecg"})
    assert one["recorded_s"] == two["recorded_s"]
    # 5.4 us of work and three reductions of 6 messages of 3 us; 8.4 us of work and one reduction,
    # which is started in the 3 us of a recorded one, 2.6 us of work before its end is awaited.
    assert one["predicted_s"] == pytest.approx(BODIES * (5.4e-6 + 3 * 18e-6), rel=0.02)
    assert two["predicted_s"] == pytest.approx(BODIES * (5.8e-6 + 3e-6 + 18e-6), rel=0.02)
    with pytest.raises(UsageError, match="pgmres cannot be predicted from runs of cg"):
        main(["whatif", str(run), "--ranks", "64", "--solver", "pgmres"])


def test_ranges_of_ranks_double() -> None:
    assert read_ranks("64..500") == (64, 128, 256, 500)
    assert read_ranks("8, 4..16") == (8, 4, 16)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ranks", "64", "--ranks-per-node", "0", "--scaling", "weak"], "give 1 or more"),
        (["--ranks", "many", *WEAK], "write 512, a list"),
        (["--ranks", "64..8", *WEAK], "a range ascends"),
        (["--ranks", "0", *WEAK], "numbers of ranks are 1 to"),
        (["--scaling", "weak"], "--scaling needs --ranks"),
        (["--ranks", "8", *WEAK, "--speed", "rank 1: x2"], "no meaning on other numbers"),
        (["--ranks", "8", *WEAK, "--pipeline-depth", "2"], "pipelined solver"),
        (["--ranks", "8", *WEAK, "--iterations", "9"], "keeps its recorded iterations"),
        (["--ranks", "8", *WEAK, "--noise", "x-2"], "noise of x-2"),
        (["--ranks", "9999999", *WEAK], "numbers of ranks are 1 to"),
    ],
)
def test_bad_values_are_refused(run: Path, words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        main(["whatif", str(run), *words])


@pytest.mark.parametrize("scaling", ["weak", "strong"])
def test_a_prediction_is_the_median_over_repeats(
    tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str], scaling: str
) -> None:
    runs = [write(tmp_path, header, slower=slower) for slower in (1.0, 1.1)]
    words = ("--ranks", "8,16", "--ranks-per-node", "4", "--scaling", scaling)
    answered = document(capsys, *runs, *words)
    both, found = answered["runs"], answered["predictions"]
    assert [each["ranks"] for each in found] == [8, 16]
    recorded = np.median([each["recorded_s"] for each in both])
    for one in found:
        alike = [each["predicted_s"] for each in both if each["ranks"] == one["ranks"]]
        assert one["predicted_s"] == np.median(alike)
        assert one["interval_s"][0] < min(alike)
        assert one["interval_s"][1] > max(alike)
        naive, paper = one["beside"]
        share = 3 / one["ranks"] if scaling == "strong" else 1.0
        assert naive["predicted_s"] == pytest.approx(share * recorded)
        # All ranks end these iterations together, so the paper's spans have no law.
        assert paper["name"] == "redrawn-uniform"
        assert paper["what"].startswith("the paper's simulation: ")


def test_the_papers_simulation_divides_its_law_of_the_fastest_rank() -> None:
    law = law_of("johnsonsu", -1.2, 1.6, 4e-4, 3e-5)
    span = law_of("johnsonsu", -2.0, 1.9, 6e-5, 2e-5)
    model = RedrawnUniform(bodies=100, ranks=2, blocking=True, least=law, span=span)
    found = on_ranks(model, 8, 0.25)
    assert found.predict().seconds == pytest.approx(100 * (0.25 * law.mean + 8 / 9 * span.mean))
    assert on_ranks(model, 2, 1.0) == model


def test_repeats_far_apart_give_a_wide_interval(
    run: Path, tmp_path: Path, header: Header, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = write(tmp_path, header, slower=16.0)
    words = [run, slow, "--ranks", "3", *WEAK, "--noise", "none"]
    (found,) = document(capsys, *words)["predictions"]
    low_s, high_s = found["interval_s"]
    assert high_s > 16.0 * low_s
