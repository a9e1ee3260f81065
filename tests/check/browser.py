"""A page in Chromium without a window, driven by its DevTools protocol over two pipes: no further package is needed.

Debian's package is called `chromium`. Where no browser is installed, tests that need one are skipped.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
    "--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe",
)  # fmt: skip
_PATIENCE = 30.0
"""Seconds that the page may take for one thing: far more than it takes."""


class Tab:
    """One page: what it shows, and what is done to it."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._answers = os.fdopen(to, "wb", 0), os.fdopen(answers, "rb", 0)
        self._numbers, self._rest = itertools.count(1), b""
        self._session = ""
        self.said: list[dict[str, Any]] = []
        """The events that the browser told: exceptions, lines of the console, requests."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def close(self) -> None:
        """Close the pipes: the browser ends."""
        self._to.close()
        self._answers.close()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What a command of the protocol answers."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            told = self._message()
            if told.get("id") == number:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result
            self.said.append(told)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = self._answers.read(1 << 16)
            assert read, "the browser has ended"
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told

    def open(self, page: Path, fragment: str = "") -> None:
        """Open a page, anew, and wait until its program has drawn it."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=f"{page.absolute().as_uri()}{fragment}")
        self.until("document.documentElement?.classList.contains('ready') === true")

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page; what it throws is an AssertionError."""
        told = self.send(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
            replMode=True,
        )
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + _PATIENCE
        while not self.ask(expression):
            assert time.monotonic() < end, f"is never so: {expression}"
            time.sleep(0.02)

    def texts(self, selector: str) -> list[str]:
        """The texts of the elements that a selector names."""
        found: list[str] = self.ask(
            f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)"
        )
        return found

    def click(self, selector: str) -> None:
        """Click on the first element that a selector names, where it is, as a mouse does."""
        place = self.ask(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def press(self, key: str) -> None:
        """Press a key, such as `ArrowDown`, `Enter` or `a`."""
        codes = {
            "Enter": 13,
            "Tab": 9,
            "Escape": 27,
            "End": 35,
            "Home": 36,
            "ArrowLeft": 37,
            "ArrowUp": 38,
        }
        code = (codes | {"ArrowRight": 39, "ArrowDown": 40}).get(key, ord(key[0].upper()))
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        self.send(
            "Input.dispatchKeyEvent",
            type="keyDown",
            key=key,
            code=key,
            windowsVirtualKeyCode=code,
            text=text,
        )
        self.send(
            "Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code
        )

    def look(self, width: int, height: int, *, dark: bool = False, media: str = "") -> None:
        """Show the page at a size in CSS pixels, light or dark, or as it is printed."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def picture(self, file: Path, width: int, height: int, scale: float = 1.0) -> None:
        """Write the page's first pixels as a PNG."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
        told = self.send(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip
        )
        file.write_bytes(base64.b64decode(told["data"]))

    def printed(self, file: Path) -> None:
        """Write the page as a PDF."""
        file.write_bytes(
            base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])
        )

    @property
    def faults(self) -> list[str]:
        """What went wrong in the page: exceptions, and errors of the console."""
        self.ask("0")
        return [
            json.dumps(told["params"])
            for told in self.said
            if told["method"] == "Runtime.exceptionThrown"
            or (told["method"] == "Log.entryAdded" and told["params"]["entry"]["level"] == "error")
        ]

    @property
    def requested(self) -> list[str]:
        """The addresses that were asked for."""
        self.ask("0")
        sent = (
            told["params"] for told in self.said if told["method"] == "Network.requestWillBeSent"
        )
        return [one["request"]["url"] for one in sent]


@contextlib.contextmanager
def browser(scratch: Path) -> Iterator[Tab]:
    """A tab of a new browser, which keeps what it writes in `scratch`."""
    assert BROWSER
    from_us, to_us = os.pipe(), os.pipe()
    plumbing = f'exec "$0" "$@" 3<&{from_us[0]} 4>&{to_us[1]}'
    process = subprocess.Popen(
        ["bash", "-c", plumbing, BROWSER, *_OPTIONS, f"--user-data-dir={scratch}"],
        pass_fds=(from_us[0], to_us[1]), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(from_us[0])
    os.close(to_us[1])
    tab = None
    try:
        tab = Tab(from_us[1], to_us[0])
        yield tab
    finally:
        if tab:
            tab.close()
        process.terminate()
        process.wait(30)
