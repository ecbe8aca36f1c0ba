"""``hindmost doctor``: what this machine has, what it lacks, and what that costs."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import hindmost.models
from hindmost.errors import HindmostError, MissingError, UsageError
from hindmost.files import cache_folder, user_folder
from hindmost.harness.runfile.provenance import cpu_model, installed, read_text
from hindmost.harness.stack import current_stack
from hindmost.models.compiled import compile_ahead
from hindmost.output import warn, write_json, write_lines
from hindmost.profiles import profile_names, profiles_path
from hindmost.registry import GROUPS, Named, Registry
from hindmost.text import choose

EXAMPLES = """\
examples:
  hindmost doctor
  hindmost doctor --json
  hindmost doctor --compile
  hindmost doctor --schema show         # the JSON schema of 'hindmost show --json'
"""
KERNEL = """\
from hindmost.harness.adaptive.compiling import compile_ahead
from hindmost.models.compiled import LOOPS
from hindmost.output import write_lines
compile_ahead()
write_lines(*LOOPS)
"""
QUIET_LOAD = 0.3
"""Load a core above which timings are disturbed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One thing that was looked at.

    Attributes
    ----------
    subject : str
    verdict : str
        ``ok``; ``note``: results may suffer; ``lacks``: something cannot be done.
    text : str
    """

    subject: str
    verdict: str
    text: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Check compiler, MPI, PETSc, clock, cores and load."
    parser.epilog = EXAMPLES
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--compile",
        nargs="*",
        metavar="ROOM",
        help="compile the numerical loops ahead, and do no more: those of rooms of the models, "
        "such as noise; without ROOM all, also those of 'run adaptive' and 'probe'",
    )
    parser.add_argument(  # which the command itself does: it knows the verbs
        "--schema", metavar="VERB", help="print the JSON schema of the --json of a verb, and stop"
    )


def perform(arguments: argparse.Namespace) -> int:
    """Look and tell; exit status 4 if solvers cannot be run here."""
    if arguments.compile is not None:
        write_lines(*compile_models(arguments.compile), flush=True)
        if not arguments.compile:
            write_lines(*compile_kernel())
        return 0
    findings = []
    for look in LOOKS:
        findings.append(look())
        if not arguments.json:  # at once: a broken MPI may end the process at the next look
            each = findings[-1]
            write_lines(f"{each.verdict:6}{each.subject:12}{each.text}", flush=True)
    if arguments.json:
        write_json({"version": 1, "findings": findings})
    lacking = any(each.verdict == "lacks" for each in findings)
    return MissingError.exit_status if lacking else 0


def compile_models(rooms: Sequence[str] = ()) -> list[str]:
    """Compile the declared loops of rooms of the models, of all by default; say which they are.

    Raises
    ------
    UsageError
        The models have no such room.
    """
    all_rooms = [each.name for each in pkgutil.iter_modules(hindmost.models.__path__) if each.ispkg]
    for room in rooms or all_rooms:
        if room not in all_rooms:
            raise UsageError(f"The models have no room '{room}'; {choose(all_rooms, room)}.")
        package = importlib.import_module(f"hindmost.models.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    loops = compile_ahead()
    return [f"{len(loops)} loops are compiled:", *(f"  {name}" for name in loops)]


def compile_kernel() -> list[str]:
    """Compile the loops of the adaptive kernel and the probes, and say which they are.

    A process of its own does it: where MPI may not start, such as on some login nodes, MPI ends it.
    """
    if importlib.util.find_spec("mpi4py") is None:
        return []
    done = subprocess.run(
        [sys.executable, "-c", KERNEL], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        warn("the loops of 'run adaptive' and 'probe' are compiled when they are first needed")
        return []
    loops = done.stdout.splitlines()
    return [f"{len(loops)} loops of the ranks are compiled:", *(f"  {name}" for name in loops)]


def look_at_package() -> Diagnosis:
    """Say which hindmost and Python these are."""
    parts = [
        f"{name} {installed(name) or 'absent'}" for name in ("numpy", "scipy", "numba", "h5py")
    ]
    return Diagnosis(
        subject="hindmost", verdict="ok", text=f"{installed('hindmost')}; {', '.join(parts)}"
    )


def look_at_recorder() -> Diagnosis:
    """Compile and load the recorder."""
    from hindmost.harness.recorder.build import recorder_library
    from hindmost.harness.recorder.library import clock_source, record_cost_ns

    stack = current_stack()
    try:
        library = recorder_library()
        cost = record_cost_ns(interval=False), record_cost_ns(interval=True)
    except HindmostError as error:
        return Diagnosis(subject="recorder", verdict="lacks", text=str(error))
    return Diagnosis(
        subject="recorder",
        verdict="ok",
        text=f"{stack.name} stack, {stack.mpicc}; {cost[0]:.0f} ns a mark, {cost[1]:.0f} ns an MPI "
        f"call, timed by {clock_source()}; {library}",
    )


def look_at_counters() -> Diagnosis:
    """Open the counters of instructions and cycles."""
    from hindmost.harness.recorder.counters import open_counters

    try:
        counters = open_counters()
    except HindmostError as error:
        return Diagnosis(subject="counters", verdict="note", text=str(error))
    if not counters.open:
        return Diagnosis(subject="counters", verdict="note", text=counters.why_not)
    when = "by default" if counters.quick else "with 'run --counters on'"
    return Diagnosis(
        subject="counters",
        verdict="ok",
        text=f"instructions and cycles are counted {when}; {counters.cost_ns:.0f} ns a reading",
    )


def look_at_petsc() -> Diagnosis:
    """Start MPI and PETSc."""
    from hindmost.harness import petsc
    from hindmost.harness.runfile.provenance import mpi_library

    try:
        parallel = petsc.start()
    except (HindmostError, OSError) as error:
        return Diagnosis(subject="PETSc", verdict="lacks", text=str(error))
    version = ".".join(str(part) for part in parallel.PETSc.Sys.getVersion())
    numbers = "complex" if petsc.is_complex(parallel.PETSc) else "real"
    return Diagnosis(
        subject="PETSc",
        verdict="ok",
        text=f"{version}, {numbers} numbers, with {mpi_library()[:60]}",
    )


def look_at_blas() -> Diagnosis:
    """Say which BLAS PETSc uses, once it has started; numpy's own is another."""
    lines = (read_text("/proc/self/maps") or "").splitlines()
    name = re.compile(r"lib(blas|openblas|mkl_rt|mkl_core|blis|armpl|sci_)[^/]*$")
    mapped = {line.split()[-1] for line in lines if name.search(line)}
    found = sorted(path for path in mapped if ".libs/" not in path)  # of numpy's and scipy's wheels
    if not found:
        return Diagnosis(
            subject="BLAS", verdict="note", text="no shared BLAS is loaded: not known which one"
        )
    optimised = re.compile("openblas|mkl|blis|atlas|armpl|sci_")
    if any(optimised.search(path) for path in found):
        return Diagnosis(subject="BLAS", verdict="ok", text=", ".join(found))
    return Diagnosis(
        subject="BLAS",
        verdict="note",
        text=f"{', '.join(found)}: by its name the reference BLAS, which is slow where local work "
        "is dense, as in GMRES' orthogonalisation",
    )


