"""``hindmost watch``: a run while it goes on, in the terminal or in a browser."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
from pathlib import Path

from hindmost.analysis.watch.follow import follow
from hindmost.analysis.watch.history import History
from hindmost.analysis.watch.lines import line
from hindmost.analysis.watch.words import ending
from hindmost.errors import UsageError
from hindmost.harness.runfile.feed import FeedReader, find_feed

EXAMPLES = """\
examples:
  mpiexec -n 2 hindmost run laplacian-1d --solver cg --iterations 200000 --live --out runs &
  hindmost watch runs/
  hindmost watch runs/ --web                      # prints an address for a browser
  hindmost watch runs/ --web --control --port 8765
  hindmost watch runs/ --once --json

Through an SSH tunnel: ssh -L 8765:127.0.0.1:8765 MACHINE, then open the address here. The run never
waits for a viewer. Exit status: 0 the run has ended, 1 it has failed or died.
"""
JSON_VERSION = 1
LINE_EVERY_S = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Shows a run that was started with --live while it goes on."
    parser.epilog = EXAMPLES
    parser.add_argument(
        "run", type=Path, help="a feed (NAME.live.jsonl), the folder of one, or a run file of it"
    )
    parser.add_argument("--once", action="store_true", help="say how far it is, and end")
    parser.add_argument("--json", action="store_true", help="with --once: print JSON")
    web = parser.add_argument_group("in a browser")
    web.add_argument("--web", action="store_true", help="serve a page on this machine alone")
    web.add_argument("--port", type=int, default=0, help="of the page (any that is free)")
    web.add_argument(
        "--control",
        action="store_true",
        help="print a second address, whose viewers may change rate and metric of the feed",
    )


def perform(arguments: argparse.Namespace) -> int:
    """Watch until the run has ended."""
    if arguments.json and not arguments.once:
        raise UsageError("--json is of one look: say --once, too.")
    if arguments.control and not arguments.web:
        raise UsageError("--control gives an address for a browser: say --web, too.")
    if arguments.web and arguments.once:
        raise UsageError("--web and --once exclude each other: a page lives on.")
    if not 0 <= arguments.port < 1 << 16:
        raise UsageError(f"--port {arguments.port}: it must be at least 0, at most {2**16 - 1}.")
    path = find_feed(arguments.run)
    if arguments.web:
        return serve(path, arguments.port, control=arguments.control)
    with FeedReader(path) as reader:
        history = History(reader.head)
        if arguments.once:
            return look_once(history, reader, as_json=arguments.json)
        if sys.stdout.isatty():
            show_screen(history, reader)
        else:
            show_lines(history, reader)
        return status_of(history)


def status_of(history: History) -> int:
    """Return the exit status: a run that failed or died is a finding."""
    return int(history.end is not None and history.end["status"] != "done")


def look_once(history: History, reader: FeedReader, *, as_json: bool) -> int:
    """Say how far a run is."""
    for each in reader.read_lines():
        history.add(each)
    if history.end is None and reader.is_written() is False:
        history.lose()
    if as_json:
        print(json.dumps({"version": JSON_VERSION, "head": history.head, **history.state()}))
    else:
        print(line(history))
        if history.end is not None:
            print(ending(history))
    return status_of(history)


def show_lines(history: History, reader: FeedReader) -> None:
    """Print a line now and then, and the last one."""
    at, said = 0.0, ""
    for lines in follow(reader, history):
        now = line(history)
        solved = any(each["kind"] == "done" for each in lines)
        if now != said and (solved or time.monotonic() > at + LINE_EVERY_S):
            print(now, flush=True)
            at, said = time.monotonic(), now
    print(ending(history), flush=True)


def show_screen(history: History, reader: FeedReader) -> None:
    """Draw one screen again and again; the last one stays."""
    from rich.console import Console
    from rich.live import Live

    from hindmost.analysis.watch.screen import screen

    console = Console()
    with Live(console=console, auto_refresh=False, screen=True) as live:
        for _ in follow(reader, history):
            live.update(screen(history, console.width, console.height), refresh=True)
    console.print(screen(history, console.width, console.height))


def serve(path: Path, port: int, *, control: bool) -> int:
    """Serve the page until Ctrl-C, also after the run has ended."""
    from hindmost.analysis.watch.server import WatchServer

    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())  # before anybody has the address
    with WatchServer(path, port=port, control=control) as server:
        print(server.address(), flush=True)
        if control:
            print(server.address(control=True), flush=True)
        sys.stderr.write(
            f"hindmost: {path.name} is shown to whoever has the address, on this machine; "
            "Ctrl-C ends it\n"
        )
        while not stopped.wait(0.2):
            pass
        return status_of(server.history)
