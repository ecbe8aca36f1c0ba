"""The command's entry: errors become one message and an exit status."""

from __future__ import annotations

import os
import sys

from hindmost.errors import DataError, HindmostError
from hindmost.printable import printable
from hindmost.statuses import INTERRUPTED


def main() -> int:
    """Run the command line; returns the exit status."""
    from hindmost.cli import main as run_command

    try:
        status = run_command()
        sys.stdout.flush()
    except HindmostError as error:
        from hindmost.harness.launch import place

        # What is wrong with a command line is wrong on every rank: the first one speaks.
        if place().rank == 0:
            sys.stderr.write(f"hindmost: {printable(str(error))}\n")
        return error.exit_status
    except KeyboardInterrupt:
        sys.stderr.write("hindmost: interrupted\n")
        return INTERRUPTED
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # the reader of the output went away, as in '| head'
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        where = f"{error.filename}: " if error.filename else "output: "
        sys.stderr.write(f"hindmost: {where}{error.strerror}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DataError.exit_status
    return status


if __name__ == "__main__":
    sys.exit(main())
