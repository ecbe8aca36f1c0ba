"""Every figure and table of the papers is held to a value by a test of this folder."""

from tests.papers import test_adaptive, test_albany, test_krylov, test_lee, test_segments
from tests.papers.conftest import holds

from hindmost.analysis.report.papers import PAPER_FIGURES


@holds
def test_every_figure_and_table_is_held() -> None:
    shown = {f"{figure.paper} {figure.number}" for figure in PAPER_FIGURES if not figure.why}
    held: set[str] = set()
    for module in (test_krylov, test_segments, test_adaptive, test_lee, test_albany):
        for test in vars(module).values():
            marks = getattr(test, "pytestmark", [])
            held.update(name for mark in marks if mark.name == holds.name for name in mark.args)
    assert held == shown
