"""Every error that hindmost raises on purpose; this module imports nothing.

::

    HindmostError
    ├── UsageError (ValueError)          2  the request cannot be carried out as written
    ├── DataError (ValueError)           3  a file or an array is invalid, or has too little
    │   ├── NotARunFileError                a foreign file
    │   ├── DamagedFileError                cut off or altered since it was written
    │   ├── UnknownSchemaError              written by a newer hindmost
    │   └── UnknownPatternError             a record stream without the pattern of its solver
    └── MissingError (RuntimeError)      4  something is missing on the machine

The number is the exit status of the command. A message states the value, the rule and the remedy.
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
    """An expected failure; ``str(error)`` is a message for a person."""

    exit_status = 1


class UsageError(HindmostError, ValueError):
    """The request cannot be carried out as written: an unknown name, a size out of range."""

    exit_status = 2


class DataError(HindmostError, ValueError):
    """A file or an array is invalid, or does not have what the answer needs."""

    exit_status = 3


class NotARunFileError(DataError):
    """The file is not a run file of hindmost."""


class DamagedFileError(DataError):
    """The file was cut off or altered since it was written."""


class UnknownSchemaError(DataError):
    """The file follows a schema that this version cannot read."""


class UnknownPatternError(DataError):
    """A record stream does not follow the known pattern of its solver."""


class MissingError(HindmostError, RuntimeError):
    """Something is missing on the machine: a compiler, MPI, PETSc, a launcher."""

    exit_status = 4
