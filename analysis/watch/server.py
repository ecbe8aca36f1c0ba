"""The server of the page on a program that runs, for browsers on this machine that know its token.

Nothing of a request is ever used as a path: the first word of the address is compared with the
token, the second with the names of two answers. All else is refused in the same words. The page
asks for what is new; only then does the server look at the program.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs

from hindmost.analysis.show.html_renderer import page_html
from hindmost.analysis.watch.program import WatchedFolder, last_rank
from hindmost.analysis.watch.watch_page import OWN, chart_news, watch_page
from hindmost.errors import UsageError
from hindmost.harness.runfile.bodies import PHASES

LOOPBACK = "127.0.0.1"
HOSTS = ("127.0.0.1", "localhost", "[::1]")
"""Names under which a browser may have found the page: any other was rebound to this machine."""
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
JSON = "application/json"


class WatchServer(ThreadingHTTPServer):
    """Serves the page on a watched program, from loopback alone; use it as a context.

    Attributes
    ----------
    watched : WatchedFolder
        As of the last request for it.

    Parameters
    ----------
    port : int
        0 for any that is free.

    Raises
    ------
    UsageError
        The port is taken.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    allow_reuse_address = True

    def __init__(self, watched: WatchedFolder, *, port: int = 0) -> None:
        self.watched = watched
        self._reading = threading.Lock()
        self._drawn: dict[str, tuple[str, dict[str, Any]]] = {}
        self._token = secrets.token_urlsafe(32)
        self.page = page_html(watch_page(watched)).encode()
        try:
            super().__init__((LOOPBACK, port), Viewer)
        except OSError as error:
            raise UsageError(f"--port {port}: {error.strerror}; choose another.") from error
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True)

    def address(self) -> str:
        """Return the address of the page, with its token."""
        return f"http://{LOOPBACK}:{self.server_address[1]}/{self._token}/"

    def knows(self, word: str) -> bool:
        """Tell whether a word is the token."""
        given = word.encode("utf-8", "surrogateescape")
        return hmac.compare_digest(given, self._token.encode())

    def news(self, have: str, phase: str) -> bytes:
        """Look at the program; return its state as JSON, and charts if a viewer lacks them.

        Parameters
        ----------
        have : str
            What the last news said that the viewer has then.
        phase : str
            What is to be shown of ranks; anything unknown stands for their own work.
        """
        phase = phase if phase in PHASES else OWN
        with self._reading:
            watched = self.watched
            if not watched.is_over:
                watched.update()
            use = watched.use
            newest = f"{phase}.{use.run}.{use.began_utc_s:.3f}.{use.iterations}"
            content = {
                "have": newest,
                "windows": 0 if watched.windows is None else len(watched.windows.ends),
                "done": min(use.iterations / use.total, 1.0) if use.total else None,
                "left_s": use.loop_left_s,
                "progress": watched.program.progress(use),
                "slowest": last_rank(use),
                "over": watched.is_over,
                "ending": watched.line() if watched.is_over else "",
                "charts": None if have == newest else self.charts(newest, phase),
            }
            return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()

    def charts(self, newest: str, phase: str) -> dict[str, Any]:
        """Return the data and legends of the charts, drawn once for all viewers."""
        if self._drawn.get(phase, ("",))[0] != newest:
            self._drawn[phase] = newest, chart_news(self.watched, phase)
        return self._drawn[phase][1]

    def __enter__(self) -> WatchServer:
        """Begin to serve."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        """End serving."""
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a viewer that disconnects does not concern the program."""


class Viewer(BaseHTTPRequestHandler):
    """One request of a viewer."""

    protocol_version = "HTTP/1.0"
    timeout = 10.0
    server: WatchServer

    def finish(self) -> None:
        """End the connection."""
        with suppress(OSError):
            super().finish()

    def do_GET(self) -> None:
        """Give the page, or what is new."""
        allowed, name = self._asked()
        if not allowed:
            return self._say(403)
        name, _, query = name.partition("?")
        if name == "":
            return self._say(200, self.server.page, "text/html; charset=utf-8")
        if name != "news":
            return self._say(404)
        asked = parse_qs(query)
        have, phase = (asked.get(key, [""])[0] for key in ("have", "phase"))
        return self._say(200, self.server.news(have, phase), JSON)

    def do_POST(self) -> None:
        """Refuse: nothing can be changed."""
        self._say(403)

    def _asked(self) -> tuple[bool, str]:
        """Return whether the request has the token, and what it asks for."""
        host = self.headers.get("Host", "").rsplit(":", 1)[0].lower()
        word, _, name = self.path.removeprefix("/").partition("/")
        return self.server.knows(word) and host in HOSTS, name

    def _say(self, status: int, content: bytes | None = None, kind: str = "text/plain") -> None:
        if content is None:
            content = b"" if status == 204 else f"{status}\n".encode()
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse without details."""
        self._say(403 if code == 501 else code)

    def version_string(self) -> str:
        """Return the name of the server, without versions."""
        return "hindmost"

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep tokens out of logs."""
