"""Nightly results as the tools write them."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from hindmost.analysis.readers.history import History, NightlySeries
from hindmost.text import by_number

CASE = "green-3-20km_ent_np8"

TIMERS = {
    "Albany Fill: Residual:": 2.5,
    "Albany Residual Fill: Evaluate:": 2.25,
    "Albany Total Time:": 10.0,
    "Albany: Total Fill Time:": 5.0,
}

COMMITS = {"Albany git commit id": "6177ebf", "Trilinos git commit id": "5e36d3d"}


def night(
    date: int = 20210124,
    timers: dict[str, Any] | None = None,
    *,
    case: str = CASE,
    start: str | None = "05:34:11",
    commits: dict[str, Any] | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return a case of a nightly file."""
    about = dict(COMMITS if commits is None else commits)
    if start is not None:
        about["Simulation start time"] = start
    return {
        case: {
            "Albany cxx compiler": "Intel 18.0.1.20171018",
            "Albany git branch": "master",
            **about,
            "case": case.rpartition("_")[0],
            "date": date,
            "max host memory": 549.441406,
            "np": 8,
            "passed": True,
            "timers": TIMERS if timers is None else timers,
            **others,
        }
    }


def write_night(folder: Path, date: int = 20210124, *args: Any, **others: Any) -> Path:
    path = folder / f"ctest-{date}.json"
    path.write_text(json.dumps(night(date, *args, **others), indent=4))
    return path


def google(date: str, *entries: dict[str, Any], **context: Any) -> dict[str, Any]:
    return {
        "context": {
            "date": date,
            "host_name": "blake",
            "executable": "./bench/sums",
            "num_cpus": 2,
            **context,
        },
        "benchmarks": list(entries),
    }


def repetition(name: str, real: Any, cpu: Any, unit: str = "ns", **others: Any) -> dict[str, Any]:
    return {
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "repetitions": 3,
        "repetition_index": 0,
        "iterations": 2475,
        "real_time": real,
        "cpu_time": cpu,
        "time_unit": unit,
        **others,
    }


def aggregate(name: str, kind: str, real: float, cpu: float) -> dict[str, Any]:
    return {
        **repetition(name, real, cpu, run_type="aggregate"),
        "name": f"{name}_{kind}",
        "aggregate_name": kind,
        "aggregate_unit": "time",
        "iterations": 3,
    }


def session(date: str, *, commit: str | None = "a" * 40, **stats: float) -> dict[str, Any]:
    return {
        "machine_info": {"node": "blake", "system": "Linux", "cpu": {"flags": ["avx", "sse"]}},
        "commit_info": {
            "id": commit,
            "dirty": False,
            "project": "albany",
        },
        "benchmarks": [
            {
                "name": "test_sort[10]",
                "fullname": "test_b.py::test_sort[10]",
                "stats": {
                    "min": 0.9,
                    "mean": 2.5,
                    "median": 2.0,
                    "stddev": 9.0,
                    "iqr": 1.3489795003921634,
                    "rounds": 4,
                    "stddev_outliers": 1,
                    **stats,
                },
            }
        ],
        "datetime": date,
        "version": "5.1.0",
    }


def hyperfine(*times: Any, codes: list[int | None] | None = None, **others: Any) -> dict[str, Any]:
    return {
        "results": [
            {
                "command": "sleep 0.1",
                "mean": 0.1,
                "stddev": 0.01,
                "median": 0.1,
                "times": list(times),
                "exit_codes": [0] * len(times) if codes is None else codes,
                **others,
            }
        ]
    }


ASV_COLUMNS = [
    *("result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b"),
    *("stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples", "profile"),
]

ASV_BENCHMARKS = {
    "b.Suite.time_sort": {
        "code": "def time_sort(self, n, kind): ...",
        "name": "b.Suite.time_sort",
        "param_names": ["n", "kind"],
        "params": [["10", "1000"], ["'a'"]],
        "type": "time",
        "unit": "seconds",
        "version": "b71d",
    },
    "b.track_size": {"name": "b.track_size", "type": "track", "unit": "things", "version": "f95a"},
    "version": 2,
}


