"""Loops that `attach --iterate-at auto` finds in programs of others, and their own counts.

    make bench-programs SOURCES=FOLDER [PAIRS=5]

FOLDER has clones of their repositories, by the names below; those that are not there are left out.
Each is built in a copy with the distribution's compilers, run on two ranks (LULESH: 8), and its
choice of iterations is compared with the count that the program prints or was asked for. With
PAIRS, each is run so many times without and with `attach`, in turn, and two wall times are
compared: of the slowest rank from the start of the program to its end, and of the whole command,
with the start of `attach` and the conversion. This wants an idle machine with a core for each rank.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import hindmost
from hindmost.harness.runfile.reader import Run

BIN = Path(sys.executable).parent
LIMIT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program of somebody else.

    Attributes
    ----------
    name : str
        The folder of its sources.
    build : str
        Shell commands that build it there.
    run : str
        Its command.
    folder : str
        Where it runs.
    truth : int or str
        Its iterations, or a pattern of what it prints or writes, with the number as its group.
    ranks : int
    """

    name: str
    build: str
    run: str
    truth: int | str
    folder: str = "."
    ranks: int = 2


PROGRAMS = (
    Program(
        name="CloverLeaf_ref",
        build="make COMPILER=GNU MPI_COMPILER=mpif90 C_MPI_COMPILER=mpicc "
        "FLAGS_GNU='-O3 -fallow-argument-mismatch -g' CFLAGS_GNU='-O3 -g' && "
        "sed 's/end_step=.*/end_step=200/;s/_cells=960/_cells=240/' "
        "InputDecks/clover_bm_short.in > clover.in",
        run="./clover_leaf",
        truth=200,
    ),
    Program(
        name="CoMD",
        build="cd src-mpi && cp Makefile.vanilla Makefile && make",
        run="bin/CoMD-mpi -i 2 -j 1 -k 1 -x 20 -y 20 -z 20 -N 100 -n 10",
        truth=100,
    ),
    Program(
        name="CoMD",
        build="true",
        run="bin/CoMD-mpi -i 2 -j 1 -k 1 -x 10 -y 10 -z 10 -N 1000 -n 100",
        truth=1000,
    ),
    Program(
        name="miniFE",
        build="cd ref/src && make CXX=mpicxx CC=mpicc CXXFLAGS='-O3 -g -DMINIFE_SCALAR=double "
        "-DMINIFE_LOCAL_ORDINAL=int -DMINIFE_GLOBAL_ORDINAL=int -DMINIFE_RESTRICT=__restrict__ "
        "-DHAVE_MPI -DMINIFE_CSR_MATRIX -DMINIFE_INFO=1 -I. -I../utils -I../fem'",
        run="./miniFE.x nx=50 ny=50 nz=50 load_imbalance=50",
        truth=r"Iterations: (\d+)",
        folder="ref/src",
    ),
    Program(
        name="LULESH",
        build="make CXX='mpicxx -DUSE_MPI=1' CXXFLAGS='-g -O3 -DUSE_MPI=1' LDFLAGS=-O3",
        run="./lulesh2.0 -s 6 -i 300",
        truth=r"Iteration count\s*=\s*(\d+)",
        ranks=8,
    ),
    Program(
        name="Quicksilver",
        build="cd src && make CXX=mpicxx CPPFLAGS= LDFLAGS= "
        "CXXFLAGS='-g -O2 -DHAVE_MPI -std=c++11'",
        run="src/qs -i Examples/CORAL2_Benchmark/Problem1/Coral2_P1.inp -X 20 -Y 10 -Z 10 "
        "-x 20 -y 10 -z 10 -I 2 -J 1 -K 1 -n 20000",
        truth=r"nSteps: (\d+)",
    ),
    Program(
        name="miniAMR",
        build="cd ref && make CC=mpicc LD=mpicc CFLAGS='-g -O3'",
        run="./miniAMR.x --npx 2 --npy 1 --npz 1 --init_x 1 --init_y 1 --init_z 1 --nx 8 --ny 8 "
        "--nz 8 --num_refine 3 --max_blocks 4000 --num_objects 1 --object 2 0 -0.1 -0.1 -0.1 0.02 "
        "0.02 0.02 0.3 0.3 0.3 0 0 0 --num_tsteps 40 --stages_per_ts 10 --checksum_freq 10 "
        "--refine_freq 5 --num_vars 10",
        truth=40,
        folder="ref",
    ),
    Program(
        name="hpcg",
        build="mkdir -p build && sed 's/^MPdir.*/MPdir =/;s/^MPinc.*/MPinc =/;s/^MPlib.*/MPlib =/;"
        "s/^CXXFLAGS .*/CXXFLAGS = -O3 -g -fopenmp/;s/^CXX .*/CXX = mpicxx/;"
        "s/^LINKER .*/LINKER = mpicxx/' setup/Make.Linux_MPI > setup/Make.here && cd build && "
        "../configure here && make",
        run="./xhpcg 16 16 16 5",
        truth=50,
        folder="build/bin",
    ),
)
"""HPCG's sets have 50 iterations each, of the reference and of the optimised version."""


