"""``hindmost run``: record Krylov solvers on ranks, with one run file for each solve."""

from __future__ import annotations

import argparse
from pathlib import Path

from hindmost.harness.krylov.problems import PROBLEMS
from hindmost.harness.krylov.problems.problem import UNKNOWNS, SystemRequest
from hindmost.harness.krylov.solvers import OTHERS, SOLVERS
from hindmost.harness.recorder.injection import NOTHING, OPTION, read_law
from hindmost.harness.recorder.petsc_library import ACTIVITIES
from hindmost.harness.solves.experiment import KrylovExperiment
from hindmost.harness.verbs.campaign import (
    add_order_arguments,
    add_record_arguments,
    add_run_arguments,
    perform_campaign,
)
from hindmost.models.laws.noise_law import EXAMPLES as EXAMPLE_LAWS
from hindmost.text import read_share

EXAMPLES = """\
examples:
  mpiexec -n 2 hindmost run laplacian-1d --solver gmres --solver pgmres --out runs
  mpiexec -n 2 hindmost run laplacian-2d --solver cg --solver gmres --pair --out runs
  mpiexec -n 2 hindmost run diagonal --unknowns 1000 --solver pgmres --iterations 5000 --out runs
  mpiexec -n 2 hindmost run laplacian-1d --solver gmres --out runs -- -ksp_gmres_restart 50
  mpiexec -n 2 hindmost run matrix bcsstk18.mtx.gz --solver cg --rtol 1e-6 --out runs
  mpiexec -n 2 hindmost run convection-diffusion-2d --solver tfqmr --solver bcgsl --out runs
  mpiexec -n 8 hindmost run jacobi-3d --grid 256x256x192 --iterations 200 --out runs
  mpiexec -n 2 hindmost run ice-flow --grid 100x100x10 --solver gmres --solver pgmres --out runs
  mpiexec -n 2 hindmost run laplacian-1d --solver cg --rtol 1e-8 --out runs -- -pc_type gamg
  mpiexec -n 2 hindmost run laplacian-1d --solver cg --iterations 200000 --live --out runs
  mpiexec -n 64 hindmost run laplacian-1d --solver cg --keep 5% --out runs
  mpiexec -n 2 hindmost run laplacian-1d --solver cg --inject exponential:mean=50us --out runs

PETSc options follow '--'. Run files are named WORKLOAD-SOLVER-pRANKS-N.h5; an existing file is
never overwritten.
"""
COMMON = (
    "--unknowns",
    "--solver",
    "--iterations",
    "--rtol",
    "--repeats",
    "--warmup",
    "--out",
    "--live",
)
"""What --help lists; --help-all has the others."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Run every solver --repeats times, in shuffled order, on all ranks."
    add_system_arguments(parser)
    add_solver_arguments(parser)
    add_run_arguments(parser, repeats="recorded solves of each solver")
    add_order_arguments(
        parser, warmup="unrecorded solves of each solver before the first run", default=1
    )
    add_measurement_arguments(parser)
    add_record_arguments(parser)


def add_system_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what chooses the linear system."""
    workloads = "; ".join(f"{problem.name}: {problem.summary}" for problem in PROBLEMS.built_in)
    parser.add_argument(
        "workload",
        help=f"the linear system: {workloads}. Or 'adaptive', the adaptive-mesh kernel: see "
        "'hindmost run adaptive --help'",
    )
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="the matrix of the workload 'matrix'"
    )
    parser.add_argument(
        "rhs", nargs="?", type=Path, metavar="RHS", help="its right side (A times ones)"
    )
    parser.add_argument(
        "--unknowns",
        type=int,
        metavar="N",
        help=f"size of the system ({UNKNOWNS}); grids take the nearest square or cube",
    )
    parser.add_argument(
        "--grid", type=read_grid, default=(), metavar="NxN", help="points of a grid, as 300x200"
    )
    parser.add_argument(
        "--case", default="", metavar="LETTER", help="test case of 'ice-flow': A, C, X, Y or Z (A)"
    )
    parser.add_argument(
        "--step",
        type=int,
        metavar="N",
        help="Newton step of 'ice-flow' whose system is solved; 0 starts from rest (0)",
    )


def add_solver_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which solvers run, and how far."""
    solvers = ", ".join(solver.name for solver in SOLVERS.built_in)
    variants = ", ".join(
        "/".join((each.name, *each.pipelined))
        for each in (*SOLVERS.built_in, *OTHERS.values())
        if each.pipelined
    )
    parser.add_argument(
        "--solver",
        action="append",
        default=[],
        metavar="NAME",
        help=f"solver to record; repeat for several: {solvers}, or any other KSP type of PETSc, "
        "whose iterations are generic: each from one call of its monitors to the next",
    )
    parser.add_argument(
        "--pair",
        action="store_true",
        help=f"also run the pipelined variants of each solver: {variants}",
    )
    parser.add_argument(
        "--iterations",
        type=int,
        default=2000,
        metavar="N",
        help="iterations of every solve (%(default)s)",
    )
    parser.add_argument(
        "--rtol",
        type=float,
        metavar="X",
        help="end each solve when the residual norm has fallen by this factor; --iterations is "
        "then the maximum; with '-- -ksp_atol X' also when it is below X",
    )


def add_measurement_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is measured beside times, and the noise that is injected."""
    parser.add_argument(
        "--activities",
        action="store_true",
        help=f"split the local work of every iteration into {', '.join(ACTIVITIES)} and other",
    )
    parser.add_argument(
        "--sample",
        type=int,
        nargs="?",
        const=True,
        metavar="N",
        help="sample where each rank spends processor time, N times a second of it (as often as "
        "costs at most 0.3 %%)",
    )
    parser.add_argument(
        OPTION,
        default=NOTHING,
        metavar="LAW",
        help="inject noise into every recorded solve (%(default)s), such as a detour of random "
        f"length in every iteration of every rank: {', '.join(EXAMPLE_LAWS.values())} (detours of "
        "'hindmost probe noise'); "
        "add ',ranks=0,2-5' for some ranks, and ',asleep' for detours that leave the core to "
        "others; --seed chooses the noise as well",
    )


def read_grid(text: str) -> tuple[int, ...]:
    """Return the numbers of a grid, written as ``300x200``."""
    try:
        return tuple(int(number) for number in text.split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}': write numbers as 300x200") from None


def experiment_of(arguments: argparse.Namespace) -> KrylovExperiment:
    """Return the experiment that the arguments ask for."""
    return KrylovExperiment(
        workload=arguments.workload,
        solvers=tuple(arguments.solver),
        pair=arguments.pair,
        system=SystemRequest(
            unknowns=arguments.unknowns,
            grid=arguments.grid,
            case=arguments.case,
            step=arguments.step,
            file=arguments.file,
            right_side=arguments.rhs,
        ),
        iterations=arguments.iterations,
        repeats=arguments.repeats,
        warmup=arguments.warmup,
        seed=arguments.seed,
        petsc_options=arguments.petsc_options,
        keep=read_share(arguments.keep, "--keep"),
        live=arguments.live,
        rtol=arguments.rtol,
        activities=arguments.activities,
        sample=arguments.sample,
        injection=None if arguments.inject == NOTHING else read_law(arguments.inject),
    )


def perform(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform_campaign(arguments, experiment_of)
