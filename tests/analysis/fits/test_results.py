"""Results of fits are the same values whether they were computed or read from the cache."""

from pathlib import Path

import pytest
from tests.conftest import run_values

import hindmost
from hindmost.analysis.fits import study
from hindmost.analysis.fits.study import AssumptionTest, FitOptions, fit_run
from hindmost.harness.runfile.contents import Header
from hindmost.harness.runfile.writer import write_whole
from hindmost.models.laws.law import Candidate, law_of
from hindmost.records import to_document


def test_a_cached_fit_is_the_fit(
    tmp_path: Path, header: Header, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_whole(tmp_path, header, run_values(iterations=40, ranks=3, restart=10, seed=1))
    run = hindmost.open(path)
    options = FitOptions(families=False)
    computed = fit_run(run, options)
    assert {test.name for test in computed.tests} == {"ranks_alike", "ranks_alike_in_work"}
    assert computed.laws == ()
    with monkeypatch.context() as patch:
        patch.setattr(study, "compute_fit", None)
        assert fit_run(run, options) == computed
        with pytest.raises(TypeError, match="not callable"):  # other options are fitted anew
            fit_run(run, FitOptions(families=True))


def test_laws_and_tests_keep_the_keys_that_programs_read() -> None:
    law = law_of("gamma", 2.0, 0.0, 3.0)
    assert to_document(Candidate(law=law, squared_error=0.1, log_likelihood=4.0)) == {
        "family": "gamma", "a": 2.0, "loc": 0.0, "scale": 3.0,
        "squared_error": 0.1, "log_likelihood": 4.0,
    }  # fmt: skip
    passed = AssumptionTest(name="ranks_alike", text="alike", figures={"ranks_read": 2})
    assert to_document(passed) == {"text": "alike", "ranks_read": 2}
    refused = AssumptionTest(name="ranks_alike", refused="one rank", figures={})
    assert to_document(refused) == {"refused": "one rank"}