def asv(
    commit: str = "c3b9" * 10,
    date_ms: int = 1611466451000,
    results: dict[str, Any] | None = None,
) -> dict[str, Any]:
    own = {
        "b.Suite.time_sort": [
            *([2.5e-6, 9e-6], [["10", "1000"], ["'a'"]], "b71d", 1611466459000, 1.9),
            *([2e-6, None], [3e-6, None], [2.4e-6, 9e-6], [2.6e-6, 9e-6], [4, 1], [3, 1]),
        ],
        "b.track_size": [[42], [], "f95a", 1611466459000, 0.4],
    }
    return {
        "commit_hash": commit,
        "env_name": "virtualenv-py3.11",
        "date": date_ms,
        "params": {"machine": "m1", "python": "3.11"},
        "result_columns": ASV_COLUMNS,
        "results": results or own,
        "version": 2,
    }


def write_asv(folder: Path, name: str = "c3b9c3b9-virtualenv-py3.11", **others: Any) -> Path:
    machine = folder / "m1"
    machine.mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.json").write_text(json.dumps(ASV_BENCHMARKS))
    (machine / "machine.json").write_text('{"machine": "m1", "version": 1}')
    path = machine / f"{name}.json"
    path.write_text(json.dumps(asv(**others)))
    return path


def action(*values: Any, suite: str = "Benchmark", tool: str = "googlecpp") -> dict[str, Any]:
    """Return a history of github-action-benchmark: one run a night, or one per list of values."""
    return {
        "lastUpdate": 1611466451000,
        "repoUrl": "https://github.com/albany/fast",
        "entries": {
            suite: [
                {
                    "commit": {"id": f"{at:x}" * 40, "timestamp": "2021-01-24T05:34:11Z"},
                    "date": 1611466451000 + at * 86_400_000,
                    "tool": tool,
                    "benches": [
                        {"name": "BM_dot", "value": each, "unit": "ns/iter", "extra": "threads: 1"}
                        for each in (value if isinstance(value, list) else [value])
                    ],
                }
                for at, value in enumerate(values)
            ]
        },
    }


TABLE = """time,commit,solve [s],memory [bytes]
2025-01-01T03:00:00Z,aaa0,1.25,1024
2025-01-02T03:00:00Z,aaa1,1.5,2048
"""

JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="small" hostname="blake" timestamp="2026-11-20T05:30:12">
<properties><property name="commit" value="6177ebf"/></properties>
<testcase classname="tests.test_solve" name="test_solve[ilu]" time="0.81"/>
<testcase classname="tests.test_solve" name="bad" time="0.05"><failure message="no luck"/>
</testcase></testsuite></testsuites>
"""

REFRAME_COLUMNS = (
    *("result", "job_completion_time", "descr", "environ", "jobid", "modules", "name"),
    *("num_tasks", "partition", "triad_value", "triad_unit", "triad_ref", "triad_lower_thres"),
    *("triad_upper_thres", "took_value", "took_unit", "took_ref", "took_lower_thres"),
    *("took_upper_thres", "short_name", "system", "unique_name"),
)


def perflog(*lines: dict[str, str], name: str = "stream %size=1") -> str:
    """Return a log of ReFrame."""
    usual = {
        "result": "pass",
        "descr": "",
        "environ": "gnu",
        "jobid": "5040",
        "modules": "",
        "name": name,
        "num_tasks": "1",
        "partition": "cpu",
        "triad_value": "123.4",
        "triad_unit": "MB/s",
        "triad_ref": "100",
        "triad_lower_thres": "-0.1",
        "triad_upper_thres": "None",
        "took_value": "1.5",
        "took_unit": "s",
        "took_ref": "1",
        "took_lower_thres": "-0.5",
        "took_upper_thres": "0.5",
        "short_name": "stream_2a14991b",
        "system": "blake",
        "unique_name": "stream_0",
    }
    rows = ["|".join({**usual, **line}[name] for name in REFRAME_COLUMNS) for line in lines]
    return "\n".join(["|".join(REFRAME_COLUMNS), *rows]) + "\n"


def reframe_report() -> dict[str, Any]:
    """Return a report of a session of ReFrame with two tests, of which one failed."""
    usual = {
        "environ": "gnu",
        "system": "blake",
        "partition": "cpu",
        "job_completion_time_unix": 1795917285.06,
        "fail_phase": None,
    }
    values = {
        "blake:cpu:triad": [123.4, 100, -0.1, None, "MB/s", "pass"],
        "blake:cpu:took": [1.5, 0, None, None, "s", "pass"],
    }
    return {
        "session_info": {"data_version": "4.2", "hostname": "login1", "version": "4.10.4"},
        "runs": [
            {
                "num_cases": 2,
                "testcases": [
                    {**usual, "result": "pass", "name": "stream %size=1", "perfvalues": values},
                    {
                        **usual,
                        "result": "fail",
                        "fail_phase": "sanity",
                        "name": "bad",
                        "perfvalues": {},
                    },
                ],
            }
        ],
        "restored_cases": [],
    }


def talp(*, older: bool = False) -> dict[str, Any]:
    """Return what TALP writes of a program with two regions."""
    region = {
        "numMpiRanks": 4,
        "elapsedTime": 2_500_000_000,
        "usefulTime": 9_000_000_000,
        "mpiTime": 1_000_000_000,
        "instructions": 0,
        "parallelEfficiency": 0.9,
        "mpiLoadBalance": 0.92,
        "ompParallelEfficiency": 0.0,
    }
    head = {"dlbVersion": "3.5.0", "timestamp": "2026-11-20T03:00:12+0100"}
    if older:
        return {**head, "popMetrics": [{"name": "Global", **region}, {"name": "solve", **region}]}
    return {**head, "Application": {"Global": region, "solve": region}}


def ramble() -> dict[str, Any]:
    """Return results of two experiments of Ramble, of which one failed."""
    figures = [
        {
            "name": "Total Time",
            "value": "12.5",
            "units": "s",
            "fom_type": {"name": "TIME", "better_direction": "LOWER"},
        },
        {"name": "Solver", "value": "AMG", "units": ""},
    ]
    merit = {
        "name": "Figure of Merit",
        "value": 2.5e6,
        "units": "",
        "fom_type": {"name": "FOM", "better_direction": "HIGHER"},
    }
    contexts = [
        {"name": "null", "display_name": "null", "foms": figures},
        {"name": "setup", "display_name": "setup", "foms": [merit]},
    ]
    return {
        "experiments": [
            {"name": "amg.problem1.n4", "RAMBLE_STATUS": "SUCCESS", "CONTEXTS": contexts},
            {"name": "amg.problem1.n8", "RAMBLE_STATUS": "FAILED", "CONTEXTS": []},
        ]
    }


CRITERION_LINES = "\n".join(
    json.dumps(each)
    for each in (
        {
            "reason": "benchmark-complete",
            "id": "sum/10",
            "unit": "ns",
            "iteration_count": [10, 20, 30],
            "measured_values": [10.0, 40.0, 90.0],
        },
        {"reason": "benchmark-complete", "id": "sum/20", "median": {"estimate": 4.0, "unit": "us"}},
        {"reason": "group-complete", "group_name": "sum"},
    )
)
GO_TEXT = """goos: linux
goarch: amd64
pkg: example.org/fast
cpu: AMD EPYC
BenchmarkSum/10-8   \t 1000000\t         1.000 ns/op\t      16 B/op\t       0 allocs/op
BenchmarkSum/10-8   \t 1000000\t         2.000 ns/op\t      16 B/op\t       0 allocs/op
BenchmarkSum/10-8   \t 1000000\t         9.000 ns/op\t      16 B/op\t       0 allocs/op
BenchmarkCopy \t     500\t    200000 ns/op\t  5000.00 MB/s
PASS
ok  \texample.org/fast\t1.500s
"""
CATCH = """<?xml version="1.0" encoding="UTF-8"?>
<Catch2TestRun name="sums" rng-seed="1" catch2-version="3.5.0">
  <TestCase name="adds" filename="sums.cpp" line="5">
    <BenchmarkResults name="fib 20" samples="100" resamples="100000" iterations="7">
      <mean value="1500" lowerBound="1490" upperBound="1510" ci="0.95"/>
      <standardDeviation value="100" lowerBound="90" upperBound="110" ci="0.95"/>
      <outliers variance="0.1" lowMild="0" lowSevere="0" highMild="1" highSevere="0"/>
    </BenchmarkResults>
    <BenchmarkResults name="fib 90" samples="100" resamples="100000" iterations="7">
      <failed message="out of time"/>
    </BenchmarkResults>
  </TestCase>
