"""The command's entry: any failure becomes one message and an exit status."""

from __future__ import annotations

import sys

from hindmost.failure import describe, show_traceback
from hindmost.output import drop_output, open_streams, warn


def main() -> int:
    """Run the command line; returns the exit status."""
    open_streams()
    try:
        from hindmost.cli import main as run_command

        try:
            status = run_command()
        except SystemExit as end:  # argparse has printed help
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
    except BaseException as error:
        return fail(error)
    return status


def fail(error: BaseException) -> int:
    """Say once why the command ends, on whichever ranks it was started; returns the exit status."""
    from hindmost.harness.launch import assigned_rank

    message, status = describe(error)
    show_traceback(error)
    mine = assigned_rank()
    if mine.size > 1:
        from hindmost.harness.rank_failures import end_alone

        end_alone(mine.rank, error)
    elif message:
        warn(message)
    if isinstance(error, OSError):
        drop_output()
    return status


if __name__ == "__main__":
    sys.exit(main())
