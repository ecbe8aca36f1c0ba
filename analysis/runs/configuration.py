"""The configuration of a run: everything that must be the same in repeats of a measurement.

Two runs are repeats of each other if their configurations are equal. A configuration contains
everything that can be varied: the run's ``spec`` without the bookkeeping of a repeat, the values of
a study's sweep, environment variables that change how a program runs, and for a user's loop its
parameters, or else its script and arguments, and its phases and events.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np

from hindmost.errors import UsageError
from hindmost.harness.runfile.all_ranks import hosts_of_all
from hindmost.harness.runfile.bodies import INJECTED, PHASES
from hindmost.harness.runfile.ending import Ending
from hindmost.harness.runfile.reader import Run
from hindmost.models.events import EventKind
from hindmost.models.laws.noise_law import read_noise_law
from hindmost.text import counted, plural

IN_TITLE = ("workload", "unknowns", "ranks", "iterations", "solver", "restart")
"""Parts of a configuration that each title names."""
OF_MACHINE = ("hosts", "MPI", "PETSc", "origin")
"""Parts that describe the machine and software, not the question."""
GROWS = ("ranks", "hosts", "unknowns", "base", "nodes", "ranks_per_node")
"""Parts that may grow together in a scaling study."""
COLLECTIVES = "collectives"
"""The workload of calls of collectives that a verb of earlier versions recorded."""
BOOKKEEPING = frozenset(
    {
        "unknowns", "petsc_options",  # parts of their own
        "repeat", "repeats", "order", "seed", "pid",
        "application", "cycles", "calls",  # follow from the deck, and from the iterations
        "ending", "rows", "foreign_calls", "foreign_threads", "polls", "between_polls_s",
        "attached", "between", "late", "left_out", "margin_s", "reduction",
        "speed_s", "pulse_s", "pulses_s", "foresight_s",
        "stopped", "failure", "checkpoints", "verdicts",
    }
)  # fmt: skip
"""Keys of a ``spec`` that differ between repeats, or describe the outcome of a run."""
LOOP = "loop"
"""The solver of a run whose iterations are a user's loop."""
OWN_SOLVER = "given solver"
"""The parameter ``solver`` of a user's loop."""
OF_THE_SOLVER = ("solver", "restart", OWN_SOLVER)
"""Parts in which solvers of one workload differ."""
STRUCTURE = ("phases", "events")
"""Parts that are derived from a user's loop, not given."""
OF_A_REPEAT = frozenset(
    {"repeat", "rep", "run", "trial", "attempt", "seed", "order", "out", "output", "outdir", "o"}
)
"""Options of a script that number the repeat, or name its output."""
LONGEST_HOSTS = 60
"""Characters from which on a list of hosts is cut; its checksum tells it from others."""
DEFAULT_PARTS: Mapping[str, Sequence[str]] = {
    "warmup": ("1", "20"),
    "first_cycle": ("0",),
    "choices.threshold": ("1.02",),
    "orders.risk": ("0.01",),
    "orders.interval": ("optimum",),
    "OMP_NUM_THREADS": ("1",),
    "OPENBLAS_NUM_THREADS": ("1",),
    "MKL_NUM_THREADS": ("1",),
}
"""What a name leaves out, because it is so unless something else was asked for."""


def configuration(run: Run, *, whole: bool = False) -> dict[str, str]:
    """Return everything in which repeats of a configuration must be alike.

    What was not asked for (None, an empty text or list) is left out, so that files of older
    versions, which do not know an option, are repeats of those that do not use it.

    Parameters
    ----------
    whole : bool
        Give the command and the PETSc options as one part each; else every option is a part, under
        the name that it was given by: ``-n``.
    """
    header, ending = run.header, Ending.of(run.header)
    fixed = {
        "workload": header.workload,
        "unknowns": str(header.spec.get("unknowns")),
        "ranks": str(header.ranks),
        # How many iterations were done came of it.
        "iterations": str(header.iterations if ending is None else ending.asked),
        "solver": header.solver,
        "restart": str(header.restart),
        "hosts": ", ".join(sorted(set(hosts_of_all(run) or run.hosts))),
        "MPI": header.mpi_library,
        "PETSc": str(header.environment.get("petsc")),
        "origin": header.origin,
    }
    command, options = command_of(run), options_of(run)
    asked = dict(flattened(spec_of(run)))
    if whole:
        fixed |= dict(flattened({"options": " ".join(options)}))
        asked |= dict(flattened({"command": " ".join(command)}))
    else:
        asked |= options_by_name(command) | petsc_options_of(run)
    asked |= {name: value for name, value in swept(run).items() if value != fixed.get(name)}
    # A loop's own parameter may have the name of a fixed part.
    own = {f"given {name}" if name in fixed else name: value for name, value in asked.items()}
    return fixed | own | variables_of(run) | structure_of(run)