</Catch2TestRun>
"""


def jmh() -> list[dict[str, Any]]:
    """Return results of JMH: a rate of two forks, and sampled times."""
    return [
        {
            "jmhVersion": "1.37",
            "benchmark": "org.Sum.add",
            "mode": "thrpt",
            "params": {"size": "10"},
            "primaryMetric": {
                "score": 12.0,
                "scoreError": 0.5,
                "scoreUnit": "ops/ms",
                "rawData": [[11.0, 12.0], [13.0]],
            },
            "secondaryMetrics": {},
        },
        {
            "jmhVersion": "1.37",
            "benchmark": "org.Sum.wait",
            "mode": "sample",
            "primaryMetric": {
                "score": 3.0,
                "scoreUnit": "us/op",
                "rawDataHistogram": [[[[3.0, 7]]]],
            },
            "secondaryMetrics": {},
        },
    ]


WRITTEN: dict[str, str] = {
    "nightly": json.dumps({**night(), **night(case="failed_np2", passed=False, timers={})}),
    "google-benchmark": json.dumps(
        google(
            "2021-01-24T05:34:11+00:00",
            repetition("sum/10", 2.0, 1.5, things=3.0),
            repetition("sum/10", 4.0, 1.5, things=3.0),
            aggregate("sum/10", "mean", 3.0, 1.5),
            repetition("bad", 0.0, 0.0, error_occurred=True, error_message="no luck"),
        )
    ),
    "pytest-benchmark": json.dumps(session("2021-01-24T05:34:11.283492+00:00")),
    "hyperfine": json.dumps(hyperfine(0.1, 0.2)),
    "asv": json.dumps(asv()),
    "github-action-benchmark": json.dumps(action(2.5, [1.0, 4.0, 2.0])),
    "tests": JUNIT,
    "reframe-perflog": perflog({"job_completion_time": "2026-11-20T03:00:12+01:00"}),
    "reframe-report": json.dumps(reframe_report()),
    "talp": json.dumps(talp()),
    "ramble": json.dumps(ramble()),
    "criterion": CRITERION_LINES,
    "go-bench": GO_TEXT,
    "jmh": json.dumps(jmh()),
    "catch2": CATCH,
    "csv": TABLE,
}
"""A file of every format that is text."""


def by_name(history: History) -> dict[tuple[str, str, str], NightlySeries]:
    return {(s.name.machine, s.name.case, s.name.timer): s for s in history.series}


def assert_sound(history: History) -> None:
    """Check what every history promises."""
    assert history.series or history.failures
    names = [each.name for each in history.series]
    assert names == sorted(set(names), key=by_number)
    timers = {name.timer for name in names}
    for child, parent in history.parents.items():
        assert child in timers
        above = [child]
        while parent is not None:
            assert parent in timers
            assert parent not in above
            above.append(parent)
            parent = history.parents.get(parent)  # type: ignore[assignment]
    for series in history.series:
        count = len(series.values)
        assert count > 0
        assert series.times.dtype == series.values.dtype == np.float64
        assert series.times.shape == series.values.shape == (count,)
        assert len(series.commits) == len(series.commit_parts) == count
        assert np.isfinite(series.times).all()
        assert (np.diff(series.times) >= 0).all()
        assert (series.values > 0).all()
        assert np.isfinite(series.values).all()
        if series.spread is not None:
            known = series.spread[~np.isnan(series.spread)]
            assert series.spread.shape == (count,)
            assert known.size
            assert (known >= 0).all()
            assert np.isfinite(known).all()
    times = [failure.time for failure in history.failures]
    assert times == sorted(times)
