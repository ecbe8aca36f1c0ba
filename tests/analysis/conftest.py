"""What tests of analysis share for a session: results, laws that are quickly fitted, a browser."""

from collections.abc import Iterator

import pytest
from tests.analysis.browser import Browser, need_browser

from hindmost.models.laws import law
from hindmost.models.laws.law import Law
from hindmost.models.laws.sample import Sample
from hindmost.models.noise import stationary


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def of_the_mean(_: Law, sample: Sample, __: int) -> float:
    return float(sample.std / sample.size**0.5)


@pytest.fixture(scope="module", autouse=True)
def quick_laws() -> Iterator[None]:
    """Search the slowest law in few bins from one start, and how certain a law is by its mean.

    Half of the time of a page goes into these, which tests/models holds to the truth.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(law.STARTS, "nct", law.STARTS["nct"][:1])
        patch.setattr(law, "FINE", law.COARSE)
        patch.setattr(stationary, "deviation_of_fit", of_the_mean)
        yield


@pytest.fixture(scope="session")
def started_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a browser, which takes half a second to start."""
    with Browser(need_browser(), tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def browser(started_browser: Browser) -> Browser:
    """Return the browser without what other tests asked it for."""
    started_browser.window(1600, 1000)
    started_browser.open("about:blank", "true")  # a page may still ask for news
    started_browser.requests.clear()
    started_browser.errors.clear()
    return started_browser
