import numpy as np
import pytest
from benchmarks.synthetic.scaling import two_functions
from numpy.typing import NDArray

from hindmost.errors import DataError
from hindmost.models.pmnf import detect_segments, fit_segments
from hindmost.models.pmnf.segments.one_behaviour import inside
from hindmost.models.pmnf.segments.paper import PaperSegmentations, is_segmented, located
from hindmost.models.pmnf.segments.segmentation import SegmentVerdict

POINTS = np.arange(1.0, 11.0)


def by_paper(values: NDArray[np.float64]) -> PaperSegmentations:
    found = detect_segments(POINTS, values, method="paper")
    assert isinstance(found, PaperSegmentations)
    return found


def test_figure_1_of_the_paper() -> None:
    verdict = by_paper(np.where(POINTS < 6, POINTS**2, 30.0 + POINTS))[0]
    assert verdict.segmented
    assert verdict.pattern == "001110"
    (change,) = verdict.changes
    assert change.low == change.high == 6.0
    found = by_paper(np.where(POINTS < 6, POINTS**2, 30.0 + POINTS))
    assert found.between(6.0, 6.0)[0]
    assert not found.between(4.0, 5.0)[0]


def test_the_errors_are_those_of_numpy() -> None:
    values = np.where(POINTS < 6, POINTS**2, 30.0 + POINTS)
    errors = by_paper(values).errors[0]
    window, part = values[2:7], POINTS[2:7]
    best = np.inf
    for power in np.arange(0.0, 3.1, 0.5):
        for logarithm in (0, 1, 2):
            column = part**power * np.log2(part) ** logarithm
            design = np.column_stack([np.ones(5), column])
            rest = window - design @ np.linalg.lstsq(design, window, rcond=None)[0]
            best = min(best, float((rest**2).sum()))
    assert errors[2] == pytest.approx(np.sqrt(best) / window.mean(), rel=1e-6)


def test_without_noise_one_function_is_one_and_two_are_two() -> None:
    random = np.random.default_rng(1)
    assert by_paper(inside(random, POINTS, 500)).segmented.mean() < 0.01
    assert by_paper(two_functions(random, POINTS, 500, first=5)).segmented.mean() > 0.9


@pytest.mark.parametrize(
    ("errors", "segmented"),
    [
        ([0.0, 0.0, 0.6, 0.0], True),  # larger than the threshold
        ([0.2, 0.3, 0.4, 0.3], False),  # large, but no jump
        ([0.05, 0.3, 0.3, 0.3], True),  # a jump by more than 4
        ([0.1, 0.35, 0.3, 0.3], False),  # by less
        ([0.001, 0.05, 0.001, 0.0], False),  # a jump below what counts
    ],
)
def test_windows_are_judged_as_in_section_3_1(errors: list[float], segmented: bool) -> None:
    assert is_segmented(np.array([errors]))[0] == segmented


@pytest.mark.parametrize(
    ("pattern", "place"),
    [
        ("001110", (6.0, 6.0)),
        ("011110", (5.0, 6.0)),
        ("111100", (4.0, 5.0)),
        ("000111", (7.0, 7.0)),
        ("011000", None),
        ("101100", None),
        ("000000", None),
        ("111111", None),
    ],
)
def test_the_change_point_is_read_from_the_pattern(
    pattern: str, place: tuple[float, float] | None
) -> None:
    low, high = located(np.array([[digit == "1" for digit in pattern]]))
    assert (low[0] >= 0) == (place is not None)
    assert place is None or (POINTS[low[0]], POINTS[high[0]]) == place


def test_six_points_are_found_but_not_located() -> None:
    points = POINTS[:6]
    found = detect_segments(points, np.array([1, 1, 1, 9, 9, 9.0]), method="paper")[0]
    assert found.segmented
    assert found.changes == ()


def test_too_few_and_missing_points() -> None:
    few = detect_segments(POINTS[:5], POINTS[:5], method="paper")[0]
    assert few.verdict is SegmentVerdict.TOO_FEW
    holes = POINTS.copy()
    holes[3] = np.nan
    with pytest.raises(DataError, match="likelihood"):
        detect_segments(POINTS, holes, method="paper")


def test_both_sides_have_the_point_that_is_common_to_them() -> None:
    values = np.where(POINTS < 6, POINTS**2, 30.0 + POINTS)
    found = fit_segments(POINTS, values, method="paper", space="extrap")[0]
    assert [(segment.low, segment.high, segment.points) for segment in found.segments] == [
        (1.0, 6.0, 6),
        (6.0, 10.0, 5),
    ]
    models = [segment.model.expression() for segment in found.segments if segment.model]
    assert models == ["1 * p^2", "30 + 1 * p"]
    assert found.whole.expression() == "1.649 + 3.971 * log2(p)^2"  # as Extra-P and the paper
    assert found.advice() == ""
