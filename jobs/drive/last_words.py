"""What a run said last, and the line of it that says why it ended.

Launchers add lines of their own below a program's words, and say less than those.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hindmost.jobs.outcome import Cause

LINES, MOST = 6, 600
"""Lines and characters that are kept."""
LONGEST = 300
"""Characters of the line that says why."""
READ_BYTES = 1 << 16
"""Of the begin and of the end of what was said."""

OURS = "hindmost: "
NOTES = ("warning: ", "run ")
"""How lines of ours begin that are no errors."""
NOISE = re.compile(
    r"""^\s*(?: (?:srun|slurmstepd)\b
        | (?:mpiexec|mpirun|orterun|prterun)\b.*(?:detected|noticed|exited)
        | Primary\ job\s+terminated | a\ non-zero\ exit\ code\. | the\ job\ to\ be\ terminated
        | Process\ name: | Exit\ code:
        | \[\S+\]\ Local\ abort\ before | \*\*\*\s+(?:on\ a|and\ potentially|MPI_ERRORS_ARE_FATAL)
        | = | YOUR\ APPLICATION\ TERMINATED | This\ typically\ refers | Please\ see\ the\ FAQ
        | Traceback\ \( | MPI_ABORT\ was\ invoked )""",
    re.VERBOSE,
)
"""Lines of launchers, and of MPI where it ends the others."""
ENDS = re.compile(
    r"^srun: error: \S+: tasks? .*|^YOUR APPLICATION TERMINATED WITH .*"
    r"|^(?:mpiexec|mpirun|prterun) noticed .*"
)
"""Lines of launchers that say at least how a rank ended."""
ERROR = re.compile(
    r"error|fail|fatal|abort|cannot|could not|unable|not found|no such|denied|invalid|illegal"
    r"|segmentation|violation",
    re.IGNORECASE,
)
PETSC = re.compile(r"^\[\d+\]PETSC ERROR:|-{4,}.*-{4,}")
"""What PETSc puts before its lines, and headings in dashes."""
DASHES = re.compile(r"-{20,}")


def lines_of(output: Path) -> list[str]:
    """Return what a run said: the lines of its begin and its end that are not empty."""
    try:
        with output.open("rb") as file:
            text = file.read(READ_BYTES)
            if (rest := output.stat().st_size - READ_BYTES) > 0:
                file.seek(max(READ_BYTES, rest))
                text += b"\n" + file.read()
    except OSError:
        return []
    return [line.rstrip() for line in text.decode(errors="replace").splitlines() if line.strip()]


def last_words(lines: Sequence[str], cause: Cause) -> str:
    """Return the end of what a run said, and below it the line that says why it ended."""
    why = telling(lines, cause)[:LONGEST]
    others = "\n".join(line for line in lines[-LINES:] if line != why)[-MOST:]
    return f"{others}\n{why}".strip("\n")


def telling(lines: Sequence[str], cause: Cause) -> str:
    """Return the line that says why a run ended; empty where none says anything.

    hindmost's own line where it ended with an error of its own; else the first explanation of Open
    MPI or line of an error; else how a launcher says that a rank ended; else the last line.
    """
    ours = [line for line in lines if line.startswith(OURS)]
    own = [line for line in ours if not line.removeprefix(OURS).startswith(NOTES)]
    if cause is Cause.FAILED and own and not own[-1].endswith(":"):
        return own[-1]
    said = [line for line in lines if line not in ours and any(map(str.isalnum, line))]
    plain = [line for line in said if not NOISE.match(line)]
    errors = [line for line in plain if line[0] not in " \t" and ERROR.search(PETSC.sub("", line))]
    ends = [line for line in said if ENDS.match(line)]
    explained = explanation(lines)
    for found in ([explained] if explained else [], errors, ends):
        if found:
            return found[0]
    return next(iter((*plain[-1:], *own[-1:], *said[-1:])), "")


def explanation(lines: Sequence[str]) -> str:
    """Return the first sentence of an error that Open MPI explains between lines of dashes."""
    block: list[str] | None = None
    for line in lines:
        if not DASHES.fullmatch(line):
            if block is not None:
                block.append(line.strip())
        elif block is None:
            block = []
        else:
            text = " ".join(block)
            if ERROR.search(text) and not NOISE.match(text):
                sentence, stop, _ = text.partition(". ")
                return sentence + stop.strip()
            block = None
    return ""
