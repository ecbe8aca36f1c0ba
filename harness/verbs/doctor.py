"""``hindmost doctor``: what this machine has, what it lacks, and what that costs."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hindmost.models
from hindmost.documents import profiles_path, read_document
from hindmost.errors import HindmostError, MissingError, UsageError
from hindmost.files import cache_folder, user_folder
from hindmost.harness.runfile.provenance import cpu_model, installed, read_text
from hindmost.harness.stack import current_stack
from hindmost.models.compiled import compile_ahead
from hindmost.output import strict_json, write_json, write_lines
from hindmost.processes import how_ended
from hindmost.records import from_document, to_document
from hindmost.registry import GROUPS, Named, Registry, described
from hindmost.text import choose

EXAMPLES = """\
examples:
  hindmost doctor
  hindmost doctor --json
  hindmost doctor --compile
  hindmost doctor --build-recorders recorders --mpicc mpicc --mpicc /opt/mpich/bin/mpicc
  hindmost doctor --schema show         # the JSON schema of 'hindmost show --json'
"""
PATIENCE_S = 120.0
"""How long a check may take; the recorder may have to be compiled for it."""
QUIET_LOAD = 0.3
"""Load a core above which timings are disturbed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One thing that was checked.

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
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--compile",
        nargs="*",
        metavar="ROOM",
        help="compile the numerical loops of the models ahead, and do no more: of some rooms, such "
        "as noise, or of all",
    )
    parser.add_argument(
        "--build-recorders",
        type=Path,
        metavar="FOLDER",
        help="compile the recorder ahead into a folder that HINDMOST_RECORDERS names later, and do "
        "no more; a program gets the one for the MPI that it loads",
    )
    parser.add_argument(
        "--mpicc",
        action="append",
        default=[],
        metavar="PATH",
        help="with --build-recorders: the compiler of an MPI (that of this environment); give one "
        "for each MPI",
    )
    parser.add_argument(  # which the command itself does: it knows the verbs
        "--schema", metavar="VERB", help="print the JSON schema of the --json of a verb, and stop"
    )


def perform(arguments: argparse.Namespace) -> int:
    """Check and print; exit status 4 if solvers cannot be run here."""
    if arguments.compile is not None:
        write_lines(*compile_models(arguments.compile), flush=True)
        return 0
    if arguments.build_recorders is not None:
        from hindmost.harness.recorder.prebuilt import build_recorders

        for recorder in build_recorders(arguments.build_recorders, arguments.mpicc):
            write_lines(str(recorder))
        return 0
    if arguments.mpicc:
        raise UsageError("--mpicc goes with --build-recorders FOLDER.")
    findings = []
    for diagnosis in diagnoses(tuple(CHECKS)):
        findings.append(diagnosis)
        if not arguments.json:  # at once: the next check may take a while
            write_lines(f"{diagnosis.verdict:6}{diagnosis.subject:12}{diagnosis.text}", flush=True)
    if arguments.json:
        write_json(findings=findings)
    lacking = any(finding.verdict == "lacks" for finding in findings)
    return MissingError.exit_status if lacking else 0


def diagnoses(subjects: Sequence[str], patience_s: float = PATIENCE_S) -> Iterator[Diagnosis]:
    """Look at one subject after the other in a process of its own, which a broken MPI may end.

    What is left is then checked in another one.

    Parameters
    ----------
    subjects : sequence of str
        Keys of `CHECKS`.
    patience_s : float
        How long to wait for each.
    """
    left = list(subjects)
    while left:
        reading, writing = os.pipe()
        words = [sys.executable, "-P", "-c", CHECK_IN_CHILD, str(writing), *left]
        # What MPI writes to stdout is no result of this verb.
        with (
            subprocess.Popen(words, stdout=2, pass_fds=[writing]) as child,
            os.fdopen(reading) as lines,
        ):
            os.close(writing)
            while left:
                began = time.monotonic()
                timer = threading.Timer(patience_s, child.kill)
                timer.start()
                line = lines.readline()
                timer.cancel()
                if not line:
                    break
                yield from_document(Diagnosis, json.loads(line))
                del left[0]
            if left:
                how = how_ended(child.wait())
                if time.monotonic() - began >= patience_s:
                    how = f"did not answer for {patience_s:g} s"
                why = f"the process that tried it {how}"
                yield Diagnosis(subject=left.pop(0), verdict="lacks", text=why)


