"""The data of the live charts, against frames of known contents."""

import numpy as np
from tests.analysis.watch.feeds import PHASES, frame, head

from hindmost.analysis.watch.live_charts import MAX_COLUMNS, phase_chart, rank_map, time_chart


def test_ranks_that_share_a_column_have_its_share() -> None:
    about = head(ranks=7, columns=3)
    frames = [frame(number, ranks=7, columns=3) for number in range(2)]
    drawn = rank_map(about, frames)
    # Rank r is in column r * 3 // 7 of the feed; the last one is hot.
    assert drawn.times[0].tolist() == [0.4, 0.4, 0.4, 0.4, 0.4, 0.8, 0.8]
    assert (drawn.ranks, drawn.bodies.size) == (7, 200)
    assert rank_map(about, ()).times.shape == (1, 7)


def test_a_long_iteration_lasts_for_several_frames() -> None:
    frames = [frame(number) for number in range(4)]
    for at, iteration in enumerate((1, 1, 1, 2)):  # the second one needs three frames
        frames[at] |= {"iteration": iteration, "heat": [100 * at] * 4}
        frames[at]["phase_ns"] = [0, 0, 0, frames[at]["window_ns"]] if at else [4, 0, 0, 0]
    np.testing.assert_allclose(rank_map(head(), frames).times[:, 0], [0.0, 0.3])
    chart = phase_chart(head(), frames)
    local = next(each for each in chart.series if each.name == PHASES[3])
    assert local.x.tolist() == [0.0, 1.0, 2.0]
    assert local.base is not None
    np.testing.assert_allclose((local.y - local.base), [0.0, 100.0])


def test_many_frames_are_pooled_and_another_metric_is_not_shown() -> None:
    frames = [frame(number) for number in range(1000)]
    frames[0]["metric"] = 1
    drawn = rank_map(head(), frames)
    assert 0.9 * MAX_COLUMNS < drawn.times.shape[0] <= MAX_COLUMNS
    assert drawn.bodies[-1] < frames[-1]["iteration"]
    assert drawn.times.max() == 0.8
    assert rank_map(head(), [*frames[:1], frame(1)]).times[0].max() == 0.0
    profile = phase_chart(head(), frames)
    assert profile.series[0].y.size <= MAX_COLUMNS
    assert profile.series[0].x[-1] == frames[-1]["iteration"]
    assert time_chart(head(), frames).series[0].y.max() == 400.0
