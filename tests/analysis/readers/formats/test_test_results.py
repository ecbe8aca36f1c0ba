"""JUnit XML and CTest's own results: as the tools write them, and as they should not be."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.analysis.readers.history_files import JUNIT, by_name

from hindmost.analysis.readers.history import History
from hindmost.analysis.readers.read import HISTORY_FORMATS, read_history, recognise
from hindmost.errors import DataError

NAMES = ("fast", "solve[/data/mesh.h5]", "größe/α,β=2", "a&<b>")
PROJECT = """
cmake_minimum_required(VERSION 3.10)
project(small NONE)
include(CTest)
add_test(NAME fast COMMAND ${CMAKE_COMMAND} -E true)
add_test(NAME "solve[/data/mesh.h5]" COMMAND ${CMAKE_COMMAND} -E true)
add_test(NAME "größe/α,β=2" COMMAND ${CMAKE_COMMAND} -E true)
add_test(NAME "a&<b>" COMMAND ${CMAKE_COMMAND} -E true)
add_test(NAME fails COMMAND ${CMAKE_COMMAND} -E false)
add_test(NAME off COMMAND ${CMAKE_COMMAND} -E true)
set_tests_properties(off PROPERTIES DISABLED TRUE)
add_test(NAME skipped COMMAND ${CMAKE_COMMAND} -E false)
set_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 1)
add_test(NAME absent COMMAND no-such-program)
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose tests were run by ctest."""
    if not shutil.which("ctest"):
        pytest.skip("no ctest here: apt-get install cmake")
    folder = tmp_path_factory.mktemp("project")
    (folder / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    made = folder / "build"
    for words in (
        ["cmake", "-S", ".", "-B", "build", "-DSITE=blake", "-DBUILDNAME=gcc"],
        ["ctest", "--test-dir", "build", "-T", "Test", "--output-junit", "results.xml"],
    ):
        subprocess.run(words, cwd=folder, capture_output=True, check=False, timeout=100)
    return made


def found_in(history: History) -> tuple[set[str], dict[str, str]]:
    return (
        {series.name.case for series in history.series},
        {failure.case: failure.reason for failure in history.failures},
    )


def test_what_ctest_writes_is_read(build: Path) -> None:
    cases, failed = found_in(read_history(build / "results.xml"))
    assert cases == set(NAMES)
    assert failed == {"fails": "failed", "absent": "not run: Unable to find executable"}
    dashboard = read_history(build / "Testing")
    cases, failed = found_in(dashboard)
    assert cases == set(NAMES)
    assert failed == {"fails": "failed", "absent": "not run: Unable to find executable"}
    assert {series.name.machine for series in dashboard.series} == {"blake gcc"}


DASHBOARD = """<?xml version="1.0" encoding="UTF-8"?>
<Site BuildName="Linux-c++" Name="blake" Generator="ctest-3.25.1">
  <Testing>
    <StartTestTime>1795328831</StartTestTime>
    <TestList><Test>./solve</Test></TestList>
    {tests}
  </Testing>
</Site>
"""
TEST = """<Test Status="{status}"><Name>{name}</Name><Path>{path}</Path><Results>
<NamedMeasurement type="numeric/double" name="Speed"><Value>3.5</Value></NamedMeasurement>
<NamedMeasurement type="numeric/double" name="Execution Time"><Value>{time}</Value>
</NamedMeasurement>
<NamedMeasurement type="text/string" name="Completion Status"><Value>{said}</Value>
</NamedMeasurement><Measurement><Value encoding="base64" compression="gzip">eJwr</Value>
</Measurement></Results></Test>"""


def dashboard(*tests: dict[str, str]) -> str:
    usual = {"status": "passed", "path": ".", "time": "0.5", "said": "Completed"}
    return DASHBOARD.format(tests="".join(TEST.format(**(usual | test)) for test in tests))


def write(folder: Path, text: str, name: str = "results.xml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_dashboard_without_ctest(tmp_path: Path) -> None:
    text = dashboard(
        {"name": "solve[2]"},
        {"name": "same", "path": "./a", "time": "1.5"},
        {"name": "same", "path": "./b", "time": "2.5"},
        {"name": "broken", "status": "failed"},
        {"name": "off", "status": "notrun", "said": "Disabled"},
        {"name": "own", "status": "notrun", "said": "SKIP_RETURN_CODE=77"},
    )
    history = read_history(write(tmp_path, text, "Test.xml"))
    values = {name[1:]: series.values.tolist() for name, series in by_name(history).items()}
    assert values == {
        ("solve[2]", "time"): [0.5],
        ("./a/same", "time"): [1.5],
        ("./b/same", "time"): [2.5],
    }
    assert [failure.case for failure in history.failures] == ["broken"]
    assert history.series[0].times.tolist() == [1795328831.0]
    assert any("'Speed' is left out" in warning for warning in history.warnings)


PYTEST = """<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests">
<testsuite name="pytest" errors="0" failures="0" skipped="1" tests="3" time="0.056"
 timestamp="2026-11-22T06:35:27.164829+01:00" hostname="vm">