def look_at_launcher() -> Diagnosis:
    """Find an mpiexec."""
    found = shutil.which("mpiexec", path=f"{sys.prefix}/bin:{os.environ['PATH']}")
    if found is None:
        return Diagnosis(
            subject="mpiexec", verdict="lacks", text="not on PATH: only one rank can run"
        )
    return Diagnosis(subject="mpiexec", verdict="ok", text=found)


def look_at_clock() -> Diagnosis:
    """Say what the clock is read from."""
    source = read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    good = source in ("tsc", "kvm-clock", "arch_sys_counter", "timebase")
    return Diagnosis(
        subject="clock",
        verdict="ok" if good else "note",
        text=f"{source or 'unknown'}" + ("" if good else ": it may be slow to read"),
    )


def look_at_cores() -> Diagnosis:
    """Count cores, and say how busy they are."""
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    text = f"{cores} of {os.cpu_count()} usable, {cpu_model()}; load {load:.2f}"
    if load > QUIET_LOAD * cores:
        busy = "something else is running and will show in wait times"
        return Diagnosis(subject="cores", verdict="note", text=f"{text}: {busy}")
    if cores < 2:
        return Diagnosis(
            subject="cores", verdict="note", text=f"{text}; two ranks would take turns on one core"
        )
    return Diagnosis(subject="cores", verdict="ok", text=text)


def look_at_frequency() -> Diagnosis:
    """Say what governs the cores' frequency."""
    governor = read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    smt = {"1": "SMT on", "0": "SMT off"}.get(
        read_text("/sys/devices/system/cpu/smt/active") or "", "SMT unknown"
    )
    if governor is None:
        return Diagnosis(subject="frequency", verdict="ok", text=f"no governor visible; {smt}")
    return Diagnosis(
        subject="frequency",
        verdict="ok" if governor == "performance" else "note",
        text=f"governor {governor}; {smt}",
    )


def look_at_caches() -> Diagnosis:
    """Say where compiled code and keys are kept."""
    wanted, found = user_folder("XDG_CACHE_HOME", ".cache") / "hindmost", cache_folder()
    if found == wanted:
        return Diagnosis(subject="caches", verdict="ok", text=str(found))
    return Diagnosis(
        subject="caches",
        verdict="note",
        text=f"{wanted} is not writable, or others can write to it; using {found}",
    )


def look_at_plugins() -> Diagnosis:
    """Import the plugins of other packages, and say which cannot be used."""
    found: list[str] = []
    refused: list[str] = []
    for group in GROUPS:
        plugins: Registry[Named] = Registry("plugin", (), group=group)
        found += [f"{each}" for each in plugins.plugins.values()]
        _ = list(plugins)  # imports them
        refused += plugins.complaints.values()
    if refused:
        return Diagnosis(subject="plugins", verdict="note", text=" ".join(refused))
    return Diagnosis(subject="plugins", verdict="ok", text="; ".join(found) or "none")


def look_at_machines() -> Diagnosis:
    """Say which file has the user's own machines for studies, and which they are."""
    path = profiles_path()
    try:
        names = profile_names(path)
    except HindmostError as error:
        return Diagnosis(subject="machines", verdict="note", text=str(error))
    if not path.exists():
        return Diagnosis(
            subject="machines",
            verdict="ok",
            text=f"no {path}: studies run here, or on machines that they define",
        )
    return Diagnosis(
        subject="machines", verdict="ok", text=f"{path}: {', '.join(names) or 'no [machine.NAME]'}"
    )


LOOKS: tuple[Callable[[], Diagnosis], ...] = (
    look_at_package,
    look_at_recorder,
    look_at_counters,
    look_at_petsc,
    look_at_blas,
    look_at_launcher,
    look_at_clock,
    look_at_cores,
    look_at_frequency,
    look_at_caches,
    look_at_machines,
    look_at_plugins,
)
