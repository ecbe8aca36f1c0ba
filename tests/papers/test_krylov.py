"""Morgan, Sanan, Knepley, Mills: figures and tables on noise and pipelined Krylov methods."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from tests.conftest import LOCAL, made_header, run_values
from tests.papers.conftest import Ran, Told, Values, drawn, holds, mean_of

import hindmost
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.writer import write_whole

LEAST = stats.johnsonsu(-0.586, 3.35, loc=3.97e-4, scale=6e-5)
SPAN = stats.johnsonsu(-0.740, 3.21, loc=8.06e-5, scale=1e-5)
"""a_k and s_k, seconds: shapes of GMRES on ex23 in table 2, whose scales are not those of times."""
K, RANKS, RESTART = 1500, 8, 30


def uniform_times(
    *, ranks: int = RANKS, factor: float = 1.0, power: float | Values = 1.0
) -> tuple[Values, Values, Values]:
    """Draw iterations as section 6 does: ranks between a_k and a_k + s_k, both drawn.

    Parameters
    ----------
    factor : float
        On a_k and s_k.
    power : float, or float64 array, shape (rank,)
        To which the place of a rank between fastest and slowest is raised; 1: uniform.

    Returns
    -------
    times : float64 array, shape (iteration, rank), seconds
    least, span : float64 array, shape (iteration,), seconds
    """
    random = np.random.default_rng(7)
    least = factor * LEAST.rvs(K, random_state=random)
    span = factor * SPAN.rvs(K, random_state=random)
    place = random.random((K, ranks))
    place = (place - place.min(axis=1, keepdims=True)) / np.ptp(place, axis=1)[:, None]
    return least[:, None] + span[:, None] * place**power, least, span


def write_solve(
    folder: Path, times: Values, *, solver: str = "gmres", host: str = "theta", unknowns: int = 1000
) -> Path:
    """Write the file of a solve whose iterations took these times, shape (iteration, rank)."""
    ranks = times.shape[1]
    pause = np.zeros(K)
    pause[RESTART::RESTART] = 20e-6
    work = np.repeat(0.8 * times.min(axis=1, keepdims=True), ranks, axis=1)
    phases = np.zeros((K, ranks, len(PHASES)))
    phases[:, :, LOCAL], phases[:, :, PHASES.index("wait")] = work, times - work
    ends = 10e-6 + times.sum(axis=0) + pause.sum()
    pipelined = solver.startswith("p")
    values = run_values(iterations=K, ranks=ranks, restart=RESTART, seed=0) | {
        "duration": times,
        "phase_duration": phases,
        "start": 10e-6 + np.cumsum(times, axis=0) - times + np.cumsum(pause)[:, None],
        "event_work": work[:, :, None].astype(np.float32),
        "event_duration": (times - work)[:, :, None].astype(np.float32),
        "solve_time": np.full(ranks, ends.max() + 10e-6),
        "lead_out": ends.max() + 10e-6 - ends,
        "host": [f"{host}{rank // 4}" for rank in range(ranks)],
    }
    made = replace(
        made_header(),
        solver=solver,
        ranks=ranks,
        iterations=K,
        restart=RESTART,
        synchronisation="pipelined" if pipelined else "blocking",
        lag=int(pipelined),
        spec={"unknowns": unknowns, "repeat": 0},
        environment={"petsc": "none", "machine": {"host": host, "cores": 64}},
    )
    folder.mkdir(exist_ok=True, parents=True)
    return write_whole(folder, made, values)


@holds("Krylov fig. 1")
def test_ranks_differ_as_often_as_they_were_made_to(tmp_path: Path, told: Told) -> None:
    times, _, _ = uniform_times(power=np.repeat([1.0, 4.0], 4))
    file = write_solve(tmp_path, times)
    [run] = told("fit", file)["runs"]
    found = run["ranks_alike"]["all_pairs"]
    assert found["pairs"] == 28
    # D > c(alpha) sqrt((n + m) / (n m)) of section 3.1, with c(0.05) = 1.358
    assert found["critical"] == pytest.approx(1.3581 * np.sqrt(2.0 / K), rel=1e-3)
    # 16 pairs of unlike ranks; of the 12 others, one in twenty is rejected by chance
    assert 16 / 28 <= found["rejected_share"] <= 19 / 28
    figure = drawn(tmp_path / "f", file, "--figure=ranks", "--rank=0", "--rank=7")
    for rank in (0, 7):
        bars = figure[f"rank {rank}"]
        assert mean_of(bars) == pytest.approx(1e6 * times[:, rank].mean(), rel=0.01)
        assert (bars[:, 2] * (bars[:, 1] - bars[:, 0])).sum() == pytest.approx(1.0, abs=0.02)


@holds("Krylov fig. 2")
def test_an_iteration_shows_its_nodes(tmp_path: Path) -> None:
    _, least, span = uniform_times()
    nodes = np.repeat([0.0, 1.0], 4)  # in lockstep on a node, apart between nodes
    file = write_solve(tmp_path, least[:, None] + span[:, None] * nodes)
    series = drawn(tmp_path / "f", file, "--figure=iteration", "--iteration=44")
    bars = series["whole iteration"][:, 2]
    assert bars.shape == (RANKS,)
    assert np.ptp(bars[:4]) == pytest.approx(0.0, abs=1e-9)
    assert bars[4] - bars[3] == pytest.approx(1e6 * span[44])


@holds("Krylov fig. 3")
def test_the_map_has_one_place_of_each_cycle_and_its_slow_stretch(tmp_path: Path) -> None:
    times, _, _ = uniform_times()
    times[512:690] *= 2.0
    rows = drawn(tmp_path / "f", write_solve(tmp_path, times), "--figure=map", "--position=14")
    assert sorted(map(int, rows)) == list(range(14, K, RESTART))
    slow = {name for name, row in rows.items() if row[0, 1:].min() > 1.5 * np.median(times)}
    assert slow == {str(14 + RESTART * cycle) for cycle in range(17, 23)}


@pytest.mark.mpi
@holds("Krylov fig. 4")
def test_the_pipeline_is_filled_by_two_iterations_of_every_cycle(ran: Ran, tmp_path: Path) -> None:
    # Section 3.1: 5000 iterations and a restart of 30 are 5000 of GMRES and 5334 of PGMRES.
    counts = {"cycles": {"gmres": 5000, "pgmres": 5334}, "ice": {"gmres": 90, "pgmres": 96}}
    for folder, wanted in counts.items():
        found = {}
        for file in (ran[0] / folder).glob("*.h5"):
            run = hindmost.open(file)
            found[run.header.solver] = run.bodies
            for figure in ("ranks", "iteration", "map"):
                drawn(tmp_path / folder / run.header.solver / figure, file, f"--figure={figure}")
        assert found == wanted


@holds("Krylov fig. 5")
def test_all_iterations_follow_their_johnson_su_law(tmp_path: Path) -> None:
    bulk = stats.johnsonsu(-1.5, 1.6, loc=4e-4, scale=3e-5)
    times = bulk.rvs((K, RANKS), random_state=np.random.default_rng(2))
    figure = drawn(tmp_path / "f", write_solve(tmp_path, times), "--figure=histogram")
    x, density = figure["Johnson SU"][:, 0], figure["Johnson SU"][:, 2]
    wanted = 1e-6 * bulk.pdf(1e-6 * x)
    assert np.abs(density - wanted).max() < 0.05 * wanted.max()


@holds("Krylov fig. 6")
def test_the_uniform_law_spans_the_ranks_of_an_iteration(tmp_path: Path) -> None:
    times, least, span = uniform_times(ranks=64)
    figure = drawn(tmp_path / "f", write_solve(tmp_path, times), "--figure=uniform",
                   "--iteration=44")  # fmt: skip
    [law] = [values for name, values in figure.items() if name.startswith("uniform")]
    within = law[law[:, 2] > 0.0, 0]
    assert within.min() == pytest.approx(1e6 * least[44], rel=1e-3)
    assert within.max() == pytest.approx(1e6 * (least[44] + span[44]), rel=1e-3)
    assert law[:, 2].max() == pytest.approx(1e-6 / span[44], rel=1e-3)


@holds("Krylov fig. 7", "Krylov table 2")
def test_fastest_and_span_have_the_laws_that_they_were_drawn_from(
    tmp_path: Path, told: Told
) -> None:
    times, least, span = uniform_times()
    file = write_solve(tmp_path, times)
    for figure, values, truth in (("fastest", least, LEAST), ("span", span, SPAN)):
        found = drawn(tmp_path / figure, file, f"--figure={figure}")
        assert mean_of(found["recorded"]) == pytest.approx(1e6 * values.mean(), rel=0.01)
        law = found["Johnson SU"]
        wanted = 1e-6 * truth.pdf(1e-6 * law[:, 0])
        assert np.abs(law[:, 2] - wanted).max() < 0.1 * wanted.max()
    laws = models_of(told, file)["redrawn-uniform"]["parameters"]["laws"]
    for name, truth in (("least", LEAST), ("span", SPAN)):
        fitted = stats.johnsonsu(*(laws[name][each] for each in ("a", "b", "loc", "scale")))
        for share in (0.05, 0.5, 0.95):
            assert fitted.ppf(share) == pytest.approx(truth.ppf(share), rel=0.01)


def models_of(told: Told, file: Path) -> dict[str, Any]:
    """Return the models of a run by name."""
    [run] = told("fit", file)["runs"]
    return {model["name"]: model for model in run["models"]}


@pytest.mark.parametrize(
    "variants",
    [
        {"ranks": (4, 8, 16)},
        {"unknowns": (10**5, 10**6, 10**7)},
        {"solver": ("gmres", "pgmres", "bcgs", "pipebcgs")},
        {"host": ("theta", "daint")},
    ],
    ids=lambda variants: next(iter(variants)),
)
@holds("Krylov fig. 8", "Krylov fig. 9", "Krylov fig. 10", "Krylov fig. 11")
def test_laws_of_several_runs_stand_in_one_figure(
    variants: dict[str, tuple[Any, ...]], tmp_path: Path
) -> None:
    [(what, values)] = variants.items()
    files: list[Path] = []
    means: dict[str, list[float]] = {"overlay-fastest": [], "overlay-span": []}
    for number, value in enumerate(values):
        ranks = value if what == "ranks" else RANKS
        times, least, span = uniform_times(ranks=ranks, factor=1.0 + 0.5 * number)
        choice = {} if what == "ranks" else {what: value}
        files.append(write_solve(tmp_path / str(number), times, **choice))
        means["overlay-fastest"].append(1e6 * least.mean())
        means["overlay-span"].append(1e6 * span.mean())
    for figure, wanted in means.items():
        found = drawn(tmp_path / figure, *files, f"--figure={figure}")
        laws = [each for name, each in found.items() if name.endswith("Johnson SU")]
        means_of_laws = [float(np.average(law[:, 0], weights=law[:, 2])) for law in laws]
        assert means_of_laws == pytest.approx(wanted, rel=0.01)


@holds("Krylov fig. 12")
def test_the_jump_within_a_cycle_is_seen_by_place_on_each_machine(tmp_path: Path) -> None:
    times, _, _ = uniform_times()
    times[np.arange(K) % RESTART >= 14] *= 1.3  # after place 13, as on Mira
    files = [
        write_solve(tmp_path / "mira", times, host="mira"),
        write_solve(tmp_path / "theta", uniform_times()[0], host="theta"),
    ]
    places = drawn(tmp_path / "places", files[0], "--figure=places")
    means = {int(name.split()[1]): mean_of(each) for name, each in places.items()}
    first = next(iter(means.values()))
    for place, mean in means.items():
        assert mean / first == pytest.approx(1.3 if place >= 14 else 1.0, rel=0.02)
    both = drawn(tmp_path / "overlay", *files, "--figure=overlay")
    found = [mean_of(each) for each in both.values()]
    assert found[0] / found[1] == pytest.approx(1.0 + 0.3 * 16 / 30, rel=0.02)


@holds("Krylov table 1", "Krylov table 3", "Krylov table 4")
@pytest.mark.parametrize("solver", ["gmres", "pgmres", "bcgs", "pipebcgs"])
@pytest.mark.parametrize("host", ["theta", "daint"])
def test_models_are_those_of_the_formulas(
    solver: str, host: str, tmp_path: Path, told: Told
) -> None:
    times, least, span = uniform_times()
    file = write_solve(tmp_path, times, solver=solver, host=host)
    models = models_of(told, file)
    predicted = {name: model["predicted_s"] for name, model in models.items()}
    blocking = not solver.startswith("p")
    largest = RANKS / (RANKS + 1) if blocking else 0.5
    # (7) and (11): the expected maximum of P uniform times; (8) their mean
    wanted = (least + largest * span).sum()
    assert predicted["nonstationary-uniform"] == pytest.approx(wanted, rel=2e-3)
    # (12) and (13), a_k and s_k drawn anew
    assert predicted["redrawn-uniform"] == pytest.approx(wanted, rel=5e-3)
    given = models["stationary-johnsonsu"]["parameters"]
    law = stats.johnsonsu(*(given[each] for each in ("a", "b", "loc", "scale")))
    mean, deviation = times.mean(), times.std()
    if not blocking:
        assert predicted["stationary-johnsonsu"] == pytest.approx(K * law.mean(), rel=2e-3)
        return
    expected, _ = integrate.quad(
        lambda x: x * RANKS * law.cdf(x) ** (RANKS - 1) * law.pdf(x), times.min(), times.max() * 1.5
    )  # (3)
    assert predicted["stationary-johnsonsu"] == pytest.approx(K * expected, rel=2e-3)
    cramer = mean + deviation * (RANKS - 1) / np.sqrt(2 * RANKS - 1)  # (9)
    bertsimas = mean + deviation * np.sqrt(RANKS - 1)  # (10)
    assert predicted["cramer"] == pytest.approx(K * cramer, rel=1e-3)
    assert predicted["bertsimas"] == pytest.approx(K * bertsimas, rel=1e-3)
    # Table 1 for GMRES: the solve, then the models in this order
    names = ("nonstationary-uniform", "stationary-johnsonsu", "cramer", "bertsimas")
    ordered = [K * mean, *(predicted[name] for name in names)]
    assert ordered == sorted(ordered)
