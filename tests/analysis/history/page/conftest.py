"""The page of a history of known truth."""

from pathlib import Path

import pytest
from tests.analysis.history.page.planted import (
    KNOWN,
    synthetic,
)

from hindmost.analysis.history.study import HistoryStudy, judge_history
from hindmost.analysis.report.report import Contents, report_page
from hindmost.analysis.show.html_renderer import write_page


@pytest.fixture(scope="module")
def study() -> HistoryStudy:
    return judge_history(synthetic(), acknowledged=[KNOWN])


@pytest.fixture(scope="module")
def page(study: HistoryStudy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "page.html"
    write_page(path, report_page(Contents(history=study)))
    return path
