import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analysis.ranks.conftest import (
    RANKS,
    SLOW,
    reduced_values,
    with_bodies_of_all,
    without_events,
)
from tests.conftest import LOCAL, run_values

import hindmost
from hindmost import cli
from hindmost.analysis.ranks.read import analyse_ranks
from hindmost.analysis.ranks.study import report_run
from hindmost.analysis.ranks.tables import summary_lines
from hindmost.analysis.runs.tallies import solve_times
from hindmost.errors import DamagedFileError, DataError
from hindmost.harness.runfile import reader
from hindmost.harness.runfile.bodies import PHASES
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.events import EventKind
from hindmost.records import to_document


def test_the_slow_rank_is_named_with_its_cost(run_path: Path, values: dict[str, object]) -> None:
    work = np.asarray(values["phase_duration"])[:, :, LOCAL].astype(np.float32).astype(float)
    report = report_run(hindmost.open(run_path))
    late = report.lateness
    assert late is not None
    last = work.argmax(axis=1)
    assert late.last[SLOW] == (last == SLOW).sum() > 50
    np.testing.assert_allclose(late.charged_s.sum(), (work.max(axis=1)[:, None] - work).sum())
    assert late.nodes[int(late.node_charged_s.argmax())] == "node2"
    assert sum(cluster.size for cluster in report.clusters) == RANKS
    text = "\n".join(summary_lines(report))
    assert f"rank {SLOW} on node2: last in {late.last[SLOW]} of 60 iterations" in text
    assert "by chance" not in text
    assert text.count("That is more work, a pause or a slower core") == 1
    assert re.search(rf"least waiting: +{SLOW} ", text)
    assert len(text.splitlines()) < 40