def name_of(run: Run) -> str:
    """Name the parts of a configuration that a title lacks; the name never changes.

    Default values are left out, and so are parts derived from the structure of the run.
    """
    left_out = [*IN_TITLE, *OF_MACHINE, *STRUCTURE, INJECTED]
    if run.header.workload == COLLECTIVES:
        left_out += ["operation", "bytes"]  # in the name of the solver
    if to_tolerance(run):
        left_out += ["rtol", "atol"]  # in the title
    configured = configuration(run, whole=True)
    parts = {name: value for name, value in configured.items() if name not in left_out}
    deck = {name: parts.pop(name) for name in list(parts) if name.startswith("deck.")}
    if deck:
        parts["deck"] = checksum(json.dumps(deck, sort_keys=True))
    return ", ".join(
        part_words(name, value)
        for name, value in parts.items()
        if value not in DEFAULT_PARTS.get(name, ())
    )


def apart(kinds: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the parts in which some configurations differ, in their order."""
    keys = dict.fromkeys(key for kind in kinds for key in kind)
    return [key for key in keys if len({kind.get(key) for kind in kinds}) > 1]


def part_words(name: str, value: str | None) -> str:
    """Write a part of a configuration; None means that it was not given."""
    name = "injected noise" if name == INJECTED else name
    if value is None:
        return f"without {name}"
    if name == "hosts" and len(value) > LONGEST_HOSTS:  # a thousand names say no more
        value = f"{value[:LONGEST_HOSTS]}... ({checksum(value)})"
    unnamed = name in ("options", "command", *IN_TITLE, *OF_MACHINE)
    return value if unnamed else f"{name} {value}".rstrip()


def checksum(text: str) -> str:
    """Return what tells a text from others, in eight characters."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def to_tolerance(run: Run) -> Ending | None:
    """Return the ending of a solve to a tolerance; None for others."""
    ending = Ending.of(run.header)
    return ending if ending is not None and ending.to_tolerance else None


def options_of(run: Run) -> list[str]:
    """Return the PETSc options that were given, as on a command line."""
    given = run.header.spec.get("petsc_options")
    return list(map(str, given)) if isinstance(given, list) else []


def options_by_name(words: Sequence[str]) -> dict[str, str]:
    """Return the words before the first option as the command, and every option with its values.

    An option that is given several times has all of its values.

    Examples
    --------
    >>> options_by_name(["app", "-n", "100", "-grid", "2", "1", "--fast", "-dt=0.5"])
    {'command': 'app', '-n': '100', '-grid': '2 1', '--fast': '', '-dt': '0.5'}
    """
    name, values = "command", dict[str, list[str]]()
    for word in words:
        if word.startswith("-") and not word.lstrip("-.")[:1].isdigit():  # not of -0.5
            name, _, value = word.partition("=")
            given = values.setdefault(name, [])
            given += [value] if value else []
        else:
            values.setdefault(name, []).append(word)
    return {name: " ".join(given) for name, given in values.items()}


def petsc_options_of(run: Run) -> dict[str, str]:
    """Return the PETSc options that were given, by name with its dash."""
    words, known = options_of(run), run.header.petsc_options
    if words == [str(word) for pair in known.items() for word in pair if word]:
        return {f"-{name}": str(value) for name, value in known.items()}
    return options_by_name(words)


def spec_of(run: Run) -> dict[str, Any]:
    """Return the spec of a run without bookkeeping, its parameters as separate parts."""
    spec = {key: value for key, value in run.header.spec.items() if key not in BOOKKEEPING}
    if spec.get("mpi_seen") is True or run.header.ranks == 1:  # one rank waits for nobody
        spec.pop("mpi_seen", None)
    if is_attached(run):
        said = run.header.spec["attached"]
        spec |= {"solves": said.get("solves"), "ranks_of_program": said.get("ranks")}
        spec["loop"] = (said.get("loop") or {}).get("name")  # a program may have several
    if "mat_type" not in spec:  # they follow from the problem and its size
        spec.pop("nonzeros", None)
    own = spec.pop("parameters", None)
    if isinstance(own, dict):
        spec |= own
    elif own is not None:
        spec["parameters"] = own
    if isinstance(spec.get("deck"), str):
        with suppress(tomllib.TOMLDecodeError):
            spec["deck"] = tomllib.loads(spec["deck"])
    reduction = run.header.spec.get("reduction")
    if isinstance(reduction, dict):
        spec["keep"] = reduction.get("share")
    return spec


def injected_noise(run: Run) -> str:
    """Return the law of the noise that was injected into a run; empty if there was none."""
    law = run.header.spec.get(INJECTED)
    if not law and run.has(INJECTED):
        return "of an unknown law"
    return str(law or "")


def injected_at_calls(run: Run) -> bool:
    """Tell whether the noise was injected at MPI calls, and not at one point of an iteration."""
    try:
        return read_noise_law(injected_noise(run), "--inject").at_calls
    except UsageError:  # none, or of an unknown law
        return False


def is_own_loop(run: Run) -> bool:
    """Tell whether a run is of a user's own program: `hindmost.record`, `hindmost attach`."""
    return "mpi_seen" in run.header.spec


def is_loop(run: Run) -> bool:
    """Tell whether the iterations of a run are a loop's and not a solver's."""
    return run.header.solver == LOOP


def solves_in(run: Run) -> int:
    """Return how many solves of an attached program share the file; 1 for other runs."""
    attached = run.header.spec.get("attached")
    solves = attached.get("solves") if isinstance(attached, dict) else None
    return solves if isinstance(solves, int) and solves > 1 else 1


def is_attached(run: Run) -> bool:
    """Tell whether a run is of a program that `hindmost attach` recorded."""
    return isinstance(run.header.spec.get("attached"), dict)


def flattened(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the parts of nested values as ``name.part`` and value, without empty ones."""
    for name, value in values.items():
        if isinstance(value, dict) and prefix.count(".") < 8:
            yield from flattened(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            if value:
                yield f"{prefix}{name}", " ".join(map(str, value))
        elif value is not None and value != "":
            yield f"{prefix}{name}", str(value)


def swept(run: Run) -> dict[str, str]:
    """Return the values of a study's sweep for this run."""
    given = run.header.scheduler
    with suppress(ValueError, TypeError):
        values = json.loads(given.get("HINDMOST_CONFIGURATION", "null"))
        if isinstance(values, dict):
            known = (run.header.workload, run.header.solver)
            return {name: text for name, text in flattened(values) if text not in known}
    return {}


def command_of(run: Run) -> list[str]:
    """Return the script that recorded a loop, and its arguments without those of a repeat.

    Of paths only the name counts, and run files among the arguments do not. A loop whose parameters
    were given, or swept, is told from others by these.
    """
    given = run.header.environment.get("command")
    if not is_own_loop(run) or run.header.spec.get("parameters") or swept(run):
        return []
    if not isinstance(given, list) or not given:
        return []
    script, *words = (PurePath(str(word)).name if "/" in str(word) else str(word) for word in given)
    if script.startswith("ipykernel"):  # the arguments are those of a session
        return [script]
    kept, skip = [script], False
    for word in words:
        option, _, value = word.lstrip("-").partition("=")
        if word.startswith("-") and option.lower() in OF_A_REPEAT:
            skip = not value
            continue
        if not skip and not word.endswith(".h5"):
            kept.append(word)
        skip = False
    return kept


def variables_of(run: Run) -> dict[str, str]:
    """Return the environment variables that change how a program runs."""
    values = run.header.environment.get("variables")
    return dict(flattened(values)) if isinstance(values, dict) else {}


def structure_of(run: Run) -> dict[str, str]:
    """Return phases and events of a user's loop: a different structure is a different program."""
    if not is_own_loop(run):
        return {}
    own = [name for name in run.phases if name not in (*PHASES, INJECTED)]
    return dict(flattened({"phases": ", ".join(own), "events": events_of(run)}))


def events_of(run: Run) -> str:
    """Return the kinds of events, as ``reduce, send``: how many there are may differ by repeat."""
    if not run.has("event_kind") or not run.bodies:
        return ""
    kinds = np.unique(run.variable("event_kind", slice(0, 4096)))
    named = set(kinds.tolist()) - {EventKind.NONE, EventKind.UNKNOWN}
    return ", ".join(EventKind(kind).name.lower() for kind in sorted(named))


@dataclass(frozen=True, slots=True)
class Group:
    """Repeats of one configuration on one machine.

    Attributes
    ----------
    runs : tuple of Run
        Alike in their `configuration`.
    remark : str
        What sets them apart from another group of the same solver, workload and size; may be empty.
    """

    runs: tuple[Run, ...]
    remark: str = ""

    @property
    def title(self) -> str:
        """What the runs have in common, for a heading."""
        header = self.runs[0].header
        unknowns = header.spec.get("unknowns")
        size = f"{unknowns:,} unknowns, " if unknowns else ""
        ranks = counted(header.ranks, "rank")
        restart = f", restart {header.restart}" if header.restart else ""
        remark = f" ({self.remark})" if self.remark else ""
        ending = Ending.of(header)
        number = header.iterations if ending is None else ending.asked
        length = f"{number} {plural(number, 'iteration')}"
        if ending is not None and ending.to_tolerance:  # how many that takes differs
            length = f"to {ending.tolerance}"
        noise = injected_noise(self.runs[0])
        noise = f", injected noise {noise}" if noise else ""
        noise += ", simulated" if header.origin == "simulated" else ""
        return (
            f"{header.solver} on {header.workload}: {size}{ranks}, {length}{restart}{noise}{remark}"
        )

    @property
    def time_name(self) -> str:
        """What the solve times of the runs are: of a loop, a solve, several, or to a tolerance."""
        if is_loop(self.runs[0]):
            return "loop time"
        if (solves := max(map(solves_in, self.runs))) > 1:
            return f"time of {solves} solves"
        endings = [Ending.of(run.header) for run in self.runs]
        reached = [ending is not None and ending.reached for ending in endings]
        return "time to tolerance" if all(reached) else "solve time"

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """What each run did not do of what it was asked, where it did not."""
        endings = [Ending.of(run.header) for run in self.runs]
        return tuple(
            ending.shortfall for ending in endings if ending is not None and ending.shortfall
        )

    @property
    def iterations_done(self) -> list[int]:
        """Iterations of every run."""
        return [run.header.iterations for run in self.runs]


T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def grouped(values: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Put values together that are alike in a key, in the order in which they come."""
    found: dict[K, list[T]] = {}
    for value in values:
        found.setdefault(key(value), []).append(value)
    return found


def group_runs(runs: Iterable[Run]) -> list[Group]:
    """Put repeats of the same configuration together, in the order in which they come.

    Those of a solver on a workload come in the order of their ranks.
    """
    groups = grouped(runs, lambda run: tuple(sorted(configuration(run).items())))
    headers = [members[0].header for members in groups.values()]
    bases = list(dict.fromkeys((header.solver, header.workload) for header in headers))
    ordered = sorted(
        groups.values(),
        key=lambda members: (
            bases.index((members[0].header.solver, members[0].header.workload)),
            members[0].header.ranks,
        ),
    )
    kinds = [configuration(members[0]) for members in ordered]
    remarks = []
    for kind in kinds:
        alike = [other for other in kinds if all(other[key] == kind[key] for key in IN_TITLE)]
        # The title names injected noise; only its absence is to be remarked, and of nothing else.
        named = [key for key in apart(alike) if (key == INJECTED) != (key in kind)]
        remarks.append(", ".join(part_words(key, kind.get(key)) for key in named))
    return [Group(tuple(members), remark) for members, remark in zip(ordered, remarks, strict=True)]
