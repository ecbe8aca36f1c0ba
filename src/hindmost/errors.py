"""Every error that hindmost raises on purpose; this module imports nothing.

::

    HindmostError
    ├── UsageError (ValueError)          2  the request is not possible as put
    ├── DataError (ValueError)           3  a file or an array is not what it should be
    │   ├── NotARunFileError                a foreign file
    │   ├── DamagedFileError                cut off or altered since it was written
    │   ├── UnknownSchemaError              written by a newer hindmost
    │   └── UnknownPatternError             a record stream that no solver is known to leave
    └── MissingError (RuntimeError)      4  the machine lacks something

The number is the exit status of the command. A message says what was found, what is allowed and
what to do.
"""

from __future__ import annotations

__all__ = [
    "DamagedFileError",
    "DataError",
    "HindmostError",
    "MissingError",
    "NotARunFileError",
    "UnknownPatternError",
    "UnknownSchemaError",
    "UsageError",
]


class HindmostError(Exception):
    """What hindmost says when it cannot go on; ``str(error)`` is meant for a person."""

    exit_status = 1


class UsageError(HindmostError, ValueError):
    """The request is not possible as put: an unknown name, a size out of range, a taken path."""

    exit_status = 2


class DataError(HindmostError, ValueError):
    """A file or an array is not what it should be."""

    exit_status = 3


class NotARunFileError(DataError):
    """The file is not a run file of hindmost."""


class DamagedFileError(DataError):
    """The file was cut off or altered since it was written."""


class UnknownSchemaError(DataError):
    """The file follows a schema that this version cannot read."""


class UnknownPatternError(DataError):
    """A record stream does not follow the pattern that is known for its solver."""


class MissingError(HindmostError, RuntimeError):
    """The machine or the environment lacks something: a compiler, MPI, PETSc, a launcher."""

    exit_status = 4
