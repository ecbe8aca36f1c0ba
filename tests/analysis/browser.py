"""A browser that tests drive as a person would: pointer, keyboard, windows; no library needed.

Chromium speaks the DevTools protocol over a pair of pipes: messages of JSON, each ended by a zero.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
"""Flags of a browser without a screen that asks for nothing by itself."""
PIPE = "--remote-debugging-pipe"
PATIENCE_S = 600.0
KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, "/": 191}


def need_browser() -> str:
    """Return a browser's program; without one the test is skipped, and fails where CI runs it."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        answer = "no browser to test pages in: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(answer)
        pytest.skip(answer)
    return program


class Browser:
    """A browser with one page; ``requests`` are what it asks for, ``errors`` its complaints."""

    def __init__(self, program: str, profile: Path) -> None:
        # The browser reads from 3 and writes to 4: the shell makes these of its own 0 and 1.
        command = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null'
        self._process = subprocess.Popen(
            ["sh", "-c", command, program, *QUIET, PIPE, f"--user-data-dir={profile}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._number, self._rest, self._session = 0, b"", ""
        self.requests: list[str] = []
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        """Return the browser."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the browser."""
        try:
            self._session = ""
            self.call("Browser.close")
        except (OSError, TimeoutError):
            self._process.kill()
        self._process.communicate(timeout=PATIENCE_S)

    def _send(self, message: bytes) -> None:
        while message:
            message = message[os.write(self._to, message) :]

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._from], [], [], PATIENCE_S)[0]:
                raise TimeoutError("The browser says nothing.")
            got = os.read(self._from, 1 << 20)
            if not got:
                raise OSError("The browser has ended.")
            self._rest += got
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, content: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(content["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(content["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.errors.append(content["entry"]["text"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._send(json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != number:
            pass
        if "error" in answer:
            raise OSError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def window(self, width: int, height: int, scheme: str = "light") -> None:
        """Set the size of the window and whether its colours are light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def open(self, address: str, ready: str) -> None:
        """Load an address and wait until an expression is true there."""
        self.requests.clear()
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.wait(ready)

    def wait(self, ready: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE_S
        while not self.evaluate(f"document.readyState === 'complete' && Boolean({ready})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{ready} has not come true; {self.errors}")
            time.sleep(0.02)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression on the page; promises are awaited."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def key(self, name: str) -> None:
        """Press a key and let it go."""
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        common = {"key": name, "windowsVirtualKeyCode": KEYS.get(name, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, text: str) -> None:
        """Type text."""
        self.call("Input.insertText", text=text)

    def point(self, x: float, y: float) -> None:
        """Move the pointer."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        """Click the left button."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: Path, whole: bool = False) -> None:
        """Save a picture of the window, or of the whole page."""
        got = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(got["data"]))