def main(sources: Path, pairs: int = 0) -> None:
    """Print a row for each program that is there."""
    heads = f"{'own count':>10}{'chosen':>10}  {'verdict':10}  loop"
    if pairs:
        heads = (
            f"{'plain, s':>10}{'attach, s':>10}{'more':>9}{'quickest':>10}  {'command, s':>16}  "
        )
        heads += "of each pair, %"
    print(f"{'program':16}{heads}")  # noqa: T201
    with tempfile.TemporaryDirectory() as scratch:
        for program in PROGRAMS:
            if (sources / program.name).is_dir():
                print(row(program, sources, Path(scratch), pairs), flush=True)  # noqa: T201


def row(program: Program, sources: Path, scratch: Path, pairs: int) -> str:
    """Build and record a program, and compare its iterations, or its time with that without."""
    here = scratch / program.name
    if not here.exists():
        shutil.copytree(sources / program.name, here)
    built = subprocess.run(
        ["sh", "-c", f"unset MAKEFLAGS MAKELEVEL; {program.build}"], cwd=here, capture_output=True,
        text=True, check=False, timeout=LIMIT_S,
    )  # fmt: skip
    if built.returncode:
        return f"{program.name:16}was not built: {(built.stderr.splitlines() or ['?'])[-1]}"
    out = scratch / f"{program.name}-{time.monotonic_ns()}"
    if pairs:
        return f"{program.name:16}{times(program, here / program.folder, out, pairs)}"
    done = run(program, here / program.folder, out)
    truth = program.truth
    if isinstance(truth, str):
        said = [each.read_text() for each in (here / program.folder).glob("*.yaml")]
        printed = re.search(truth, "\n".join([done.stdout, *said]))
        truth = int(printed[1]) if printed else 0
    runs = [hindmost.open(path) for path in sorted(out.glob("*.h5"))]
    if not runs:
        return f"{program.name:16}{truth:>10}{'-':>10}  refused: {done.stderr.strip()[-200:]}"
    return f"{program.name:16}{truth:>10}{verdict(runs[0], truth)}"


TIMED = 'b=$(date +%s%N); "$@"; r=$?; echo own $(($(date +%s%N) - b)) >&2; exit $r'
"""A program's own time, whatever started it."""


def run(program: Program, here: Path, out: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program, recorded if there is a folder for its run files."""
    start = [str(BIN / "mpiexec"), "--oversubscribe", "-n", str(program.ranks)]
    if out is not None:
        recorded = ("attach", "--iterate-at", "auto", "--out", str(out), "--")
        start += [str(BIN / "hindmost"), *recorded]
    return subprocess.run(
        [*start, "sh", "-c", TIMED, "sh", *program.run.split()], cwd=here, capture_output=True,
        text=True, check=False, timeout=LIMIT_S,
    )  # fmt: skip


def times(program: Program, here: Path, out: Path, pairs: int) -> str:
    """Compare wall times; every second pair begins with the one that is recorded."""
    own_s, command_s = np.zeros((2, pairs, 2))
    for pair in range(pairs):
        for recorded in (pair % 2, 1 - pair % 2):
            began = time.monotonic()
            done = run(program, here, out if recorded else None)
            done.check_returncode()
            command_s[pair, recorded] = time.monotonic() - began
            took_ns = max(int(each) for each in re.findall(r"own (\d+)", done.stderr))
            own_s[pair, recorded] = took_ns / 1e9
    plain_s, attach_s = np.median(own_s, axis=0)
    quickest = 100.0 * (np.divide(*own_s.min(axis=0)[::-1]) - 1.0)
    whole = " -> ".join(f"{each:.2f}" for each in np.median(command_s, axis=0))
    more = 100.0 * (own_s[:, 1] / own_s[:, 0] - 1.0)
    each = " ".join(f"{one:+.1f}" for one in more)
    shares = f"{np.median(more):>+8.1f}%{quickest:>+9.1f}%"
    return f"{plain_s:>10.2f}{attach_s:>10.2f}{shares}  {whole:>16}  {each}"


def verdict(run: Run, truth: int) -> str:
    """Say whether the iterations are the program's own, or offered."""
    loop = run.header.spec["attached"]["loop"]
    offered = any(each["role"] and each["iterations"] == truth for each in loop["loops"])
    whole = truth and loop["iterations"] % truth == 0 and loop["iterations"] // truth < 5
    said = "offered" if offered else "wrong"
    if whole:
        sets = loop["iterations"] // truth
        said = "right" if sets == 1 else f"{sets} sets"
    return f"{loop['iterations']:>10}  {said:10}  {loop['name']}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int((*sys.argv, "0")[2]))
