"""The attributes of a run file: texts, numbers, and JSON with members of known kinds.

Members that are not read may be anything; files of later versions have more of them. Numbers are
finite, unless their type says that they may be infinite.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from hindmost.parsing import parse_json, shown
from hindmost.records import RecordError, from_document

Json = dict[str, Any]
"""A JSON object."""
Name = Annotated[str, Meta(min_length=1, description="text that is not empty")]
NewName = Annotated[
    str,
    Meta(
        pattern=r"\A[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+\Z",
        description="printable characters, one at least",
    ),
]
"""A name that a user gives: without control characters and surrogates."""
Ranks = Annotated[int, Meta(ge=1)]
Count = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]
Duration = Annotated[float, Meta(ge=0, extra={"infinite": True})]
"""May be infinite: the shortest body of a run without bodies."""
CountPair = tuple[Count, Count]


class Checkpoint(TypedDict):
    """A checkpoint of an adaptive run."""

    cycle: Count
    seconds: Amount
    bytes: Amount


class InnerSolves(TypedDict):
    """Solves inside of the solves of an attached program."""

    prefix: str
    type: str
    count: Count
    seconds: Amount


class CallOfIteration(TypedDict):
    """The MPI call at which iterations end."""

    call: str
    calls: Count


class LoopSeen(TypedDict):
    """A loop of a program.

    Attributes
    ----------
    name : str
    caller : str
        The place that its function is called from, if several loops have the name.
    role : str
        ``measured``, ``around`` or ``inside`` the measured one, another ``phase`` of the program;
        empty if it is none of these.
    depth : int
        How many loops that iterate are around it.
    iterations : int
        The fewest on any rank.
    at_least : bool
        Whether there may be more of them: no call of MPI needs to lie between two of them. Not in
        files of earlier versions.
    seconds : float
        Of an iteration in the mean, on the rank where the loop takes least.
    share : float
        Of the recorded time, on the same rank.
    """

    name: str
    caller: NotRequired[str]
    role: str
    depth: Count
    iterations: Count
    at_least: NotRequired[bool]
    seconds: Amount
    share: Amount


class LoopOfProgram(TypedDict):
    """The loop whose iterations are those of a program, and what else they could be.

    Attributes
    ----------
    name : str
        The value of ``--iterate-at`` for it.
    iterations : int
    share : float
        Of the recorded time, on the rank where it is least.
    few : bool
        Whether it iterates less often than a sure one.
    by_code : bool
        Whether the loops are those of the program's code; else those that the order of its calls
        shows.
    loops : list of LoopSeen
        All that have enough of the program's time, each before those in it.
    """

    name: str
    iterations: Count
    share: Amount
    few: bool
    by_code: bool
    loops: NotRequired[list[LoopSeen]]


class SummedCalls(TypedDict):
    """What is kept of a loop that made more calls than the budget holds.

    Attributes
    ----------
    unit : int
        Passes of the loop, or marked iterations, that make an iteration of the file.
    passes : int
        Of the loop in all; 0 where that is not known.
    unknown : int
        Of these, passes before the loop was known and after all calls could be kept: they are not
        in the file.
    """

    unit: Count
    passes: Count
    unknown: Count


class Attached(TypedDict, total=False):
    """What a run knows of the program that was attached to.

    Where ``no_loop`` says why no loop was chosen, the whole program is one iteration.
    """

    name: str
    execution: str
    prefix: str
    program: list[str]
    solves: Count
    seconds: Amount
    finished: bool
    iterate_at: CallOfIteration
    marks_differ: str
    loop: LoopOfProgram
    no_loop: str
    summed: SummedCalls
    without_iterations: Count
    solves_skipped: Count
    snes_steps: CountPair
    time_steps: CountPair
    program_s: Amount
    of_ranks: Count
    aborted: float
    pipelined: list[str]
    inner: list[InnerSolves]
    unclassified: list[str]


class Choices(TypedDict, total=False):
    """How an adaptive run was distributed."""

    petsc_options: list[str]


class Interference(TypedDict, total=False):
    """The jobs that interfered with a run."""

    spans: list[list[Any]]


class Verdict(TypedDict):
    """What was decided in a cycle of an adaptive run."""

    cycle: Count
    kind: str
    words: str


class Sampling(TypedDict):
    """How samples of where threads spend processor time were taken.

    Attributes
    ----------
    mechanism : str
        ``event``: of perf; ``timer``: of the kernel's tick; ``none``.
    why_none : str
        Why there are none, or no more from some time on; empty if there are.
    per_second : float
        Samples a second of processor time of a thread, on average.
    cost : float
        Share of the processor time that they take, as measured before the program began.
    lost : int
        Samples for which there was no room.
    unsampled : int
        Threads that block SIGPROF, or of which the system allows no samples.
    """

    mechanism: str
    why_none: str
    per_second: Amount
    cost: Amount
    lost: Count
    unsampled: NotRequired[Count]


class Spec(TypedDict, total=False):
    """Members of ``spec`` that hindmost reads; others may be anything."""

    unknowns: Amount | None
    repeat: Count
    petsc_options: list[str]
    between_polls_s: Amount
    between: str
    injected: str
    failure: str | None
    stopped: str | None
    deck: str
    choices: Choices | None
    base: tuple[Ranks, Ranks]
    first_cycle: Count
    machine: str | None
    interfere: Interference | None
    checkpoints: list[Checkpoint]
    attached: Attached | None
    summed: SummedCalls
    sampling: Sampling
    verdicts: list[Verdict]


class Host(TypedDict, total=False):
    """The machine of rank 0."""

    host: str | None
    cores: Annotated[int, Meta(ge=1)] | None
    load_before: Amount | None
    cpu_model: str | None


class Environment(TypedDict, total=False):
    """Machine and software."""

    machine: Host
    petsc: str | None


class Git(TypedDict, total=False):
    """The state of the repository."""

    commit: str | None
    dirty: bool | None


OBJECTS: dict[str, Any] = {
    "spec": Spec,
    "environment": Environment,
    "petsc_options": Json,
    "scheduler": dict[str, str | None],
    "git": Git,
}
"""The forms of attributes that are JSON."""


class BodyTimes(TypedDict):
    """Durations of bodies, seconds."""

    minimum: Duration
    median: Duration
    quantile_99: Duration
    maximum: Duration


class Counted(TypedDict, total=False):
    """Counters of the processor, where the file has them."""

    instructions: Amount
    cycles: Amount


class Summary(TypedDict):
    """The totals of a run."""

    body_s: BodyTimes
    phase_s: dict[str, float]
    balance_s: Duration
    counted: NotRequired[Counted]


def read_object(name: str, text: Any, form: Any) -> Json:
    """Parse an attribute of JSON and check its members.

    Raises
    ------
    ValueError
        Invalid; the message names the path of the member.
    """
    if not isinstance(text, str):
        raise RecordError("allowed: JSON", name, found=text)
    try:
        value = parse_json(text)
    except ValueError as error:
        raise ValueError(f"the attribute '{name}' is not JSON: {error}") from None
    try:
        from_document(form, value, name)
    except RecordError as error:
        raise ValueError(str(error).rstrip(".")) from None
    return value  # type: ignore[no-any-return]  # an object, or it would not be of the form


def read_summary(text: Any, phases: tuple[str, ...]) -> Json:
    """Read the totals of a run; raises like `read_object`.

    Parameters
    ----------
    phases : tuple of str
        The phases of the file, which the summary must contain.
    """
    summary = read_object("summary", text, Summary)
    if set(summary["phase_s"]) != set(phases):
        why = f"the file has the phases {shown(list(phases))}"
        raise RecordError(why, "summary", "phase_s", found=list(summary["phase_s"]))
    return summary
