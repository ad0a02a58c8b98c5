"""`make screenshots`: the pictures of docs/how-to/page.md, taken of a broker that real clients use, in both themes.

The story is that of the how-to: of two consumers of one group the second one is stopped, as a debugger or a long
garbage collection would do it, until its session is over; then it goes on.
"""

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.chromium import ShownPage, chromium
from tests.support.eventually import eventually
from tests.support.serving import controlled

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
SIZE: "ViewportSize" = {"width": 1280, "height": 800}
THEMES = ("light", "dark")

CONSUMER = """
import sys, confluent_kafka
bootstrap, group, name = sys.argv[1:]
consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group, "client.id": name,
    "auto.offset.reset": "earliest", "session.timeout.ms": 7000, "heartbeat.interval.ms": 2000,
    "auto.commit.interval.ms": 1000, "log_level": 0})
consumer.subscribe(["orders"])
while True:
    consumer.poll(0.2)
"""
PRODUCER = """
import sys, time, json, itertools, confluent_kafka
producer = confluent_kafka.Producer({"bootstrap.servers": sys.argv[1], "client.id": "shop", "compression.type": "lz4"})
for number in itertools.count(1):
    order = {"order": number, "amount": number * 37 % 91 + 5, "currency": "EUR"}
    producer.produce("orders", json.dumps(order), f"customer-{number % 7}", headers={"trace": f"{number * 7919:08x}"})
    producer.flush()
    time.sleep(0.4)
"""


class Camera:
    """The page in both themes, of which pictures are taken."""

    def __init__(self, shown: dict[str, ShownPage]) -> None:
        self.shown = shown

    def open(self, fragment: str, text: str, where: str = "body") -> None:
        """Show a place in both themes and wait until it has this text."""
        for each in self.shown.values():
            each.open(fragment)
            each.sees(text, where)

    def take(self, name: str, themes: tuple[str, ...] = THEMES, do: Callable[[Any], None] | None = None) -> None:
        """Write NAME-THEME.png for each theme; `do` is done to the page before."""
        for theme in themes:
            page = self.shown[theme].page
            if do is not None:
                do(page)
            page.wait_for_timeout(150)
            page.screenshot(path=FOLDER / f"{name}-{theme}.png")


@contextmanager
def running(program: str, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A client in a process of its own, which ends with the block."""
    with subprocess.Popen([sys.executable, "-c", program, *arguments]) as process:
        try:
            yield process
        finally:
            process.kill()


def main() -> None:
    """Take all pictures."""
    FOLDER.mkdir(exist_ok=True)
    with controlled("--topic", "orders:3", "--topic", "payments:1") as url, chromium() as browser:
        contexts = {
            theme: browser.new_context(viewport=SIZE, color_scheme="dark" if theme == "dark" else "light")
            for theme in THEMES
        }
        camera = Camera({theme: ShownPage(context, url) for theme, context in contexts.items()})
        first = camera.shown["light"]
        with running(PRODUCER, first.bootstrap), running(CONSUMER, first.bootstrap, "search", "search-1"):
            with running(CONSUMER, first.bootstrap, "billing", "billing-1"), billing_2(first) as second:
                the_story(camera, first, second)
            the_other_pictures(camera, first)
        for context in contexts.values():
            context.close()


def billing_2(shown: ShownPage) -> Any:
    """The consumer that will be stopped for a while."""
    return running(CONSUMER, shown.bootstrap, "billing", "billing-2")


def state(shown: ShownPage) -> str:
    """The state of the group."""
    with urllib.request.urlopen(f"{shown.url}/groups/billing", timeout=10) as answer:
        return str(json.load(answer)["state"])


def last(shown: ShownPage, wanted: Callable[[dict[str, Any]], bool]) -> int:
    """The number of the last entry of the journal that is wanted."""
    lines = shown.ask("GET", "/journal/brief?before=9007199254740991&limit=1000")["lines"]
    return next(int(line["seq"]) for line in reversed(lines) if wanted(line))


def the_story(camera: Camera, shown: ShownPage, second: "subprocess.Popen[bytes]") -> None:
    """Five pictures: why did my group rebalance?"""
    camera.open("/groups/billing", "2 members")
    eventually(lambda: state(shown) == "Stable", 60)
    time.sleep(8)
    second.send_signal(signal.SIGSTOP)
    eventually(lambda: state(shown) == "PreparingRebalance", 60)
    shown.sees("Rebalance", ".rebalance")
    camera.take("why-1", ("light",))
    eventually(lambda: state(shown) == "Stable", 60)
    shown.page.locator(".rebalance").wait_for(state="detached")
    shown.page.locator(".history summary").first.click()
    shown.sees("CompletingRebalance → Stable", ".history")
    bottom = "document.querySelector('.chosen').scrollTop = 1e6"
    camera.take("why-2", ("light",), lambda page: page.evaluate(bottom))
    second.send_signal(signal.SIGCONT)
    time.sleep(7)
    eventually(lambda: state(shown) == "Stable", 60)
    removed = last(shown, lambda line: "session timeout" in (line.get("reason") or ""))
    camera.open(f"/timeline?group=billing&seq={removed}", "session timeout", ".panel")
    camera.take("why-3", ("light",))
    unknown = last(shown, lambda line: "UNKNOWN_MEMBER_ID" in line.get("errors", []))
    camera.open(f"/timeline?group=billing&client=billing-2&seq={unknown}", "UNKNOWN_MEMBER_ID", ".panel")
    camera.take("why-4", ("light",))
    camera.open("/control?group=billing", "Clock")
    camera.take("why-5", ("light",), fill_the_fault)
    camera.open("/groups/billing", "2 members")
    camera.take("groups")
    shown.ask("POST", "/groups/search/hold_joins", {"until_members": 3})
    camera.open("/overview", "session timeout", "[aria-label='Latest rebalances']")
    camera.take("overview")
    shown.ask("DELETE", "/groups/search/holds/1")
    shown.ask("POST", "/clock/advance", {"hours": 3})
    time.sleep(4)
    camera.open("/timeline", "billing", ".lanes .labels")
    for each in camera.shown.values():
        each.page.wait_for_timeout(1500)
    camera.take("timeline")


def fill_the_fault(page: Any) -> None:
    """Declare the fault that makes the same happen in a test."""
    page.get_by_label("API", exact=True).fill("Heartbeat")
    page.get_by_label("client id", exact=True).fill("billing-2")
    page.get_by_label("error", exact=True).fill("UNKNOWN_MEMBER_ID")
    page.get_by_label("times", exact=True).fill("1")


def the_other_pictures(camera: Camera, shown: ShownPage) -> None:
    """Offsets that expire, topics, control."""
    eventually(lambda: state(shown) in ("Empty", "Dead"), 60)
    camera.open("/groups/billing", "expires in", "[aria-label='Committed offsets']")
    camera.take("offsets", ("light",))
    camera.open("/topics/orders?when=max", "offset", "[aria-label='Result']")
    camera.take("topics")
    shown.ask("POST", "/faults", {"api": "Heartbeat", "group": "billing", "error": "NOT_COORDINATOR", "times": 2})
    shown.ask("POST", "/nodes", {"rack": "b"})
    camera.open("/control?group=billing", "Heartbeat", "[aria-label='Faults']")
    camera.take("control")


if __name__ == "__main__":
    main()
