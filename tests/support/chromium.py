"""The page in a headless Chromium: what a test sees and does, and that the page never complains meanwhile."""

import json
import os
import shutil
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.eventually import eventually

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page

TIMEOUT_MS = 20_000
CHROMIUM = os.environ.get("FAKEBROKER_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
# Chromium itself notes answers with an error status, which the page shows in its own words, and streams that were cut.
NO_COMPLAINT = ("Failed to load resource: the server responded with a status of", "net::ERR_")


@contextmanager
def chromium() -> Iterator["Browser"]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class ShownPage:
    """The page of a broker's control port. `complaints` has what went wrong in the browser."""

    def __init__(self, context: "BrowserContext", url: str) -> None:
        self.context = context
        self.url = url
        self.complaints: list[str] = []
        context.set_default_timeout(TIMEOUT_MS)
        self.page: Page = context.new_page()
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _hear(self, message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning") and not any(text in message.text for text in NO_COMPLAINT):
            self.complaints.append(message.text)

    def open(self, fragment: str = "") -> "Page":
        """Show what the fragment names, such as "/groups/billing"."""
        self.page.goto(f"{self.url}/#{fragment}")
        return self.page

    def sees(self, text: str, within: str = "body") -> None:
        """Wait until a part of the page has this text."""
        self.page.locator(within).filter(has_text=text).first.wait_for()

    def ask(self, verb: str, path: str, body: object = None) -> Any:
        """What the HTTP API answers, beside the page."""
        data = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=verb)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    @property
    def bootstrap(self) -> str:
        """Where clients connect."""
        return str(self.ask("GET", "/bootstrap"))


def reads(place: "Locator", text: str) -> None:
    """Wait until an element's text is this one: the page draws what was done with its next frame."""
    eventually(lambda: place.inner_text() == text)


def violations(page: "Page") -> list[str]:
    """What axe finds against the page as it stands, one line for each element."""
    import axe_playwright_python

    script = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
    page.evaluate(script)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
