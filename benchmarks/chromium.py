"""A headless Chromium that opens local pages, driven through a pipe: no socket, nothing to install beside the browser.

Only what tests and screenshots need of the DevTools protocol: open a page, run a script in it, press keys, take a
picture, and read what the page complained about.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",  # which root and many containers cannot have; the pages are our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
COMPLAINTS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening")
KEYS = {
    "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Escape": 27, "Enter": 13,
}  # fmt: skip


def find_chromium() -> str | None:
    """Return the browser's path, None where there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    """A browser with one page; a context manager.

    Args:
        size: of the window in pixels.
        dark: whether the page is told that people want dark colours.
        scale: device pixels a pixel.
    """

    def __init__(self, size: tuple[int, int] = (1280, 900), *, dark: bool = False, scale: float = 1.0) -> None:
        path = find_chromium()
        if path is None:
            raise FileNotFoundError(f"none of {', '.join(NAMES)} is installed")
        self.complaints: list[str] = []
        self._next = 0
        self._buffer = b""
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # The browser reads file 3 and writes file 4.
        command = [
            "bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash",
            path, *FLAGS, f"--user-data-dir={self._profile}", "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command,
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._session: str | None = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=size[0],
            height=size[1],
            deviceScaleFactor=scale,
            mobile=size[0] < 600,
        )
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[theme])

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and remove its profile."""
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, *, timeout: float = 60.0, **params: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        number, until = self._next, time.monotonic() + timeout
        while True:
            answer = self._receive(until)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def open(self, page: Path, fragment: str = "") -> None:
        """Open a local page and wait until it is loaded; what a page before complained about is forgotten."""
        self.call("Page.navigate", url="about:blank")
        self.complaints.clear()
        url = page.resolve().as_uri() + (f"#{fragment}" if fragment else "")
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", script))
        return answer["result"].get("value")

    def wait(self, condition: str, *, seconds: float = 15.0) -> None:
        """Wait until an expression is true in the page."""
        until = time.monotonic() + seconds
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > until:
                raise TimeoutError(f"not in {seconds} s: {condition}")
            time.sleep(0.03)

    def press(self, *keys: str) -> None:
        """Press keys one after the other, as a person would: single characters, or names such as ArrowDown."""
        for key in keys:
            code: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
            text: dict[str, Any] = {"text": key} if len(key) == 1 else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", **code, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def picture(self, path: Path) -> None:
        """Write what the window shows as PNG."""
        image = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(image))

    def _receive(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            part = os.read(self._read, 1 << 16) if ready else b""
            if not part:
                raise TimeoutError("the browser does not answer" if not ready else "the browser has ended")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(message)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        """Keep what a page complains about: exceptions, console, violations of its policy, dialogs."""
        if event.get("method") in COMPLAINTS:
            self.complaints.append(f"{event['method']}: {json.dumps(event['params'], ensure_ascii=False)[:600]}")


def shown_text(browser: Chromium, selector: str) -> str:
    """Return the text of the first element that a selector finds, as the page's tree has it."""
    text: str = browser.run(f"document.querySelector({json.dumps(selector)}).textContent")
    return text


def all_texts(browser: Chromium, selector: str) -> Sequence[str]:
    """Return the texts of all elements that a selector finds."""
    texts: Sequence[str] = browser.run(
        f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.textContent)"
    )
    return texts