def check_in_child(pipe: int, subjects: Sequence[str]) -> None:
    """Check one subject after the other, and write what each check returns, a line each."""
    with os.fdopen(pipe, "w") as lines:
        for subject in subjects:
            verdict, text = CHECKS[subject]()
            found = Diagnosis(subject=subject, verdict=verdict, text=text)
            lines.write(f"{strict_json(to_document(found))}\n")
            lines.flush()


CHECK_IN_CHILD = (
    "import sys; from hindmost.harness.verbs.doctor import check_in_child; "
    "check_in_child(int(sys.argv[1]), sys.argv[2:])"
)


def compile_models(rooms: Sequence[str] = ()) -> list[str]:
    """Compile the declared loops of rooms of the models, of all by default; say which they are."""
    all_rooms = [
        module.name for module in pkgutil.iter_modules(hindmost.models.__path__) if module.ispkg
    ]
    for room in rooms or all_rooms:
        if room not in all_rooms:
            raise UsageError(f"The models have no room '{room}'; {choose(all_rooms, room)}.")
        package = importlib.import_module(f"hindmost.models.{room}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    loops = compile_ahead()
    return [f"{len(loops)} loops are compiled:", *(f"  {name}" for name in loops)]


def check_package() -> tuple[str, str]:
    """Say which hindmost and Python these are."""
    parts = [
        f"{name} {installed(name) or 'absent'}" for name in ("numpy", "scipy", "numba", "h5py")
    ]
    return "ok", f"{installed('hindmost')}; {', '.join(parts)}"


def check_recorder() -> tuple[str, str]:
    """Compile and load the recorder."""
    from hindmost.harness.recorder.library import clock_source, record_cost_ns
    from hindmost.harness.recorder.prebuilt import RECORDERS, library_of_python, recorders_of_site

    stack = current_stack()
    try:
        site = recorders_of_site()
        library = library_of_python()
        cost = record_cost_ns(interval=False), record_cost_ns(interval=True)
    except HindmostError as error:
        return "lacks", str(error)
    mark, call = (f"{each:.0f} ns" for each in cost)
    timed = f"{mark} a mark, {call} an MPI call, timed by {clock_source()}"
    whose = (
        f"{RECORDERS} has {', '.join(site[1])}" if site else f"{stack.name} stack, {stack.mpicc}"
    )
    return "ok", f"{whose}; {timed}; {library}"


def check_counters() -> tuple[str, str]:
    """Open the counters of instructions and cycles."""
    from hindmost.harness.recorder.counters import open_counters

    try:
        counters = open_counters()
    except HindmostError as error:
        return "note", str(error)
    if not counters.open:
        return "note", counters.why_not
    if not counters.quick:
        return "note", "instructions and cycles are not counted: a reading needs a system call"
    return "ok", f"instructions and cycles are counted; {counters.cost_ns:.0f} ns a reading"


def check_petsc() -> tuple[str, str]:
    """Start MPI and PETSc."""
    from hindmost.harness import petsc
    from hindmost.harness.runfile.provenance import mpi_library

    try:
        parallel = petsc.start()
    except (HindmostError, OSError) as error:
        return "lacks", str(error)
    version = ".".join(str(part) for part in parallel.PETSc.Sys.getVersion())
    numbers = "complex" if petsc.is_complex(parallel.PETSc) else "real"
    return "ok", f"{version}, {numbers} numbers, with {mpi_library()[:60]}"


def check_blas() -> tuple[str, str]:
    """Say which BLAS PETSc uses, once it has started; numpy's own is another."""
    lines = (read_text("/proc/self/maps") or "").splitlines()
    name = re.compile(r"lib(blas|openblas|mkl_rt|mkl_core|blis|armpl|sci_)[^/]*$")
    mapped = {line.split()[-1] for line in lines if name.search(line)}
    found = sorted(path for path in mapped if ".libs/" not in path)  # of numpy's and scipy's wheels
    if not found:
        return "note", "no shared BLAS is loaded: not known which one"
    optimised = re.compile("openblas|mkl|blis|atlas|armpl|sci_")
    if any(optimised.search(path) for path in found):
        return "ok", ", ".join(found)
    slow = "which is slow where local work is dense, as in GMRES' orthogonalisation"
    return "note", f"{', '.join(found)}: by its name the reference BLAS, {slow}"


def check_launcher() -> tuple[str, str]:
    """Find an mpiexec."""
    found = shutil.which("mpiexec", path=f"{sys.prefix}/bin:{os.environ['PATH']}")
    if found is None:
        return "lacks", "not on PATH: only one rank can run"
    return "ok", found


def check_clock() -> tuple[str, str]:
    """Say what the clock is read from."""
    source = read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    good = source in ("tsc", "kvm-clock", "arch_sys_counter", "timebase")
    return ("ok", f"{source}") if good else ("note", f"{source or 'unknown'}: slow to read, maybe")


def check_cores() -> tuple[str, str]:
    """Count cores, and say how busy they are."""
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    text = f"{cores} of {os.cpu_count()} usable, {cpu_model()}; load {load:.2f}"
    if load > QUIET_LOAD * cores:
        busy = "something else is running and will show in wait times"
        return "note", f"{text}: {busy}"
    if cores < 2:
        return "note", f"{text}; two ranks would take turns on one core"
    return "ok", text


def check_frequency() -> tuple[str, str]:
    """Say what governs the cores' frequency."""
    governor = read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    smt = {"1": "SMT on", "0": "SMT off"}.get(
        read_text("/sys/devices/system/cpu/smt/active") or "", "SMT unknown"
    )
    if governor is None:
        return "ok", f"no governor visible; {smt}"
    return ("ok" if governor == "performance" else "note", f"governor {governor}; {smt}")


def check_caches() -> tuple[str, str]:
    """Say where compiled code and keys are kept."""
    wanted, found = user_folder("XDG_CACHE_HOME", ".cache") / "hindmost", cache_folder()
    if found == wanted:
        return "ok", str(found)
    return "note", f"{wanted} is not writable, or others can write to it; using {found}"


def check_plugins() -> tuple[str, str]:
    """Import the plugins of other packages, and say which cannot be used."""
    found: list[str] = []
    refused: list[str] = []
    for group in GROUPS:
        plugins: Registry[Named] = Registry("plugin", (), group=group)
        found += [described(plugin) for plugin in plugins.plugins.values()]
        _ = list(plugins)  # imports them
        refused += plugins.complaints.values()
    if refused:
        return "note", " ".join(refused)
    return "ok", "; ".join(found) or "none"


def check_machines() -> tuple[str, str]:
    """Say which file has the user's own machines for studies, and which they are."""
    path = profiles_path()
    if not path.exists():
        return "ok", f"no {path}: studies run here, or on machines that they define"
    try:
        own = read_document(path)
        with own.errors():
            names = from_document(dict[str, Any], own.data.get("machine", {}), "machine")
    except HindmostError as error:
        return "note", str(error)
    return "ok", f"{path}: {', '.join(names) or 'no [machine.NAME]'}"


CHECKS: dict[str, Callable[[], tuple[str, str]]] = {
    "hindmost": check_package,
    "recorder": check_recorder,
    "counters": check_counters,
    "PETSc": check_petsc,
    "BLAS": check_blas,
    "mpiexec": check_launcher,
    "clock": check_clock,
    "cores": check_cores,
    "frequency": check_frequency,
    "caches": check_caches,
    "machines": check_machines,
    "plugins": check_plugins,
}
"""What is checked, by subject; each check returns a verdict and a text, as in `Diagnosis`."""