def test_nobody_is_blamed_where_ranks_do_not_wait_for_each_other(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    header = replace(header, ranks=RANKS, iterations=60, restart=30)
    phases = np.asarray(values["phase_duration"]).copy()
    phases[:, :, PHASES.index("wait")] = 0.0
    apart = values | {
        "phase_duration": phases,
        "duration": phases[:, :, LOCAL],
        "event_duration": np.zeros_like(np.asarray(values["event_duration"])),
    }
    reason = "some MPI calls were among a part of the ranks"
    parted = replace(header, spec={**header.spec, "events_left_out": reason})
    for number, (of, made, why) in enumerate(
        [(header, apart, "The ranks hardly wait"), (parted, without_events(values), reason)]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        report = report_run(hindmost.open(write_whole(folder, of, made)))
        text = "\n".join(summary_lines(report))
        assert why in report.withheld in text
        assert "last in" not in text
        assert not {"most often last", "costs the others most"} & {
            each.criterion for each in report.extrema if each.standing_out
        }
        found = to_document(report)["hindmost"]
        assert found["difference_share"] > 0.05
        assert found["waiting_share"] == pytest.approx(number * found["difference_share"], rel=1e-5)


def test_overlap_is_seen_in_the_events(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    work, spent = (np.asarray(values[f"event_{name}"]) for name in ("work", "duration"))
    kinds = np.tile(np.array([EventKind.POST, EventKind.COMPLETE], np.uint8), (60, 1))
    header = replace(header, ranks=RANKS, iterations=60, restart=30)
    for number, before in enumerate([0.4, 1.0]):
        made = values | {
            "event_kind": kinds,
            "event_work": np.concatenate([before * work, (1.0 - before) * work], axis=2),
            "event_duration": np.concatenate([np.zeros_like(spent), spent], axis=2),
        }
        folder = tmp_path / str(number)
        folder.mkdir()
        report = report_run(hindmost.open(write_whole(folder, header, made)))
        assert ("overlap with work" in report.remark) == (before < 1.0)


def test_blocks_do_not_change_what_is_found(
    run_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = hindmost.open(run_path)
    whole = analyse_ranks(run)
    monkeypatch.setattr(reader, "BLOCK_BYTES", 8 * RANKS * 30)
    parts = analyse_ranks(run)
    np.testing.assert_array_equal(parts.lateness.last, whole.lateness.last)
    np.testing.assert_allclose(parts.metrics.values, whole.metrics.values, rtol=1e-12)
    np.testing.assert_array_equal(parts.histogram.counts, whole.histogram.counts)
    assert parts.slopes is not None
    assert whole.slopes is not None
    assert to_document(parts.slopes) == pytest.approx(to_document(whole.slopes), rel=1e-12)


def test_one_rank_of_two_is_first_by_a_criterion(tmp_path: Path, header: Header) -> None:
    values = run_values(iterations=60, ranks=2, restart=30, seed=1)
    run = hindmost.open(write_whole(tmp_path, replace(header, ranks=2, iterations=60), values))
    reasons = report_run(run).worth_opening().values()
    criteria = [each for one in reasons for each in one if each != "full records"]
    assert len(criteria) == len(set(criteria)) > 0


def test_unclassified_time_is_neither_work_nor_waiting(
    tmp_path: Path, header: Header, values: dict[str, object], run_path: Path
) -> None:
    # half of what every rank did between its events turns out to be MPI of no known kind
    header = replace(header, ranks=RANKS, iterations=60, restart=30)
    phases = np.array(values["phase_duration"])
    phases[:, :, PHASES.index("unclassified")] = phases[:, :, LOCAL] = phases[:, :, LOCAL] / 2
    path = write_whole(tmp_path, header, {**values, "phase_duration": phases})
    found, known = (analyse_ranks(hindmost.open(each)) for each in (path, run_path))
    np.testing.assert_allclose(found.of_run.busy, known.of_run.busy / 2, rtol=1e-5)
    np.testing.assert_allclose(found.waiting_s, known.waiting_s, rtol=1e-6)
    assert found.slopes is not None
    assert known.slopes is not None
    assert found.slopes.early_end_share == pytest.approx(known.slopes.early_end_share / 2, rel=1e-4)
    np.testing.assert_allclose(found.lateness.work_s, known.lateness.work_s / 2, rtol=1e-5)


def test_the_report_on_a_reduced_run_says_of_how_many_ranks_it_speaks(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    header = replace(header, ranks=RANKS, iterations=60, restart=30)
    made = with_bodies_of_all(values, reduced_values(values, [2, 5, SLOW]))
    path = write_whole(tmp_path, header, made)
    page = tmp_path / "page.html"
    assert cli.main(["report", str(path), "--out", str(page)]) == 0
    html = page.read_text()
    assert "has full records of 3 of 24 ranks" in html  # why no model is fitted
    assert "rank (3 of 24 ranks, those that were kept)" in html
    assert "all 24 ranks" in html
    assert "so neither they nor the critical path are drawn" in html


def test_reduced_files_that_cannot_be_looked_at_are_refused(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    header = replace(header, ranks=RANKS, iterations=60, restart=30)
    made = reduced_values(values, [2, 5, 20])
    with pytest.raises(DataError, match=r"3 of 24 ranks .*run without --keep"):
        solve_times(hindmost.open(write_whole(tmp_path, header, made)))
    for wrong, said in (
        ({"profile_phase": -np.asarray(made["profile_phase"])}, "'profile_phase' is negative"),
        ({"interval_bodies": np.full(6, 11)}, "'interval_bodies' should sum to the bodies"),
        ({"interval_bodies": [10, 10, 10, 20, 10, 0]}, "an interval of 'interval_bodies' is empty"),
        ({"kept_rank": [5, 2, 20]}, "'kept_rank' should ascend"),
    ):
        path = write_whole(tmp_path, header, made | wrong)
        with pytest.raises(DamagedFileError, match=said):
            report_run(hindmost.open(path))


@pytest.mark.parametrize("ranks", [2, 3])
def test_two_ranks_are_too_few_to_stand_out(
    tmp_path: Path, header: Header, ranks: int, capsys: pytest.CaptureFixture[str]
) -> None:
    made = run_values(iterations=60, ranks=ranks, restart=30, seed=3)
    path = write_whole(tmp_path, replace(header, ranks=ranks, iterations=60, restart=30), made)
    assert cli.main(["show", "--ranks", str(path)]) == 0
    said = capsys.readouterr().out
    assert f"{ranks} ranks are too few to find outliers: at least 4 are needed" in said
    assert "least waiting" not in said
    page = tmp_path / "page.html"
    assert cli.main(["show", "--ranks", str(path), "--out", str(page)]) == 0
    assert f"{ranks} ranks are too few to find outliers" in page.read_text()


def test_of_equal_ranks_none_stands_out(tmp_path: Path, header: Header) -> None:
    made = run_values(iterations=60, ranks=12, restart=30, seed=3)
    path = write_whole(tmp_path, replace(header, ranks=12, iterations=60, restart=30), made)
    report = report_run(hindmost.open(path))
    assert "  No rank is an outlier." in summary_lines(report)
    assert report.worth_a_look()  # the first by each criterion can be looked at all the same


def test_times_that_cannot_be_are_refused(
    tmp_path: Path, header: Header, values: dict[str, object]
) -> None:
    header = replace(header, ranks=RANKS, iterations=60, restart=30)
    phases, durations = (np.array(values[name]) for name in ("phase_duration", "duration"))
    starts = np.array(values["start"])
    starts[3, 4] = np.nan
    durations[5, 6] += 1.0
    for wrong, said in (
        ({"start": starts}, "a value of 'start' is not a number"),
        ({"duration": durations}, "phases of an iteration do not sum"),
        ({"edge_source": [77], "edge_target": [0], "edge_bytes": [8]}, "'edge_source' ranges"),
        ({"phase_duration": phases - 1.0}, "'phase_duration' is negative"),
    ):
        path = write_whole(tmp_path, header, {**values, **wrong})
        with pytest.raises(DataError, match=said):
            report_run(hindmost.open(path))
