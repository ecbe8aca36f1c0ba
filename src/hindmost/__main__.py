"""The command's entry: errors become one message and an exit status."""

from __future__ import annotations

import os
import sys

from hindmost.errors import HindmostError

INTERRUPTED = 130


def main() -> int:
    """Run the command line; returns the exit status."""
    from hindmost.cli import main as run_command

    try:
        status = run_command()
        sys.stdout.flush()
    except HindmostError as error:
        sys.stderr.write(f"hindmost: {error}\n")
        return error.exit_status
    except KeyboardInterrupt:
        sys.stderr.write("hindmost: interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output went away, as in '| head'
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


if __name__ == "__main__":
    sys.exit(main())