<testcase classname="tests.test_a" name="test_solve[/data/mesh.h5-ü]" time="0.021"/>
<testcase classname="tests.test_a" name="test_slow" time="1.5"><skipped type="pytest.xfail"
 message=""/></testcase>
<testcase classname="tests.test_a" name="test_left" time="0.001"><error message="teardown">x
</error></testcase></testsuite></testsuites>"""
GOOGLE = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3" timestamp="2026-11-22T06:35:27.164" time="0.4" name="AllTests">
<testsuite name="Sizes/Solve" tests="2" time="0.3" timestamp="2026-11-22T06:35:27.164">
<testcase name="Cg/0" value_param="16" file="a.cc" line="7" status="run" result="completed"
 time="0.25" timestamp="2026-11-22T06:35:28.0" classname="Sizes/Solve"/>
<testcase name="DISABLED_Gmres/0" status="notrun" result="suppressed" time="0."
 timestamp="2026-11-22T06:35:28.0" classname="Sizes/Solve"/>
</testsuite></testsuites>"""
MAVEN = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="org.Solve"
 time="1,234.9" tests="3" errors="0" skipped="0" failures="0">
<properties><property name="git.commit" value="6177ebf"/></properties>
<testcase name="cg" classname="org.Solve" time="1,234.5"/>
<testcase name="zero" classname="org.Solve" time="0"/>
<testcase name="flaky" classname="org.Solve" time="0.1"><flakyFailure message=""/></testcase>
</testsuite>"""


@pytest.mark.parametrize(
    ("text", "series", "failed"),
    [
        (PYTEST, {"tests.test_a.test_solve[/data/mesh.h5-ü]": 0.021}, {"tests.test_a.test_left"}),
        (GOOGLE, {"Sizes/Solve.Cg/0": 0.25}, set()),
        (MAVEN, {"org.Solve.cg": 1234.5}, {"org.Solve.flaky"}),
        (JUNIT, {"tests.test_solve.test_solve[ilu]": 0.81}, {"tests.test_solve.bad"}),
    ],
)
def test_junit_of_many_tools(
    tmp_path: Path, text: str, series: dict[str, float], failed: set[str]
) -> None:
    path = write(tmp_path, text, "TEST-2026-11-22.xml")
    found = recognise(path, HISTORY_FORMATS)
    assert found is not None
    assert found.name == "tests"
    history = read_history(path)
    assert {each.name.case: each.values[0] for each in history.series} == series
    assert {failure.case for failure in history.failures} == failed
    assert {each.name.timer for each in history.series} == {"time"}


def test_the_time_is_that_of_the_test_or_its_suite_or_the_file(tmp_path: Path) -> None:
    def time_of(text: str, name: str) -> float:
        return float(read_history(write(tmp_path, text, name)).series[0].times[0])

    assert time_of(PYTEST, "a.xml") == pytest.approx(1795325727.164829)
    assert time_of(GOOGLE, "b.xml") == 1795329328.0
    assert time_of(MAVEN, "TEST-2026-11-22.xml") == 1795305600.0
    os.utime(write(tmp_path, MAVEN, "c.xml"), (1.7e9, 1.7e9))
    undated = read_history(tmp_path / "c.xml")
    assert undated.series[0].times.tolist() == [1.7e9]
    assert "modification" in undated.warnings[0]


@pytest.mark.parametrize("folder", ["results", "test-results", "weaver-results", "ci-runners"])
def test_the_machine_is_the_host_in_the_file_else_the_folders(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    for host in ("a", "b"):
        write(tmp_path / folder, PYTEST.replace("vm", host), f"{host}.xml")
    names = {each.name.machine for each in read_history(tmp_path / folder).series}
    assert names == {"a", "b"}
    (tmp_path / "weaver-nightly").mkdir()
    write(tmp_path / "weaver-nightly", PYTEST.replace(' hostname="vm"', ""))
    assert read_history(tmp_path / "weaver-nightly").series[0].name.machine == "weaver"


LEVELS = "".join(f'<!ENTITY e{at + 1} "{f"&e{at};" * 10}">' for at in range(9))
BOMB = f"""<?xml version="1.0"?><!DOCTYPE testsuite [<!ENTITY e0 "aaaaaaaaaa">{LEVELS}]>
<testsuite><testcase name="a" time="1"><failure>&e9;</failure></testcase></testsuite>"""
EXTERNAL = """<?xml version="1.0"?><!DOCTYPE testsuite [<!ENTITY x SYSTEM "{secret}">]>
<testsuite timestamp="2026-11-22T06:35:27"><testcase name="&x;" time="1"/></testsuite>"""


@pytest.mark.parametrize("text", [BOMB, EXTERNAL])
def test_entities_of_other_files_and_bombs_are_refused(tmp_path: Path, text: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a secret")
    with pytest.raises(DataError) as raised:
        read_history(write(tmp_path, text.replace("{secret}", secret.as_uri())))
    assert "a secret" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        JUNIT[:-20],
        JUNIT.replace("2026-11-20T05:30:12", "yesterday"),
        JUNIT.replace("UTF-8", "klingon"),
        dashboard({"name": ""}),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError):
        read_history(write(tmp_path, text))


def suite_of(*times: str) -> str:
    tests = "".join(f'<testcase name="t{at}" time="{each}"/>' for at, each in enumerate(times))
    return f'<testsuite timestamp="2026-11-20T05:30:12">{tests}</testsuite>'


SECONDS = (0.16, 12.132, 1234.5)
WRITTEN_AS = {
    "a decimal comma": ("0,160", "12,132", "1234,500"),
    "a decimal comma and points before thousands": ("0,16", "12,132", "1.234,5"),
    "a decimal comma and spaces": ("0,160", "12,132", "1\u202f234,5"),
    "a decimal point and apostrophes": ("0.160", "12.132", "1'234.5"),
    "a decimal point": ("0.160", "12.132", "1234.5"),
    "a decimal point and commas before thousands": ("0.16", "12.132", "1,234.5"),
}


@pytest.mark.parametrize("kind", WRITTEN_AS)
def test_the_numbers_of_a_file_show_their_decimal_mark(tmp_path: Path, kind: str) -> None:
    times = WRITTEN_AS[kind]
    history = read_history(write(tmp_path, suite_of(*times)))
    assert [each.values.item() for each in history.series] == pytest.approx(SECONDS)
    tests = [{"name": f"t{at}", "time": each} for at, each in enumerate(times)]
    history = read_history(write(tmp_path, dashboard(*tests), "Test.xml"))
    assert [each.values.item() for each in history.series] == pytest.approx(SECONDS)


def test_a_comma_before_thousands_in_a_file_with_points(tmp_path: Path) -> None:
    history = read_history(write(tmp_path, suite_of("0.5", "12,132", "1,234,567")))
    assert [each.values.item() for each in history.series] == [0.5, 12132.0, 1234567.0]


@pytest.mark.parametrize(
    ("texts", "values", "said"),
    [
        (("12,132", "12.5", "12,140"), [12.132, 12.5, 12.14], "taken as fractions, near"),
        (("12,132", "12100.5", "12,140"), [12132.0, 12100.5, 12140.0], "taken as thousands"),
        (("12,132",) * 5, [12.132] * 5, "thousands would always be whole"),
        (("12,132", "12,140"), [], "may be fractions or thousands; left out"),
    ],
)
def test_a_comma_that_may_mean_either_is_read_as_the_other_nights_say(
    tmp_path: Path, texts: tuple[str, ...], values: list[float], said: str
) -> None:
    for at, text in enumerate(texts):
        write(tmp_path, suite_of(text).replace("11-20", f"11-2{at}"), f"{at}.xml")
    if not values:
        with pytest.raises(DataError, match=said):
            read_history(tmp_path)
        return
    history = read_history(tmp_path)
    assert history.series[0].values.tolist() == pytest.approx(values)
    assert any(said in warning for warning in history.warnings)


NAMELESS = (
    JUNIT.replace('name="test_solve[ilu]"', "").replace('classname="tests.test_solve"', "", 1),
    JUNIT.replace('name="test_solve[ilu]"', 'name=" "'),
    dashboard({"name": ""}, {"name": "bad", "status": "failed"}),
    JUNIT.replace("<testcase", '<testcase timestamp="yesterday"', 1),
)


@pytest.mark.parametrize("text", NAMELESS, ids=range(len(NAMELESS)))
def test_one_bad_test_does_not_cost_the_night(tmp_path: Path, text: str) -> None:
    history = read_history(write(tmp_path, text))
    assert history.series == ()
    assert [failure.case.rpartition(".")[2] for failure in history.failures] == ["bad"]
    assert sum(warning.endswith("The test is left out.") for warning in history.warnings) == 1


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-inf"])
def test_a_time_that_is_not_finite_is_a_failed_run(tmp_path: Path, value: str) -> None:
    history = read_history(write(tmp_path, suite_of("0.5", value)))
    assert [each.name.case for each in history.series] == ["t0"]
    assert [failure.case for failure in history.failures] == ["t1"]
