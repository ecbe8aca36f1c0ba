"""All formats by their kind of data, in the order in which they are tried."""

from __future__ import annotations

from hindmost.analysis.readers.format import (
    ExperimentFormat,
    Format,
    HistoryFormat,
    RankFormat,
)
from hindmost.analysis.readers.formats.benchmark_tools import (
    ASV,
    GITHUB_ACTION_BENCHMARK,
    GOOGLE_BENCHMARK,
    HYPERFINE,
    PYTEST_BENCHMARK,
)
from hindmost.analysis.readers.formats.csv_tables import CSV_EXPERIMENT, CSV_HISTORY, CSV_RANKS
from hindmost.analysis.readers.formats.extrap import (
    EXTRAP_JSON,
    EXTRAP_JSON_LINES,
    EXTRAP_SAVED,
    EXTRAP_TEXT,
)
from hindmost.analysis.readers.formats.network_benchmarks import IMB, OSU
from hindmost.analysis.readers.formats.petsc_log import (
    PETSC_LOG,
    PETSC_LOG_HISTORY,
    PETSC_LOG_RANKS,
)
from hindmost.analysis.readers.formats.profiles import CALIPER, CALIPER_RANKS, CUBE, CUBE_RANKS, TAU
from hindmost.analysis.readers.formats.run_experiment import RUN_EXPERIMENT
from hindmost.analysis.readers.formats.run_history import RUN_HISTORY
from hindmost.analysis.readers.formats.site_benchmarks import (
    RAMBLE,
    REFRAME_LOG,
    REFRAME_REPORT,
    TALP,
)
from hindmost.analysis.readers.formats.test_results import NIGHTLY, TEST_RESULTS
from hindmost.analysis.readers.formats.unit_benchmarks import CATCH2, CRITERION, GO, JMH
from hindmost.registry import Registry

GROUP = "hindmost.readers"
"""Entry points of it are formats of any of the four kinds."""

EXPERIMENT_FORMATS: Registry[ExperimentFormat] = Registry(
    "format",
    (
        RUN_EXPERIMENT,
        CUBE,
        CALIPER,
        EXTRAP_SAVED,
        EXTRAP_JSON_LINES,
        EXTRAP_JSON,
        EXTRAP_TEXT,
        PETSC_LOG,
        OSU,
        IMB,
        CSV_EXPERIMENT,
    ),
    group=GROUP,
    kind=ExperimentFormat,
    shared=Format,
)
"""Formats with measurements over parameters."""

HISTORY_FORMATS: Registry[HistoryFormat] = Registry(
    "format",
    (
        RUN_HISTORY,
        PYTEST_BENCHMARK,
        GOOGLE_BENCHMARK,
        ASV,
        HYPERFINE,
        GITHUB_ACTION_BENCHMARK,
        PETSC_LOG_HISTORY,
        REFRAME_LOG,
        REFRAME_REPORT,
        TALP,
        RAMBLE,
        CRITERION,
        GO,
        JMH,
        CATCH2,
        TEST_RESULTS,
        NIGHTLY,
        CSV_HISTORY,
    ),
    group=GROUP,
    kind=HistoryFormat,
    shared=Format,
)
"""Formats with nightly results."""

RANK_FORMATS: Registry[RankFormat] = Registry(
    "format",
    (TAU, CALIPER_RANKS, CUBE_RANKS, PETSC_LOG_RANKS, CSV_RANKS),
    group=GROUP,
    kind=RankFormat,
    shared=Format,
)
"""Formats with metrics per rank."""
