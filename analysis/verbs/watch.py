"""``hindmost watch``: a running solve, in the terminal or in a browser."""

from __future__ import annotations

import argparse
import signal
import threading
import time
from pathlib import Path

from hindmost.analysis.watch.feed_history import FeedHistory, poll
from hindmost.analysis.watch.program import WatchedProgram, find_program
from hindmost.analysis.watch.progress_text import ending, line
from hindmost.errors import DataError, UsageError
from hindmost.harness.runfile.feed import FeedReader, find_feed
from hindmost.output import is_terminal, warn, write_json, write_lines

EXAMPLES = """\
examples:
  mpiexec -n 2 hindmost run laplacian-1d --solver cg --iterations 200000 --live --out runs &
  hindmost watch runs/
  hindmost watch runs/ --web                      # prints a URL for a browser
  hindmost watch runs/ --web 8765
  hindmost watch runs/ --once --json
  mpiexec -n 2 hindmost attach --out runs -- ./app &
  hindmost watch runs/                            # iteration, rate, trend, who is last; time left

Through an SSH tunnel: ssh -L 8765:127.0.0.1:8765 MACHINE, then open the address here. The run never
waits for a viewer. Exit status: 0 the run ended, 1 it failed or died.
"""
LINE_EVERY_S, SCREEN_EVERY_S = 1.0, 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Show the progress of an attached program, of a loop or solve that a program records with "
        "live=True, or of a run that was started with --live."
    )
    parser.add_argument(
        "run", type=Path, help="a feed (NAME.live.jsonl), or the folder of run files"
    )
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
    """Watch until the run has ended."""
    if arguments.json and not arguments.once:
        raise UsageError("--json prints the state once: add --once.")
    port = arguments.web
    if port is not None and arguments.once:
        raise UsageError("--web and --once exclude each other: a page is updated all the time.")
    if port is not None and not 0 <= port < 1 << 16:
        raise UsageError(f"--web {port}: a port is a number from 0 to {2**16 - 1}.")
    program = find_program(arguments.run)
    path = feed_or_none(arguments.run) if program is not None else find_feed(arguments.run)
    if program is not None and (path is None or path.stat().st_mtime < program.noted_s()):
        if port is not None:
            raise UsageError("--web shows runs of 'hindmost run --live'; omit it for a program.")
        return watch_program(program, once=arguments.once, as_json=arguments.json)
    assert path is not None
    if port is not None:
        return serve(path, port)
    with FeedReader(path) as reader:
        history = FeedHistory(reader.head)
        if arguments.once:
            return show_once(history, reader, as_json=arguments.json)
        if is_terminal():
            show_screen(history, reader)
        else:
            show_lines(history, reader)
        return status_of(history)


def feed_or_none(path: Path) -> Path | None:
    """Return the feed for a path; None if there is none."""
    try:
        return find_feed(path)
    except DataError:
        return None


def watch_program(program: WatchedProgram, *, once: bool, as_json: bool) -> int:
    """Watch a program until it has ended."""
    if once:
        use = program.time_use()
        if as_json:
            write_json(None, program=program.name, time=use, more=use.more, trend=use.trend)
        else:
            is_running = use.status is None and not program.is_dead(use)
            write_lines(program.line(use) if is_running else program.ending(use))
    elif is_terminal():
        from rich.live import Live

        from hindmost.analysis.show.terminal import new_console

        with Live(console=new_console(), auto_refresh=False) as live:
            use = program.follow(lambda text: live.update(text, refresh=True))
        write_lines(program.ending(use))
    else:
        use = program.follow(lambda text: write_lines(text, flush=True))
        write_lines(program.ending(use))
    return int(bool(use.status) or program.is_dead(use))


def status_of(history: FeedHistory) -> int:
    """Return the exit status: a run that failed or died is a finding."""
    return int(history.end is not None and history.end["status"] != "done")


def show_once(history: FeedHistory, reader: FeedReader, *, as_json: bool) -> int:
    """Print how far a run is."""
    while poll(reader, history):
        pass
    if as_json:
        write_json(None, head=history.head.line(), **history.state())
    else:
        write_lines(line(history))
        if history.end is not None:
            write_lines(ending(history))
    return status_of(history)


def show_lines(history: FeedHistory, reader: FeedReader) -> None:
    """Print a line now and then, and the last one."""
    said = ""
    while history.end is None:
        if poll(reader, history) and (now := line(history)) != said:
            write_lines(now, flush=True)
            said = now
        if history.end is None:
            time.sleep(LINE_EVERY_S)
    write_lines(ending(history), flush=True)


def show_screen(history: FeedHistory, reader: FeedReader) -> None:
    """Draw one screen again and again; the last one stays."""
    from rich.live import Live

    from hindmost.analysis.show.terminal import new_console
    from hindmost.analysis.watch.screen import screen

    console = new_console()
    with Live(console=console, auto_refresh=False, screen=True) as live:
        while history.end is None:
            if poll(reader, history):
                live.update(screen(history, console.width, console.height), refresh=True)
            else:
                time.sleep(SCREEN_EVERY_S)
    console.print(screen(history, console.width, console.height))


def serve(path: Path, port: int) -> int:
    """Serve the page until Ctrl-C, also after the run has ended."""
    from hindmost.analysis.watch.server import WatchServer

    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())  # before anybody has the address
    with WatchServer(path, port=port) as server:
        write_lines(server.address(), flush=True)
        warn(
            f"{path.name}: anyone on this machine with this URL can view the page, and choose its "
            "rate and metric; keep it private. Ctrl-C stops serving."
        )
        while not stopped.wait(0.2):
            pass
        server.news("")
        return status_of(server.history)
