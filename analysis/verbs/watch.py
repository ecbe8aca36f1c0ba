"""``hindmost watch``: a program that runs, in the terminal or in a browser."""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path

from hindmost.analysis.watch.program import WatchedFolder
from hindmost.errors import UsageError
from hindmost.output import is_terminal, warn, write_json, write_lines

EXAMPLES = """\
examples:
  mpiexec -n 2 hindmost attach --out runs -- ./app &
  hindmost watch runs/                            # iteration, rate, trend, who is last; time left
  hindmost watch runs/ --web                      # prints a URL for a browser
  hindmost watch runs/ --web 8765
  hindmost watch runs/ --once --json
  mpiexec -n 2 hindmost run laplacian-1d --solver cg --iterations 200000 --live --out runs &

Through an SSH tunnel: ssh -L 8765:127.0.0.1:8765 MACHINE, then open the address here. The program
never waits for a viewer. Exit status: 0 the program ended, 1 it failed or died.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Show the progress of an attached program, of a loop or solve that a program records with "
        "live=True, or of a run that was started with --live."
    )
    parser.add_argument("run", type=Path, help="the folder of run files, or a raw folder in it")
    parser.add_argument("--once", action="store_true", help="print the progress once and exit")
    parser.add_argument("--json", action="store_true", help="with --once: print JSON")
    parser.add_argument(
        "--web",
        type=int,
        nargs="?",
        const=0,
        metavar="PORT",
        help="serve a page for a browser, on this machine only, at a port (default: any free one)",
    )


def perform(arguments: argparse.Namespace) -> int:
    """Watch until the program has ended."""
    if arguments.json and not arguments.once:
        raise UsageError("--json prints the state once: add --once.")
    port = arguments.web
    if port is not None and arguments.once:
        raise UsageError("--web and --once exclude each other: a page is updated all the time.")
    if port is not None and not 0 <= port < 1 << 16:
        raise UsageError(f"--web {port}: a port is a number from 0 to {2**16 - 1}.")
    watched = WatchedFolder(arguments.run)
    if port is not None:
        return serve(watched, port)
    if arguments.once and arguments.json:
        use = watched.use
        write_json(None, program=watched.program.name, time=use, more=use.more, trend=use.trend)
        return watched.status
    if is_terminal() and not arguments.once:
        from rich.live import Live

        from hindmost.analysis.show.terminal import new_console

        with Live(console=new_console(), auto_refresh=False) as live:
            watched.follow(lambda text: live.update(text, refresh=True))
    elif not arguments.once:
        watched.follow(lambda text: write_lines(text, flush=True))
    write_lines(watched.line())
    return watched.status


def serve(watched: WatchedFolder, port: int) -> int:
    """Serve the page until Ctrl-C, also after the program has ended."""
    from hindmost.analysis.watch.server import WatchServer

    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())  # before anybody has the address
    with WatchServer(watched, port=port) as server:
        write_lines(server.address(), flush=True)
        warn(
            f"{watched.program.name}: anyone on this machine with this URL can view the page; keep "
            "it private. Ctrl-C stops serving."
        )
        while not stopped.wait(0.2):
            pass
        server.news("", "")
        return watched.status
