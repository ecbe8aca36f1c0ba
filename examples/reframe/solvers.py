"""A test of ReFrame: a solver is recorded, and its figures come from ``hindmost fit --json``.

::

    reframe -C settings.py -c solvers.py -r

ReFrame starts the ranks and keeps the figures over time; hindmost records and models. On a cluster,
``-C`` names the site's own settings, and ``reference`` takes what the site holds its machine to.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import (
    parameter,
    performance_function,
    run_after,
    run_before,
    sanity_function,
    variable,
)


@rfm.simple_test
class Solver(rfm.RunOnlyRegressionTest):
    """A Krylov solver of PETSc on two ranks, every iteration recorded."""

    solver = parameter(["gmres", "pgmres"])
    unknowns = variable(int, value=100_000)
    iterations = variable(int, value=2000)

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    num_tasks = 2
    num_cpus_per_task = 1
    exclusive_access = True
    executable = "hindmost"
    env_vars = {"OMP_NUM_THREADS": "1"}
    postrun_cmds = ["hindmost fit runs --json > fit.json"]

    @run_after("init")
    def say_what(self) -> None:
        """Describe the test by its parameter."""
        self.descr = f"{self.solver} on a one-dimensional Laplacian"

    @run_before("run")
    def set_words(self) -> None:
        """Set the words of the command."""
        self.executable_opts = [
            *("run", "laplacian-1d", "--unknowns", str(self.unknowns)),
            *("--iterations", str(self.iterations), "--solver", self.solver, "--out", "runs"),
        ]

    @sn.deferrable
    def fitted(self) -> dict[str, Any]:
        """Return what ``hindmost fit`` says of the run."""
        (run,) = json.loads(Path(self.stagedir, "fit.json").read_text())["runs"]
        return dict(run)

    @sanity_function
    def is_the_run_that_was_asked_for(self) -> object:
        """Hold that all ranks ran together, to the last iteration."""
        return sn.all(
            [
                sn.assert_eq(self.fitted()["solver"], self.solver),
                sn.assert_eq(self.fitted()["ranks"], self.num_tasks),
                sn.assert_eq(self.fitted()["iterations"], self.iterations),
            ]
        )

    @performance_function("s")
    def solve_time(self) -> object:
        """Return the time of the solve on the slowest rank."""
        return self.fitted()["solve_time_s"]

    @performance_function("%")
    def waiting(self) -> object:
        """Return the share of the solve that is not work: what waiting and exchange cost."""
        return sn.defer(self.share_of_waiting())

    @sn.deferrable
    def share_of_waiting(self) -> float:
        """Return how far the mean work of a rank falls short of the solve."""
        run = self.fitted().evaluate()
        work = next(each for each in run["models"] if each["name"] == "mean-work")
        return float(100.0 * (1.0 - work["predicted_s"] / run["solve_time_s"]))
